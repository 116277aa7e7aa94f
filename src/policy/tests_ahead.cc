#include "policy/tests_ahead.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "policy/user_due.h"

namespace cigri::policy {
namespace {

constexpr int kMost = 2;  // as rule test-campaigns, for grids that switch it off

// Slots of the jobs that it would be given now, one on each cluster.
double SlotsOf(const AllocationState& alloc, const CampaignAllocation& c) {
  std::int64_t jobs = 0;
  double slots = 0;
  for (int l = c.placements_begin; l < c.placements_end && jobs < c.left; ++l) {
    if (alloc.placements[l].block != Code::kNone) continue;
    ++jobs;
    slots += alloc.placements[l].slots;
  }
  return slots;
}

bool IsNarrow(const AllocationState& alloc, const CampaignAllocation& c) {
  return std::all_of(alloc.placements.begin() + c.placements_begin,
                     alloc.placements.begin() + c.placements_end,
                     [](const auto& placement) { return placement.slots == 1; });
}

}  // namespace

std::vector<bool> TestsAhead(const AllocationState& alloc) {
  std::vector<bool> ahead(alloc.campaigns.size(), false);
  if (!alloc.config.test_first) return ahead;
  struct Tests {
    int n = 0;
    double slots = 0;  // of those that go ahead now
  };
  std::unordered_map<std::string, Tests> tests;
  std::optional<UserDue> due;
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (!c.row->test) continue;
    Tests& of = tests[c.row->user];
    if (++of.n > kMost) continue;
    const double slots = SlotsOf(alloc, c);
    if (!IsNarrow(alloc, c)) {
      if (!due) due.emplace(alloc);
      if (of.slots + slots > due->Left(c) + kEpsilon) continue;
    }
    ahead[i] = true;
    of.slots += slots;
  }
  return ahead;
}

}  // namespace cigri::policy
