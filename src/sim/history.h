// The grid's own past (GET /admin/plans/history) as a scenario, and its decisions taken again.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cigri::sim {

/// The text of a scenario: clusters and policy as the first snapshot of the answer has them, its
/// campaigns with what they have in flight and waiting, and those that come in later snapshots at
/// their time. `notes` lists what had to be assumed. Throws std::invalid_argument when the
/// answer holds no snapshot, or is none.
std::string ScenarioOf(const nlohmann::json& answer, std::vector<std::string>& notes);

struct Replayed {
  std::int64_t id = 0;
  double at = 0;
  bool same = false;
  std::string difference{};  ///< where the plans differ, "" = nowhere
};
/// Takes each stored decision again, from its snapshot, state, time and seed.
std::vector<Replayed> Replay(const nlohmann::json& answer);

}  // namespace cigri::sim
