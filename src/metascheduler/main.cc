// metascheduler: spreads waiting tasks over clusters: asks the policy, writes grants and why.
#include "core/error.h"
#include "core/tune_allocator.h"
#include "metascheduler/metascheduler.h"

namespace cigri::metascheduler {
namespace {

int Main(int argc, char** argv) {
  TuneAllocator();
  Metascheduler metascheduler;
  return module::Run(
      argc, argv,
      {.name = "metascheduler", .description = "spreads waiting tasks over the clusters"},
      [&](module::Step& step) { metascheduler.Pass(step); });
}

}  // namespace
}  // namespace cigri::metascheduler

int main(int argc, char** argv) {
  return cigri::RunMain("metascheduler", cigri::metascheduler::Main, argc, argv);
}
