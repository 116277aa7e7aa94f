#include "clusterdb/relay.h"

#include <sql/relays.h>

#include <algorithm>
#include <memory>

#include "core/text.h"
#include "db/db.h"

namespace cigri::clusterdb {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using http::Outcome;
using http::Response;

/// A runner that lives takes a call within milliseconds.
constexpr milliseconds kUntaken{4000};
/// Between two looks whether the runner that has taken a call still lives.
constexpr milliseconds kLookEvery{5000};

// Lines NAME: VALUE.
std::multimap<std::string, std::string> ReadHeaders(const std::string& text) {
  std::multimap<std::string, std::string> headers;
  for (const auto& line : Split(text, '\n'))
    if (const auto colon = line.find(": "); colon != line.npos)
      headers.emplace(line.substr(0, colon), line.substr(colon + 2));
  return headers;
}

Response Unanswered(Outcome outcome, const std::string& error) {
  Response r;
  r.outcome = outcome;
  r.error = error;
  return r;
}

class Caller {
 public:
  Caller(std::int64_t cluster_id, const std::string& home, std::string conninfo)
      : cluster_id_(cluster_id),
        host_(home.substr(0, home.find(':'))),
        conninfo_(std::move(conninfo)) {}

  Response Call(const cluster::RelayedCall& call) {
    bool asked = false;
    try {
      Connect();
      const auto id = Ask(call);
      asked = true;
      return Await(id, call.timeout);
    } catch (const std::exception& e) {
      db_.reset();
      return Unanswered(asked ? Outcome::kMaybeSent : Outcome::kNotSent, e.what());
    }
  }

 private:
  void Connect() {
    if (db_ && db_->alive() && !db_->worn()) return;
    db_.reset();
    db_ = std::make_unique<db::Connection>(conninfo_, "cigri calls");
    db_->Listen("relay_" + std::to_string(db_->backend_pid()));
  }
  std::int64_t Ask(const cluster::RelayedCall& call) {
    db::Tx tx(*db_, db::Tx::Sync::kOff);
    const auto id = tx.One(sql::kAskRelay, cluster_id_, call.method, call.path,
                           db::Bytea(call.body), static_cast<int>(call.timeout.count()))
                        .id;
    tx.Commit();
    return id;
  }
  // The host's own client gives up after `timeout`: its answer is then on its way.
  Response Await(std::int64_t id, milliseconds timeout) {
    const auto began = Clock::now(), untaken = began + kUntaken;
    const auto over = began + std::max(timeout + milliseconds(1000), kUntaken);
    for (bool taken = false;;) {
      const auto now = Clock::now();
      const auto until = std::min(taken ? over : untaken, now + kLookEvery);
      if (now < until)
        db_->Wait(static_cast<int>(std::chrono::ceil<milliseconds>(until - now).count()));
      db::Tx tx(*db_, db::Tx::Sync::kOff);
      if (const auto row = tx.First(sql::kTakeRelayAnswer, id)) {
        tx.Commit();
        return Read(*row);
      }
      if (Clock::now() < until) continue;
      if (taken && until < over && tx.One(sql::kRelayLives, cluster_id_).lives) continue;
      // What has been taken is waited for; the rest of this transaction is undone.
      const auto withdrawn = tx.First(sql::kWithdrawRelayedCall, id);
      if (withdrawn && withdrawn->taken && !taken) {
        taken = true;
        continue;
      }
      tx.Commit();
      if (withdrawn && !withdrawn->taken)
        return Unanswered(Outcome::kNotSent,
                          "host " + host_ + ", whose cluster it is, is not there");
      return Unanswered(Outcome::kMaybeSent, "no answer through host " + host_);
    }
  }
  template <typename Row>
  static Response Read(const Row& row) {
    if (*row.outcome != "answered")
      return Unanswered(*row.outcome == "not_sent" ? Outcome::kNotSent : Outcome::kMaybeSent,
                        row.error.value_or(""));
    Response r;
    r.outcome = Outcome::kAnswered;
    r.status = row.status.value_or(0);
    r.headers = ReadHeaders(row.headers.value_or(""));
    r.body = row.answer;
    return r;
  }

  const std::int64_t cluster_id_;
  const std::string host_, conninfo_;
  std::unique_ptr<db::Connection> db_;
};

}  // namespace

cluster::Relay RelayTo(std::int64_t cluster_id, const std::string& home,
                       const std::string& conninfo) {
  return [caller = std::make_shared<Caller>(cluster_id, home, conninfo)](
             const cluster::RelayedCall& call) { return caller->Call(call); };
}

}  // namespace cigri::clusterdb
