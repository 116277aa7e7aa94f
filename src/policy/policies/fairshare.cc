// Fair shares over the tree project > user > campaign (FAIR-12..20), and the simple form.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "policy/fairtree.h"
#include "policy/own_order.h"
#include "policy/policies/claims.h"
#include "policy/policies/common_limits.h"
#include "policy/policies/lags.h"
#include "policy/policies/policies.h"
#include "policy/shares.h"

namespace cigri::policy {
namespace {

class Fairshare : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    auto claims = MakeClaims(alloc, UserUnits(alloc, campaigns));
    MakeParties(
        alloc, [](const auto& c) { return UserKey(c.project, c.row->user); }, claims);
    std::vector<int> heads;
    for (const auto& c : claims) heads.push_back(c.unit.head());
    // What scavengers get, nobody else wanted.
    const bool scavenge = !heads.empty() && alloc.campaigns[heads[0]].row->cls == "scavenger";
    LagKeeper lags(alloc, scavenge ? std::vector<Claim>() : claims, context.next.lags);
    const auto leaves = FairTree(alloc, context.usage_summary, heads,
                                 scavenge ? nullptr : &context.next.lags);
    lags.Begin(claims, leaves);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      claims[i].weight = std::max(1e-12, leaves[i].weight);
      claims[i].usage = leaves[i].order;
    }
    DivideCommonLimits(alloc, claims);
    SetTargets(Engines(alloc, claims), claims);
    std::stable_sort(claims.begin(), claims.end(),
                     [](const Claim& a, const Claim& b) { return a.usage < b.usage; });
    GiveProbes(alloc, claims, context.random);
    GiveOldest(alloc, claims);
    Give(alloc, claims);
    lags.End();
  }

 private:
  // Of each campaign of which none has succeeded one job goes ahead of the user's others, to learn
  // how long it takes, on a quarter of his slots. Of less than four slots: in a quarter of the
  // cases.
  static void GiveProbes(AllocationState& alloc, std::vector<Claim>& claims, Random& random) {
    const bool places = GivesPlaces(alloc);
    for (auto& claim : claims) {
      double running = 0;
      std::vector<int> waiting;
      for (const int i : claim.unit.campaigns) {
        const CampaignAllocation& c = alloc.campaigns[i];
        if (c.own_mean_s <= 0) continue;
        if (c.held_jobs > 0)
          ++running;
        else if (alloc.Demand(i) > 0)
          waiting.push_back(i);
      }
      if (waiting.empty()) continue;
      double more = std::floor(claim.target / 4 + random.Uniform()) - running;
      for (const int i : waiting) {
        if (more < 1 || Missing(claim, places) <= 0) break;
        const double took = TakeUnit(alloc, {{i}}, 1);
        (places ? claim.queued : claim.held) += took;
        if (took > 0) --more;
      }
    }
  }

  // A tenth of what a user is due goes to his oldest campaign: small ones that come without end do
  // not starve a large one.
  static void GiveOldest(AllocationState& alloc, std::vector<Claim>& claims) {
    constexpr double kPart = 0.1;
    const bool places = GivesPlaces(alloc);
    for (auto& claim : claims) {
      const double missing = Missing(claim, places);
      if (claim.unit.campaigns.size() < 2 || claim.target < 2 || missing <= 0) continue;
      const int i = OldestOf(alloc, claim.unit);
      if (i < 0) continue;
      const double due = std::ceil(claim.target * kPart) - alloc.campaigns[i].held_slots;
      if (due <= 0) continue;
      (places ? claim.queued : claim.held) += TakeUnit(alloc, {{i}}, std::min(due, missing));
    }
  }
};

// FAIR-14: P = S - U, the highest takes all it can. For teaching: it does not hold shares
// (FAIR-20).
class FairshareSimple : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    const auto units = MakeUnits(alloc, campaigns);
    std::map<std::string, double> shares;
    for (const auto& unit : units) shares[UserOf(alloc, unit)] = 0;
    for (const auto& [name, share] : alloc.config.users) shares[name] = share.share;
    for (auto& [name, share] : shares)
      if (alloc.config.users.count(name) == 0) share = 1;
    double sum = 0, slots = 0;
    for (const auto& [name, share] : shares) sum += share;
    for (const auto& c : alloc.clusters) slots += c.row->max;
    struct Turn {
      double priority, share;
      const Unit* unit;
    };
    std::vector<Turn> turns;
    for (const auto& unit : units) {
      const double share = shares[UserOf(alloc, unit)] / sum;
      double used = 0;
      if (const auto it = context.usage_summary.days.find(UserOf(alloc, unit));
          it != context.usage_summary.days.end() && slots > 0)
        used = DecayedUse(it->second, alloc.config.simple_decay, alloc.config.simple_days) /
               (slots * 86400);
      const double priority = share - (alloc.config.simple_times_share ? share * used : used);
      turns.push_back({std::round(priority * 1e9) / 1e9, share, &unit});  // a hair is no lead
    }
    // FAIR-19: of equals the greater share.
    std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
      return std::tuple(a.priority, a.share) > std::tuple(b.priority, b.share);
    });
    for (const auto& turn : turns) TakeUnit(alloc, *turn.unit, 1e9);
  }

 private:
  static const std::string& UserOf(const AllocationState& alloc, const Unit& unit) {
    return alloc.campaigns[unit.head()].row->user;
  }
};

}  // namespace

const Policy& FairsharePolicy() {
  static const Fairshare policy;
  return policy;
}

const Policy& FairshareSimplePolicy() {
  static const FairshareSimple policy;
  return policy;
}

}  // namespace cigri::policy
