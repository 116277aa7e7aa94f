// Policies by recent usage: usage (GRID-11..19) and sla (GRID-37..45).
#include <algorithm>
#include <map>
#include <unordered_map>

#include "policy/policies/claims.h"
#include "policy/policies/common_limits.h"
#include "policy/policies/policies.h"
#include "policy/shares.h"

namespace cigri::policy {
namespace {

// GRID-18: least usage for its weight first.
void SortByUsage(std::vector<Claim>& claims) {
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim& a, const Claim& b) { return a.usage < b.usage; });
}

// Who shares one weight under `aggregate`, by name.
std::string NameOf(const AllocationState& alloc, const CampaignAllocation& c) {
  switch (alloc.config.aggregate) {
    case Aggregate::kLevel:
      return std::to_string(c.row->priority);
    case Aggregate::kProject:
      return c.project;
    default:
      return c.row->user;
  }
}

// GRID-25: a group gets the weight of one, whoever is in it; its members share that, and what one
// holds counts for all. Under policy sla in each of its groups.
PartyKey PartyOf(const AllocationState& alloc, bool sla) {
  return [&alloc, sla](const CampaignAllocation& c) {
    return (sla ? c.row->sla_group : "") + '\n' + NameOf(alloc, c);
  };
}

void AggregateClaims(const AllocationState& alloc, std::vector<Claim>& claims, bool sla) {
  const auto kind = alloc.config.aggregate;
  if (kind == Aggregate::kNone) return;
  MakeParties(alloc, PartyOf(alloc, sla), claims);
  std::map<int, double> sum;
  for (const auto& c : claims) sum[c.party] += c.weight;
  for (auto& c : claims) {
    const std::string name = NameOf(alloc, alloc.campaigns[c.unit.head()]);
    double group = c.weight;  // of a level: its own weight
    if (kind == Aggregate::kUser) {
      const auto it = alloc.config.user_weights.find(name);
      group = it == alloc.config.user_weights.end() ? 1 : it->second;
    } else if (kind == Aggregate::kProject) {
      const auto it = alloc.config.projects.find(name);
      group = it == alloc.config.projects.end() ? 1 : it->second.share;
    }
    c.weight = group * c.weight / sum[c.party];
  }
}

// What those used who share a weight with a claim, in campaigns that are over or not served now.
void AddUsageElsewhere(const AllocationState& alloc, const UsageSummary& used, bool sla,
                       std::vector<Claim>& claims) {
  if (alloc.config.aggregate == Aggregate::kNone) return;
  const PartyKey key = PartyOf(alloc, sla);
  std::vector<bool> served(alloc.campaigns.size(), false);
  std::map<int, double> weights;
  for (const auto& c : claims) {
    weights[c.party] += c.weight;
    for (const int i : c.unit.campaigns) served[i] = true;
  }
  std::unordered_map<std::string, double> elsewhere;
  for (std::size_t i = 0; i < served.size(); ++i)
    if (!served[i] && used.window[i] > 0 && alloc.campaigns[i].row->cls != "scavenger")
      elsewhere[key(alloc.campaigns[i])] += used.window[i];
  for (auto& c : claims) {
    const CampaignAllocation& head = alloc.campaigns[c.unit.head()];
    const auto part = elsewhere.find(key(head));
    const auto over = used.window_over.find(NameOf(alloc, head));
    c.usage += ((part == elsewhere.end() ? 0 : part->second) +
                (over == used.window_over.end() ? 0 : over->second)) /
               weights[c.party];
  }
}

