// Looks before a campaign is given anything on a cluster: too fast to be true, or better elsewhere.
#pragma once
#include "policy/allocation_state.h"

namespace cigri::policy {

/// What becomes of the slot time of jobs that need `need_s` where kills come at random, one in
/// `life_s` (0 = never): the part that is not lost, 1 for short jobs.
double Yield(double need_s, double life_s);
/// Kills of one cluster within so long are one burst: one observation, however many jobs it took.
inline constexpr double kBurstS = 60;
/// Jobs of the campaign are killed there before they can end: `survival.kills` bursts without a
/// success between them, and half of all our jobs live there for a shorter time than one needs.
/// Until one succeeds, only one job at a time goes there.
bool OnlyProbes(const PolicyConfig& config, const Campaign& campaign, const Placement& placement);
/// When the next probe may go: minutes after the last burst, twice as long after each other one.
double NextProbe(const PolicyConfig& config, const Placement& placement);

/// How many more jobs of a campaign may go to a cluster before its first success there:
/// `canary_jobs` in all, and one more for each minute that those there have run. What does not work
/// there fails early. While `shared` by several users, multi-slot jobs take only so many slots (one
/// job always goes): more would be the due of others, of whom few jobs are tried, too.
std::int64_t CanaryJobsLeft(const PolicyConfig& config, const Placement& placement, double now,
                            bool shared);

/// Successes in a row that are looked at before a campaign's placement is called a black hole; 0 =
/// never.
int BlackHoleCount(const PolicyConfig& config, const Campaign& campaign);
/// CIG-11: holds a campaign where its jobs end much faster than elsewhere; adds to plan and state.
void HoldBlackHoles(AllocationState& alloc, PlanResult& result);
/// GRID-23: closes clusters without its data to a campaign that waits for one that has it.
void WaitForAffinity(AllocationState& alloc);

}  // namespace cigri::policy
