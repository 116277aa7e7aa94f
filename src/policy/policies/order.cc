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
  void Serve(Ledger& ledger, const std::vector<int>& campaigns, Context&) const override {
    for (const auto& unit : MakeUnits(ledger, campaigns)) TakeUnit(ledger, unit, kAll);
  }
};

// CIG-26: affine pairs in the order of campaigns, then the other pairs in the same order.
class Affinity : public Policy {
 public:
  void Serve(Ledger& ledger, const std::vector<int>& campaigns, Context&) const override {
    // Lanes come in the order of campaigns, so that each affinity needs no sorting.
    std::map<int, std::vector<int>, std::greater<>> by_affinity;
    auto same = by_affinity.end();  // neighbours are mostly alike
    for (const auto& unit : MakeUnits(ledger, campaigns)) {
      for (const int i : unit.campaigns) {
        const auto& campaign = ledger.campaigns[i];
        if (ledger.Demand(i) <= 0) continue;
        for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) {
          const int affinity = ledger.lanes[l].row->affinity;
          if (same == by_affinity.end() || same->first != affinity)
            same = by_affinity.try_emplace(affinity).first;
          same->second.push_back(l);
        }
      }
    }
    for (const auto& [affinity, lanes] : by_affinity)
      for (const int l : lanes)
        if (ledger.Take(l, kAll) > 0 && ledger.AllFull()) return;
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
