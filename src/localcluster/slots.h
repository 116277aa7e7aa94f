// The slots of the cluster, divided over its nodes, and which jobs must make room. No I/O.
#pragma once
#include <string>
#include <vector>

namespace cigri::localcluster {

class Slots {
 public:
  /// `total` slots over `nodes` nodes NAME-1..NAME-M, the first ones larger when it does not
  /// divide.
  Slots(const std::string& cluster, int total, int nodes);
  int total() const { return static_cast<int>(node_of_.size()); }
  int free() const { return free_; }
  /// `n` slots, on one node where one has room for all. REQUIRES: n <= free().
  std::vector<int> Take(int n);
  /// Takes these again, for an adopted job; those out of range (fewer slots now) are left out.
  void Retake(const std::vector<int>& places);
  void Give(const std::vector<int>& places);
  /// The node of each slot: the lines of the job's node file.
  std::vector<std::string> Lines(const std::vector<int>& places) const;

 private:
  std::vector<std::string> names_;
  std::vector<int> node_of_;
  std::vector<bool> taken_;
  int free_;
};

/// A best-effort job that runs, as a victim is chosen: in order of their start.
struct Victim {
  int slots = 0;
  bool ending = false;  ///< was asked to end already: its slots come free anyway
};

/// Which of `running` must end so that `needed` slots come free: the youngest lose least work.
/// Empty when those already ending are enough, or when all of them would not do.
std::vector<std::size_t> ChooseVictims(const std::vector<Victim>& running, int needed);

}  // namespace cigri::localcluster
