#include "runner/hold_releaser.h"

#include "core/log.h"
#include "runner/token_watcher.h"

namespace cigri::runner {

void HoldReleaser::ReleaseHeld() {
  std::vector<HeldBatch> held;
  session_.Transact([&](db::Tx& tx) { held = session_.store.TakeHeld(tx); }, db::Tx::Sync::kOff);
  for (const auto& batch : held) {
    if (batch.again)
      log::warn("[{}] array {} is on hold again: the runner releases it again", session_.name,
                batch.remote_ids.at(0));
    Release(batch);
  }
}

// Nobody else waits for the token of one user: his jobs stay on hold until he has given one.
void HoldReleaser::MayNot(const HeldBatch& held, const std::string& why) {
  not_before_[held.batch_id] = Clock::now() + kTokensEvery;
  session_.shared.waker.WakeIn(kTokensEvery + std::chrono::milliseconds(5));
  log::warn("[{}] the jobs of campaign {} stay on hold: {}", session_.name, held.campaign_id, why);
  ReportMissingToken(session_, held.campaign_id, held.cluster_login, why);
}

void HoldReleaser::Release(const HeldBatch& held) {
  if (const auto at = not_before_.find(held.batch_id); at != not_before_.end()) {
    if (Clock::now() < at->second) return;
    not_before_.erase(at);
  }
  cluster::Batch spec;
  spec.cluster_user = held.cluster_login;
  spec.tag = held.tag;
  spec.campaign_id = held.campaign_id;
  try {
    session_.driver->Release(spec, held.remote_ids);
  } catch (const cluster::CallFailed& e) {
    if (e.why() == cluster::CallFailed::Why::kAuth) return MayNot(held, e.what());
    if (!held.again) return session_.BackOff(e.what());
    // The updator reports it again when it still sees the jobs on hold.
    return log::warn("[{}] {}", session_.name, e.what());
  }
  if (held.again) return;
  session_.Transact([&](db::Tx& tx) { session_.store.MarkReleased(tx, held.batch_id); });
}

}  // namespace cigri::runner
