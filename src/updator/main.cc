// updator: asks the clusters how the jobs of the grid are, and writes what they answer.
#include "core/error.h"
#include "updator/updator.h"

namespace cigri::updator {
namespace {

int Main(int argc, char** argv) {
  Updator updator;
  const int code = module::Run(
      argc, argv, {.name = "updator", .description = "asks the clusters how our jobs are"},
      [&](module::Step& step) { updator.Pass(step); });
  std::_Exit(code);  // threads may be deep in a call; nothing of theirs is lost
}

}  // namespace
}  // namespace cigri::updator

int main(int argc, char** argv) {
  return cigri::RunMain("updator", cigri::updator::Main, argc, argv);
}