// GRID-13: who is new counts as if it had had its ideal over the whole window; this fades.
void AddUsage(const AllocationState& alloc, double engines, std::vector<Claim>& claims,
              Context& context) {
  const double window = alloc.config.usage_window_s;
  double weights = 0;
  for (const auto& c : claims) weights += c.weight;
  for (auto& c : claims) {
    for (const int i : c.unit.campaigns) {
      c.usage += context.usage_summary.window[i] / c.weight;
      const auto id = alloc.campaigns[i].row->id;
      // Per weight it is one number for all who come together: equals stay equal, to the bit, and
      // go in order of submission; rounding noise must not choose who is short.
      const double each = window * engines / weights;
      const State::Credit fresh{each * c.weight, alloc.now, each};
      const State::Credit& credit = context.next.credit.try_emplace(id, fresh).first->second;
      const double age = std::max(0.0, alloc.now - credit.since);
      if (window > 0 && i == c.unit.head())
        c.usage += credit.per_weight * std::max(0.0, 1 - age / window);
    }
  }
}

class UsageShares : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    auto claims = MakeClaims(alloc, MakeUnits(alloc, campaigns));
    AggregateClaims(alloc, claims, false);
    const double engines = Engines(alloc, claims);
    AddUsage(alloc, engines, claims, context);
    AddUsageElsewhere(alloc, context.usage_summary, false, claims);
    DivideCommonLimits(alloc, claims);
    SetTargets(engines, claims);
    SortByUsage(claims);
    Give(alloc, claims);
  }
};

class Sla : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    auto claims = MakeClaims(alloc, MakeUnits(alloc, campaigns));
    AggregateClaims(alloc, claims, true);
    const double engines = Engines(alloc, claims);
    AddUsage(alloc, engines, claims, context);
    AddUsageElsewhere(alloc, context.usage_summary, true, claims);
    DivideCommonLimits(alloc, claims);
    const auto targets = GroupTargets(alloc, engines, claims);
    for (const auto& [name, target] : targets) Divide(alloc, name, target, claims);
    SortByUsage(claims);
    Give(alloc, claims);
  }

 private:
  static const std::string& GroupOf(const AllocationState& alloc, const Claim& c) {
    return alloc.campaigns[c.unit.head()].row->sla_group;
  }

  // GRID-41, GRID-43: the numbers first if they all can be had, then the rest in proportion.
  static std::map<std::string, double> GroupTargets(const AllocationState& alloc, double engines,
                                                    const std::vector<Claim>& claims) {
    std::map<std::string, double> want;
    for (const auto& c : claims) want[GroupOf(alloc, c)] += c.want;
    std::vector<std::string> names;
    std::vector<double> numbers, firsts, wants;
    double sum = 0;
    for (const auto& [name, wanted] : want) {
      const double number = alloc.config.sla_groups.at(name);
      const double slots = number < 1 ? number * engines : number;
      names.push_back(name), numbers.push_back(slots), wants.push_back(wanted);
      firsts.push_back(std::min(slots, wanted));
      sum += firsts.back();
    }
    const bool enough = sum <= engines + 1e-9;
    if (!enough) std::fill(firsts.begin(), firsts.end(), 0.0), sum = 0;
    std::vector<double> rest;
    for (std::size_t g = 0; g < names.size(); ++g) rest.push_back(wants[g] - firsts[g]);
    const auto more = WaterFill(engines - sum, numbers, rest);
    std::map<std::string, double> targets;
    for (std::size_t g = 0; g < names.size(); ++g)
      targets[names[g]] = RoundUp(firsts[g]) + RoundUp(more[g]);
    return targets;
  }

  static void Divide(const AllocationState& alloc, const std::string& name, double target,
                     std::vector<Claim>& claims) {
    std::vector<Claim*> members;
    for (auto& c : claims)
      if (GroupOf(alloc, c) == name) members.push_back(&c);
    const auto ideals = DivideTarget(target, members);
    // The rest goes round by the groups' numbers too: a group's weight is what it is to get.
    for (std::size_t i = 0; i < members.size(); ++i) {
      members[i]->weight = std::max(1e-9, ideals[i]);
    }
  }
};

}  // namespace

const Policy& UsagePolicy() {
  static const UsageShares policy;
  return policy;
}

const Policy& SlaPolicy() {
  static const Sla policy;
  return policy;
}

}  // namespace cigri::policy
