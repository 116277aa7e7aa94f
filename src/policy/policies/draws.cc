// Policies that deal slots one by one: lottery (TECH-20..26) and stride, its deterministic
// counterpart.
#include "policy/policies/draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "policy/policies/shares.h"

namespace cigri::policy {

Dealer::Dealer(AllocationState& alloc, std::vector<Unit> units)
    : alloc_(alloc),
      units_(std::move(units)),
      at_(alloc.clusters.size()),
      placement_(alloc.campaigns.size()) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (const int i : units_[u].campaigns) {
      const CampaignAllocation& c = alloc_.campaigns[i];
      placement_[i].assign(alloc_.clusters.size(), -1);
      for (int l = c.placements_begin; l < c.placements_end; ++l) {
        const PlacementAllocation& placement = alloc_.placements[l];
        placement_[i][placement.cluster] = l;
        auto& here = at_[placement.cluster];
        const bool open = placement.block == Code::kNone &&
                          alloc_.clusters[placement.cluster].block == Code::kNone;
        const int unit = static_cast<int>(u);
        if (open && (here.empty() || here.back() != unit)) here.push_back(unit);
      }
    }
  }
}

bool Dealer::TakeOne(int u, int cluster) {
  for (const int i : units_[u].campaigns) {
    const int l = placement_[i][cluster];
    if (l < 0 || alloc_.Demand(i) <= 0 || (only_affine_ && HasBetter(i, l))) continue;
    if (alloc_.Take(l, 1) > 0) return true;
  }
  return false;
}

bool Dealer::TakeOneAnywhere(int u) {
  for (const int i : units_[u].campaigns) {
    const CampaignAllocation& c = alloc_.campaigns[i];
    for (int l = c.placements_begin; l < c.placements_end && alloc_.Demand(i) > 0; ++l)
      if (alloc_.Take(l, 1) > 0) return true;
  }
  return false;
}

bool Dealer::HasBetter(int campaign, int placement) const {
  const int affinity = alloc_.placements[placement].row->affinity;
  for (int l = alloc_.campaigns[campaign].placements_begin; l < placement; ++l)
    if (alloc_.placements[l].row->affinity > affinity && alloc_.RoomOf(l).jobs > 0) return true;
  return false;
}

int Dealer::Wants(int u, int cluster) const {
  for (const int i : units_[u].campaigns) {
    const int l = placement_[i][cluster];
    if (l >= 0 && alloc_.Demand(i) > 0 && alloc_.placements[l].left > 0 &&
        alloc_.campaigns[i].left > alloc_.placements[l].avoid)
      return i;
  }
  return -1;
}

namespace {

/// Weights that can be drawn from and set to zero, in O(log n) each (a Fenwick tree).
class Urn {
 public:
  explicit Urn(const std::vector<double>& weights)
      : weight_(weights), tree_(weights.size() + 1, 0), left_(weights.size()) {
    for (std::size_t i = 0; i < weights.size(); ++i) Add(i, weights[i]);
  }
  bool empty() const { return left_ == 0; }
  void Remove(std::size_t i) {
    Add(i, -weight_[i]);
    weight_[i] = 0;
    --left_;
  }
  /// The place where `at` (in [0, 1)) of the weight that is left falls. REQUIRES: !empty().
  std::size_t Draw(double at) const {
    double rest = at * Sum();
    std::size_t place = 0;
    std::size_t step = 1;
    while (step * 2 < tree_.size()) step *= 2;
    for (; step > 0; step /= 2)
      if (place + step < tree_.size() && tree_[place + step] <= rest)
        place += step, rest -= tree_[place];
    // Rounding may end on one that is taken out: its next neighbour then, round the end.
    place = std::min(place, weight_.size() - 1);
    while (weight_[place] <= 0) place = (place + 1) % weight_.size();
    return place;
  }

