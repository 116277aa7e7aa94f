#include "policy/forecast/speed.h"

#include <cmath>
#include <map>

namespace cigri::policy {
namespace {

constexpr std::int64_t kEnough = 5;  // successes before a mean says anything
constexpr double kHalf = 10;         // of so many jobs half is believed
constexpr double kDeclared = 0.2;    // weight of what is declared, in campaigns
constexpr double kStep = 0.05;

struct KnownSpeed {
  double weight = 0, sum = 0;
};

// How much faster than declared each cluster was for one campaign, in logarithms: they add up to
// nothing, for the length of its jobs is not known but by these.
void AddCampaign(const std::vector<const MeasuredPlacement*>& placements,
                 const std::map<std::int64_t, double>& declared,
                 std::map<std::int64_t, KnownSpeed>& known) {
  if (placements.size() < 2) return;
  double weights = 0, work = 0;
  const auto weight = [](const MeasuredPlacement& l) {
    return static_cast<double>(l.n) / (static_cast<double>(l.n) + kHalf);
  };
  const auto length = [&](const MeasuredPlacement& l) {
    return std::log(l.mean_s * declared.at(l.cluster));
  };
  for (const auto* l : placements) weights += weight(*l), work += weight(*l) * length(*l);
  for (const auto* l : placements) {
    KnownSpeed& k = known[l->cluster];
    k.weight += weight(*l);
    k.sum += weight(*l) * (work / weights - length(*l));
  }
}

}  // namespace

void MeasureSpeeds(const std::vector<MeasuredPlacement>& placements,
                   std::vector<Cluster>& clusters) {
  std::map<std::int64_t, double> declared;
  for (const auto& c : clusters)
    if (c.speed > 0) declared[c.id] = c.speed;
  std::map<std::int64_t, std::vector<const MeasuredPlacement*>> campaigns;
  for (const auto& l : placements)
    if (l.n >= kEnough && l.mean_s > 0 && declared.count(l.cluster) != 0)
      campaigns[l.campaign].push_back(&l);
  std::map<std::int64_t, KnownSpeed> known;
  for (const auto& [id, of] : campaigns) AddCampaign(of, declared, known);
  for (auto& c : clusters) {
    const auto it = known.find(c.id);
    if (it == known.end()) continue;
    const double faster = it->second.sum / (it->second.weight + kDeclared);
    c.speed *= std::exp(std::round(faster / kStep) * kStep);
  }
}

}  // namespace cigri::policy
