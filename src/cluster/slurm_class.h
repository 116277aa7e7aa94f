// Resource classes of a Slurm cluster: GPUs, nodes of a partition, nodes with certain features.
#pragma once
#include <optional>
#include <string>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// What jobs of a class ask for; "" = nothing.
struct SlurmClass {
  bool gpus = false;
  std::string partition;   ///< another one than the cluster's
  std::string constraint;  ///< "a", "a&b" or "a|b"

  /// `units` of it as the grid stores it; any slot will do (request "") where nothing is asked for,
  /// or a constraint that we cannot count.
  ResourceClass Of(int units) const;
  /// Nothing when `request` was not made by Of().
  static std::optional<SlurmClass> Read(const std::string& request);
  std::string Name() const;  ///< "GPUs of partition p with a&b"
};

/// Counts one class while the list of nodes is read.
class SlurmClassCounter {
 public:
  explicit SlurmClassCounter(SlurmClass what) : what_(std::move(what)) {}
  const SlurmClass& what() const { return what_; }
  /// A node of the class's partition.
  void Add(const nlohmann::json& node, bool usable);
  /// Nothing when the cluster does not show how many GPUs are in use.
  std::optional<ClassCount> Count() const;

 private:
  SlurmClass what_;
  bool shown_ = true;
  int total_ = 0, free_ = 0;
};

}  // namespace cigri::cluster
