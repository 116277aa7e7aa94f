#include "updator/watch.h"

#include <sql/batches.h>
#include <sql/jobs.h>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"

namespace cigri::updator {
namespace {

constexpr std::chrono::seconds kHeldTooLong{30}, kSilentTooLong{60};
constexpr std::size_t kNamed = 20;  // jobs in one event

}  // namespace

void HeldWatch::Look(db::Tx& tx, const Memory& memory, const Answer& answer) {
  auto& since = since_[answer.cluster_id];
  std::map<std::int64_t, Clock::time_point> now;
  std::vector<std::int64_t> tell;
  for (const auto& remote : answer.poll.jobs) {
    if (remote.state != cluster::RemoteState::kHeld) continue;
    const auto* batch = memory.BatchOf(remote.ref.tag);
    if (batch == nullptr || now.count(batch->id) != 0) continue;
    const auto it = since.find(batch->id);
    auto& first = now[batch->id] = it == since.end() ? answer.began : it->second;
    if (answer.began - first < kHeldTooLong) continue;
    tell.push_back(batch->id);
    first = answer.began;  // and again after as long
  }
  since = std::move(now);
  if (!tell.empty()) tx.Exec(sql::kPutStillHeld, answer.cluster_id, tell);
}

void SilentWatch::Look(db::Tx& tx, const Memory& memory, const Answer& answer,
                       const std::string& cluster_name) {
  auto& since = since_[answer.cluster_id];
  std::map<std::int64_t, Clock::time_point> now;
  Jobs silent;
  for (const auto& remote : answer.poll.jobs) {
    if (!remote.silent) continue;
    const auto* batch = memory.BatchOf(remote.ref.tag);
    if (batch == nullptr) continue;
    const auto job = batch->first_job_id + remote.ref.index;
    if (memory.Find(job) == nullptr) continue;
    const auto it = since.find(job);
    const auto first = now[job] = it == since.end() ? answer.began : it->second;
    if (answer.began - first >= kSilentTooLong)
      silent[job] = remote.ref.remote_id + (remote.node.empty() ? "" : " on " + remote.node);
  }
  since = std::move(now);
  const auto told = told_.find(answer.cluster_id);
  if (told == told_.end() || told->second != silent) Tell(tx, answer, cluster_name, silent);
}

void SilentWatch::Tell(db::Tx& tx, const Answer& answer, const std::string& cluster_name,
                       const Jobs& silent) {
  std::vector<std::int64_t> ids;
  std::vector<double> ages;
  std::vector<std::string> named;
  for (const auto& [job, where] : silent) {
    ids.push_back(job);
    ages.push_back(
        std::chrono::duration<double>(answer.began - since_[answer.cluster_id].at(job)).count());
    if (named.size() < kNamed) named.push_back(where);
  }
  tx.Exec(sql::kPutUnresponsiveJobs, answer.cluster_id, ids, ages);
  module::Event event{.cls = "cluster", .code = "NOT_STARTING", .message = ""};
  event.cluster_id = answer.cluster_id;
  if (silent.empty()) {
    module::CloseEvent(tx, event, "updator");
  } else {
    event.message = ValidUtf8(
        cluster_name +
        " says of jobs of ours that they are starting or running, and they give "
        "no sign of it or have ended by their own record (if it lasts they are killed, and those "
        "that have not succeeded go again): " +
        Join(named, ", "));
    event.sample = {{"remote_ids", named}};
    module::RaiseEvent(tx, event);
    log::warn("{}", event.message);
  }
  told_[answer.cluster_id] = silent;
}

}  // namespace cigri::updator
