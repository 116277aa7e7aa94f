#include "policy/explain/whatif.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/pluralize.h"
#include "core/text.h"
#include "policy/campaign_scheduler.h"
#include "policy/decide.h"

namespace cigri::policy {
namespace {

// What a change may touch: one campaign, one of its placements with the cluster, rules, carried
// state.
struct ChangeTarget {
  Snapshot& snapshot;
  State& state;
  Campaign& campaign;
  Placement* placement;
  Cluster* cluster;
};

struct Change {
  WhatIf what;
  std::function<void(ChangeTarget&)> apply;
};

std::string Text(double x) {
  if (std::abs(x - std::round(x)) < 1e-9) return std::to_string(std::llround(x));
  std::string s = std::to_string(x);
  return s.substr(0, s.find('.') + 3);
}

std::string From(double now, double then) { return Text(then) + " instead of " + Text(now); }

class Finder {
 public:
  Finder(Snapshot& snapshot, const State& carried, double now, std::uint64_t seed,
         Campaign& campaign)
      : s_(snapshot), state_(carried), now_(now), seed_(seed), c_(campaign) {}

  std::pair<std::int64_t, std::vector<Reason>> Present() const {
    const PlanResult result = Decide(s_, state_, now_, seed_);
    std::vector<Reason> mine;
    for (const auto& r : result.reasons)
      if (r.campaign == c_.id && r.code != Code::kNone) mine.push_back(r);
    return {JobsIn(result.plan), mine};
  }

  std::int64_t JobsAfter(const Change& change) {
    const Campaign campaign = c_;
    const PolicyConfig config = s_.config;
    Cluster* cluster = ClusterOf(change.what.cluster);
    const Cluster before = cluster == nullptr ? Cluster{} : *cluster;
    State state = state_;
    ChangeTarget place{s_, state, c_, PlacementOf(change.what.cluster), cluster};
    change.apply(place);
    const auto jobs = JobsIn(Decide(s_, state, now_, seed_).plan);
    c_ = campaign;
    s_.config = config;
    if (cluster != nullptr) *cluster = before;
    return jobs;
  }

  std::vector<Change> ChangesFor(const std::vector<Reason>& reasons) {
    for (const auto& r : reasons) AddFor(r);
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::tuple(a.what.doer, a.what.size) < std::tuple(b.what.doer, b.what.size);
    });
    return std::move(changes_);
  }

 private:
  std::int64_t JobsIn(const Plan& plan) const {
    std::int64_t n = 0;
    for (const auto& g : plan.allocations)
      if (g.campaign == c_.id && !g.shadow) n += g.n;
    return n;
  }
  Cluster* ClusterOf(std::int64_t id) {
    for (auto& k : s_.clusters)
      if (k.id == id) return &k;
    return nullptr;
  }
  Placement* PlacementOf(std::int64_t cluster) {
    for (auto& l : c_.placements)
      if (l.cluster == cluster) return &l;
    return nullptr;
  }

  // A rule of the whole campaign is met on each of its clusters, and lifted once.
  void Add(const Reason& r, Doer doer, double size, std::string change,
           std::function<void(ChangeTarget&)> apply) {
    if (!seen_.insert(change).second) return;
    changes_.push_back({{.code = r.code,
                         .cluster = r.cluster,
                         .change = std::move(change),
                         .doer = doer,
                         .size = size},
                        std::move(apply)});
  }

  void AddFor(const Reason& r) {
    if (r.cluster == 0) return OfCampaign(r);
    const Placement* placement = PlacementOf(r.cluster);
    const Cluster* cluster = ClusterOf(r.cluster);
    if (placement == nullptr || cluster == nullptr) return;
    if (!OfPlacement(r, *placement, *cluster) && !OfCluster(r, *placement, *cluster))
      OfRules(r, *placement);
  }

