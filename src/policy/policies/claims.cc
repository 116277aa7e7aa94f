#include "policy/policies/claims.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "policy/policy.h"
#include "policy/shares.h"

namespace cigri::policy {
namespace {

bool NeedsSeveral(const AllocationState& alloc, int l) {
  const PlacementAllocation& placement = alloc.placements[l];
  return placement.slots > 1 || !alloc.campaigns[placement.campaign].row->licences.empty();
}

// What a limit of slots or a licence pool has left is kept until it is enough for a job of the unit
// below its target that goes first of all that draw from it: one that needs several would wait for
// as long as others that need fewer have work.
class RoomKeeper {
 public:
  RoomKeeper(AllocationState& alloc, const std::vector<Claim>& claims)
      : alloc_(alloc), claims_(claims) {}
  void Keep(std::size_t claim) {
    for (const int i : claims_[claim].unit.campaigns)
      if (alloc_.Demand(i) > 0 && KeepFor(claim, i)) return;
  }

 private:
  // On the cluster where most of what a job needs is there already.
  bool KeepFor(std::size_t claim, int campaign) {
    const CampaignAllocation& c = alloc_.campaigns[campaign];
    std::vector<AllocationState::Part> best;
    double most = -1;
    for (int l = c.placements_begin; l < c.placements_end && NeedsSeveral(alloc_, l); ++l) {
      auto parts = alloc_.ToKeep(l, alloc_.RoomOf(l));
      if (parts.empty()) continue;
      Pass(claim);
      double least = std::numeric_limits<double>::max();
      for (const auto& part : parts)
        least = passed_[part.meter] ? -1 : std::min(least, part.amount);
      if (least > most) most = least, best = std::move(parts);
    }
    for (const auto& part : best) alloc_.meters[part.meter].Keep(part.amount);
    return most > 0;
  }

  // Notes the limits that claims before this one draw from.
  void Pass(std::size_t claim) {
    passed_.resize(alloc_.meters.size());
    for (; next_ < claim; ++next_)
      for (const int i : claims_[next_].unit.campaigns) {
        const CampaignAllocation& c = alloc_.campaigns[i];
        if (alloc_.Demand(i) <= 0) continue;
        for (int l = c.placements_begin; l < c.placements_end; ++l)
          alloc_.EachUse(alloc_.placements[l],
                         [&](const MeterUse& use) { passed_[use.meter] = true; });
      }
  }

  AllocationState& alloc_;
  const std::vector<Claim>& claims_;
  std::vector<bool> passed_{};  // of each meter
  std::size_t next_ = 0;
};

// What a unit could still take anywhere, in slots; one job more where a limit has not enough left.
double Reach(const AllocationState& alloc, const Unit& unit) {
  double slots = 0;
  for (const int i : unit.campaigns) {
    const CampaignAllocation& c = alloc.campaigns[i];
    std::int64_t jobs = 0;
    const std::int64_t demand = alloc.Demand(i);
    double mine = 0;
    int lacking = -1;
    for (int l = c.placements_begin; l < c.placements_end && jobs < demand; ++l) {
      if (alloc.clusters[alloc.placements[l].cluster].Full()) continue;
      const Room room = alloc.RoomOf(l);
      const std::int64_t n = std::min(room.jobs, demand - jobs);
      jobs += n;
      mine += static_cast<double>(n) * alloc.placements[l].slots;
      if (NeedsSeveral(alloc, l) && !alloc.ToKeep(l, room).empty()) lacking = l;
    }
    if (jobs == 0 && lacking >= 0) mine = alloc.placements[lacking].slots;
    slots += mine;
  }
  return slots;
}

std::vector<Claim*> Pointers(std::vector<Claim>& claims) {
  std::vector<Claim*> pointers;
  for (auto& c : claims) pointers.push_back(&c);
  return pointers;
}

// By party, or claim that has none: places in `claims`.
std::vector<std::vector<std::size_t>> PartiesOf(const std::vector<Claim*>& claims) {
  std::vector<std::vector<std::size_t>> parties;
  std::unordered_map<int, std::size_t> index;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const bool alone = claims[i]->party < 0;
    const auto place =
        alone ? parties.size() : index.try_emplace(claims[i]->party, parties.size()).first->second;
    if (place == parties.size()) parties.emplace_back();
    parties[place].push_back(i);
  }
  return parties;
}

// A queue lasts some seconds: jobs of it that take much longer will soon hold slots for long.
constexpr double kLastingS = 60;

// Whether its jobs take places in a queue anywhere.
bool Queues(const AllocationState& alloc, const CampaignAllocation& c) {
  for (int l = c.placements_begin; l < c.placements_end; ++l)
    if (!alloc.WaitsInGrid(alloc.placements[l])) return true;
  return false;
}

// How long the next job of a claim takes, 0 = not known, and its slots; 0: it wants none.
std::pair<double, int> NextJob(const AllocationState& alloc, const Claim& claim) {
  for (const int i : claim.unit.campaigns) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (alloc.Demand(i) > 0 && Queues(alloc, c))
      return {std::max(MeanOf(*c.row), AsLongAsItRan(c)),
              alloc.placements[c.placements_begin].slots};
  }
  return {0, 0};
}

