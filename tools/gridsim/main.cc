// gridsim: what a grid would do, without one.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/tune_allocator.h"
#include "tools/gridsim/run.h"

namespace cigri::gridsim {
namespace {

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (in) text << in.rdbuf();
  if (!in || in.bad()) throw Fatal(kExitBadInput, "cannot read " + path);
  return text.str();
}

std::string FolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

int Main(int argc, char** argv) {
  GridsimOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  TuneAllocator();
  if (o.from_history) return RunHistory(o);
  return RunText(o, TextOf(o.scenario), o.scenario, FolderOf(o.scenario));
}

}  // namespace
}  // namespace cigri::gridsim

int main(int argc, char** argv) {
  return cigri::RunMain("gridsim", cigri::gridsim::Main, argc, argv);
}
