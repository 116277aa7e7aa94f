// OAR's resource hierarchies, as far as counting goes.
#pragma once
#include <string>
#include <string_view>

namespace cigri::jdl {

/// How many resource units one job takes.
struct Slots {
  int n = 0;  ///< 0 when `problem` says why it cannot be counted
  /// False when the hierarchy ends above the cluster's unit ("/nodes=2" where cores are counted):
  /// then n is the least that it takes.
  bool exact = true;
  std::string problem, hint;
};

/// "/nodes=2/core=4", "core=1", "{gpu='YES'}/gpu=1+/core=2": the product down to `resource_unit`
/// (or resource_id), added up over "+". A walltime within it is refused: it is a key of its own.
Slots ParseResources(std::string_view text, std::string_view resource_unit);

}  // namespace cigri::jdl
