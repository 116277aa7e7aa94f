// metascheduler: spreads waiting tasks over clusters: asks the policy, writes grants and why.
// Safe to kill and to repeat: a plan, its state and its reasons are one transaction.
#include "core/error.h"
#include "metascheduler/store.h"
#include "module/module.h"

namespace cigri::metascheduler {
namespace {

class Metascheduler {
 public:
  void Pass(module::Turn& turn) {
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
    const auto seed = static_cast<std::uint64_t>(turn.number);
    const auto result = policy::Decide(loaded.snapshot, state_, loaded.now, seed);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    store_.Write(tx, loaded, result, seed, ms);
    tx.Commit();
    state_ = result.next;
    finished_ = true;
  }

 private:
  Store store_;
  policy::State state_;
  bool finished_ = false;
};

int Main(int argc, char** argv) {
  Metascheduler metascheduler;
  return module::Run(
      argc, argv,
      {.name = "metascheduler", .description = "spreads waiting tasks over the clusters"},
      [&](module::Turn& turn) { metascheduler.Pass(turn); });
}

}  // namespace
}  // namespace cigri::metascheduler

int main(int argc, char** argv) {
  return cigri::RunMain("metascheduler", cigri::metascheduler::Main, argc, argv);
}
