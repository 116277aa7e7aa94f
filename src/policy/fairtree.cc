#include "policy/fairtree.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "policy/shares.h"

namespace cigri::policy {
namespace {

struct Node {
  double share = 1;
  double usage = 0;
  double ahead = 0;  // half of the job it would get now
  double had = 0;    // what it is ordered by: usage, or what it got beyond its share
  int leaf = -1;     // place in the result
  int parent = 0;
  std::vector<int> children{};
};

double Find(const std::unordered_map<std::string, double>& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? 0 : it->second;
}

class Tree {
 public:
  Tree(const AllocationState& alloc, const UsageSummary& usage_summary, const Lags* lags)
      : alloc_(alloc), usage_summary_(usage_summary), lags_(lags) {
    nodes_.emplace_back();
  }

  void AddLeaf(int campaign, int leaf) {
    const CampaignAllocation& c = alloc_.campaigns[campaign];
    const int node = Add(UserNode(c), c.weight);
    nodes_[node].usage = nodes_[node].had = usage_summary_.decayed[campaign];
    nodes_[node].leaf = leaf;
    // Without the half, who is due is served at the threshold and always ends above its share:
    // .739 for .75 with long jobs. With it a division is unbiased (Sainte-Lague).
    const double slots =
        c.placements_begin < c.placements_end ? alloc_.placements[c.placements_begin].slots : 1;
    for (int up = node; up > 0; up = nodes_[up].parent)
      nodes_[up].ahead = std::max(nodes_[up].ahead, c.row->need_s * slots / 2);
  }

  void Weigh(int node, double part, double due, std::vector<Leaf>& leaves) {
    if (nodes_[node].leaf >= 0) {
      leaves[nodes_[node].leaf] = {part, due, static_cast<double>(next_order_++)};
      return;
    }
    double shares = 0, usage = 0, sum = 0;
    for (const int c : nodes_[node].children) shares += nodes_[c].share, usage += nodes_[c].usage;
    // What it had and usage, per share; -share; child.
    std::vector<std::tuple<double, double, double, int>> order;
    std::vector<double> parts, of_siblings;
    for (const int c : nodes_[node].children) {
      const double share = shares > 0 ? nodes_[c].share / shares : 0;
      of_siblings.push_back(share);
      parts.push_back(share * FairFactor(share, usage > 0 ? nodes_[c].usage / usage : 0));
      sum += parts.back();
      const double whole = std::max(share, 1e-12);
      order.emplace_back((nodes_[c].had + nodes_[c].ahead) / whole, nodes_[c].usage / whole, -share,
                         static_cast<int>(order.size()));
    }
    for (auto& p : parts) p = sum > 0 ? p / sum : 0;
    if (sum > 0) BoundDeviation(of_siblings, alloc_.config.fairshare_payback, parts);
    // Of equals who used less, then the greater share (FAIR-19), then who came first.
    std::sort(order.begin(), order.end());
    for (const auto& [had, used, share, k] : order)
      Weigh(nodes_[node].children[k], part * parts[k], due * of_siblings[k], leaves);
  }

 private:
  int Child(int parent, const std::string& name, double share) {
    const auto [it, fresh] = index_.try_emplace({parent, name}, static_cast<int>(nodes_.size()));
    if (fresh) Add(parent, share);
    return it->second;
  }

  int Add(int parent, double share) {
    nodes_.push_back({.share = share, .parent = parent});
    nodes_[parent].children.push_back(static_cast<int>(nodes_.size()) - 1);
    return nodes_[parent].children.back();
  }

  // Validation refuses cycles; a tree deeper than this is one.
  int ProjectNode(const std::string& name, int depth = 0) {
    const auto it = alloc_.config.projects.find(name);
    const bool known = it != alloc_.config.projects.end();
    const bool nested = known && !it->second.parent.empty() && depth < 32;
    const int parent = nested ? ProjectNode(it->second.parent, depth + 1) : 0;
    const std::size_t before = nodes_.size();
    const int node = Child(parent, "project " + name, known ? it->second.share : 1);
    if (nodes_.size() > before) {
      const double used = Find(usage_summary_.project, name);
      nodes_[node].usage += used;
      if (parent != 0) nodes_[parent].usage += used;
      if (lags_ == nullptr) nodes_[node].had = nodes_[node].usage;
      if (lags_ == nullptr && parent != 0) nodes_[parent].had = nodes_[parent].usage;
    }
    return node;
  }

  int UserNode(const CampaignAllocation& c) {
    const auto it = alloc_.config.users.find(c.row->user);
    const double share = it == alloc_.config.users.end() ? 1 : it->second.share;
    const std::string key = UserKey(c.project, c.row->user);
    const int project = ProjectNode(c.project);
    const std::size_t before = nodes_.size();
    const int node = Child(project, "user " + c.row->user, share);
    if (nodes_.size() == before) return node;
    nodes_[node].usage = Find(usage_summary_.user, key);
    nodes_[node].had = nodes_[node].usage;
    if (lags_ == nullptr) return node;
    const auto lag = lags_->find(key);
    nodes_[node].had = lag == lags_->end() ? 0 : -lag->second.behind;
    for (int up = project; up > 0; up = nodes_[up].parent) nodes_[up].had += nodes_[node].had;
    return node;
  }

  const AllocationState& alloc_;
  const UsageSummary& usage_summary_;
  const Lags* lags_;
  std::vector<Node> nodes_;
  std::map<std::pair<int, std::string>, int> index_;
  int next_order_ = 0;
};

}  // namespace

std::vector<Leaf> FairTree(const AllocationState& alloc, const UsageSummary& usage_summary,
                           const std::vector<int>& campaigns, const Lags* lags) {
  Tree tree(alloc, usage_summary, lags);
  for (std::size_t i = 0; i < campaigns.size(); ++i)
    tree.AddLeaf(campaigns[i], static_cast<int>(i));
  std::vector<Leaf> leaves(campaigns.size());
  tree.Weigh(0, 1, 1, leaves);
  return leaves;
}

std::vector<double> DueParts(const PolicyConfig& config,
                             const std::vector<std::pair<std::string, std::string>>& users) {
  Snapshot snapshot;
  snapshot.config = config;
  std::vector<int> all;
  for (const auto& [project, user] : users) {
    all.push_back(static_cast<int>(all.size()));
    snapshot.campaigns.push_back({.id = all.back() + 1, .user = user, .project = project});
  }
  const AllocationState alloc(snapshot, State{}, 0);
  UsageSummary nothing;
  nothing.decayed.assign(all.size(), 0);
  std::vector<double> due;
  for (const auto& leaf : FairTree(alloc, nothing, all)) due.push_back(leaf.weight);
  return due;
}

}  // namespace cigri::policy
