#include "runner/share.h"

#include <algorithm>

namespace cigri::runner {

Share ShareOf(const std::string& me, const std::vector<std::string>& living,
              const std::vector<LeasedCluster>& clusters) {
  Share share;
  std::vector<const LeasedCluster*> mine, free;
  std::size_t shared = 0;
  for (const auto& cluster : clusters) {
    const bool due = !cluster.due_runner.empty() || cluster.has_home;
    if (due && cluster.due_runner != me) {
      if (cluster.runner == me) share.give.push_back(cluster.id);
    } else if (due) {
      if (cluster.runner.empty()) share.take.push_back(cluster);
      if (cluster.runner != me) share.complete = false;
    } else {
      ++shared;
      if (cluster.runner == me) mine.push_back(&cluster);
      if (cluster.runner.empty()) free.push_back(&cluster);
    }
  }
  const auto rank = static_cast<std::size_t>(
      std::find(living.begin(), living.end(), me) - living.begin());
  const std::size_t runners = std::max<std::size_t>(1, living.size());
  const std::size_t quota = shared / runners + (rank < shared % runners ? 1 : 0);
  for (std::size_t i = quota; i < mine.size(); ++i) share.give.push_back(mine[i]->id);
  for (std::size_t i = mine.size(); i < quota && i - mine.size() < free.size(); ++i)
    share.take.push_back(*free[i - mine.size()]);
  if (mine.size() < quota) share.complete = false;
  return share;
}

}  // namespace cigri::runner
