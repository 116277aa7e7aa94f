#include "api/submit/resource_fit.h"

#include <algorithm>
#include <limits>

#include "api/http/message.h"
#include "core/pluralize.h"

namespace cigri::api {

void RequireFit(const GridInfo& info, const jdl::Campaign& campaign) {
  int least = std::numeric_limits<int>::max(), most = 0;
  std::string largest;
  for (const auto& s : campaign.clusters) {
    const ClusterTarget& cluster = info.clusters.at(s.name);
    const auto slots = jdl::ParseResources(s.resources, cluster.resource_unit);
    if (!cluster.max_resources || slots.n <= *cluster.max_resources) return;
    least = std::min(least, slots.n);
    if (largest.empty() || *cluster.max_resources > most) largest = s.name;
    most = std::max(most, *cluster.max_resources);
  }
  if (largest.empty()) return;
  throw BadRequest("one job needs " + Pluralize(least, "slot") +
                       ", and no cluster of the campaign has more than " + std::to_string(most) +
                       " (" + largest + ")",
                   "ask for less (--cores, --resources); gridclusters -i shows the sizes");
}

}  // namespace cigri::api
