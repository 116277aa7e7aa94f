// How a proportional policy divides what there is: a target for each claim, then the giving.
// Internal to src/policy.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// One unit in the division, in slots.
struct Claim {
  Unit unit;
  double weight = 1;
  double usage = 0;  ///< what the policy orders claims by
  double held = 0;   ///< running, or about to
  double queued = 0;    ///< of jobs that wait in queues: they use nothing, and are not sent twice
  bool lasting = true;  ///< once started, a job of it holds its slot long after a queue is empty
  double want = 0;      ///< held + queued + what it could still take
  double target = 0;
  int party = -1;           ///< those of one number share a weight; -1: it has its own
  double party_target = 0;  ///< of all of them together
};

std::vector<Claim> MakeClaims(const AllocationState& alloc, std::vector<Unit> units);

/// Who shares a weight: a name for a campaign.
using PartyKey = std::function<std::string(const CampaignAllocation&)>;
/// Claims of one name are a party. What its other campaigns hold, which are not served now or want
/// nothing more, counts for its claims: else it would get its share again for the next campaign.
/// What scavengers hold, nobody else wanted.
void MakeParties(const AllocationState& alloc, const PartyKey& key, std::vector<Claim>& claims);
/// What all claims hold and what is idle, together: the engines of GRID-16. Places in queues are no
/// slots: who has short jobs needs many of them to keep a slot busy.
double Engines(const AllocationState& alloc, const std::vector<Claim>& claims);
/// Targets by weight, rounded up (GRID-16), never above what a claim wants (GRID-17).
/// What a claim does not want goes to others of its party first.
void SetTargets(double total, std::vector<Claim>& claims);
/// The same for some of them: `total` by their weights, a target each; returns these unrounded.
std::vector<double> DivideTarget(double total, const std::vector<Claim*>& claims);
/// Slots that a claim is to get: those that it has less than its target. What it has in queues
/// counts where places there are given, and where it will hold slots for long.
double Missing(const Claim& claim, bool places);
/// Whether places in queues are given now, no idle slots.
bool GivesPlaces(const AllocationState& alloc);
/// First everybody up to the target, in the order of the claims (GRID-14); then what is left goes
/// round, by weight, until nobody can take more (GRID-19). Places in queues are time: who has long
/// jobs gets fewer of them.
void Give(AllocationState& alloc, std::vector<Claim>& claims);

}  // namespace cigri::policy
