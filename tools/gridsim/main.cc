// gridsim: what a grid would do, without one.
#include <string>

#include "core/tune_allocator.h"
#include "tools/gridsim/run.h"

namespace cigri::gridsim {
namespace {

std::string FolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

int Main(int argc, char** argv) {
  GridsimOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  TuneAllocator();
  if (o.from_history || !o.history.empty()) return RunHistory(o);
  return RunText(o, TextOf(o.scenario), o.scenario, FolderOf(o.scenario));
}

}  // namespace
}  // namespace cigri::gridsim

int main(int argc, char** argv) {
  return cigri::RunMain("gridsim", cigri::gridsim::Main, argc, argv);
}