/// A claim that may have more places. Whose jobs wait starts in the slots that end next, whosever
/// they are: each gets its part of the time that a queue lasts, so that all ends of short jobs are
/// followed by short ones.
struct Waiter {
  Claim* claim;
  double length = 0;
  int slots = 1;
  double time() const { return claim->queued * length; }  // of a slot
  double after_one() const { return (time() + slots * length / 2) / claim->weight; }
};

std::vector<Waiter> MakeWaiters(const AllocationState& alloc, std::vector<Claim>& claims) {
  std::vector<Waiter> waiters;
  double longest = 0;
  for (auto& c : claims) {
    const auto [length, slots] = NextJob(alloc, c);
    if (slots == 0) continue;
    longest = std::max(longest, length);
    waiters.push_back({&c, length, slots});
  }
  // Of what is not known the worst.
  for (auto& w : waiters)
    if (w.length <= 0) w.length = longest > 0 ? longest : 1;
  return waiters;
}

bool TakePlaces(AllocationState& alloc, Waiter& waiter, double slots) {
  const double took = TakeUnit(alloc, waiter.claim->unit, slots);
  waiter.claim->queued += took;
  return took >= slots;
}

// Each its part of the time that is left, in whole jobs, as long as that is a job of somebody.
void GiveParts(AllocationState& alloc, std::vector<Waiter>& waiters) {
  for (bool any = true; any && !waiters.empty() && !alloc.AllFull();) {
    double shortest = waiters.front().length, weights = 0, time = 0;
    for (const auto& w : waiters) {
      shortest = std::min(shortest, w.length);
      weights += w.claim->weight;
      time += w.time();
    }
    time += alloc.TotalRoom() * shortest;
    any = false;
    std::erase_if(waiters, [&](Waiter& w) {
      const double due = (time * w.claim->weight / weights - w.time()) / w.length;
      const double ask = std::floor(due / w.slots + kEpsilon) * w.slots;
      if (ask < 1) return false;
      any = true;
      return !TakePlaces(alloc, w, ask);
    });
  }
}

void GivePlaces(AllocationState& alloc, std::vector<Claim>& claims) {
  auto waiters = MakeWaiters(alloc, claims);
  GiveParts(alloc, waiters);
  // The rest one by one: who would wait least goes next, of equals the first claim.
  using Turn = std::pair<double, std::size_t>;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  for (std::size_t i = 0; i < waiters.size(); ++i) turns.emplace(waiters[i].after_one(), i);
  while (!turns.empty() && !alloc.AllFull()) {
    const std::size_t i = turns.top().second;
    Waiter& w = waiters[i];
    turns.pop();
    if (TakePlaces(alloc, w, w.slots)) turns.emplace(w.after_one(), i);
  }
}

}  // namespace

std::vector<Claim> MakeClaims(const AllocationState& alloc, std::vector<Unit> units) {
  std::vector<Claim> claims;
  claims.reserve(units.size());
  for (auto& unit : units) {
    const CampaignAllocation& head = alloc.campaigns[unit.head()];
    Claim claim{.unit = std::move(unit), .weight = head.weight};
    for (const int i : claim.unit.campaigns) {
      claim.held += alloc.campaigns[i].used_slots();
      claim.queued += alloc.campaigns[i].queued_slots;
    }
    claim.want = claim.held + claim.queued + Reach(alloc, claim.unit);
    const double length = NextJob(alloc, claim).first;
    claim.lasting = length <= 0 || length >= kLastingS;
    claims.push_back(std::move(claim));
  }
  return claims;
}