 private:
  void Add(std::size_t i, double w) {
    for (++i; i < tree_.size(); i += i & (~i + 1)) tree_[i] += w;
  }
  double Sum() const {
    double sum = 0;
    for (std::size_t i = tree_.size() - 1; i > 0; i -= i & (~i + 1)) sum += tree_[i];
    return std::max(0.0, sum);
  }
  std::vector<double> weight_, tree_;
  std::size_t left_;
};

double WeightOf(const AllocationState& alloc, const Unit& unit) {
  const CampaignAllocation& head = alloc.campaigns[unit.head()];
  const auto it = alloc.config.user_weights.find(head.row->user);
  return head.weight * (it == alloc.config.user_weights.end() ? 1 : it->second);
}

// TECH-22, our formula: a rank grows with use, with jobs in flight, with a later creation, and
// falls with the weights of user and priority. Every part is in [0, 1].
std::vector<double> Ranks(const AllocationState& alloc, const std::vector<Unit>& units,
                          const Context& context) {
  const PolicyConfig& config = alloc.config;
  std::vector<double> used(units.size(), 0), held(units.size(), 0), ranks;
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const int i : units[u].campaigns) {
      used[u] += context.usage_summary.window[i];
      held[u] += alloc.campaigns[i].held_slots;
    }
  }
  const double all_used = std::accumulate(used.begin(), used.end(), 0.0);
  const double all_held = std::accumulate(held.begin(), held.end(), 0.0);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const double later = static_cast<double>(u) / static_cast<double>(units.size());
    const double rank = 1 + (all_used > 0 ? config.rank_usage * used[u] / all_used : 0) +
                        (all_held > 0 ? config.rank_running * held[u] / all_held : 0) +
                        config.rank_age * later;
    ranks.push_back(rank / WeightOf(alloc, units[u]));
  }
  return ranks;
}

class Lottery : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    Dealer dealer(alloc, MakeUnits(alloc, campaigns));
    const auto tickets = Tickets(Ranks(alloc, dealer.units(), context));
    if (alloc.affinities) {
      for (Urn urn(std::vector<double>(tickets.begin(), tickets.end())); !urn.empty();) {
        const std::size_t drawn = urn.Draw(context.random.Uniform());
        if (!dealer.TakeOneAnywhere(static_cast<int>(drawn))) urn.Remove(drawn);
      }
      return;
    }
    for (std::size_t k = 0; k < alloc.clusters.size(); ++k) {  // fastest first
      const auto& here = dealer.At(static_cast<int>(k));
      std::vector<double> weights;
      for (const int u : here) weights.push_back(tickets[u]);
      // A finished campaign stays in the urn until it is drawn: it then has nothing to take.
      for (Urn urn(weights); !urn.empty();) {
        const std::size_t drawn = urn.Draw(context.random.Uniform());
        if (!dealer.TakeOne(here[drawn], static_cast<int>(k))) urn.Remove(drawn);
      }
    }
  }
};

class Stride : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    Dealer dealer(alloc, MakeUnits(alloc, campaigns));
    auto passes = Passes(alloc, dealer.units(), context.next);
    if (alloc.affinities) {
      std::vector<int> all(dealer.units().size());
      std::iota(all.begin(), all.end(), 0);
      Deal(alloc, dealer, all, passes, [&](int u) { return dealer.TakeOneAnywhere(u); });
    } else {
      for (int k = 0; k < static_cast<int>(alloc.clusters.size()); ++k)
        Deal(alloc, dealer, dealer.At(k), passes, [&](int u) { return dealer.TakeOne(u, k); });
    }
    Keep(alloc, dealer.units(), passes, context.next);
  }

 private:
  template <typename TakeOne>
  static void Deal(const AllocationState& alloc, const Dealer& dealer,
                   const std::vector<int>& units, std::vector<double>& passes, TakeOne take_one) {
    using Turn = std::pair<double, int>;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (const int u : units) turns.emplace(passes[u], u);
    while (!turns.empty()) {
      const int u = turns.top().second;
      turns.pop();
      if (!take_one(u)) continue;
      passes[u] += 1 / WeightOf(alloc, dealer.units()[u]);
      turns.emplace(passes[u], u);
    }
  }

  // Who is new starts where the foremost of the others waits: no credit for having been away.
  static std::vector<double> Passes(const AllocationState& alloc, const std::vector<Unit>& units,
                                    const State& state) {
    double least = 0;
    bool any = false;
    for (const auto& unit : units) {
      const auto it = state.pass.find(alloc.campaigns[unit.head()].row->id);
      if (it == state.pass.end()) continue;
      least = any ? std::min(least, it->second) : it->second;
      any = true;
    }
    std::vector<double> passes;
    for (const auto& unit : units) {
      const auto it = state.pass.find(alloc.campaigns[unit.head()].row->id);
      passes.push_back(it == state.pass.end() ? 0 : it->second - least);
    }
    return passes;
  }

  static void Keep(const AllocationState& alloc, const std::vector<Unit>& units,
                   const std::vector<double>& passes, State& state) {
    for (std::size_t u = 0; u < units.size(); ++u)
      state.pass[alloc.campaigns[units[u].head()].row->id] = passes[u];
  }
};

}  // namespace

const Policy& LotteryPolicy() {
  static const Lottery policy;
  return policy;
}

const Policy& StridePolicy() {
  static const Stride policy;
  return policy;
}

}  // namespace cigri::policy
