#include "updator/watch.h"

#include "core/log.h"
#include "core/text.h"

namespace cigri::updator {
namespace {

constexpr std::chrono::seconds kHeldTooLong{30}, kUnresponsiveTooLong{60};
constexpr std::size_t kNamed = 20;  // jobs in one event

}  // namespace

void HeldWatch::Update(Store& store, const Memory& memory, const Answer& answer) {
  auto& since = since_[answer.cluster_id];
  std::map<std::int64_t, Clock::time_point> now;
  std::vector<std::int64_t> still_held;
  for (const auto& remote : answer.poll.jobs) {
    if (remote.state != cluster::RemoteState::kHeld) continue;
    const auto* batch = memory.BatchOf(remote.ref.tag);
    if (batch == nullptr || now.count(batch->id) != 0) continue;
    const auto it = since.find(batch->id);
    auto& first = now[batch->id] = it == since.end() ? answer.began : it->second;
    if (answer.began - first < kHeldTooLong) continue;
    still_held.push_back(batch->id);
    first = answer.began;
  }
  since = std::move(now);
  store.PutStillHeld(answer.cluster_id, still_held);
}

void UnresponsiveWatch::Update(Store& store, const Memory& memory, const Answer& answer,
                               const std::string& cluster_name) {
  auto& since = since_[answer.cluster_id];
  std::map<std::int64_t, Clock::time_point> now;
  Jobs unresponsive;
  for (const auto& remote : answer.poll.jobs) {
    if (!remote.unresponsive) continue;
    const auto* batch = memory.BatchOf(remote.ref.tag);
    if (batch == nullptr) continue;
    const auto job = batch->first_job_id + remote.ref.index;
    if (memory.Find(job) == nullptr) continue;
    const auto it = since.find(job);
    const auto first = now[job] = it == since.end() ? answer.began : it->second;
    if (answer.began - first >= kUnresponsiveTooLong)
      unresponsive[job] = remote.ref.remote_id + (remote.node.empty() ? "" : " on " + remote.node);
  }
  since = std::move(now);
  const auto last = reported_.find(answer.cluster_id);
  if (last == reported_.end() || last->second != unresponsive)
    Report(store, answer, cluster_name, unresponsive);
}

void UnresponsiveWatch::Report(Store& store, const Answer& answer, const std::string& cluster_name,
                               const Jobs& jobs) {
  std::map<std::int64_t, double> ages_s;
  std::vector<std::string> named;
  for (const auto& [job, where] : jobs) {
    const auto age = answer.began - since_[answer.cluster_id].at(job);
    ages_s[job] = std::chrono::duration<double>(age).count();
    if (named.size() < kNamed) named.push_back(where);
  }
  store.PutUnresponsive(answer.cluster_id, ages_s);
  db::Event event{.cls = "cluster", .code = "NOT_STARTING", .message = ""};
  event.cluster_id = answer.cluster_id;
  if (jobs.empty()) {
    store.Close(event);
  } else {
    event.message = ValidUtf8(
        cluster_name +
        " says that jobs of ours are starting or running, but the jobs give no sign of life or "
        "have recorded their end. If this lasts, nikita kills them, and the grid retries those "
        "that have not succeeded: " +
        Join(named, ", "));
    event.sample = {{"remote_ids", named}};
    store.Raise(event);
    log::warn("{}", event.message);
  }
  reported_[answer.cluster_id] = jobs;
}

}  // namespace cigri::updator
