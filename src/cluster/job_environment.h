// The environment that a job gets on every kind of cluster (CIG-45, docs/jobs.md).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// The variables of the 2009 note with their aliases, and ours, that do not depend on the node:
/// all but CIGRI_NODE_FILE (alias CIGRI_NODEFILE) and CIGRI_WORKDIR (CIGRI_WORKING_DIRECTORY),
/// which only the job's host knows: the driver's job script sets those two.
std::vector<std::pair<std::string, std::string>> JobEnvironment(const Batch& batch,
                                                                const Element& element);

/// Set in Batch::options of jobs that move files (transfer.h).
inline constexpr char kMovesFiles[] = "moves_files";

/// JDL key `checkpoint`: the signal that asks a task to save its work, so long before it is killed,
/// and as often (0: not).
struct Checkpoint {
  std::string signal = "USR2";
  int number = 0;
  int grace_s = 60, every_s = 0;
  /// With `every: auto`: how long jobs live on the cluster. 0: the user has said how often.
  int lifetime_s = 0;
};
std::optional<Checkpoint> CheckpointOf(const Batch& batch);

/// How often to save work that takes `cost_s` to save, where jobs live so long (Young, Daly): work is
/// lost least when as much time goes into checkpoints as is lost with the work since the last one.
int CheckpointInterval(double cost_s, double lifetime_s);

}  // namespace cigri::cluster
