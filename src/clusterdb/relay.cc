#include "clusterdb/relay.h"

#include <sql/leases.h>
#include <sql/relays.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/config.h"
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

using Sessions = std::shared_ptr<db::Pool>;

class RelayCaller {
 public:
  RelayCaller(std::int64_t cluster_id, std::string own_home, Sessions sessions)
      : cluster_id_(cluster_id), own_home_(std::move(own_home)), sessions_(std::move(sessions)) {}

  Response Call(const cluster::RelayedCall& call) {
    bool asked = false;
    try {
      auto db = sessions_->Get();
      return Call(*db, call, &asked);
    } catch (const std::exception& e) {
      return Unanswered(asked ? Outcome::kMaybeSent : Outcome::kNotSent, e.what());
    }
  }

 private:
  Response Call(db::Connection& db, const cluster::RelayedCall& call, bool* asked) {
    db.Listen("relay_" + std::to_string(db.backend_pid()));
    db::Tx tx(db, db::Tx::Sync::kOff);
    const auto row = tx.First(sql::kAskRelay, cluster_id_, call.method, call.path,
                              db::Bytea(call.body), static_cast<int>(call.timeout.count()),
                              call.cluster_user, own_home_);
    tx.Commit();
    if (!row) return Unanswered(Outcome::kNotSent, "");
    *asked = true;
    return Await(db, row->id, row->host, call.timeout);
  }
  // The host's own client gives up after `timeout`: its answer is then on its way.
  Response Await(db::Connection& db, std::int64_t id, const std::string& host,
                 milliseconds timeout) {
    const auto began = Clock::now(), untaken = began + kUntaken;
    const auto over = began + std::max(timeout + milliseconds(1000), kUntaken);
    for (bool taken = false;;) {
      const auto now = Clock::now();
      const auto until = std::min(taken ? over : untaken, now + kLookEvery);
      if (now < until)
        db.Wait(static_cast<int>(std::chrono::ceil<milliseconds>(until - now).count()));
      db::Tx tx(db, db::Tx::Sync::kOff);
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
        return Unanswered(Outcome::kNotSent, "host " + host + ", which serves it, is not there");
      return Unanswered(Outcome::kMaybeSent, "no answer through host " + host);
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
  const std::string own_home_;
  const Sessions sessions_;
};

// What a call that could not be sent from here has shown, for Leases.
class Report {
 public:
  Report(std::int64_t cluster_id, std::string own_home, Sessions sessions)
      : cluster_id_(cluster_id), own_home_(std::move(own_home)), sessions_(std::move(sessions)) {}

  void NotFromHere() {
    if (Clock::now() < again_at_) return;
    again_at_ = Clock::now() + std::chrono::minutes(1);
    Write([&](db::Tx& tx) { tx.Exec(sql::kMarkUnreachableFrom, cluster_id_, own_home_); });
  }
  void NotFromAnywhere() {
    Write([&](db::Tx& tx) { tx.Exec(sql::kMarkHolderUnreachable, cluster_id_); });
  }

 private:
  template <typename Body>
  void Write(Body body) {
    try {
      auto db = sessions_->Get();
      db::Tx tx(*db, db::Tx::Sync::kOff);
      body(tx);
      tx.Commit();
    } catch (const std::exception&) {  // the next call shows the same
    }
  }

  const std::int64_t cluster_id_;
  const std::string own_home_;
  const Sessions sessions_;
  Clock::time_point again_at_{};
};

std::string OwnHome() { return HostName() + ":" + CigriHome(); }

}  // namespace

cluster::Relay RelayToHome(std::int64_t cluster_id, const std::string& conninfo) {
  const auto sessions = std::make_shared<db::Pool>(conninfo, "cigri calls", 1);
  return [caller = std::make_shared<RelayCaller>(cluster_id, OwnHome(), sessions)](
             const cluster::RelayedCall& call) { return caller->Call(call); };
}

cluster::OtherHost HostOfRunner(std::int64_t cluster_id, const HostSessions& sessions,
                                Caller caller) {
  const auto call = std::make_shared<RelayCaller>(cluster_id, OwnHome(), sessions.calls);
  cluster::OtherHost other;
  other.call = [call](const cluster::RelayedCall& one) { return call->Call(one); };
  if (caller != Caller::kUpdator) return other;
  other.calls_first = [cluster_id, home = OwnHome(), statements = sessions.statements] {
    try {
      auto db = statements->Get();
      db::Tx tx(*db, db::Tx::Sync::kOff);
      return tx.One(sql::kServedElsewhere, cluster_id, home).elsewhere;
    } catch (const std::exception&) {  // nobody is asked without the database
      return false;
    }
  };
  const auto report = std::make_shared<Report>(cluster_id, OwnHome(), sessions.statements);
  other.report = [report](bool answered) {
    answered ? report->NotFromHere() : report->NotFromAnywhere();
  };
  return other;
}

}  // namespace cigri::clusterdb
