#include "tests/realgrid/agreement.h"

#include <map>

#include "core/text.h"
#include "tests/realgrid/five_clusters.h"

namespace cigri::test {
namespace {

using Ends = std::map<std::string, OurEnd>;

Ends Of(const std::string& cluster, const std::vector<OurEnd>& ours) {
  Ends ends;
  for (const auto& end : ours)
    if (end.cluster == cluster) ends[end.remote_id] = end;
  return ends;
}

std::string Described(const OurEnd& e) {
  return e.cluster + " job " + e.remote_id + " (" + e.tag + "): recorded as " +
         (e.code.empty() ? "success" : e.code) + ", wait status \"" + e.wait_status + "\"";
}

/// "" when OAR's state and exit code mean what we have recorded.
bool OarMeans(const std::string& state, const std::string& exit_code, bool exterminated,
              const OurEnd& e) {
  if (state == "Terminated") return e.wait_status == exit_code;
  // Launched when its server died: OAR has never heard of it, and its own record counts.
  if (exterminated) return true;
  return state == "Error" && e.exit_class != "none";  // ended by OAR: never a success
}

struct SlurmEnd {
  std::string id, tag, state, exit;
};

std::string Field(const std::string& line, const std::string& key) {
  const auto at = line.find(" " + key + "=");
  if (at == line.npos) return "";
  const auto from = at + key.size() + 2;
  return line.substr(from, line.find(' ', from) - from);
}

bool SlurmMeans(const SlurmEnd& s, const OurEnd& e) {
  const auto colon = s.exit.find(':');
  const int status = std::atoi(s.exit.c_str()) << 8 | std::atoi(s.exit.c_str() + colon + 1);
  if (s.state == "COMPLETED") return e.wait_status == "0" && e.exit_class == "none";
  if (s.state == "FAILED") return e.exit_class != "none" && e.wait_status == std::to_string(status);
  // Evicted, or ended with 0 in that second.
  if (s.state == "PREEMPTED") return e.exit_class == "preemption" || e.wait_status == "0";
  if (s.state == "TIMEOUT") return e.code == "WALLTIME";
  // Deleted, or ended with 0 in that second: its own record says so.
  if (s.state == "CANCELLED")
    return e.exit_class == "our_kill" || e.code == "FRAG_RESUBMIT" || e.wait_status == "0";
  return e.exit_class != "none";
}

}  // namespace

std::string AttemptsAt(const std::string& campaign, int index) {
  return "SELECT c.name, d.remote_id, d.exit_class, d.code, d.wait_status, d.submitted_at, "
         "d.started_at, d.ended_at FROM done AS d JOIN clusters AS c ON c.id = d.cluster_id WHERE "
         "d.campaign_id = " +
         campaign + " AND d.idx = " + std::to_string(index);
}

const char* const kOurEnds =
    "SELECT c.name, d.remote_id, b.tag, d.exit_class, coalesce(d.code, ''), d.wait_status, "
    "b.tasks_per_job > 1 FROM done d JOIN batches b ON b.id = d.batch_id JOIN clusters c ON c.id = "
    "d.cluster_id WHERE d.remote_id IS NOT NULL";

OurEnd EndOf(const std::vector<std::string>& row) {
  return {row[0], row[1], row[2], row[3], row[4], row[5], row[6] == "t"};
}

std::vector<std::string> DisagreeWithOar(int instance, const std::string& cluster,
                                         const std::string& grid_id,
                                         const std::vector<OurEnd>& ours) {
  auto ends = Of(cluster, ours);
  std::vector<std::string> wrong;
  const auto rows =
      Shell("cd / && runuser -u postgres -- psql -XAt -h /run/oar-up/pg -p 5441 -d oar" +
            std::to_string(instance) +
            " -c \"SELECT job_id, job_name, state, exit_code, message LIKE '%exterminated%' "
            "FROM jobs WHERE job_name "
            "LIKE 'cigri.%." +
            grid_id + ".%'\"");
  for (const auto& line : Split(rows, '\n')) {
    const auto row = Split(line, '|');
    if (row.size() != 5) continue;
    const auto it = ends.find(row[0]);
    if (it == ends.end()) {
      wrong.push_back(cluster + " has job " + row[0] + " (" + row[1] + ", " + row[2] +
                      "), which the grid has not recorded");
      continue;
    }
    if (it->second.tag != row[1] ||
        (!it->second.shares_job && !OarMeans(row[2], row[3], row[4] == "t", it->second)))
      wrong.push_back(Described(it->second) + ", OAR says " + row[1] + " " + row[2] + " " + row[3]);
    ends.erase(it);
  }
  for (const auto& [id, end] : ends) wrong.push_back(Described(end) + ", OAR has no such job");
  return wrong;
}

std::vector<std::string> DisagreeWithSlurm(const std::string& name, const std::string& cluster,
                                           const std::string& grid_id,
                                           const std::vector<OurEnd>& ours) {
  auto ends = Of(cluster, ours);
  std::vector<std::string> wrong;
  for (const auto& line :
       Split(Slurp("/var/lib/slurm-clusters/" + name + "/log/slurm/jobcomp.log"), '\n')) {
    const SlurmEnd s{Field(line, "ArrayJobId") + "_" + Field(line, "ArrayTaskId"),
                     Field(line, "Name"), Field(line, "JobState"), Field(line, "ExitCode")};
    if (!StartsWith(s.tag, "cigri.") || s.tag.find("." + grid_id + ".") == s.tag.npos) continue;
    const auto it = ends.find(s.id);
    if (it == ends.end()) {
      // What never started of an array is logged as one record when it is deleted.
      if (s.state != "CANCELLED")
        wrong.push_back(cluster + " has job " + s.id + " (" + s.tag + ", " + s.state +
                        "), which the grid has not recorded");
      continue;
    }
    if (it->second.tag != s.tag || (!it->second.shares_job && !SlurmMeans(s, it->second)))
      wrong.push_back(Described(it->second) + ", Slurm says " + s.tag + " " + s.state + " " +
                      s.exit);
    ends.erase(it);
  }
  for (const auto& [id, end] : ends)
    if (end.exit_class != "our_kill") wrong.push_back(Described(end) + ", not in Slurm's log");
  return wrong;
}

}  // namespace cigri::test
