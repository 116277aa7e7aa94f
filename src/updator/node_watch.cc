#include "updator/node_watch.h"

#include <algorithm>

namespace cigri::updator {

bool IsNodeName(const std::string& node) {
  return !node.empty() && node.size() <= 255 &&
         std::all_of(node.begin(), node.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

std::vector<BlackHoleNode> NodeWatch::Add(const std::vector<NodeEnd>& ends) {
  std::set<NodeKey> touched;
  double now = 0;
  for (const auto& end : ends) {
    if (!IsNodeName(end.node.second)) continue;
    now = std::max(now, end.ended);
    if (end.success) {
      worked_[end.node] = std::max(worked_[end.node], end.ended);
      failures_.erase(end.node);
    } else if (end.lasted_s <= kShortS) {
      failures_[end.node].push_back(end);
      touched.insert(end.node);
    }
  }
  std::erase_if(worked_, [&](const auto& item) { return item.second < now - kWorksS; });
  std::vector<BlackHoleNode> found;
  for (const auto& node : touched) {
    auto& failed = failures_[node];
    while (!failed.empty() && failed.front().ended < now - kWindowS) failed.pop_front();
    std::set<std::int64_t> campaigns;
    for (const auto& end : failed) campaigns.insert(end.campaign_id);
    if (failed.size() < kJobs || campaigns.size() < kCampaigns) continue;
    BlackHoleNode hole{.node = node,
                       .campaigns = {campaigns.begin(), campaigns.end()},
                       .jobs = static_cast<int>(failed.size())};
    for (const auto& end : failed)
      if (end.charged && end.idx >= 0) hole.charged.emplace_back(end.campaign_id, end.idx);
    for (const auto& [other, at] : worked_)
      hole.others_work = hole.others_work || (other.first == node.first && other != node);
    found.push_back(std::move(hole));
    failures_.erase(node);
  }
  return found;
}

}  // namespace cigri::updator
