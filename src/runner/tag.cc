#include "runner/tag.h"

#include <charconv>

#include "cluster/job_record.h"
#include "core/text.h"

namespace cigri::runner {
namespace {

constexpr std::size_t kLongest = 80;  // batch schedulers keep at least so much of a job's name
constexpr char kScript[] = "S";
constexpr std::int64_t kMostTasks = 1'000'000;  // of one batch, read from a name that anybody wrote

std::string Base36(std::int64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 36).ptr};
}

std::optional<std::int64_t> FromBase36(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 36);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "dcNrs_1a": the rs tasks from dc on, and 1a. Digits are lower case, N and _ stand between them.
std::string Runs(const std::vector<std::int64_t>& idxs) {
  std::string text;
  for (std::size_t from = 0, to = 0; from < idxs.size(); from = to) {
    for (to = from + 1; to < idxs.size() && idxs[to] == idxs[to - 1] + 1;) ++to;
    text += (text.empty() ? "" : "_") + Base36(idxs[from]);
    if (to - from > 1) text += "N" + Base36(static_cast<std::int64_t>(to - from));
    if (text.size() > kLongest) return text;
  }
  return text;
}

std::optional<std::vector<std::int64_t>> FromRuns(const std::string& text) {
  std::vector<std::int64_t> idxs;
  for (const auto& run : Split(text, '_')) {
    const auto at = run.find('N');
    const auto first = FromBase36(run.substr(0, at));
    const auto n = at == run.npos ? 1 : FromBase36(run.substr(at + 1));
    if (!first || !n || *n < 1 || *n > kMostTasks - static_cast<std::int64_t>(idxs.size()) ||
        *first > INT64_MAX - *n)
      return std::nullopt;
    for (std::int64_t i = 0; i < *n; ++i) idxs.push_back(*first + i);
  }
  return idxs;
}

}  // namespace

std::string NewTag(std::int64_t campaign_id, const std::string& grid_id,
                   const std::vector<std::int64_t>& idxs, int tasks_per_job) {
  const std::string tag =
      "cigri." + std::to_string(campaign_id) + "." + grid_id + "." + RandomHex(8);
  const std::string whole = tag + "-" + (idxs.at(0) < 0 ? kScript : Runs(idxs)) +
                            (tasks_per_job == 1 ? "" : "G" + Base36(tasks_per_job));
  return whole.size() <= kLongest ? whole : tag;
}

std::optional<TagContent> ReadTag(const std::string& tag, const std::string& grid_id) {
  const auto parts = Split(tag, '.');
  if (!cluster::IsTag(tag) || parts[2] != grid_id) return std::nullopt;
  TagContent content;
  const auto& number = parts[1];
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), content.campaign_id);
  if (error != std::errc() || end != number.data() + number.size() || content.campaign_id < 0)
    return std::nullopt;
  const auto at = parts[3].find('-');
  if (at == std::string::npos) return content;
  const auto tasks = parts[3].substr(at + 1);
  const auto group = tasks.find('G');
  const auto shared = group == tasks.npos ? 1 : FromBase36(tasks.substr(group + 1));
  if (tasks == kScript)
    content.script = true;
  else if (auto idxs = FromRuns(tasks.substr(0, group));
           idxs && shared && *shared >= 1 && *shared <= kMostTasks) {
    content.idxs = std::move(*idxs);
    content.tasks_per_job = static_cast<int>(*shared);
  }
  return content;
}

}  // namespace cigri::runner
