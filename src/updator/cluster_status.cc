#include "updator/cluster_status.h"

#include <algorithm>

#include "updator/decide.h"

namespace cigri::updator {
namespace {

constexpr std::chrono::seconds kStatusEvery{1};

bool Same(const cluster::Resources& a, const cluster::Resources& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.name == y.second.name &&
           x.second.total == y.second.total && x.second.free == y.second.free;
  };
  return a.max == b.max && a.used == b.used && a.unavailable == b.unavailable &&
         std::equal(a.classes.begin(), a.classes.end(), b.classes.begin(), b.classes.end(), same);
}

bool Same(const Memory::Counts& a, const Memory::Counts& b) {
  return a.running == b.running && a.waiting == b.waiting;
}

}  // namespace

void ClusterStatusWriter::Write(Store& store, const std::vector<Answer>& answers,
                                const Memory& memory, const ClusterInfos& clusters,
                                module::Waker& waker) {
  std::map<std::int64_t, const Answer*> last;
  for (const auto& answer : answers) {
    last[answer.cluster_id] = &answer;
    written_[answer.cluster_id].calls.emplace_back(Clock::now(), std::max(1, answer.poll.calls));
  }
  for (const auto& [cluster, answer] : last) {
    auto& written = written_[cluster];
    const bool turned = answer->ok != written.ok || answer->failures == 1;
    if (turned || Clock::now() - written.status >= kStatusEvery)
      WriteStatus(store, *answer, clusters.at(cluster), written);
    if (answer->ok && answer->resources) written.pending = answer->resources;
    written.ok = answer->ok;
  }
  for (auto& [cluster, written] : written_)
    if (written.pending) WriteSnapshot(store, cluster, memory.CountsOf(cluster), written, waker);
}

void ClusterStatusWriter::ReportAgain() {
  for (auto& [cluster, written] : written_) written.health = {};
}

void ClusterStatusWriter::WriteStatus(Store& store, const Answer& answer, const ClusterInfo& info,
                                      Written& written) {
  auto& calls = written.calls;
  while (!calls.empty() && Clock::now() - calls.front().first > std::chrono::minutes(1))
    calls.pop_front();
  double calls_per_min = 0;
  for (const auto& [at, n] : calls) calls_per_min += n;
  store.SetClusterStatus({.cluster_id = answer.cluster_id,
                          .ok = answer.ok,
                          .failures = answer.failures,
                          .retry_in_s = answer.retry_in_s,
                          .error = answer.error,
                          .stress = answer.resources ? answer.resources->stress : 0.0,
                          .calls_per_min = calls_per_min,
                          .clock_skew_s = answer.skew_s});
  ReportHealth(store, answer, info.name, info.stress_limit, &written.health);
  written.status = Clock::now();
}

void ClusterStatusWriter::WriteSnapshot(Store& store, std::int64_t cluster,
                                        const Memory::Counts& jobs, Written& written,
                                        module::Waker& waker) {
  const bool same = Same(*written.pending, written.resources) && Same(jobs, written.jobs);
  const auto step = DecideSnapshot(Clock::now() - written.snapshot, same);
  if (step == SnapshotStep::kWait) {
    waker.WakeIn(std::chrono::seconds(1));
    return;
  }
  const auto resources = *written.pending;
  written.pending.reset();
  if (step == SnapshotStep::kSkip) return;
  store.AddSnapshot(cluster, resources, jobs);
  // The first time it may be what an updator before this one has left.
  const bool first = written.snapshot == Clock::time_point{};
  if (first || !resources.classes.empty() || !written.resources.classes.empty())
    store.PutResourceClasses(cluster, resources.classes);
  written.snapshot = Clock::now();
  written.resources = resources;
  written.jobs = jobs;
}

}  // namespace cigri::updator
