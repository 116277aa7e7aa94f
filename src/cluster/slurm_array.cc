#include "cluster/slurm_array.h"

#include "core/text.h"

namespace cigri::cluster {

int SlurmTaskOf(const RemoteRef& ref) { return ref.index - ref.index % ref.tasks_per_job; }

std::string SlurmArrayOf(const std::string& remote_id) {
  return remote_id.substr(0, remote_id.find('_'));
}

bool HasTag(const SlurmRecord& r, const std::string& tag) {
  return r.name == tag || r.comment == tag;
}

std::set<int> TasksOfBitmap(const std::string& text) {
  std::set<int> tasks;
  if (!StartsWith(text, "0x")) return tasks;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    const int digit = std::stoi("0" + std::string(1, text[text.size() - 1 - i]), nullptr, 16);
    for (int bit = 0; bit < 4; ++bit)
      if ((digit >> bit & 1) != 0) tasks.insert(static_cast<int>(i) * 4 + bit);
  }
  return tasks;
}

ArrayView::ArrayView(std::vector<SlurmRecord> records, const std::string& tag)
    : records_(std::move(records)) {
  for (const auto& r : records_) {
    if (!HasTag(r, tag)) continue;
    if (r.task)
      split_[*r.task] = &r;
    else
      rest_ = &r;
  }
  if (rest_ != nullptr) in_rest_ = ParseTaskString(rest_->task_string, &cut_);
}

const SlurmRecord* ArrayView::Of(int task) const {
  if (const auto it = split_.find(task); it != split_.end()) return it->second;
  // A list that was cut does not show all: then all jobs that are not split off have not started.
  return rest_ != nullptr && (cut_ || in_rest_.count(task) != 0) ? rest_ : nullptr;
}

std::set<int> ArrayView::Alive() const {
  std::set<int> alive;
  for (const auto& [task, record] : split_)
    if (!SlurmEnded(record->state)) alive.insert(task);
  if (rest_ != nullptr && !SlurmEnded(rest_->state)) alive.insert(in_rest_.begin(), in_rest_.end());
  return alive;
}

}  // namespace cigri::cluster
