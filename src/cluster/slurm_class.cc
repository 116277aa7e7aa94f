#include "cluster/slurm_class.h"

#include <algorithm>
#include <set>

#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

// A list of features: v0.0.36 to v0.0.38 write "a,b", later ones ["a", "b"].
std::set<std::string> FeaturesOf(const nlohmann::json& node) {
  std::set<std::string> features;
  for (const char* key : {"features", "active_features"}) {
    const auto& value = At(node, key);
    if (value.is_string())
      for (const auto& word : Split(value.get<std::string>(), ',')) features.insert(word);
    else if (value.is_array())
      for (const auto& word : value)
        if (word.is_string()) features.insert(word);
  }
  return features;
}

// The part of Slurm's constraints that we count: names, all joined by & or all by |.
bool CanCount(const std::string& constraint) {
  return constraint.find_first_of("[]()*!, ") == std::string::npos &&
         (constraint.find('&') == std::string::npos || constraint.find('|') == std::string::npos);
}

bool Satisfies(const nlohmann::json& node, const std::string& constraint) {
  if (constraint.empty()) return true;
  const auto features = FeaturesOf(node);
  const auto has = [&](const std::string& name) { return features.count(name) != 0; };
  const bool any = constraint.find('|') != std::string::npos;
  const auto names = Split(constraint, any ? '|' : '&');
  return any ? std::any_of(names.begin(), names.end(), has)
             : std::all_of(names.begin(), names.end(), has);
}

// GPUs in "gpu:2", "gpu:a100:2(S:0-1),gpu:t4:1", "gpu:a100:1(IDX:0,3)".
int GpusIn(const std::string& gres) {
  int total = 0, depth = 0;
  std::string item;
  for (const char c : gres + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      item += c;
      continue;
    }
    item = item.substr(0, item.find('('));
    if (item == "gpu")
      ++total;
    else if (StartsWith(item, "gpu:"))
      total += std::clamp(std::atoi(item.c_str() + item.rfind(':') + 1), 0, 10'000);
    item.clear();
  }
  return total;
}

}  // namespace

ResourceClass SlurmClass::Of(int units) const {
  if ((!gpus && partition.empty() && constraint.empty()) || !CanCount(constraint)) return {};
  auto request = nlohmann::json::object();
  if (gpus) request["gpus"] = true;
  if (!partition.empty()) request["partition"] = partition;
  if (!constraint.empty()) request["constraint"] = constraint;
  return {request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), units};
}

std::optional<SlurmClass> SlurmClass::Read(const std::string& request) {
  const auto json = nlohmann::json::parse(request, nullptr, false);
  SlurmClass what{At(json, "gpus") == true, TextIn(json, "partition"), TextIn(json, "constraint")};
  if (what.Of(1).request.empty()) return std::nullopt;
  return what;
}

std::string SlurmClass::Name() const {
  return std::string(gpus ? "GPUs" : "CPUs") +
         (partition.empty() ? "" : " of partition " + partition) +
         (constraint.empty() ? "" : " with " + constraint);
}

void SlurmClassCounter::Add(const nlohmann::json& node, bool usable) {
  if (!Satisfies(node, what_.constraint)) return;
  const int cpus_used = CountIn(node, "alloc_cpus");
  int total = CountIn(node, "cpus"), used = cpus_used;
  if (what_.gpus) {
    total = GpusIn(TextIn(node, "gres"));
    const auto in_use = TextIn(node, "gres_used");
    used = GpusIn(in_use);
    // A job runs there, and which GPUs it has is not shown.
    if (total > 0 && cpus_used > 0 && in_use.empty()) shown_ = false;
  }
  total_ += total;
  if (usable) free_ += std::max(0, total - used);
}

std::optional<ClassCount> SlurmClassCounter::Count() const {
  if (!shown_) return std::nullopt;
  return ClassCount{what_.Name(), total_, free_};
}

}  // namespace cigri::cluster
