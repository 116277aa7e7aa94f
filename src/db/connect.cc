#include "db/connect.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "core/text.h"
#include "db/conninfo.h"

namespace cigri::db {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSilence{250};

struct Finish {
  void operator()(PGconn* c) const { PQfinish(c); }
};

// A session that begins.
struct Attempt {
  explicit Attempt(const Server& server)
      : c(PQconnectStart(server.conninfo.c_str())),
        ends(server.timeout.count() > 0 ? Clock::now() + server.timeout : Clock::time_point::max()),
        late("connection to server at \"" + server.host + "\", port " + server.port +
             " failed: timeout expired") {
    if (c == nullptr) throw std::bad_alloc();
    if (PQstatus(c.get()) == CONNECTION_BAD) wants = PGRES_POLLING_FAILED;
  }
  bool over() const { return wants == PGRES_POLLING_OK || wants == PGRES_POLLING_FAILED; }
  bool refused() const { return wants == PGRES_POLLING_FAILED && !is_late; }
  pollfd Waits() const {
    const short events = wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    return {over() ? -1 : PQsocket(c.get()), events, 0};
  }
  void GoOn(bool ready) {
    if (over()) return;
    if (ready)
      wants = PQconnectPoll(c.get());
    else if (Clock::now() >= ends)
      wants = PGRES_POLLING_FAILED, is_late = true;
  }
  std::string Why() const { return is_late ? late : PQerrorMessage(c.get()); }

  std::unique_ptr<PGconn, Finish> c;
  PostgresPollingStatusType wants = PGRES_POLLING_WRITING;  // as PQconnectPoll's manual says
  Clock::time_point ends;
  std::string late;
  bool is_late = false;
};

int MsUntil(Clock::time_point at) {
  if (at == Clock::time_point::max()) return -1;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(ms, 0));
}

PGconn* First(const std::vector<Server>& servers) {
  std::vector<Attempt> attempts;
  const auto begin = Clock::now();
  auto next = begin;
  for (;;) {
    const bool all_over = std::all_of(attempts.begin(), attempts.end(),
                                      [](const Attempt& attempt) { return attempt.over(); });
    const bool all_asked = attempts.size() == servers.size();
    if (all_asked && all_over) break;
    if (all_over || Clock::now() >= next) {
      next = Clock::now() + kSilence;
      if (!all_asked) {
        attempts.emplace_back(servers[attempts.size()]);
      } else if (Clock::now() < begin + servers[0].timeout) {
        // While one is silent another one may become the primary.
        for (std::size_t i = 0; i < attempts.size(); ++i)
          if (attempts[i].refused()) attempts[i] = Attempt(servers[i]);
      }
    }
    auto until = next;
    std::vector<pollfd> fds;
    for (const auto& attempt : attempts) {
      fds.push_back(attempt.Waits());
      if (!attempt.over()) until = std::min(until, attempt.ends);
    }
    poll(fds.data(), fds.size(), MsUntil(until));
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      attempts[i].GoOn(fds[i].revents != 0);
      if (attempts[i].wants == PGRES_POLLING_OK) return attempts[i].c.release();
    }
  }
  std::string why;
  for (const auto& attempt : attempts) why += attempt.Why() + "\n";
  throw pqxx::broken_connection(why);
}

}  // namespace

FirstServer::handle FirstServer::do_startconnect(handle existing) {
  if (existing != nullptr) return existing;
  const auto servers = ServersOf(options());
  session_ = servers.size() < 2 ? normalconnect(existing) : First(servers);
  return session_;
}
FirstServer::handle FirstServer::do_disconnect(handle existing) noexcept {
  session_ = nullptr;
  return connectionpolicy::do_disconnect(existing);
}
std::string FirstServer::LastWords() const {
  return session_ == nullptr ? "" : PQerrorMessage(session_);
}

std::string PqxxConnection::HowItEnded() const {
  const std::string fatal = "FATAL:", ended = "the database session has ended";
  std::string reason = Split(servers_.LastWords(), '\n').front();
  if (StartsWith(reason, fatal)) reason.erase(0, fatal.size());
  return reason.empty() ? ended : ended + ": " + std::string(Trim(reason));
}

}  // namespace cigri::db
