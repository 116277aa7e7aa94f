#include "runner/hold_releaser.h"

#include "core/log.h"

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

void HoldReleaser::Release(const HeldBatch& held) {
  cluster::Batch spec;
  spec.cluster_user = held.cluster_login;
  spec.tag = held.tag;
  spec.campaign_id = held.campaign_id;
  try {
    session_.driver->Release(spec, held.remote_ids);
  } catch (const cluster::CallFailed& e) {
    if (!held.again) return session_.BackOff(e.what());
    // The updator reports it again when it still sees the jobs on hold.
    return log::warn("[{}] {}", session_.name, e.what());
  }
  if (held.again) return;
  session_.Transact([&](db::Tx& tx) { session_.store.MarkReleased(tx, held.batch_id); });
}

}  // namespace cigri::runner
