#include "runner/sender.h"

#include <algorithm>

#include "core/log.h"
#include "core/retry.h"
#include "core/text.h"
#include "runner/token_watcher.h"

namespace cigri::runner {

using std::chrono::milliseconds;
using Why = cluster::SubmitRefused::Why;

namespace {
constexpr int kMostJobs = 5000;  // of one claim
// Most calls of one submission, on the kind that needs most: WhyNot, POST, release.
constexpr int kCallsOfSubmission = 4;
// A POST starts this long before its claim's send_by at the latest.
constexpr milliseconds kSendMargin{500};
// Failures in a row, some 6 s, after which an event says why a cluster takes nothing.
constexpr int kFailuresToReport = 7;
const char* const kTakesNothing = "it takes no jobs";
}  // namespace

bool Sender::SendSome() {
  // What is claimed now would only be given back.
  if (session_.BackingOff() || !MayCall()) return false;
  limits_.Load();
  // Taken before the transaction's now(), so it is never later than the batch's send_by.
  const auto send_by =
      Clock::now() + std::chrono::seconds(session_.shared.send_window_s) - kSendMargin;
  const auto batches = Claim();
  left_out_ = session_.store.left_out();
  for (const auto& batch : batches) Send(batch, send_by);
  return !batches.empty() && !session_.BackingOff();
}

// Asked before the claim: a batch that may not be sent would only be given back.
bool Sender::MayCall() {
  auto* limiter = session_.driver->limiter();
  const double wait_s = limiter == nullptr ? 0 : limiter->WaitFor(kCallsOfSubmission);
  if (wait_s <= 0) return true;
  session_.shared.waker.WakeIn(milliseconds(static_cast<int>(std::min(wait_s, 60.0) * 1000) + 10));
  return false;
}

std::vector<ClaimedBatch> Sender::Claim() {
  std::vector<ClaimedBatch> batches;
  session_.Transact([&](db::Tx& tx) {
    batches = session_.store.Claim(
        tx, kMostJobs, [&](std::int64_t campaign) { return limits_.MaxElements(campaign); },
        session_.shared.send_window_s, session_.caps.hold_release);
  });
  return batches;
}

void Sender::Send(const ClaimedBatch& batch, Clock::time_point send_by) {
  cluster::Batch spec;
  try {
    spec = Prepare(batch);
  } catch (const std::exception& e) {
    if (IsOutage(e)) throw;  // the intent stays; the runner looks it up when the database is back
    return Refused(batch, {Why::kBatch, e.what()});
  }
  auto why = session_.driver->WhyNot(spec);
  if (!why.empty() && spec.options.erase(kAutoMemory) > 0 && spec.options.erase("mem") > 0)
    why = session_.driver->WhyNot(spec);
  if (!why.empty()) return Refused(batch, {Why::kBatch, why});
  if (limits_.TooManyBytes(spec)) return GiveBackTooLarge(batch);
  // A drain that has returned relies on this: no POST starts after send_by.
  if (Clock::now() > send_by || session_.BackingOff())
    return Refused(batch, {Why::kTemporary, "the time to send it had passed"});
  if (!session_.caps.revokes && !StillOurs(batch))
    return Refused(batch, {Why::kTemporary, "the time to send it had passed"});
  spec.send_by = send_by;
  Submit(batch, spec);
}

// A host that stood still since the claim (suspended, a paused virtual machine) finds its own clock
// where it was: another runner may have the cluster, and may have given the batch up. A cluster
// that revokes tags refuses it then.
bool Sender::StillOurs(const ClaimedBatch& batch) {
  bool ours = false;
  session_.Transact([&](db::Tx& tx) { ours = session_.store.MayBeSent(tx, batch); },
                    db::Tx::Sync::kOff);
  return ours;
}

cluster::Batch Sender::Prepare(const ClaimedBatch& batch) {
  cluster::Batch spec;
  session_.Transact([&](db::Tx& tx) { spec = session_.store.Build(tx, batch); },
                    db::Tx::Sync::kOff);
  return spec;
}

void Sender::Submit(const ClaimedBatch& batch, const cluster::Batch& spec) {
  std::vector<std::string> ids;
  try {
    ids = session_.driver->Submit(spec);
  } catch (const cluster::SubmitRefused& e) {
    return Refused(batch, e, BytesOf(spec));
  } catch (const std::exception& e) {
    return outcomes_.MarkInDoubt(batch, e.what());
  }
  session_.ResetBackOff();
  Record(batch, ids);
}

void Sender::Record(const ClaimedBatch& batch, const std::vector<std::string>& ids) {
  const bool hold = session_.caps.hold_release;
  std::vector<std::pair<int, std::string>> remote;
  for (std::size_t i = 0; i < ids.size(); ++i) remote.emplace_back(static_cast<int>(i), ids[i]);
  session_.Transact([&](db::Tx& tx) {
    session_.store.Record(tx, batch, remote, {}, hold);
    if (std::exchange(reported_, false)) {
      db::Event fault{.cls = "cluster", .code = "CLUSTER_FAULT"};
      fault.cluster_id = session_.id;
      fault.fingerprint = kTakesNothing;
      db::CloseEvent(tx, "runner", fault);
    }
  });
  if (hold)
    holds_.Release({batch.id, batch.campaign_id, batch.tag, batch.cluster_login, ids, false});
}

void Sender::GiveBackTooLarge(const ClaimedBatch& batch) {
  session_.Transact([&](db::Tx& tx) {
    session_.store.GiveBack(tx, batch, BatchState::kRefused,
                            "too many bytes for one POST: the runner cuts it");
  });
}

void Sender::Refused(const ClaimedBatch& batch, const cluster::SubmitRefused& refusal,
                     std::size_t bytes) {
  session_.Transact([&](db::Tx& tx) {
    session_.store.GiveBack(tx, batch, BatchState::kRefused, refusal.what());
    ReportRefusal(tx, batch, refusal, bytes);
  });
  log::warn("[{}] cannot submit {} jobs of campaign {}: {}", session_.name, batch.tasks.size(),
            batch.campaign_id, refusal.what());
  if (refusal.why() == Why::kTemporary || (refusal.why() == Why::kLimit && batch.tasks.size() == 1))
    session_.BackOff(refusal.what());
}

// A refusal for size teaches a limit as long as the batch can be cut. One job over a limit of jobs
// waits: there are too many jobs there already.
void Sender::ReportRefusal(db::Tx& tx, const ClaimedBatch& batch,
                           const cluster::SubmitRefused& refusal, std::size_t bytes) {
  if (refusal.why() == Why::kTemporary) {
    // As when its disk is full: of one that does not answer the updator says so.
    if (session_.failures() == kFailuresToReport && session_.store.Answers(tx)) {
      RaiseClusterFault(tx, batch, kTakesNothing,
                        ValidUtf8(session_.name + " takes no jobs: " + refusal.what()));
      reported_ = true;
    }
    return;
  }
  const bool size = refusal.why() == Why::kLimit || refusal.why() == Why::kBytes;
  const int jobs = static_cast<int>(batch.tasks.size());
  if (size && jobs > 1) return limits_.Learn(tx, refusal, jobs, bytes);
  if (refusal.why() == Why::kLimit) return;
  RaiseRefusal(tx, batch, refusal);
}

// The cluster's failure, not the user's: its operator is notified once, and the campaign tries
// again without anybody's answer when the updator closes the refusal after half an hour.
void Sender::RaiseClusterFault(db::Tx& tx, const ClaimedBatch& batch, const std::string& title,
                               const std::string& message) {
  db::Event event{.cls = "cluster", .code = "CLUSTER_FAULT", .message = message};
  event.cluster_id = session_.id;
  event.fingerprint = title;
  event.sample = {{"campaign", batch.campaign_id}, {"user", batch.cluster_login}};
  db::RaiseEvent(tx, event);
}

void Sender::RaiseRefusal(db::Tx& tx, const ClaimedBatch& batch,
                          const cluster::SubmitRefused& refusal) {
  db::Event event{.cls = "campaign", .code = "SUBMIT_REFUSED", .message = ""};
  event.message = ValidUtf8(session_.name + ": " + refusal.what());
  if (refusal.why() == Why::kToken) {
    event.code = "TOKEN_MISSING";
    event.sample = {{"user", batch.cluster_login}};
    session_.shared.waker.WakeIn(kTokensEvery);
  } else if (const auto fault = session_.store.ClusterFault(tx, refusal.what())) {
    RaiseClusterFault(tx, batch, *fault, event.message);
    event.fingerprint = kClusterFault;
  }
  event.campaign_id = batch.campaign_id;
  event.cluster_id = session_.id;
  db::RaiseEvent(tx, event);
}

}  // namespace cigri::runner
