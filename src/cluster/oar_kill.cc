// Deletes jobs of OAR: the array when all its jobs that still run are to be deleted, else each.
#include <map>

#include "cluster/kill_once.h"
#include "cluster/oar.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

// Below this, single calls are not dearer than looking whether all of the array is meant.
constexpr std::size_t kFewJobs = 3;

// What OAR 3 says became of a deletion, which it answers with 200 in any case: the exit status of
// oardel. OAR 2.5 says it by the status of HTTP.
enum class Deletion { kTaken, kUnknown, kRefused };
Deletion DeletionIn(const http::Response& response) {
  constexpr int kAlreadyKilled = 6, kUnknownJob = 7;
  const auto answer = nlohmann::json::parse(ValidUtf8(response.body), nullptr, false);
  const auto status = Whole<int>(NumberIn(At(answer, "exit_status")));
  if (status == 0 || status == kAlreadyKilled) return Deletion::kTaken;
  return status == kUnknownJob ? Deletion::kUnknown : Deletion::kRefused;
}

// The first id of an array is its name. REQUIRES: not a copy that OAR made under a new id; for
// that one the answer names no array of ours, and it is deleted alone.
std::string ArrayOf(const RemoteRef& ref) {
  return std::to_string(std::strtoll(ref.remote_id.c_str(), nullptr, 10) -
                        ref.index / ref.tasks_per_job);
}

}  // namespace

KillResult OarCluster::Kill(const std::vector<RemoteRef>& jobs) {
  KillResult result;
  for (const auto& refs :
       InGroups(jobs, [](const RemoteRef& ref) { return ref.cluster_user + " " + ref.tag; }))
    KillOncePerJob(refs, &result, [&](const auto& jobs_of_array, KillResult* once) {
      KillArray(jobs_of_array, once);
    });
  return result;
}

void OarCluster::KillArray(const std::vector<RemoteRef>& refs, KillResult* result) {
  if (refs.size() > kFewJobs && KillWhole(refs)) {
    result->asked.insert(result->asked.end(), refs.begin(), refs.end());
    return;
  }
  const auto listed = ListedNow(refs);
  for (const auto& ref : refs) {
    const auto it = listed.find(ref.remote_id);
    // OAR issues ids again after a crash: what has another tag is not our job.
    if (it != listed.end() && it->second.name != ref.tag)
      result->gone.push_back(ref);
    else if (it != listed.end() && ref.only_waiting && OarRuns(it->second.state))
      result->begun.push_back(ref);
    else
      KillOne(ref, result);
  }
}

std::map<std::string, OarItem> OarCluster::ListedNow(std::span<const RemoteRef> refs) {
  std::map<std::string, OarItem> listed;
  for (std::size_t from = 0, to = 0; from < refs.size(); from = to) {
    to = EndOfCall(refs, from);
    std::vector<std::string> ids;
    for (const auto& ref : refs.subspan(from, to - from)) ids.push_back(ref.remote_id);
    for (auto& item : List("list jobs of " + api_.config().name, dialect_->JobsByIds(ids),
                           refs.front().cluster_user))
      listed[std::to_string(item.id)] = std::move(item);
  }
  return listed;
}

// Deletes the array of `refs` in one call when all its live jobs are among them and may be ended.
bool OarCluster::KillWhole(const std::vector<RemoteRef>& refs) {
  const auto array = ArrayOf(refs.front());
  const auto deletion = dialect_->ArrayDeletion(array);
  if (deletion.empty()) return false;
  std::map<std::string, bool> wanted;  // whether it may only be ended while it waits
  for (const auto& ref : refs) wanted[ref.remote_id] = ref.only_waiting;
  const auto user = refs.front().cluster_user;
  int meant = 0;
  for (const auto& item : List("list array " + array + " of " + api_.config().name,
                               dialect_->JobsOfArray(array), user)) {
    if (item.name != refs.front().tag) return false;
    if (OarEnded(item.state)) continue;
    const auto it = wanted.find(std::to_string(item.id));
    if (it == wanted.end() || (it->second && OarRuns(item.state))) return false;
    ++meant;
  }
  if (meant == 0) return false;
  const auto response = api_.Post(deletion, "", user);
  return response.ok() && DeletionIn(response) == Deletion::kTaken;
}

void OarCluster::KillOne(const RemoteRef& ref, KillResult* result) {
  const auto what = "delete job " + ref.remote_id + " of " + api_.config().name;
  const auto response = api_.Delete(dialect_->Job(ref.remote_id), ref.cluster_user);
  if (response.outcome == http::Outcome::kNotSent) throw api_.Failed(what, response);
  const auto text = api_.Failure(what, response);
  const auto said = response.ok() ? DeletionIn(response) : Deletion::kRefused;
  if (said == Deletion::kTaken || text.find("already killed") != text.npos)
    result->asked.push_back(ref);
  else if (said == Deletion::kUnknown || response.status == 404)
    result->gone.push_back(ref);
  else if (response.ok())
    result->failed.emplace_back(ref, "cannot " + what + ": " + ErrorText(response.body));
  else
    result->failed.emplace_back(ref, text);
}

}  // namespace cigri::cluster
