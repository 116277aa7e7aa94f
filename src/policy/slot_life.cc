#include "policy/slot_life.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/guard.h"

namespace cigri::policy {
namespace {

constexpr int kParts = 32;               // of a cluster, each counted alone
constexpr double kHalfLifeS = 4 * 3600;  // users of clusters have their hours
// A start is unsafe when it would be killed more often than once in three times.
constexpr double kMostKills = 1.0 / 3;
// Unsafe slots are given up where they would do no more than so many times the work that a
// campaign's safe ones do: a few safe slots must not keep it from a large cluster.
constexpr double kMostGivenUp = 2;
// Who holds less of his part than this waits for no safe slots, which others may hold for long.
constexpr double kLeastPart = 0.5;

// A task waits for safe slots so many times as long as it needs, and so long after a kill: where
// they never come, at most a fifth of the time is spent in vain.
constexpr double kPatience = 4;

double NextTry(const Campaign& c, const Placement& p, double need) {
  return std::max(c.waiting_since, p.killed_at) + kPatience * need;
}

double Part(int max, int i) { return static_cast<double>(max) * (i + 1) / kParts; }

std::vector<SlotLives> LivesOf(const AllocationState& alloc, const State& state) {
  std::vector<SlotLives> lives;
  for (const auto& c : alloc.clusters) {
    const auto it = state.slot_lives.find(c.row->id);
    const bool known = it != state.slot_lives.end() && it->second.taken.size() == kParts &&
                       it->second.exposed_s.size() == kParts && c.row->max > 0;
    lives.emplace_back(known ? &it->second : nullptr, c.row->max);
  }
  return lives;
}

double LikelyNeed(const CampaignAllocation& c) { return std::max(c.row->need_s, AsLongAsItRan(c)); }

void CountRunning(const AllocationState& alloc, std::vector<SlotLives>& lives) {
  for (const auto& placement : alloc.placements) {
    const Placement& row = *placement.row;
    if (row.in_flight <= 0 || !lives[placement.cluster].known()) continue;
    const double age = row.running > 0 ? alloc.now - row.running_since / row.running : 0;
    const double need = LikelyNeed(alloc.campaigns[placement.campaign]);
    lives[placement.cluster].AddOlder(static_cast<double>(row.in_flight) * placement.slots,
                                      std::max(0.0, need - age));
  }
}

// Slots held by users who want something now.
std::map<std::string, double> HeldByWantingUsers(const AllocationState& alloc) {
  std::map<std::string, double> held;
  for (const auto& c : alloc.campaigns)
    if (c.in_play && c.has_tasks()) held[c.row->user];
  for (const auto& c : alloc.campaigns)
    if (const auto user = held.find(c.row->user); user != held.end())
      user->second += c.used_slots();
  return held;
}

class Keeper {
 public:
  Keeper(AllocationState& alloc, std::vector<SlotLives> lives)
      : alloc_(alloc), lives_(std::move(lives)), held_(HeldByWantingUsers(alloc)) {}

  void Keep(const CampaignAllocation& campaign) {
    const double need = LikelyNeed(campaign);
    if (!campaign.in_play || !campaign.has_tasks() || need <= 0 || campaign.row->test) return;
    double safe = 0, all = 0;
    int safe_clusters = 0, last = -1;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
      const PlacementAllocation& placement = alloc_.placements[l];
      if (!MayRun(l)) continue;
      const double here = SafeSlots(placement, need);
      all += alloc_.clusters[placement.cluster].row->max;
      safe += here;
      if (here > 0) ++safe_clusters, last = l;
    }
    const double part = all / static_cast<double>(held_.size());
    // Of jobs that were all killed nobody knows how long they last: trying again may be in vain.
    if (campaign.row->done > 0 && held_.size() > 1 &&
        held_.at(campaign.row->user) < kLeastPart * part)
      return;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l)
      if (safe_clusters > 1 || (safe_clusters == 1 && l != last))
        Limit(l, need, safe, std::max(0.0, part - safe));
  }

 private:
  bool Open(const PlacementAllocation& p) const {
    return p.block == Code::kNone && alloc_.clusters[p.cluster].block == Code::kNone;
  }

  // Now, or when jobs of ours there end.
  bool MayRun(int l) const {
    const PlacementAllocation& p = alloc_.placements[l];
    const Cluster& c = *alloc_.clusters[p.cluster].row;
    return Open(p) && c.free + c.running_slots >= p.slots &&
           (p.row->in_flight > 0 || alloc_.RulesAllow(l) > 0);
  }