  void OfCampaign(const Reason& r) {
    if (r.code == Code::kSuspended)
      Add(r, Doer::kUser, 1, "priority 4 instead of 0",
          [](ChangeTarget& p) { p.campaign.priority = 4, p.campaign.weight = 0; });
    if (r.code == Code::kAfterFailed)
      Add(r, Doer::kUser, 1, "no need that campaign " + std::to_string(r.other) + " succeeds",
          [](ChangeTarget& p) { p.campaign.after_failed = 0; });
    if (r.code == Code::kNotBefore)
      Add(r, Doer::kUser, 1, "no not_before", [](ChangeTarget& p) { p.campaign.not_before = 0; });
    if (r.code == Code::kBehindOwn)
      Add(r, Doer::kUser, 1,
          "another campaign of its user, " + std::to_string(r.other) + ", behind it",
          [n = c_.id](ChangeTarget& p) {
            for (auto& c : p.snapshot.campaigns)
              if (c.user == p.campaign.user && c.id != n)
                p.campaign.priority = std::max(p.campaign.priority, std::min(9, c.priority + 1));
          });
    if (r.code == Code::kBadGroup && !s_.config.sla_groups.empty())
      Add(r, Doer::kOperator, 1, "a group that there is", [](ChangeTarget& p) {
        p.campaign.sla_group = p.snapshot.config.sla_groups.begin()->first;
      });
  }

  // Rules of the campaign on this cluster: its own settings and its own history.
  bool OfPlacement(const Reason& r, const Placement& placement, const Cluster& cluster) {
    const std::string on = " on " + cluster.name;
    switch (r.code) {
      case Code::kTooManySlots:
        Add(r, Doer::kUser, placement.slots - cluster.max,
            "jobs of " + Pluralize(cluster.max, "slot") + " instead of " + Text(placement.slots) +
                on,
            [](ChangeTarget& p) { p.placement->slots = std::max(1, p.cluster->max); });
        return true;
      case Code::kMaxJobs:
        Add(r, Doer::kUser, 1, "max_jobs " + From(placement.max_jobs, placement.in_flight + 1) + on,
            [](ChangeTarget& p) { p.placement->max_jobs = p.placement->in_flight + 1; });
        return true;
      case Code::kMaxJobsTotal:
        Add(r, Doer::kUser, 1, "max_jobs_total " + From(r.numbers[0], r.numbers[0] + 1),
            [](ChangeTarget& p) { ++p.campaign.max_jobs_total; });
        return true;
      case Code::kShortSurvival:
        Add(r, Doer::kUser, 1,
            "jobs of less than " + HumanDuration(placement.median_survival_s) + on,
            [](ChangeTarget& p) { p.campaign.need_s = p.placement->median_survival_s / 2; });
        return true;
      case Code::kUnsafeSlots:
        for (const int part : {2, 4, 8, 16, 32, 64})
          Add(r, Doer::kUser, part,
              "jobs of " + HumanDuration(r.numbers[0] / part) + " instead of " +
                  HumanDuration(r.numbers[0]),
              [part](ChangeTarget& p) { p.campaign.need_s /= part; });
        Add(r, Doer::kOperator, 1, "survival.kills " + From(s_.config.survival_kills, 0),
            [](ChangeTarget& p) { p.snapshot.config.survival_kills = 0; });
        return true;
      case Code::kStragglers:
        Add(r, Doer::kOperator, 1, "stragglers.times " + From(s_.config.straggler_times, 0),
            [](ChangeTarget& p) { p.placement->straggler_share = 0; });
        return true;
      case Code::kHeld:
        Add(r, Doer::kUser, 1, "the hold lifted" + on,
            [](ChangeTarget& p) { p.placement->held.clear(); });
        return true;
      case Code::kPrologueFailed:
        Add(r, Doer::kUser, 1, "a prologue that works" + on,
            [](ChangeTarget& p) { p.placement->prologue = Prologue::kDone; });
        return true;
      case Code::kPrologueRuns:
        Add(r, Doer::kNobody, 1, "the end of its prologue" + on,
            [](ChangeTarget& p) { p.placement->prologue = Prologue::kDone; });
        return true;
      case Code::kBlackHole:
        Add(r, Doer::kNobody, 1, "the end of the hold for too fast ends" + on, [](ChangeTarget& p) {
          p.state.holds.erase({p.campaign.id, p.cluster->id});
          p.placement->recent = 0;
        });
        return true;
      case Code::kAffinityWait:
        Add(r, Doer::kNobody, 1, "the end of its wait for a cluster that has its data",
            [now = now_](ChangeTarget& p) { p.campaign.waiting_since = now - 1e9; });
        return true;
      case Code::kScheduler:
        Add(r, Doer::kUser, 1, "the campaign scheduler " + std::string(kDefaultScheduler),
            [](ChangeTarget& p) { p.campaign.scheduler.clear(); });
        return true;
      case Code::kAvoided:
        Add(r, Doer::kNobody, placement.avoid, "tasks that have not failed before" + on,
            [](ChangeTarget& p) { p.placement->avoid = 0; });
        return true;
      case Code::kCanary:
        Add(r, Doer::kNobody, 1, "its first success" + on,
            [](ChangeTarget& p) { p.placement->verified = true, p.placement->tried = 0; });
        return true;
      default:
        return false;
    }
  }

