#include "metascheduler/metascheduler.h"

namespace cigri::metascheduler {

void Metascheduler::Pass(module::Turn& turn) {
  const bool anew = turn.fresh || !finished_;
  finished_ = false;
  // The plan is repeated each round: losing the last one in a crash loses nothing.
  db::Tx tx(turn.db, db::Tx::Sync::kOff);
  module::CheckEpoch(tx, turn.epoch);
  if (anew) {
    store_.Reset(tx);
    state_ = store_.LoadState(tx);
  }
  const auto began = std::chrono::steady_clock::now();
  const Loaded loaded = store_.Load(tx);
  store_.LiftSinks(tx, state_);
  const auto seed = static_cast<std::uint64_t>(turn.number);
  const auto result = policy::Decide(loaded.snapshot, state_, loaded.now, seed);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  store_.Write(tx, loaded, result, seed, took.count());
  tx.Commit();
  state_ = result.next;
  finished_ = true;
}

}  // namespace cigri::metascheduler
