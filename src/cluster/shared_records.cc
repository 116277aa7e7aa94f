#include "cluster/shared_records.h"

#include <algorithm>
#include <ctime>

namespace cigri::cluster {

std::optional<ExitRecord> ReadExitRecord(const SharedFiles& files, const RemoteRef& ref) try {
  return ParseExitRecord(files.Read(ref.cluster_user, RecordPath(ref), 0, 1000).bytes, ref);
} catch (const std::runtime_error&) {
  return std::nullopt;  // what cannot be read says nothing
}

std::optional<GroupLog> ReadGroupLog(const SharedFiles& files, const RemoteJob& whole) try {
  constexpr std::size_t kMost = 1 << 20;
  if (whole.started_at == 0) return GroupLog{};
  const auto part = files.Read(whole.ref.cluster_user, GroupPath(whole.ref), 0, kMost);
  const bool over = whole.state == RemoteState::kEnded;
  const auto now = static_cast<double>(std::time(nullptr));
  if (!part.exists && over && now - whole.ended_at < kLateFileSeconds) return std::nullopt;
  return ParseGroupLog(part.bytes);
} catch (const std::runtime_error&) {
  return std::nullopt;
}

void AddGroup(const SharedFiles& files, const RemoteJob& whole, const std::vector<RemoteRef>& refs,
              std::vector<RemoteJob>* jobs) {
  const auto log = ReadGroupLog(files, whole);
  if (!log) return;  // the next poll asks
  const int last = std::max_element(refs.begin(), refs.end(), [](const auto& a, const auto& b) {
                     return a.index < b.index;
                   })->index;
  for (const auto& ref : refs) {
    auto job = InGroup(whole, ref, ref.index == last, *log);
    if (job.state == RemoteState::kEnded || job.state != ref.known || job.unresponsive)
      jobs->push_back(std::move(job));
  }
}

}  // namespace cigri::cluster
