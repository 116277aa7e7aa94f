#include "updator/early_reports.h"

namespace cigri::updator {

constexpr std::size_t kMostSettled = 10000;  // tags remembered; a forgotten one is looked up again

void EarlyReports::Add(EarlyReport report) {
  const auto& tag = report.remote.ref.tag;
  if (settled_.count(tag) == 0) waiting_[tag].reports.push_back(std::move(report));
}

std::vector<EarlyReport> EarlyReports::TakeKnown(const Memory& memory) {
  std::vector<EarlyReport> out;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (memory.BatchOf(it->first) == nullptr) {
      ++it;
      continue;
    }
    for (auto& report : it->second.reports) out.push_back(std::move(report));
    it = waiting_.erase(it);
  }
  return out;
}

std::vector<std::string> EarlyReports::Tags() const {
  std::vector<std::string> tags;
  for (const auto& [tag, waiting] : waiting_) tags.push_back(tag);
  return tags;
}

void EarlyReports::Settle(const std::map<std::string, BatchState>& states) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto found = states.find(it->first);
    const bool open = found != states.end() && (found->second == BatchState::kIntended ||
                                                found->second == BatchState::kInDoubt);
    // A batch may have been recorded between the updator's look for new batches and its look at
    // the tags. Only when the next pass does not find it either have all its jobs ended.
    const bool just_recorded =
        found != states.end() && found->second == BatchState::kRecorded && !it->second.recorded;
    if (open || just_recorded) {
      it->second.recorded = just_recorded;
      ++it;
      continue;
    }
    if (settled_.size() >= kMostSettled) settled_.clear();
    settled_.insert(it->first);
    it = waiting_.erase(it);
  }
}

bool EarlyReports::AnyOf(std::int64_t cluster_id) const {
  for (const auto& [tag, waiting] : waiting_)
    for (const auto& report : waiting.reports)
      if (report.cluster_id == cluster_id) return true;
  return false;
}

}  // namespace cigri::updator
