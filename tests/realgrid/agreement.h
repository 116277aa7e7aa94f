// What the grid has recorded against what the clusters have.
#pragma once
#include <string>
#include <vector>

namespace cigri::test {

/// One job that has ended, as `done` has it.
struct OurEnd {
  std::string cluster, remote_id, tag, exit_class, code,
      wait_status;  ///< wait_status "" = not known
  bool shares_job = false;  ///< what the cluster says of the job is no end of this task
};

/// The query for all of them, and one of its rows.
extern const char* const kOurEnds;
OurEnd EndOf(const std::vector<std::string>& row);
/// The query for the ends of one task: cluster, remote id, class, code, wait status, and when it was
/// submitted, started and ended.
std::string AttemptsAt(const std::string& campaign, int index);

/// Compares with the database of OAR `instance`: the same jobs under the same ids and tags, ended
/// in the same way. A line for each thing that does not agree.
std::vector<std::string> DisagreeWithOar(int instance, const std::string& cluster,
                                         const std::string& grid_id,
                                         const std::vector<OurEnd>& ours);
/// The same with the log of ended jobs that Slurm keeps on its own (jobcomp). What was deleted
/// before it started is in no log.
std::vector<std::string> DisagreeWithSlurm(const std::string& name, const std::string& cluster,
                                           const std::string& grid_id,
                                           const std::vector<OurEnd>& ours);

}  // namespace cigri::test
