#include "policy/usage_summary.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {
namespace {

// The part of [start, start + length) that lies in [from, to).
double Overlap(double start, double length, double from, double to) {
  if (length <= 0) return start >= from && start <= to ? 1 : 0;
  if (start >= from && start + length <= to) return 1;
  const double inside = std::min(start + length, to) - std::max(start, from);
  return std::clamp(inside / length, 0.0, 1.0);
}

struct Clock {
  double now, window, half_life, decay_window;

  double Decay(double at) const {
    const double age = std::max(0.0, now - at);
    if (age > decay_window) return 0;
    return half_life > 0 ? std::exp2(-age / half_life) : 1;
  }
};

class Counter {
 public:
  Counter(const AllocationState& alloc, UsageSummary& usage_summary)
      : usage_summary_(usage_summary),
        config_(alloc.config),
        clock_{alloc.now, config_.usage_window_s, config_.fairshare_half_life_s,
               config_.fairshare_window_s},
        ages_(config_.policy == PolicyKind::kFairshare) {}

  /// `slot_seconds` used evenly over [start, start + length); place -1: a campaign that is over.
  void Add(int place, const std::string& user, const std::string& project, double start,
           double length, double slot_seconds) {
    if (config_.policy == PolicyKind::kFairshareSimple) AddDays(user, start, length, slot_seconds);
    const double decayed = ages_ ? slot_seconds * clock_.Decay(start + length / 2) : 0;
    if (place < 0) {
      if (config_.aggregate == Aggregate::kUser || config_.aggregate == Aggregate::kProject)
        usage_summary_.window_over[config_.aggregate == Aggregate::kUser ? user : project] +=
            InWindow(start, length, slot_seconds);
      if (!ages_) return;
      usage_summary_.user[UserKey(project, user)] += decayed;
      usage_summary_.project[project] += decayed;
      return;
    }
    usage_summary_.decayed[place] += decayed;
    usage_summary_.window[place] += InWindow(start, length, slot_seconds);
  }

  /// Its running jobs, as if all had started at the mean of their starts; the window is exact.
  void AddRunning(int place, const CampaignAllocation& c) {
    const double length = c.running_seconds / c.running_slots;
    const double start = clock_.now - length;
    if (ages_)
      usage_summary_.decayed[place] += c.running_seconds * clock_.Decay(start + length / 2);
    usage_summary_.window[place] += c.running_in_window;
    if (config_.policy == PolicyKind::kFairshareSimple)
      AddDays(c.row->user, start, length, c.running_seconds);
  }

 private:
  double InWindow(double start, double length, double slot_seconds) const {
    return slot_seconds * Overlap(start, length, clock_.now - clock_.window, clock_.now);
  }

  // FAIR-15: whole days of the clock, today first.
  void AddDays(const std::string& user, double start, double length, double slot_seconds) {
    auto& days = usage_summary_.days[user];
    days.resize(std::max(1, config_.simple_days));
    const double today = std::floor(clock_.now / 86400) * 86400;
    for (std::size_t d = 0; d < days.size(); ++d) {
      const double from = today - static_cast<double>(d) * 86400;
      days[d] += slot_seconds * Overlap(start, length, from, from + 86400);
    }
  }

  UsageSummary& usage_summary_;
  const PolicyConfig& config_;
  Clock clock_;
  const bool ages_;
};

/// Places of campaigns in the allocation state by their ids: these are numbers in a row, with gaps.
class CampaignPlaces {
 public:
  explicit CampaignPlaces(const AllocationState& alloc) {
    if (alloc.campaigns.empty()) return;
    std::int64_t last = first_ = alloc.campaigns[0].row->id;
    for (const auto& c : alloc.campaigns)
      first_ = std::min(first_, c.row->id), last = std::max(last, c.row->id);
    // An old campaign among new ones must not make a table of all in between.
    const auto most = first_ + 16 * static_cast<std::int64_t>(alloc.campaigns.size()) + 1024;
    table_.assign(static_cast<std::size_t>(std::min(last, most) - first_) + 1, -1);
    for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
      const std::int64_t id = alloc.campaigns[i].row->id;
      (id <= most ? table_[static_cast<std::size_t>(id - first_)] : beyond_[id]) =
          static_cast<int>(i);
    }
  }
  /// -1: it is over.
  int Of(std::int64_t id) const {
    if (id < first_) return -1;
    const auto at = static_cast<std::size_t>(id - first_);
    if (at < table_.size()) return table_[at];
    const auto it = beyond_.find(id);
    return it == beyond_.end() ? -1 : it->second;
  }

 private:
  std::int64_t first_ = 0;
  std::vector<int> table_;
  std::unordered_map<std::int64_t, int> beyond_;
};

void CountEnded(const AllocationState& alloc, const Snapshot& snapshot, UsageSummary& summary) {
  for (const auto& row : snapshot.usage)
    if (row.start + row.length >= alloc.now - alloc.config.fairshare_window_s)
      summary.ended[row.user] += row.jobs;
}

}  // namespace

std::string UserKey(const std::string& project, const std::string& user) {
  return project + '\n' + user;
}

std::unordered_map<std::string, std::int64_t> MissingFirstResults(const AllocationState& alloc,
                                                                  const UsageSummary& summary) {
  std::unordered_map<std::string, std::int64_t> missing;
  for (const auto& c : alloc.campaigns) {
    const auto [user, fresh] = missing.try_emplace(c.row->user, alloc.config.first_results);
    if (const auto ended = summary.ended.find(c.row->user); fresh && ended != summary.ended.end())
      user->second -= ended->second;
    user->second -= static_cast<std::int64_t>(c.held_slots);
  }
  return missing;
}

UsageSummary SummariseUsage(const AllocationState& alloc, const Snapshot& snapshot) {
  UsageSummary usage_summary;
  usage_summary.window.assign(alloc.campaigns.size(), 0);
  usage_summary.decayed.assign(alloc.campaigns.size(), 0);
  if (alloc.config.first_results > 0) CountEnded(alloc, snapshot, usage_summary);
  const CampaignPlaces places(alloc);
  Counter counter(alloc, usage_summary);
  for (const auto& row : snapshot.usage) {
    const int i = places.Of(row.campaign);
    const std::string& project =
        row.project.empty() && i >= 0 ? alloc.campaigns[i].project : row.project;
    counter.Add(i, row.user, project, row.start, row.length, row.slot_seconds);
  }
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (c.running_slots <= 0) continue;
    counter.AddRunning(static_cast<int>(i), c);
  }
  if (alloc.config.policy != PolicyKind::kFairshare) return usage_summary;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    usage_summary.user[UserKey(alloc.campaigns[i].project, alloc.campaigns[i].row->user)] +=
        usage_summary.decayed[i];
    usage_summary.project[alloc.campaigns[i].project] += usage_summary.decayed[i];
  }
  return usage_summary;
}

}  // namespace cigri::policy
