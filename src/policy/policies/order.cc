// Policies that are an order: who comes first takes all it can.
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "policy/policies/policies.h"

namespace cigri::policy {
namespace {

constexpr auto kAll = std::numeric_limits<std::int64_t>::max();

// GRID-20, CIG-34: a cluster is offered to the next only when the first wants no more of it.
class Fifo : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns, Context&) const override {
    for (const auto& unit : MakeUnits(alloc, campaigns)) TakeUnit(alloc, unit, kAll);
  }
};

// CIG-26: affine pairs in the order of campaigns, then the other pairs in the same order.
class Affinity : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns, Context&) const override {
    // Placements come in the order of campaigns, so that each affinity needs no sorting.
    std::map<int, std::vector<int>, std::greater<>> by_affinity;
    auto same = by_affinity.end();  // neighbours are mostly alike
    for (const auto& unit : MakeUnits(alloc, campaigns)) {
      for (const int i : unit.campaigns) {
        const auto& campaign = alloc.campaigns[i];
        if (alloc.Demand(i) <= 0) continue;
        for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
          const int affinity = alloc.placements[l].row->affinity;
          if (same == by_affinity.end() || same->first != affinity)
            same = by_affinity.try_emplace(affinity).first;
          same->second.push_back(l);
        }
      }
    }
    for (const auto& [affinity, placements] : by_affinity)
      for (const int l : placements)
        if (alloc.Take(l, kAll) > 0 && alloc.AllFull()) return;
  }
};

}  // namespace

const Policy& FifoPolicy() {
  static const Fifo policy;
  return policy;
}

const Policy& AffinityPolicy() {
  static const Affinity policy;
  return policy;
}

}  // namespace cigri::policy