  double SafeSlots(const PlacementAllocation& p, double need) const {
    const int max = alloc_.clusters[p.cluster].row->max;
    if (!lives_[p.cluster].known()) return max;
    for (int i = kParts - 1; i >= 0; --i)
      if (lives_[p.cluster].KillsOfOldest(Part(max, i), need) <= kMostKills)
        return Part(max, i) >= p.slots ? Part(max, i) : 0;
    return 0;
  }

  // `safe`: its safe slots; `unsafe`: what its user's part of all slots has beyond them.
  void Limit(int l, double need, double safe, double unsafe) {
    PlacementAllocation& p = alloc_.placements[l];
    const SlotLives& life = lives_[p.cluster];
    if (!Open(p) || !life.known()) return;
    const auto kills = [&](int jobs) { return life.Kills(double(jobs) * p.slots, need); };
    const auto take = [&](int jobs) {
      const double k = kills(jobs);
      return k <= kMostKills || unsafe * Yield(k, 1) > safe * kMostGivenUp;
    };
    int low = 0;
    int high = std::min(p.left, static_cast<int>(alloc_.clusters[p.cluster].free / p.slots) + 1);
    if (high <= 0 || take(high)) return;
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (take(middle) ? low : high) = middle;
    }
    // One at a time goes all the same, but not at once.
    const double next = NextTry(*alloc_.campaigns[p.campaign].row, *p.row, need);
    if (low == 0 && p.row->in_flight == 0 && alloc_.now >= next) low = 1;
    if (low >= p.left) return;
    p.left = low;
    p.limit = Code::kUnsafeSlots;
    alloc_.limit_numbers[l] = {need, std::round(100 * (1 - std::exp(-kills(high)))),
                               low == 0 && next > alloc_.now ? next : 0};
  }

  AllocationState& alloc_;
  const std::vector<SlotLives> lives_;
  const std::map<std::string, double> held_;
};

}  // namespace

void LearnSlotLives(const Snapshot& snapshot, double now, State& state) {
  if (snapshot.config.survival_kills <= 0) return state.slot_lives.clear();
  for (const auto& c : snapshot.clusters) {
    if (c.unusable != Unusable::kNo || !(c.life_s > 0) || c.max <= 0) continue;
    State::SlotLife& life = state.slot_lives[c.id];
    life.taken.resize(kParts);
    life.exposed_s.resize(kParts);
    const double left = std::clamp(c.free + c.running_slots, 0, c.max);
    const double passed = life.at > 0 ? std::max(0.0, now - life.at) : 0;
    for (int i = 0; i < kParts; ++i) {
      const double before = life.at > 0 && life.left >= Part(c.max, i) ? 1 : 0;
      const double faded = std::exp2(-passed / kHalfLifeS);
      life.taken[i] = life.taken[i] * faded + (left < Part(c.max, i) ? before : 0);
      life.exposed_s[i] = life.exposed_s[i] * faded + before * passed;
    }
    life.at = now;
    life.left = left;
  }
}

void SlotLives::AddOlder(double slots, double seconds) {
  const int step =
      seconds <= 1 ? 0 : std::min(kSteps - 1, static_cast<int>(std::lround(std::log2(seconds))));
  older_[step] += slots;
  all_older_ += slots;
}

// Counted from the first time on a rate is too high: half a time less than were seen.
double SlotLives::RateAt(double slots) const {
  const int i =
      std::clamp(static_cast<int>(std::ceil(slots * kParts / max_ - kEpsilon)) - 1, 0, kParts - 1);
  return std::max(0.0, life_->taken[i] - 0.5) / std::max(1.0, life_->exposed_s[i]);
}

double SlotLives::Kills(double slots, double need_s) const {
  double kills = 0, at = 0, older = all_older_;
  for (int i = 0; i < kSteps && at < need_s; ++i) {
    if (older_[i] <= 0) continue;
    const double until = std::min(need_s, std::exp2(i));
    kills += std::max(0.0, until - at) * RateAt(older + slots);
    at = std::max(at, until);
    older -= older_[i];
  }
  return kills + std::max(0.0, need_s - at) * RateAt(older + slots);
}

void KeepFromUnsafeSlots(AllocationState& alloc, const State& state) {
  if (state.slot_lives.empty()) return;
  auto lives = LivesOf(alloc, state);
  if (std::none_of(lives.begin(), lives.end(), [](const auto& l) { return l.known(); })) return;
  CountRunning(alloc, lives);
  Keeper keeper(alloc, std::move(lives));
  for (const auto& campaign : alloc.campaigns) keeper.Keep(campaign);
}

}  // namespace cigri::policy
