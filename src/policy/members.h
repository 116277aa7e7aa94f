// Who may name which project, class, group and licence pool: membership decides, not the JDL.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/config.h"

namespace cigri::policy {

/// What a campaign may name to be counted by.
enum class NameKind { kProject, kClass, kSlaGroup, kLicence };
/// "project", "class", "sla_group", "licence": as table `members` and gridadmin have them.
std::string_view ToString(NameKind kind);
std::optional<NameKind> NameKindOf(std::string_view word);

inline constexpr char kEverybody[] = "*";

/// Row of table `members`. User "*" is everybody; of a project nobody is a member in this way, for
/// users of no project share one branch of the tree anyway, and would have two.
struct Member {
  std::string user{};
  NameKind kind = NameKind::kProject;
  std::string name{};
};

/// Names that have members, or that the policy names with a share, quota, rate, queue, reserve,
/// number or pool. Each is its members' alone; a user whose row of `users` has a parent is a
/// member of that project. Class "scavenger" is everybody's until an operator says otherwise.
class Members {
 public:
  Members(const PolicyConfig& config, const std::vector<Member>& rows);

  /// Whether an operator has ever named it.
  bool Knows(NameKind kind, const std::string& name) const;
  bool Has(NameKind kind, const std::string& name, const std::string& user) const;
  /// What `user` may name, in order.
  std::vector<std::string> NamesOf(NameKind kind, const std::string& user) const;
  bool AnyOf(NameKind kind) const { return names_.count(kind) != 0; }
  /// What counts for a campaign that says nothing: the parent in `users`, else the first project
  /// that the user is a member of, else "". So nobody counts in one of his own projects and in
  /// none at the same time.
  std::string ProjectOf(const std::string& user) const;

 private:
  std::map<NameKind, std::map<std::string, std::set<std::string>>> names_;  ///< -> users
  std::map<std::string, std::string> parent_;                               ///< of users
};

}  // namespace cigri::policy
