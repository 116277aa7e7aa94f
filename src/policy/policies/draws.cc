// Policies that deal slots one by one: lottery (TECH-20..26) and stride, its deterministic
// counterpart.
#include "policy/policies/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>

#include "policy/shares.h"

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

double Of(const std::map<std::string, double>& weights, const std::string& name) {
  const auto it = weights.find(name);
  return it == weights.end() ? 1 : it->second;
}

constexpr int kAnywhere = -1;  // in place of a cluster

/// Who draws: units that share one weight (GRID-25), so that many campaigns draw no more than one.
/// Within a party the campaign with the fewest jobs for its weight takes.
class Parties {
 public:
  Parties(AllocationState& alloc, Dealer& dealer) : alloc_(alloc), dealer_(dealer) {
    for (std::size_t u = 0; u < dealer.units().size(); ++u) {
      const CampaignAllocation& head = alloc.campaigns[dealer.units()[u].head()];
      const auto key = alloc.config.aggregate == Aggregate::kNone ? std::to_string(u) : Key(head);
      const auto [it, fresh] = index_.try_emplace(key, static_cast<int>(parties_.size()));
      if (fresh) parties_.push_back({{}, WeightOf(head)});
      parties_[it->second].units.push_back(static_cast<int>(u));
      of_unit_.push_back(it->second);
    }
  }

  std::size_t size() const { return parties_.size(); }
  /// The party that a campaign counts for which is not served now, -1 = none.
  int PartyOf(const CampaignAllocation& c) const {
    if (alloc_.config.aggregate == Aggregate::kNone) return -1;
    const auto it = index_.find(Key(c));
    return it == index_.end() ? -1 : it->second;
  }
  const std::vector<int>& units(std::size_t p) const { return parties_[p].units; }
  double weight(std::size_t p) const { return parties_[p].weight; }

  /// By campaigns that are over.
  double UsedBefore(std::size_t p, const UsageSummary& used) const {
    const CampaignAllocation& c = alloc_.campaigns[dealer_.units()[parties_[p].units[0]].head()];
    const auto it = used.window_over.find(Key(c));
    return alloc_.config.aggregate == Aggregate::kNone || it == used.window_over.end() ? 0
                                                                                       : it->second;
  }

  /// Those that may take on a cluster, or kAnywhere, which is dealt from now on.
  std::vector<int> Open(int cluster) {
    cluster_ = cluster;
    std::vector<int> here, all(dealer_.units().size());
    std::iota(all.begin(), all.end(), 0);
    turns_.assign(parties_.size(), {});
    for (const int u : cluster == kAnywhere ? all : dealer_.At(cluster)) {
      const int p = of_unit_[u];
      if (turns_[p].empty()) here.push_back(p);
      turns_[p].emplace(Load(u), u);
    }
    return here;
  }
  /// One job for party p there; false when it can take none.
  bool TakeOne(int p) {
    auto& turns = turns_[p];
    while (!turns.empty()) {
      const int u = turns.top().second;
      turns.pop();
      const bool took =
          cluster_ == kAnywhere ? dealer_.TakeOneAnywhere(u) : dealer_.TakeOne(u, cluster_);
      if (!took) continue;
      turns.emplace(Load(u), u);
      return true;
    }
    return false;
  }

 private:
  using Turn = std::pair<double, int>;  // load, unit
  struct Party {
    std::vector<int> units;
    double weight;
  };

  std::string Key(const CampaignAllocation& c) const {
    if (alloc_.config.aggregate == Aggregate::kLevel) return std::to_string(c.row->priority);
    return alloc_.config.aggregate == Aggregate::kUser ? c.row->user : c.project;
  }
  double WeightOf(const CampaignAllocation& c) const {
    const PolicyConfig& config = alloc_.config;
    if (config.aggregate == Aggregate::kUser) return Of(config.user_weights, c.row->user);
    if (config.aggregate == Aggregate::kNone)
      return c.weight * Of(config.user_weights, c.row->user);
    if (config.aggregate == Aggregate::kLevel) return c.weight;
    const auto it = config.projects.find(c.project);
    return it == config.projects.end() ? 1 : it->second.share;
  }
  double Load(int u) const {
    double jobs = 0;
    for (const int i : dealer_.units()[u].campaigns) jobs += double(alloc_.campaigns[i].held_jobs);
    return jobs / std::max(1e-9, alloc_.campaigns[dealer_.units()[u].head()].weight);
  }

  AllocationState& alloc_;
  Dealer& dealer_;
  std::vector<Party> parties_;
  std::map<std::string, int> index_;
  std::vector<int> of_unit_;
  int cluster_ = 0;
  std::vector<std::priority_queue<Turn, std::vector<Turn>, std::greater<>>> turns_;
};

// What a campaign holds: a fast slot is more than a slow one.
double PowerHeld(const AllocationState& alloc, const CampaignAllocation& c) {
  double power = 0;
  for (int l = c.placements_begin; l < c.placements_end; ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    const int jobs = placement.row->in_flight + placement.given + placement.copies;
    power += double(jobs) * placement.slots * alloc.clusters[placement.cluster].row->speed;
  }
  return power;
}

