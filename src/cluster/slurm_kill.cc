// Deletes jobs of Slurm: the array when all its jobs that still run are to be deleted, else each.
#include <algorithm>
#include <tuple>

#include "cluster/slurm.h"
#include "cluster/slurm_array.h"
#include "core/text.h"

namespace cigri::cluster {

KillResult SlurmCluster::Kill(const std::vector<RemoteRef>& jobs) {
  std::map<std::tuple<std::string, std::string, std::string>, Refs> arrays;
  for (const auto& ref : jobs)
    arrays[{ref.cluster_user, ref.tag, SlurmArrayOf(ref.remote_id)}].push_back(ref);
  KillResult result;
  for (const auto& [key, refs] : arrays) KillArray(std::get<2>(key), refs, &result);
  return result;
}

// Slurm reuses ids after a crash of slurmctld: a job that it shows without our tag is not ours.
void SlurmCluster::KillArray(const std::string& array, const Refs& refs, KillResult* result) {
  const auto records = GetJobs("read array " + array + " of " + api_.config().name,
                               Path("job/" + array), refs.front().cluster_user);
  const ArrayView view(records.value_or(Records{}), refs.front().tag);
  if (refs.size() > 3 && KillWhole(array, refs, view)) {
    result->asked.insert(result->asked.end(), refs.begin(), refs.end());
    return;
  }
  for (const auto& ref : refs) {
    if (view.Of(ref.index) == nullptr)
      result->gone.push_back(ref);
    else
      KillOne(ref, result);
  }
}

// Cancels the array of `refs` in one call when all its jobs that still run are among them.
bool SlurmCluster::KillWhole(const std::string& array, const Refs& refs, const ArrayView& view) {
  std::set<int> wanted;
  for (const auto& ref : refs) wanted.insert(ref.index);
  const auto alive = view.Alive();
  if (alive.empty() || view.cut()) return false;
  if (!std::includes(wanted.begin(), wanted.end(), alive.begin(), alive.end())) return false;
  return api_.Delete(Path("job/" + array), refs.front().cluster_user).ok();
}

// Tasks are deleted as A_T: by the id that a started one also has, Slurm refuses.
void SlurmCluster::KillOne(const RemoteRef& ref, KillResult* result) {
  const auto what = "delete job " + ref.remote_id + " of " + api_.config().name;
  const auto response = api_.Delete(Path("job/" + ref.remote_id), ref.cluster_user);
  if (response.outcome == http::Outcome::kNotSent) throw api_.Failed(what, response);
  if (response.ok())
    result->asked.push_back(ref);
  else if (SlurmErrorOf(response.body).number == kSlurmUnknownJob)
    result->gone.push_back(ref);
  else
    result->failed.emplace_back(ref, api_.Failure(what, response));
}

}  // namespace cigri::cluster
