#include "metascheduler/metascheduler.h"

namespace cigri::metascheduler {

void Metascheduler::Pass(module::Step& step) {
  const bool restart = step.fresh || !finished_;
  finished_ = false;
  // Every pass plans again: a crash that loses the last plan loses nothing.
  db::Tx tx(step.db, db::Tx::Sync::kOff);
  module::CheckEpoch(tx, step.epoch);
  if (restart) {
    store_.Reset(tx);
    state_ = store_.LoadState(tx);
  }
  const auto began = std::chrono::steady_clock::now();
  const Loaded loaded = store_.Load(tx);
  store_.LiftClosedHolds(tx, state_);
  const auto seed = static_cast<std::uint64_t>(step.number);
  const bool with_reasons = store_.ReasonsDue();
  // A quiet grid has no other cycle for seconds, and its users would read what was true before.
  if (!with_reasons) step.waker.WakeIn(std::chrono::seconds(1));
  Decision decision = Decide(loaded, state_, seed, with_reasons);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  store_.Write(tx, loaded, decision, seed, took.count());
  tx.Commit();
  state_ = decision.result.next;
  finished_ = true;
}

}  // namespace cigri::metascheduler