// TECH-22, our formula: a rank grows with use, with jobs in flight and the speed of what they hold,
// with a later creation, and falls with the weights of user and priority. Every part is in [0, 1].
std::vector<LotteryRank> Ranks(const AllocationState& alloc, const Dealer& dealer,
                               const Parties& parties, const UsageSummary& usage_summary) {
  const PolicyConfig& config = alloc.config;
  std::vector<LotteryRank> ranks(parties.size());
  double all_used = 0, all_held = 0;
  std::vector<int> party_of(alloc.campaigns.size(), -1);
  for (std::size_t p = 0; p < parties.size(); ++p)
    for (const int u : parties.units(p))
      for (const int i : dealer.units()[u].campaigns) party_of[i] = static_cast<int>(p);
  // What it holds in campaigns that want nothing more counts too, and what it used in those that
  // are over: else a new campaign draws as if its user had nothing.
  for (std::size_t i = 0; i < party_of.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    const bool elsewhere = party_of[i] < 0 && c.row->cls != "scavenger";
    const int p = elsewhere ? parties.PartyOf(c) : party_of[i];
    if (p < 0) continue;
    ranks[p].used += usage_summary.window[i];
    ranks[p].held += PowerHeld(alloc, c);
  }
  for (std::size_t p = 0; p < parties.size(); ++p) {
    ranks[p].used += parties.UsedBefore(p, usage_summary);
    all_used += ranks[p].used, all_held += ranks[p].held;
  }
  for (std::size_t p = 0; p < parties.size(); ++p) {
    auto& r = ranks[p];
    const double later = static_cast<double>(p) / static_cast<double>(parties.size());
    r.used = all_used > 0 ? r.used / all_used : 0;
    r.held = all_held > 0 ? r.held / all_held : 0;
    r.rank = (1 + config.rank_usage * r.used + config.rank_running * r.held +
              config.rank_age * later) /
             parties.weight(p);
  }
  return ranks;
}

/// Clusters are dealt one after the other, the fastest first; with affinities all at once.
std::vector<int> Rounds(const AllocationState& alloc) {
  std::vector<int> clusters(alloc.affinities ? 1 : alloc.clusters.size());
  std::iota(clusters.begin(), clusters.end(), alloc.affinities ? kAnywhere : 0);
  return clusters;
}

class Lottery : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    Dealer dealer(alloc, MakeUnits(alloc, campaigns));
    Parties parties(alloc, dealer);
    std::vector<double> ranks;
    for (const auto& r : Ranks(alloc, dealer, parties, context.usage_summary))
      ranks.push_back(r.rank);
    const auto tickets = Tickets(ranks);
    for (const int cluster : Rounds(alloc)) {
      const auto here = parties.Open(cluster);
      std::vector<double> weights;
      for (const int p : here) weights.push_back(tickets[p]);
      // A finished campaign stays in the urn until it is drawn: it then has nothing to take.
      for (Urn urn(weights); !urn.empty();) {
        const std::size_t drawn = urn.Draw(context.random.Uniform());
        if (!parties.TakeOne(here[drawn])) urn.Remove(drawn);
      }
    }
  }
};

class Stride : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    Dealer dealer(alloc, MakeUnits(alloc, campaigns));
    Parties parties(alloc, dealer);
    auto passes = Passes(alloc, dealer, parties, context.next);
    for (const int cluster : Rounds(alloc)) {
      using Turn = std::pair<double, int>;
      std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
      for (const int p : parties.Open(cluster)) turns.emplace(passes[p], p);
      while (!turns.empty()) {
        const int p = turns.top().second;
        turns.pop();
        if (!parties.TakeOne(p)) continue;
        passes[p] += 1 / parties.weight(p);
        turns.emplace(passes[p], p);
      }
    }
    for (std::size_t p = 0; p < parties.size(); ++p)
      for (const int u : parties.units(p))
        context.next.pass[alloc.campaigns[dealer.units()[u].head()].row->id] = passes[p];
  }

 private:
  // Who is new starts where the foremost of the others waits: no credit for having been away. A
  // new campaign of a party starts where the party is.
  static std::vector<double> Passes(const AllocationState& alloc, const Dealer& dealer,
                                    const Parties& parties, const State& state) {
    std::vector<double> passes;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < parties.size(); ++p) {
      double pass = -std::numeric_limits<double>::infinity();
      for (const int u : parties.units(p)) {
        const auto it = state.pass.find(alloc.campaigns[dealer.units()[u].head()].row->id);
        if (it != state.pass.end()) pass = std::max(pass, it->second);
      }
      passes.push_back(pass);
      if (std::isfinite(pass)) least = std::min(least, pass);
    }
    for (double& pass : passes) pass = std::isfinite(pass) ? pass - least : 0;
    return passes;
  }
};

}  // namespace

std::vector<LotteryRank> LotteryRanks(AllocationState alloc, const UsageSummary& usage_summary) {
  std::vector<int> campaigns;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i)
    if (const auto& c = alloc.campaigns[i]; c.in_play && c.left + c.overdue > 0)
      campaigns.push_back(static_cast<int>(i));
  Dealer dealer(alloc, MakeUnits(alloc, campaigns));
  const Parties parties(alloc, dealer);
  const auto ranks = Ranks(alloc, dealer, parties, usage_summary);
  std::vector<LotteryRank> out(alloc.campaigns.size());
  for (std::size_t p = 0; p < parties.size(); ++p)
    for (const int u : parties.units(p))
      for (const int i : dealer.units()[u].campaigns) out[i] = ranks[p];
  return out;
}

const Policy& LotteryPolicy() {
  static const Lottery policy;
  return policy;
}

const Policy& StridePolicy() {
  static const Stride policy;
  return policy;
}

}  // namespace cigri::policy
