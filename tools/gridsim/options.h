// gridsim's command line.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "tools/common/options.h"

namespace cigri::gridsim {

struct GridsimOptions {
  tools::CommonOptions common;
  std::string scenario;
  std::string jobs, swf, gantt, plot, why, policy;
  std::vector<std::string> compare, without, set;
  bool json = false, check = false, all = false, from_history = false, replay = false;
  std::string history;
  int coarse = 0;
  std::string from, until;
  int limit = 1000;
  std::string save;
};

/// As tools::Parse. Throws Fatal(kExitUsage) for what does not go together.
std::optional<int> Read(int argc, char** argv, GridsimOptions& o);
/// What --without, --set and --policy change. Throws Fatal(kExitUsage).
sim::Edits EditsOf(const GridsimOptions& o);

}  // namespace cigri::gridsim
