#include "cluster/kill_once.h"

namespace cigri::cluster {

void KillOncePerJob(const std::vector<RemoteRef>& refs, KillResult* result,
                    const std::function<void(const std::vector<RemoteRef>&, KillResult*)>& kill) {
  std::map<std::string, std::vector<RemoteRef>> others;
  std::vector<RemoteRef> first;
  for (const auto& ref : refs) {
    const auto [it, is_new] = others.try_emplace(ref.remote_id);
    if (is_new)
      first.push_back(ref);
    else
      it->second.push_back(ref);
  }
  KillResult once;
  try {
    kill(first, &once);
  } catch (const CallFailed& e) {
    if (e.why() != CallFailed::Why::kAuth) throw;
    once = {};
    for (const auto& ref : first) once.failed.emplace_back(ref, e.what());
  }
  const auto all = [&](const RemoteRef& ref) {
    auto same = others.at(ref.remote_id);
    same.push_back(ref);
    return same;
  };
  for (const auto& ref : once.gone)
    for (auto& each : all(ref)) result->gone.push_back(each);
  for (const auto& ref : once.asked)
    for (auto& each : all(ref)) result->asked.push_back(each);
  for (const auto& ref : once.begun)
    for (auto& each : all(ref)) result->begun.push_back(each);
  for (const auto& [ref, why] : once.failed)
    for (auto& each : all(ref)) result->failed.emplace_back(each, why);
}

std::vector<std::vector<RemoteRef>> InGroups(
    const std::vector<RemoteRef>& refs, const std::function<std::string(const RemoteRef&)>& key) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < refs.size(); ++i) last[key(refs[i])] = i;
  std::map<std::size_t, std::vector<RemoteRef>> by_last;
  for (const auto& ref : refs) by_last[last.at(key(ref))].push_back(ref);
  std::vector<std::vector<RemoteRef>> groups;
  for (auto& [at, group] : by_last) groups.push_back(std::move(group));
  return groups;
}

}  // namespace cigri::cluster
