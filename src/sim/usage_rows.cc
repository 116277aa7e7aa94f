#include "sim/usage_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace cigri::sim {
namespace {

constexpr double kMinute = 60, kHour = 3600;
constexpr double kFresh = 900;  // s: older usage is kept by the hour

double HorizonOf(const policy::PolicyConfig& config) {
  if (config.first_results > 0)
    return std::max(config.fairshare_window_s, (config.simple_days + 1) * 86400.0);
  switch (config.policy) {
    case policy::PolicyKind::kFairshare:
      return config.fairshare_window_s;
    case policy::PolicyKind::kFairshareSimple:
      return (config.simple_days + 1) * 86400.0;
    default:
      return config.usage_window_s;
  }
}

}  // namespace

UsageRows::UsageRows(const policy::PolicyConfig& config)
    : horizon_(HorizonOf(config)), hours_(horizon_ > 2 * kHour) {}

// The minute that ends with the job: an end at midnight belongs to the day before.
void UsageRows::Add(const policy::Campaign& campaign, double now, double slot_seconds,
                    std::vector<policy::Usage>& rows) {
  const double minute = (std::ceil(now / kMinute) - 1) * kMinute;
  if (minute != minute_) {
    here_.clear();
    minute_ = minute;
  }
  const auto [it, fresh] = here_.try_emplace(campaign.id, rows.size());
  if (fresh)
    rows.push_back(
        {campaign.id, campaign.user, campaign.project, minute, kMinute, slot_seconds, 1});
  else
    rows[it->second].slot_seconds += slot_seconds, ++rows[it->second].jobs;
}

void UsageRows::Tidy(double now, std::vector<policy::Usage>& rows) {
  if (now - tidied_ < kMinute) return;
  tidied_ = now;
  here_.clear();
  std::erase_if(rows, [&](const auto& row) { return row.start + row.length < now - horizon_; });
  const double cut = std::floor((now - kFresh) / kHour) * kHour;
  if (!hours_ || cut <= joined_until_) return;
  joined_until_ = cut;
  std::map<std::tuple<double, std::int64_t>, policy::Usage> old;
  for (const auto& row : rows) {
    if (row.start + row.length > cut) continue;
    const double hour = std::floor(row.start / kHour) * kHour;
    auto [it, fresh] = old.try_emplace({hour, row.campaign}, row);
    it->second.start = hour, it->second.length = kHour;
    if (!fresh) it->second.slot_seconds += row.slot_seconds, it->second.jobs += row.jobs;
  }
  std::erase_if(rows, [&](const auto& row) { return row.start + row.length <= cut; });
  std::vector<policy::Usage> all;
  for (auto& [key, row] : old) all.push_back(std::move(row));
  all.insert(all.end(), rows.begin(), rows.end());
  rows = std::move(all);
}

}  // namespace cigri::sim
