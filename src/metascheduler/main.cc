// metascheduler: spreads waiting tasks over clusters: asks the policy, writes grants and why.
#include "core/error.h"
#include "core/keep_memory.h"
#include "metascheduler/metascheduler.h"

namespace cigri::metascheduler {
namespace {

int Main(int argc, char** argv) {
  KeepFreedMemory();
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