void MakeParties(const AllocationState& alloc, const PartyKey& key, std::vector<Claim>& claims) {
  struct Party {
    int number = 0;
    double weight = 0, held = 0, queued = 0;
  };
  std::unordered_map<std::string, Party> parties;
  std::vector<bool> served(alloc.campaigns.size(), false);
  std::vector<Party*> of_claim;
  for (auto& claim : claims) {
    const auto [it, fresh] = parties.try_emplace(key(alloc.campaigns[claim.unit.head()]));
    Party& party = it->second;
    if (fresh) party.number = static_cast<int>(parties.size()) - 1;
    claim.party = party.number;
    party.weight += claim.weight;
    of_claim.push_back(&party);
    for (const int i : claim.unit.campaigns) served[i] = true;
  }
  for (std::size_t i = 0; i < served.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (served[i] || c.held_slots <= 0 || c.row->cls == "scavenger") continue;
    const auto it = parties.find(key(c));
    if (it == parties.end()) continue;
    it->second.held += c.used_slots();
    it->second.queued += c.queued_slots;
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Claim& claim = claims[i];
    if (alloc.campaigns[claim.unit.head()].row->cls == "scavenger") continue;
    const Party& party = *of_claim[i];
    const double part = claim.weight / party.weight;
    claim.held += part * party.held;
    claim.queued += part * party.queued;
    claim.want += part * (party.held + party.queued);
  }
}

double Engines(const AllocationState& alloc, const std::vector<Claim>& claims) {
  double total = 0;
  for (const auto& c : alloc.clusters)
    if (c.block == Code::kNone) total += c.Idle();
  for (const auto& claim : claims) total += claim.held;
  return total;
}

std::vector<double> DivideTarget(double total, const std::vector<Claim*>& claims) {
  const auto parties = PartiesOf(claims);
  std::vector<double> weights, caps;
  for (const auto& party : parties) {
    weights.push_back(0), caps.push_back(0);
    for (const auto i : party) weights.back() += claims[i]->weight, caps.back() += claims[i]->want;
  }
  const auto of_parties = WaterFill(total, weights, caps);
  std::vector<double> ideals(claims.size());
  for (std::size_t p = 0; p < parties.size(); ++p) {
    weights.clear(), caps.clear();
    for (const auto i : parties[p])
      weights.push_back(claims[i]->weight), caps.push_back(claims[i]->want);
    const auto own = parties[p].size() == 1 ? std::vector<double>{of_parties[p]}
                                            : WaterFill(of_parties[p], weights, caps);
    for (std::size_t k = 0; k < own.size(); ++k) {
      ideals[parties[p][k]] = own[k];
      claims[parties[p][k]]->target = RoundUp(own[k]);
      claims[parties[p][k]]->party_target = RoundUp(of_parties[p]);
    }
  }
  return ideals;
}

void SetTargets(double total, std::vector<Claim>& claims) { DivideTarget(total, Pointers(claims)); }

bool GivesPlaces(const AllocationState& alloc) { return !alloc.whole_slots; }

double Missing(const Claim& claim, bool places) {
  return claim.target - claim.held - (places || claim.lasting ? claim.queued : 0);
}

void Give(AllocationState& alloc, std::vector<Claim>& claims) {
  const bool places = GivesPlaces(alloc);
  // A campaign of a party below its target gets nothing for it while another has as much more.
  const auto parties = PartiesOf(Pointers(claims));
  std::vector<double> left(parties.size());
  std::vector<std::size_t> party_of(claims.size());
  for (std::size_t p = 0; p < parties.size(); ++p) {
    left[p] = claims[parties[p].front()].party_target;
    for (const auto i : parties[p])
      left[p] += Missing(claims[i], places) - claims[i].target, party_of[i] = p;
  }
  RoomKeeper keeper(alloc, claims);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Claim& c = claims[i];
    double& of_party = left[party_of[i]];
    const double missing = std::min(Missing(c, places), of_party);
    if (missing <= kEpsilon) continue;
    const double took = TakeUnit(alloc, c.unit, missing);
    (places ? c.queued : c.held) += took;
    of_party -= took;
    if (took < missing) keeper.Keep(i);
  }
  if (places) return GivePlaces(alloc, claims);
  std::vector<Claim*> hungry;
  for (auto& c : claims) hungry.push_back(&c);
  // A limit may leave less than is idle: in small parts, so that the first one does not take it
  // all.
  const double parts = alloc.meters.empty() && alloc.classes.empty() ? 1 : 8;
  while (!hungry.empty()) {
    const double room = alloc.TotalRoom();
    double weights = 0;
    for (const auto* c : hungry) weights += c->weight;
    std::erase_if(hungry, [&](Claim* c) {
      const double ask = std::max(1.0, RoundUp(room * c->weight / weights / parts));
      return TakeUnit(alloc, c->unit, ask) < ask;
    });
  }
}

}  // namespace cigri::policy
