// Deletes jobs of Slurm: the array when all its jobs that still run are to be deleted, else each.
#include <algorithm>

#include "cluster/kill_once.h"
#include "cluster/slurm.h"
#include "cluster/slurm_array.h"
#include "core/text.h"

namespace cigri::cluster {

KillResult SlurmCluster::Kill(const std::vector<RemoteRef>& jobs) {
  const auto array_of = [](const RemoteRef& ref) {
    return ref.cluster_user + " " + ref.tag + " " + SlurmArrayOf(ref.remote_id);
  };
  KillResult result;
  for (const auto& refs : InGroups(jobs, array_of))
    KillOncePerJob(refs, &result, [&](const Refs& jobs_of_array, KillResult* once) {
      KillArray(SlurmArrayOf(refs.front().remote_id), jobs_of_array, once);
    });
  return result;
}

// Slurm reuses ids after a crash of slurmctld: a job that it shows without our tag is not ours.
void SlurmCluster::KillArray(const std::string& array, const Refs& refs, KillResult* result) {
  const auto records = GetJobs("read array " + array + " of " + api_.config().name,
                               Path("job/" + array), refs.front().cluster_user);
  const ArrayView view(records.value_or(Records{}), refs.front().tag);
  // v0.0.40 and v0.0.41 answer the deletion of another user's job as that of an own one.
  const auto foreign = [&](const RemoteRef& ref) {
    const auto* record = view.Of(SlurmTaskOf(ref));
    return record != nullptr && !record->user.empty() && record->user != ref.cluster_user;
  };
  const auto begun = [&](const RemoteRef& ref) {
    const auto* record = view.Of(SlurmTaskOf(ref));
    return ref.only_waiting && record != nullptr && SlurmRuns(*record);
  };
  if (std::none_of(refs.begin(), refs.end(), foreign) &&
      std::none_of(refs.begin(), refs.end(), begun) && refs.size() > 3 &&
      KillWhole(array, refs, view, result))
    return;
  for (const auto& ref : refs) {
    const auto* record = view.Of(SlurmTaskOf(ref));
    if (record == nullptr || SlurmEnded(record->state))
      result->gone.push_back(ref);
    else if (begun(ref))
      result->begun.push_back(ref);
    else if (foreign(ref))
      Sort(ref, {kSlurmForeignJob, "it is a job of user " + record->user, true}, result);
    else
      KillOne(ref, result);
  }
}

// Cancels the array of `refs` in one call when all its jobs that still run are among them.
bool SlurmCluster::KillWhole(const std::string& array, const Refs& refs, const ArrayView& view,
                             KillResult* result) {
  std::set<int> wanted;
  for (const auto& ref : refs) wanted.insert(SlurmTaskOf(ref));
  const auto alive = view.Alive();
  if (alive.empty() || view.cut()) return false;
  if (!std::includes(wanted.begin(), wanted.end(), alive.begin(), alive.end())) return false;
  const auto response = api_.Delete(Path("job/" + array), refs.front().cluster_user);
  if (!response.ok()) return false;
  const auto errors = SlurmDeletionErrors(response.body);
  if (errors.count(array) != 0) return false;  // of all of it: each is asked about
  for (const auto& ref : refs) {
    const auto error = errors.find(ref.remote_id);
    Sort(ref, error == errors.end() ? SlurmError{} : error->second, result);
  }
  return true;
}

// A deletion that was answered: what became of the job, by Slurm's number for it.
void SlurmCluster::Sort(const RemoteRef& ref, const SlurmError& error, KillResult* result) {
  if (error.number == 0)
    result->asked.push_back(ref);
  else if (error.number == kSlurmUnknownJob || error.number == kSlurmEndedJob)
    result->gone.push_back(ref);
  else
    result->failed.emplace_back(ref, "cannot delete job " + ref.remote_id + " of " +
                                         api_.config().name + ": " + error.text + " (" +
                                         std::to_string(error.number) + ")");
}

// Tasks are deleted as A_T: by the id that a started one also has, Slurm 22.05 refuses.
void SlurmCluster::KillOne(const RemoteRef& ref, KillResult* result) {
  const auto what = "delete job " + ref.remote_id + " of " + api_.config().name;
  const auto response = api_.Delete(Path("job/" + ref.remote_id), ref.cluster_user);
  if (response.outcome == http::Outcome::kNotSent) throw api_.Failed(what, response);
  const auto errors = SlurmDeletionErrors(response.body);
  if (response.ok())
    Sort(ref, errors.empty() ? SlurmError{} : errors.begin()->second, result);
  else if (SlurmErrorOf(response.body).number == kSlurmUnknownJob)
    result->gone.push_back(ref);
  else
    result->failed.emplace_back(ref, api_.Failure(what, response));
}

}  // namespace cigri::cluster
