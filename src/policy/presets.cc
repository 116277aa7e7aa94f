#include "policy/config.h"

namespace cigri::policy {

const std::vector<Preset>& Presets() {
  using nlohmann::json;
  static const std::vector<Preset> presets = {
      {"site-default",
       "fair shares between users, the first results of every user first",
       {{"policy", "fairshare"}, {"first_results", 10}, {"aggregate", "user"}}},
      {"cigri-classic",
       "as CiGri 3: campaigns in order of submission, affine pairs of user and cluster first",
       {{"policy", "affinity"}}},
      {"departments",
       "a site whose sponsors own parts of it: shares by project and user, three campaigns of a "
       "user at once, multi-slot jobs protected",
       {{"policy", "fairshare"},
        {"aggregate", "project"},
        {"first_results", 5},
        {"parallel_campaigns", 3},
        {"multi_slot.age", 20},
        {"black_hole.count", 20}}},
      {"deadline-desk",
       "operators set priorities that are obeyed strictly, urgent work may take a quarter of the "
       "grid, scavengers fill the rest and give way",
       {{"policy", "usage"},
        {"strict_priority", true},
        {"user_priority", 4},
        {"urgent.percent", 25},
        {"scavenger.preempt", true},
        {"first_results", 5}}},
      {"teaching",
       "many small users: equal parts of the slots, one campaign of each after the other, starts "
       "spread out",
       {{"policy", "fairshare"},
        {"first_results", 3},
        {"start_rates", json::array({{{"scope", "user"}, {"per_minute", 600}, {"burst", 200}}})}}},
  };
  return presets;
}

}  // namespace cigri::policy
