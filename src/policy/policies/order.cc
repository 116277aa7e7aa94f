// Policies that are an order: who comes first takes all it can.
#include <algorithm>
#include <limits>
#include <vector>

#include "policy/policies/policies.h"

namespace cigri::policy {
namespace {

constexpr std::int64_t kAll = 1'000'000'000;

// GRID-20, CIG-34: a cluster is offered to the next only when the first wants no more of it.
class Fifo : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns, Context&) const override {
    for (const auto& unit : MakeUnits(alloc, campaigns)) TakeUnit(alloc, unit, kAll);
  }
};

// CIG-26: affine pairs in the order of campaigns, then the other pairs in the same order. Each
// campaign has its most affine placements first, so it needs only a mark of how far it is.
class Affinity : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns, Context&) const override {
    std::vector<Turn> turns;
    for (const auto& unit : MakeUnits(alloc, campaigns))
      for (const int i : unit.campaigns)
        if (const auto& c = alloc.campaigns[i]; c.placements_begin < c.placements_end)
          turns.push_back({i, c.placements_begin, c.placements_end});
    while (!turns.empty() && !alloc.AllFull()) {
      const auto first =
          std::max_element(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
            return AffinityOf(alloc, a) < AffinityOf(alloc, b);
          });
      ServeLevel(alloc, AffinityOf(alloc, *first), turns);
      std::erase_if(
          turns, [&](const Turn& t) { return t.next == t.end || alloc.Demand(t.campaign) <= 0; });
    }
  }

 private:
  struct Turn {
    int campaign, next, end;  // places in the allocation state
  };

  static int AffinityOf(const AllocationState& alloc, const Turn& turn) {
    return alloc.placements[turn.next].row->affinity;
  }

  static void ServeLevel(AllocationState& alloc, int level, std::vector<Turn>& turns) {
    for (auto& turn : turns)
      for (; turn.next < turn.end && alloc.Demand(turn.campaign) > 0 &&
             AffinityOf(alloc, turn) == level;
           ++turn.next)
        if (alloc.Take(turn.next, kAll) > 0 && alloc.AllFull()) return;
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