  bool OfCluster(const Reason& r, const Placement& placement, const Cluster& cluster) {
    const std::string& name = cluster.name;
    switch (r.code) {
      case Code::kDisabled:
      case Code::kDrained:
      case Code::kHours:
        Add(r, Doer::kOperator, 1, name + " open",
            [](ChangeTarget& p) { p.cluster->unusable = Unusable::kNo; });
        return true;
      case Code::kStale:
      case Code::kBreaker:
      case Code::kStress:
        Add(r, Doer::kNobody, 1, name + " in order",
            [](ChangeTarget& p) { p.cluster->unusable = Unusable::kNo; });
        return true;
      case Code::kObserved:
        Add(r, Doer::kOperator, 1, name + " open instead of observed",
            [](ChangeTarget& p) { p.cluster->mode = ClusterMode::kUnlimited; });
        return true;
      case Code::kLimited:
        Add(r, Doer::kOperator, 1,
            "a limit of " + From(cluster.limited, cluster.limited + 1) + " jobs on " + name,
            [](ChangeTarget& p) { ++p.cluster->limited; });
        return true;
      case Code::kMaxRunning:
        Add(r, Doer::kOperator, 1,
            "max_running " + From(cluster.max_running, cluster.max_running + 1) + " on " + name,
            [](ChangeTarget& p) { ++p.cluster->max_running; });
        return true;
      case Code::kServedBefore:
      case Code::kOwnFirst:
        AddPriorities(r);
        AddSlots(r, placement, cluster);
        return true;
      case Code::kFull:
      case Code::kSlotsKept:
      case Code::kBypassed:
        AddSlots(r, placement, cluster);
        return true;
      case Code::kClassFull:
        AddUnits(r, placement, cluster);
        return true;
      case Code::kMultiSlotReservation:
        Add(r, Doer::kOperator, 1, "no slots kept free for multi-slot jobs",
            [](ChangeTarget& p) {
              p.snapshot.config.multi_slot_age = -1, p.snapshot.config.multi_slot_classes.clear();
              p.snapshot.config.multi_slot_queue = 1;
            });
        return true;
      default:
        return false;
    }
  }

  void AddPriorities(const Reason& r) {
    for (int level = c_.priority + 1; level <= 9; ++level)
      Add(r, level <= s_.config.user_priority ? Doer::kUser : Doer::kOperator, level - c_.priority,
          "priority " + From(c_.priority, level),
          [level](ChangeTarget& p) { p.campaign.priority = level; });
  }

  // Others may be served with them first: more and more, until it gets one.
  void AddSlots(const Reason& r, const Placement& placement, const Cluster& cluster) {
    const int width = std::max(1, placement.slots);
    for (int more = width; more <= 4096 * width; more *= 2)
      Add(r, Doer::kNobody, more, Pluralize(more, "more free slot") + " on " + cluster.name,
          [more](ChangeTarget& p) { p.cluster->free += more, p.cluster->max += more; });
  }

  void AddUnits(const Reason& r, const Placement& placement, const Cluster& cluster) {
    const int width = placement.class_units > 0 ? placement.class_units : placement.slots;
    const int k = placement.resource_class - 1;
    for (int more = width; more <= 4096 * width; more *= 2)
      Add(r, Doer::kNobody, more,
          r.detail + " of " + cluster.name + ": " + std::to_string(more) + " more free",
          [more, k](ChangeTarget& p) {
            p.cluster->classes[k].free += more, p.cluster->classes[k].total += more;
          });
  }

