// The nodes of a cluster, and where jobs find room on them.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cigri::sim {

class Nodes {
 public:
  /// `slots` spread over `nodes`: the first have one more where it does not come out even.
  Nodes(int slots, int nodes);

  struct Part {
    int node = 0, slots = 0;
  };
  using Places = std::vector<Part>;

  /// Room for a job: on the fullest node that has enough, so that large holes stay for wide jobs.
  /// One that is wider than a node takes whole nodes, and its rest on another. Nothing: it waits.
  std::optional<Places> Find(int slots) const;
  /// What `slots` slots of a node cost; < 0: it cannot give so many.
  using Cost = std::function<double(int node, int slots)>;
  /// The same on the nodes that cost least, whatever is free there.
  std::optional<Places> Cheapest(int slots, const Cost& cost) const;

  void Take(const Places& places);
  void Give(const Places& places);
  /// What runs on the node has been given back before.
  void Fail(int node);
  void Repair(int node);

  int count() const { return static_cast<int>(nodes_.size()); }
  int size(int node) const { return nodes_[node].size; }
  int free(int node) const { return nodes_[node].free; }
  bool works(int node) const { return nodes_[node].works; }

 private:
  struct Node {
    int size = 0, free = 0;
    bool works = true;
  };
  void Change(int node, int by);

  std::vector<Node> nodes_;
  std::set<std::pair<int, int>> room_;  // free, node: of those that work and have room
};

}  // namespace cigri::sim
