#include "api/submit/token_notes.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace cigri::api {
namespace {

// At the latest: every job takes its whole walltime, and nobody else uses the clusters.
double LatestEnd(const GridInfo& info, const jdl::Campaign& campaign, std::int64_t jobs) {
  double slots = 0, walltime_s = 0;
  for (const auto& s : campaign.clusters) {
    const ClusterTarget& cluster = info.clusters.at(s.name);
    const int width = std::max(1, jdl::ParseResources(s.resources, cluster.resource_unit).n);
    slots += std::floor(double(cluster.max_resources.value_or(0)) / width);
    walltime_s = std::max(walltime_s, double(s.walltime_s));
  }
  return walltime_s * std::ceil(double(jobs) / std::max(1.0, slots));
}

}  // namespace

std::vector<std::string> TokenNotes(const GridInfo& info, const jdl::Campaign& campaign,
                                    std::int64_t jobs) {
  std::vector<std::string> notes;
  const double end_s = LatestEnd(info, campaign, jobs);
  for (const auto& s : campaign.clusters) {
    const ClusterTarget& cluster = info.clusters.at(s.name);
    if (!cluster.needs_token) continue;
    const std::string give =
        ": gridtoken -i " + s.name + " -t TOKEN gives one, and the campaign goes on there";
    if (!cluster.has_token)
      notes.push_back("you have no token for cluster " + s.name + ", nothing is sent there" + give);
    else if (cluster.token_s && *cluster.token_s <= 0)
      notes.push_back("your token for cluster " + s.name + " expired " +
                      HumanDuration(-*cluster.token_s) + " ago, nothing is sent there" + give);
    else if (cluster.token_s && *cluster.token_s < end_s)
      notes.push_back("your token for cluster " + s.name + " expires in " +
                      HumanDuration(*cluster.token_s) + ", the campaign may take " +
                      HumanDuration(end_s) +
                      ": give a longer one with gridtoken, or it pauses there until you do");
  }
  return notes;
}

}  // namespace cigri::api