  void OfRules(const Reason& r, const Placement& placement) {
    PolicyConfig& config = s_.config;
    const int width = std::max(1, placement.slots);
    if (r.code == Code::kQuota) {
      for (std::size_t i = 0; i < config.quotas.size(); ++i)
        if (Names(config.quotas[i], r.detail)) AddQuota(r, i, width);
    } else if (r.code == Code::kLicence) {
      const auto it = c_.licences.find(r.detail);
      const int each = it == c_.licences.end() ? 1 : it->second;
      Add(r, Doer::kOperator, each,
          "licences " + r.detail + " " + From(r.numbers[0], r.numbers[0] + each),
          [each, name = r.detail](ChangeTarget& p) { p.snapshot.config.licences[name] += each; });
    } else if (r.code == Code::kRate) {
      Add(r, Doer::kNobody, 1, "the next start that " + r.detail + " is allowed",
          [key = r.detail](ChangeTarget& p) {
            p.state.rates[key].tokens += 1;
            for (auto& rate : p.snapshot.config.start_rates)
              if (StartsWith(key, rate.scope + ":" + rate.name)) rate.burst += 1;
          });
    } else if (r.code == Code::kReserve) {
      Add(r, Doer::kOperator, 1, "no reserve for class " + r.detail,
          [name = r.detail](ChangeTarget& p) {
            std::erase_if(p.snapshot.config.reserves, [&](const auto& x) { return x.cls == name; });
          });
    }
  }

  // limits.cc labels a quota "user alice on alpha, slots"; "the grid, jobs".
  static bool Names(const Quota& q, const std::string& label) {
    const std::string unit = label.substr(std::min(label.size(), label.rfind(", ") + 2));
    if ((unit == "slots" ? q.slots : q.jobs) < 0) return false;
    const bool here = label.find(" on ") != std::string::npos;
    if (here != !q.cluster.empty() || (here && label.find(" on " + q.cluster) == std::string::npos))
      return false;
    if (q.scope == "grid") return StartsWith(label, "the grid");
    return StartsWith(label, q.scope + " " + q.name);
  }

  void AddQuota(const Reason& r, std::size_t i, int width) {
    const bool slots = r.detail.ends_with("slots");
    const int more = slots ? width : 1;
    Add(r, Doer::kOperator, more,
        "a quota of " + r.detail + " of " + From(r.numbers[0], r.numbers[0] + more),
        [i, more, slots](ChangeTarget& p) {
          Quota& q = p.snapshot.config.quotas[i];
          (slots ? q.slots : q.jobs) += more;
        });
  }

  Snapshot& s_;
  const State& state_;
  const double now_;
  const std::uint64_t seed_;
  Campaign& c_;
  std::vector<Change> changes_;
  std::set<std::string> seen_;
};

}  // namespace

WhatIfs FindWhatIfs(Snapshot snapshot, const State& carried, double now, std::uint64_t seed,
                    std::int64_t campaign, const std::function<bool()>& out_of_time) {
  WhatIfs out;
  const auto it = std::find_if(snapshot.campaigns.begin(), snapshot.campaigns.end(),
                               [&](const Campaign& c) { return c.id == campaign; });
  if (it == snapshot.campaigns.end()) return out;
  Finder finder(snapshot, carried, now, seed, *it);
  std::tie(out.jobs_now, out.reasons) = finder.Present();
  std::set<std::tuple<Code, std::int64_t, Doer>> solved;  // more of the same needs no trying
  for (const auto& change : finder.ChangesFor(out.reasons)) {
    WhatIf what = change.what;
    if (solved.count({what.code, what.cluster, what.doer}) != 0) continue;
    if (out_of_time()) {
      out.cut = true;
      break;
    }
    ++out.tried;
    what.jobs = finder.JobsAfter(change) - out.jobs_now;
    if (what.jobs <= 0) continue;
    solved.insert({what.code, what.cluster, what.doer});
    out.useful.push_back(std::move(what));
  }
  return out;
}

}  // namespace cigri::policy
