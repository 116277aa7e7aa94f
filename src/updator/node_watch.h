// Black-hole nodes: a node on which jobs of several campaigns fail within seconds takes one job
// after the other, because it is always free. Pure memory and arithmetic: the store writes what it
// finds.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/states.h"

namespace cigri::updator {

using NodeKey = std::pair<std::int64_t, std::string>;  // cluster, node

/// A job that has ended on a node.
struct NodeEnd {
  NodeKey node;
  std::int64_t campaign_id = 0, idx = -1;
  bool success = false;
  bool charged = false;  ///< a failure of the program: its user has lost a try
  double lasted_s = 0, ended = 0;
};

/// A node that fails everything, and the tasks that it has taken meanwhile.
struct BlackHoleNode {
  NodeKey node;
  std::vector<std::int64_t> campaigns;
  int jobs = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> charged;  ///< campaign, task; once a job
  /// Another node of the cluster has completed a job lately, so that this one can be spared.
  bool others_work = false;
};

/// The end of a job, for the excluded node that its batch may have been sent to try.
struct TrialEnd {
  std::int64_t batch_id = 0;
  bool success = false;
  bool unknown = false;  ///< it was killed, preempted or lost: it says nothing of the node
};

/// Remembers the last ends of each node. Jobs that were killed or preempted are not to be added.
class NodeWatch {
 public:
  static constexpr double kWindowS = 30;     ///< failures further apart are no black hole
  static constexpr double kShortS = 10;      ///< a job that lasted longer has done something
  static constexpr std::size_t kJobs = 4;    ///< so many failures in a row on the node
  static constexpr std::size_t kCampaigns = 2;
  static constexpr double kWorksS = 900;     ///< a success so long ago says that a node works

  /// The nodes that these ends show to be black holes. A node is reported once; its failures begin
  /// to count again from zero.
  std::vector<BlackHoleNode> Add(const std::vector<NodeEnd>& ends);
  void Clear() { failures_.clear(), worked_.clear(); }

 private:
  std::map<NodeKey, std::deque<NodeEnd>> failures_;  // since the last success there
  std::map<NodeKey, double> worked_;                 // end of the last success
};

/// Whether `node` is the name of one node, as a scheduler takes it in an exclusion.
bool IsNodeName(const std::string& node);

}  // namespace cigri::updator
