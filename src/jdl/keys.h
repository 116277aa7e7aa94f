// The keys of a JDL: which there are and where they belong.
#pragma once
#include <optional>
#include <string_view>

namespace cigri::jdl {

enum class KeyScope {
  kCampaign,  ///< for the whole campaign only
  kCluster,   ///< in a cluster's block, or global for all that lack it
  kDead       ///< of CiGri 3, where it had no effect either, or of no use here
};

/// Nothing for a key that nobody knows.
std::optional<KeyScope> ScopeOf(std::string_view key);

}  // namespace cigri::jdl
