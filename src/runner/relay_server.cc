#include "runner/relay_server.h"

#include <poll.h>
#include <sql/relays.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "clusterdb/clusterdb.h"
#include "core/log.h"
#include "core/text.h"
#include "db/db.h"

namespace cigri::runner {
namespace {

/// Calls under way at once; more wait. Each local cluster has a poll that waits.
constexpr int kMostCalls = 32;
constexpr int kLookEveryMs = 30000, kAgainMs = 250;

struct Answered {
  std::int64_t id = 0;
  http::Response response;
};

// What drivers read: the cluster's own, and its clock.
std::string HeaderLines(const http::Response& r) {
  std::string text;
  for (const auto& [name, value] : r.headers)
    if (StartsWith(name, "x-") || name == "date")
      text.append(name).append(": ").append(value).append("\n");
  return text;
}

}  // namespace

struct RelayServer::State {
  std::string conninfo, home;
  const int news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);  // readable: there is an answer
  std::mutex mutex;                                         // of what follows
  bool stop = false;
  int calls = 0;
  std::vector<Answered> answered;

  std::unique_ptr<db::Connection> db;  // of the thread

  ~State() { close(news); }
  void Wake() { eventfd_write(news, 1); }
  bool Stopped() {
    const std::lock_guard lock(mutex);
    return stop;
  }
  void Connect();
  void Await(int ms);
  void Write();
  void Take(const std::shared_ptr<State>& self);
  void Loop(const std::shared_ptr<State>& self);
};

void RelayServer::State::Connect() {
  if (db && db->alive()) return;
  db = std::make_unique<db::Connection>(conninfo, "cigri relay");
  std::string channel;
  {
    db::Tx tx(*db);
    channel = tx.One(sql::kRelayChannel, home).channel;
    tx.Exec(sql::kGiveUpRelayedCalls, home);
    tx.Commit();
  }
  db->Listen(channel);
}

void RelayServer::State::Await(int ms) {
  pollfd fds[] = {{news, POLLIN, 0}, {db ? db->socket() : -1, POLLIN, 0}};
  poll(fds, 2, ms);
  eventfd_t ignored = 0;
  eventfd_read(news, &ignored);
  if (db) db->Wait(0);
}

void RelayServer::State::Write() {
  std::vector<Answered> done;
  {
    const std::lock_guard lock(mutex);
    done.swap(answered);
  }
  if (done.empty()) return;
  db::Tx tx(*db, db::Tx::Sync::kOff);
  for (const auto& [id, r] : done) {
    const bool is_answer = r.outcome == http::Outcome::kAnswered;
    const std::string outcome = is_answer                              ? "answered"
                                : r.outcome == http::Outcome::kNotSent ? "not_sent"
                                                                       : "maybe_sent";
    tx.Exec(sql::kAnswerRelay, id, outcome, r.status, HeaderLines(r), db::Bytea(r.body), r.error);
  }
  tx.Commit();
}

void RelayServer::State::Take(const std::shared_ptr<State>& self) {
  int room = 0;
  {
    const std::lock_guard lock(mutex);
    room = kMostCalls - calls;
  }
  if (room == 0) return;
  db::Tx tx(*db, db::Tx::Sync::kOff);
  const auto taken = tx.Exec(sql::kTakeRelayedCalls, home, room);
  std::map<std::int64_t, clusterdb::ClusterRow> clusters;
  if (!taken.empty())
    for (auto& row : clusterdb::LoadClusters(tx)) clusters[row.config.id] = std::move(row);
  tx.Commit();
  for (const auto& call : taken) {
    std::thread([self, call, row = clusters[call.cluster_id]] {
      Answered done{call.id, {}};
      try {
        const auto driver = clusterdb::MakeDriver(row, self->conninfo, clusterdb::Caller::kRunner);
        done.response =
            driver->Relayed({call.method, call.path, call.body,
                             std::chrono::milliseconds(call.timeout_ms), call.cluster_user});
      } catch (const std::exception& e) {
        done.response.error = e.what();
      }
      const std::lock_guard lock(self->mutex);
      --self->calls;
      self->answered.push_back(std::move(done));
      self->Wake();
    }).detach();
    const std::lock_guard lock(mutex);  // not before: there may be no thread to be had
    ++calls;
  }
}

void RelayServer::State::Loop(const std::shared_ptr<State>& self) {
  while (!Stopped()) {
    try {
      Connect();
      Write();
      Take(self);
      // What came during a statement makes the socket readable no more.
      if (db->Wait(0).empty()) Await(kLookEveryMs);
    } catch (const std::exception& e) {
      // The database is away, or this session was ended: the calls are asked again.
      log::debug("relay: {}", e.what());
      db.reset();
      Await(kAgainMs);
    }
  }
}

RelayServer::RelayServer(std::string conninfo, std::string home)
    : state_(std::make_shared<State>()) {
  state_->conninfo = std::move(conninfo);
  state_->home = std::move(home);
  std::thread([state = state_] { state->Loop(state); }).detach();
}

RelayServer::~RelayServer() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->Wake();
}

}  // namespace cigri::runner
