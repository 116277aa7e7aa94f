#include "runner/outcome_resolver.h"

#include <algorithm>
#include <map>

#include "core/log.h"
#include "runner/token_watcher.h"

namespace cigri::runner {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kSoon{100}, kLookEvery{1000};
constexpr double kTokenDelay = std::chrono::duration<double>(kTokensEvery).count();
}

db::Event OutcomeResolver::Event(const std::string& why) const {
  db::Event e{.cls = "cluster", .code = "SUBMIT_IN_DOUBT"};
  e.message =
      session_.name + ": the outcome of a submission is unknown, the runner looks it up: " + why;
  e.cluster_id = session_.id;
  return e;
}

void OutcomeResolver::MarkInDoubt(const ClaimedBatch& batch, const std::string& why) {
  log::warn("[{}] the outcome of submitting {} jobs of campaign {} is unknown: {}", session_.name,
            batch.tasks.size(), batch.campaign_id, why);
  Expect();
  session_.Transact([&](db::Tx& tx) {
    session_.store.Doubt(tx, batch, why);
    db::RaiseEvent(tx, Event(why));
  });
  session_.shared.waker.WakeIn(kSoon);
}

void OutcomeResolver::Resolve() {
  if (!expected_) return;
  const auto open = LoadOpen();
  expected_ = !open.empty();
  for (const auto& batch : open)
    if (batch.due) LookUp(batch);
  if (expected_) session_.shared.waker.WakeIn(kLookEvery);
}

std::vector<OpenBatch> OutcomeResolver::LoadOpen() {
  std::vector<OpenBatch> open;
  session_.Transact([&](db::Tx& tx) {
    session_.store.HoldLease(tx);
    open = session_.store.OpenBatches(tx);
    // This thread is sending nothing now, so the runner that intended these batches is gone. It may
    // have sent them.
    for (auto& o : open)
      if (o.state == BatchState::kIntended) {
        session_.store.Doubt(tx, o.batch, "the runner that intended it is gone");
        o.due = true;
      }
    if (open.empty()) db::CloseEvent(tx, "runner", Event(""));
  });
  return open;
}

void OutcomeResolver::LookUp(const OpenBatch& open) {
  const auto& batch = open.batch;
  if (open.lost)
    return session_.Transact([&](db::Tx& tx) {
      session_.store.GiveBack(tx, batch, BatchState::kAbandoned, "given up as lost");
    });
  try {
    Settle(open, session_.driver->Find(batch.tag, batch.cluster_login, open.created_at,
                                       session_.caps.revokes));
  } catch (const cluster::CallFailed& e) {
    const bool may_not = e.why() == cluster::CallFailed::Why::kAuth;
    const double delay = NextLookupDelay(open.absences);
    session_.Transact([&](db::Tx& tx) {
      session_.store.RecordLookup(tx, batch.id, false,
                                  may_not ? std::max(delay, kTokenDelay) : delay);
    });
    // A user without a token keeps nobody else waiting.
    if (!may_not) return session_.BackOff(e.what());
    ReportMissingToken(session_, batch.campaign_id, batch.cluster_login, e.what());
  }
}

void OutcomeResolver::Settle(const OpenBatch& open, const cluster::FindResult& found) {
  const auto& batch = open.batch;
  const bool final =
      AbsenceIsFinal({found.complete, found.revoked, open.send_over, open.absences, open.quiet_s,
                      static_cast<double>(session_.caps.absence_delay.count())});
  std::map<int, std::string> there;
  const int n = static_cast<int>(batch.tasks.size());
  for (const auto& job : found.jobs)  // by its first element; those that share it are there, too
    for (int i = job.ref.index; i < std::min(n, job.ref.index + batch.tasks_per_job); ++i)
      there.emplace(i, job.ref.remote_id);
  const std::vector<std::pair<int, std::string>> remote(there.begin(), there.end());
  std::vector<int> missing;
  for (int i = 0; i < n; ++i)
    if (there.count(i) == 0) missing.push_back(i);

  session_.Transact([&](db::Tx& tx) {
    if (missing.empty() || (!remote.empty() && final)) {
      session_.store.Record(tx, batch, remote, missing, session_.caps.hold_release);
      log::info("[{}] adopts {} jobs of campaign {}; the cluster did not take {} others",
                session_.name, remote.size(), batch.campaign_id, missing.size());
    } else if (final) {
      session_.store.GiveBack(tx, batch, BatchState::kAbandoned, "the cluster never took it");
      log::info("[{}] requeues {} jobs of campaign {}: the cluster did not take them",
                session_.name, batch.tasks.size(), batch.campaign_id);
    } else {
      session_.store.RecordLookup(tx, batch.id, found.complete, NextLookupDelay(open.absences));
      session_.shared.waker.WakeIn(kLookEvery);
    }
  });
}

}  // namespace cigri::runner
