// Policies that are an order: who comes first takes all it can.
#include <algorithm>
#include <limits>
#include <tuple>

#include "policy/policy.h"

namespace cigri::policy {

std::int64_t TakeUnit(Ledger& ledger, const Unit& unit, std::int64_t want) {
  std::int64_t given = 0;
  for (const int i : unit.campaigns) {
    const CampaignBook& campaign = ledger.campaigns[i];
    for (int l = campaign.lanes_begin; l < campaign.lanes_end && given < want; ++l) {
      if (ledger.Demand(i) <= 0) break;
      given += ledger.Take(l, want - given);
    }
  }
  return given;
}

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
    struct Pair {
      int affinity, unit, lane;
    };
    std::vector<Pair> pairs;
    const auto units = MakeUnits(ledger, campaigns);
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (const int i : units[u].campaigns) {
        if (ledger.Demand(i) <= 0) continue;
        const auto& campaign = ledger.campaigns[i];
        for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l)
          pairs.push_back({ledger.lanes[l].row->affinity, static_cast<int>(u), l});
      }
    }
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return std::tuple(-a.affinity, a.unit, a.lane) < std::tuple(-b.affinity, b.unit, b.lane);
    });
    for (const auto& pair : pairs) ledger.Take(pair.lane, kAll);
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
