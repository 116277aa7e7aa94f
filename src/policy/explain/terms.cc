#include "policy/explain/terms.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "policy/lottery_rank.h"
#include "policy/own_order.h"
#include "policy/tests_ahead.h"
#include "policy/usage_summary.h"

namespace cigri::policy {
namespace {

std::string Number(double x) {
  std::string s = std::to_string(std::abs(x) < 10 ? std::round(x * 100) / 100 : std::round(x));
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

std::string Slots(double seconds) { return Number(seconds / 60) + " slot-min"; }

class Comparer {
 public:
  Comparer(const Snapshot& snapshot, const State& carried, double now)
      : s_(snapshot), state_(carried), alloc_(snapshot, carried, now) {
    std::vector<int> wanting;
    for (std::size_t i = 0; i < alloc_.campaigns.size(); ++i)
      if (alloc_.Demand(static_cast<int>(i)) > 0) wanting.push_back(static_cast<int>(i));
    UserUnits(alloc_, wanting);  // notes how users' own campaigns are ordered
  }

  std::string Say(std::int64_t winner, std::int64_t loser, std::int64_t cluster) const {
    const CampaignAllocation* a = Find(winner);
    const CampaignAllocation* b = Find(loser);
    if (a == nullptr || b == nullptr) return "";
    const auto tests = TestsAhead(alloc_);
    if (tests[a - alloc_.campaigns.data()] && !tests[b - alloc_.campaigns.data()])
      return "test campaigns go first";
    const std::string by_tier = Tier(*a->row, *b->row);
    return by_tier.empty() ? ByPolicy(*a, *b, cluster) : by_tier;
  }

 private:
  const CampaignAllocation* Find(std::int64_t id) const {
    for (const auto& c : alloc_.campaigns)
      if (c.row->id == id) return &c;
    return nullptr;
  }

  // What goes before every policy (decide.cc).
  std::string Tier(const Campaign& a, const Campaign& b) const {
    const PolicyConfig& config = alloc_.config;
    if (a.cls != b.cls && a.cls == "urgent") return "it is urgent";
    if (a.cls != b.cls && b.cls == "scavenger") return "scavengers take what others leave";
    if (config.strict_priority && a.priority > b.priority)
      return "its priority is " + std::to_string(a.priority) + " against " +
             std::to_string(b.priority) + ", and that is obeyed strictly";
    if (FirstResultsMissing(a) && !FirstResultsMissing(b))
      return "it still waits for its first " + std::to_string(config.first_results) + " results";
    return "";
  }

  bool FirstResultsMissing(const Campaign& c) const {
    if (alloc_.config.first_results <= c.done) return false;
    return MissingFirstResults(alloc_, Summary())[c.user] > 0;
  }

  std::string ByPolicy(const CampaignAllocation& a, const CampaignAllocation& b,
                       std::int64_t cluster) const {
    switch (alloc_.config.policy) {
      case PolicyKind::kAffinity:
        return Affinity(*a.row, *b.row, cluster);
      case PolicyKind::kUsage:
      case PolicyKind::kSla:
        return Usage(a, b);
      case PolicyKind::kFairshare:
      case PolicyKind::kFairshareSimple:
        return Shares(a, b);
      case PolicyKind::kStride:
        return Carried(state_.pass, a.row->id, b.row->id, "its pass is ", ", the lower goes first");
      case PolicyKind::kDynamic:
        return Carried(state_.priority, QueueOf(*a.row), QueueOf(*b.row),
                       "the priority of its queue is ", ", the higher goes first");
      case PolicyKind::kLottery:
        return Lot(a, b);
      case PolicyKind::kFifo:
        break;
    }
    return Submission(*a.row, *b.row);
  }

  static std::string Submission(const Campaign& a, const Campaign& b) {
    if (a.submitted_at > b.submitted_at) return "in its turn";
    if (a.submitted_at == b.submitted_at)
      return "of two that came together it has the lower number";
    return "it was submitted " + HumanDuration(b.submitted_at - a.submitted_at) + " earlier";
  }

  std::string Affinity(const Campaign& a, const Campaign& b, std::int64_t cluster) const {
    const auto near = [&](const Campaign& c) {
      for (const auto& l : c.placements)
        if (l.cluster == cluster) return l.affinity;
      return 0;
    };
    if (near(a) == near(b)) return Submission(a, b);
    return "the affinity of its user and the cluster is " + std::to_string(near(a)) + " against " +
           std::to_string(near(b));
  }

  static double Weight(const CampaignAllocation& c) { return std::max(c.weight, 1e-9); }

  std::string Usage(const CampaignAllocation& a, const CampaignAllocation& b) const {
    const auto use = [&](const CampaignAllocation& c) {
      const UsageSummary& usage_summary = Summary();
      double sum = usage_summary.window[&c - alloc_.campaigns.data()] / Weight(c);
      const double window = alloc_.config.usage_window_s;
      if (const auto it = state_.credit.find(c.row->id); it != state_.credit.end() && window > 0) {
        const double age = std::max(0.0, alloc_.now - it->second.since);
        sum += it->second.per_weight * std::max(0.0, 1 - age / window);
      }
      return sum;
    };
    std::string groups;
    if (alloc_.config.policy == PolicyKind::kSla && a.row->sla_group != b.row->sla_group)
      groups = "group " + a.row->sla_group + " against group " + b.row->sla_group + "; ";
    return groups + "in the last " + HumanDuration(alloc_.config.usage_window_s) +
           " it has used, for its weight, " + Slots(use(a)) + ", this one " + Slots(use(b));
  }

  std::string Lot(const CampaignAllocation& a, const CampaignAllocation& b) const {
    const auto ranks = LotteryRanks(alloc_, Summary());
    const auto say = [&](const CampaignAllocation& c) {
      const LotteryRank& r = ranks[&c - alloc_.campaigns.data()];
      return Number(r.rank) + " (" + Number(100 * r.used) + " % of the use lately, holds " +
             Number(100 * r.held) + " %)";
    };
    return "slots are drawn by lot, and chances fall with the rank: its rank is " + say(a) +
           ", that of this one " + say(b);
  }

  double ShareOf(const std::map<std::string, Share>& shares, const std::string& name) const {
    const auto it = shares.find(name);
    return it == shares.end() ? 1 : it->second.share;
  }

  // Where the two paths of the tree part.
  std::string Shares(const CampaignAllocation& a, const CampaignAllocation& b) const {
    const UsageSummary& usage_summary = Summary();
    const auto used = [](const auto& map, const std::string& key) {
      const auto it = map.find(key);
      return it == map.end() ? 0.0 : it->second;
    };
    const auto say = [](const std::string& left, double used_left, const std::string& right,
                        double used_right) {
      return left + " has used " + Slots(used_left) + " a share lately, " + right + " " +
             Slots(used_right);
    };
    if (a.project != b.project) {
      const auto name = [](const std::string& p) {
        return p.empty() ? std::string("who has no project") : "project " + p;
      };
      const auto& shares = alloc_.config.projects;
      return say(
          name(a.project), used(usage_summary.project, a.project) / ShareOf(shares, a.project),
          name(b.project), used(usage_summary.project, b.project) / ShareOf(shares, b.project));
    }
    if (a.row->user != b.row->user) {
      const auto use = [&](const CampaignAllocation& c) {
        return used(usage_summary.user, UserKey(c.project, c.row->user)) /
               ShareOf(alloc_.config.users, c.row->user);
      };
      return say("user " + a.row->user, use(a), "user " + b.row->user, use(b)) + Lags(a, b);
    }
    return "of the same user, campaign " + std::to_string(a.row->id) + " goes first: " +
           WhyOwnFirst(alloc_, a, b);
  }

  // Who is further behind, per share, comes first (lags.h).
  std::string Lags(const CampaignAllocation& a, const CampaignAllocation& b) const {
    if (alloc_.config.policy != PolicyKind::kFairshare) return "";
    const auto lag = [&](const CampaignAllocation& c) {
      return state_.lags.find(UserKey(c.project, c.row->user));
    };
    const auto of_a = lag(a), of_b = lag(b), none = state_.lags.end();
    if (of_a == none || of_b == none) return "";
    const auto say = [](double behind) {
      return Slots(std::abs(behind)) + (behind < 0 ? " ahead of its share" : " behind its share");
    };
    return "; while both wanted slots the first is " + say(of_a->second.behind) +
           ", the other " + say(of_b->second.behind);
  }

  std::string QueueOf(const Campaign& c) const {
    return alloc_.config.queues.count(c.cls) != 0 ? c.cls : "campaign " + std::to_string(c.id);
  }

  template <typename Map, typename Key>
  static std::string Carried(const Map& map, const Key& a, const Key& b, const std::string& what,
                             const std::string& rule) {
    const auto at = [&](const Key& key) {
      const auto it = map.find(key);
      return it == map.end() ? 0.0 : it->second;
    };
    return what + Number(at(a)) + " against " + Number(at(b)) + rule;
  }

  const UsageSummary& Summary() const {
    if (usage_summary_.window.empty()) usage_summary_ = SummariseUsage(alloc_, s_);
    return usage_summary_;
  }

  const Snapshot& s_;
  const State& state_;
  AllocationState alloc_;
  mutable UsageSummary usage_summary_;
};

}  // namespace

std::string WhyFirst(const Snapshot& snapshot, const State& carried, double now,
                     std::int64_t winner, std::int64_t loser, std::int64_t cluster) {
  return Comparer(snapshot, carried, now).Say(winner, loser, cluster);
}

}  // namespace cigri::policy
