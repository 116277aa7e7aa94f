// Which runner has which cluster: a pure function that every runner computes for itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cigri::runner {

/// A cluster as the tables show it.
struct LeasedCluster {
  std::int64_t id = 0;
  std::int64_t epoch = 0;   ///< of its last lease
  std::string runner;       ///< the living runner that has it; "" = none
  std::string due_runner;  ///< the living runner that has to have it, "" = any: the one of the home
                           ///< that it belongs to, or one of those that can reach it
  std::string name{};
  bool has_home = false;  ///< without a due runner nobody has it, since others do not reach it
};

struct Share {
  std::vector<LeasedCluster> take;  ///< nobody has them
  std::vector<std::int64_t> give;   ///< this runner has them, and another one should
  bool complete = true;             ///< others still have to give some
};

/// What runner `me` does, one of the `living`, who are in the same order for all. A local
/// cluster is its home's, or nobody's while no runner lives there: after an outage of the database,
/// who comes back first would take the clusters of all. All runners have equally many of the other
/// clusters; the first ones have one more when they cannot.
Share ShareOf(const std::string& me, const std::vector<std::string>& living,
              const std::vector<LeasedCluster>& clusters);

}  // namespace cigri::runner
