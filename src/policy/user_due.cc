#include "policy/user_due.h"

#include <vector>

#include "policy/fairtree.h"
#include "policy/shares.h"
#include "policy/usage_summary.h"

namespace cigri::policy {

UserDue::UserDue(const AllocationState& alloc)
    : by_tree_(alloc.config.policy == PolicyKind::kFairshare ||
               alloc.config.aggregate == Aggregate::kProject) {
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<User*> users;
  double slots = 0;
  for (const auto& c : alloc.clusters)
    if (c.block == Code::kNone) slots += c.free;
  for (const auto& c : alloc.campaigns) {
    const double width = c.placements_begin < c.placements_end
                             ? alloc.placements[c.placements_begin].slots
                             : 1;
    const double want = c.in_play ? static_cast<double>(c.left) * width : 0;
    if (c.row->cls == "scavenger" || (c.held_slots <= 0 && want <= 0)) continue;
    const auto [it, fresh] = users_.try_emplace(KeyOf(c));
    it->second.held += c.held_slots;
    it->second.want += want;
    slots += c.used_slots();
    if (!fresh) continue;
    names.emplace_back(c.project, c.row->user);
    users.push_back(&it->second);
  }
  std::vector<double> weights, caps;
  if (by_tree_) weights = DueParts(alloc.config, names);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto weight = alloc.config.user_weights.find(names[i].second);
    if (!by_tree_)
      weights.push_back(weight == alloc.config.user_weights.end() ? 1 : weight->second);
    caps.push_back(users[i]->held + users[i]->want);
  }
  const auto due = WaterFill(slots, weights, caps);
  for (std::size_t i = 0; i < users.size(); ++i) users[i]->due = due[i];
}

std::string UserDue::KeyOf(const CampaignAllocation& c) const {
  return by_tree_ ? UserKey(c.project, c.row->user) : c.row->user;
}

double UserDue::Left(const CampaignAllocation& c) const {
  const auto it = users_.find(KeyOf(c));
  return it == users_.end() ? 0 : it->second.due - it->second.held;
}

double UserDue::Held(const CampaignAllocation& c) const {
  const auto it = users_.find(KeyOf(c));
  return it == users_.end() ? 0 : it->second.held;
}

}  // namespace cigri::policy
