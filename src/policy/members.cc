#include "policy/members.h"

namespace cigri::policy {
namespace {

constexpr char kScavenger[] = "scavenger";

constexpr std::pair<NameKind, std::string_view> kKinds[] = {
    {NameKind::kProject, "project"},
    {NameKind::kClass, "class"},
    {NameKind::kSlaGroup, "sla_group"},
    {NameKind::kLicence, "licence"},
};

}  // namespace

std::string_view ToString(NameKind kind) {
  for (const auto& [value, word] : kKinds)
    if (value == kind) return word;
  return "project";
}

std::optional<NameKind> NameKindOf(std::string_view text) {
  for (const auto& [value, word] : kKinds)
    if (word == text) return value;
  return std::nullopt;
}

Members::Members(const PolicyConfig& config, const std::vector<Member>& rows) {
  const auto name = [&](NameKind kind, const std::string& what) {
    if (!what.empty()) names_[kind].try_emplace(what);
  };
  const auto scoped = [&](const std::string& scope, const std::string& what) {
    if (scope == "project") name(NameKind::kProject, what);
    if (scope == "class") name(NameKind::kClass, what);
  };
  for (const auto& [project, share] : config.projects) name(NameKind::kProject, project);
  for (const auto& [group, slots] : config.sla_groups) name(NameKind::kSlaGroup, group);
  for (const auto& [pool, size] : config.licences) name(NameKind::kLicence, pool);
  for (const auto& [cls, queue] : config.queues) name(NameKind::kClass, cls);
  for (const auto& [cls, quality] : config.qos) name(NameKind::kClass, cls);
  for (const auto& [cls, rule] : config.multi_slot_classes) name(NameKind::kClass, cls);
  for (const auto& reserve : config.reserves) name(NameKind::kClass, reserve.cls);
  for (const auto& quota : config.quotas) scoped(quota.scope, quota.name);
  for (const auto& rate : config.start_rates) scoped(rate.scope, rate.name);
  for (const auto& row : rows)
    if (row.kind != NameKind::kProject || row.user != kEverybody)
      names_[row.kind][row.name].insert(row.user);
  for (const auto& [user, share] : config.users) {
    if (share.parent.empty()) continue;
    names_[NameKind::kProject][share.parent].insert(user);
    parent_[user] = share.parent;
  }
}

bool Members::Knows(NameKind kind, const std::string& name) const {
  if (kind == NameKind::kClass && name == kScavenger) return true;
  const auto names = names_.find(kind);
  return names != names_.end() && names->second.count(name) != 0;
}

bool Members::Has(NameKind kind, const std::string& name, const std::string& user) const {
  if (const auto names = names_.find(kind); names != names_.end())
    if (const auto users = names->second.find(name); users != names->second.end())
      return users->second.count(user) != 0 || users->second.count(kEverybody) != 0;
  return kind == NameKind::kClass && name == kScavenger;
}

std::vector<std::string> Members::NamesOf(NameKind kind, const std::string& user) const {
  std::set<std::string> mine;
  if (const auto names = names_.find(kind); names != names_.end())
    for (const auto& [name, users] : names->second)
      if (Has(kind, name, user)) mine.insert(name);
  if (kind == NameKind::kClass && Has(kind, kScavenger, user)) mine.insert(kScavenger);
  return {mine.begin(), mine.end()};
}

std::string Members::ProjectOf(const std::string& user) const {
  if (const auto it = parent_.find(user); it != parent_.end()) return it->second;
  const auto mine = NamesOf(NameKind::kProject, user);
  return mine.empty() ? "" : mine.front();
}

}  // namespace cigri::policy
