// What makes a configuration impossible, and what makes it odd.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.h"
#include "policy/config.h"

namespace cigri::policy {
namespace {

class Checker {
 public:
  explicit Checker(const PolicyConfig& config) : c_(config) {}

  std::vector<Fault> Run() {
    Numbers();
    Weights();
    Groups();
    Tree();
    Queues();
    MultiSlotClasses();
    Limits();
    Reserves();
    return std::move(faults_);
  }

 private:
  void Add(const std::string& key, const std::string& what, std::string hint = "") {
    faults_.push_back({key, "\"" + key + "\" " + what, std::move(hint)});
  }
  // NaN fails every comparison, so each of these asks for what must be true.
  void Want(bool good, const std::string& key, const std::string& what) {
    if (!good) Add(key, what);
  }

  void Numbers() {
    auto least = [&](const char* key, double value, double limit) {
      Want(std::isfinite(value) && value >= limit, key,
           "must be at least " + std::to_string(static_cast<int>(limit)));
    };
    least("first_results", c_.first_results, 0);
    least("parallel_campaigns", c_.parallel_campaigns, 0);
    least("canary_jobs", c_.canary_jobs, 1);
    least("affinity_wait", c_.affinity_wait_s, 0);
    least("usage.window", c_.usage_window_s, 1);
    least("fairshare.half_life", c_.fairshare_half_life_s, 1);
    least("fairshare.window", c_.fairshare_window_s, 1);
    least("fairshare.payback", c_.fairshare_payback, 0);
    least("simple.days", c_.simple_days, 1);
    least("rank.usage", c_.rank_usage, 0);
    least("rank.running", c_.rank_running, 0);
    least("rank.age", c_.rank_age, 0);
    least("deadline.weight", c_.deadline_weight, 0);
    least("qos.weight", c_.qos_weight, 0);
    least("urgent.delay", c_.urgent_delay_s, 0);
    least("preempt.threshold", c_.preempt_threshold_s, 1);
    least("multi_slot.age", c_.multi_slot_age, -1);
    least("multi_slot.hold", c_.multi_slot_hold_s, 1);
    least("multi_slot.rest", c_.multi_slot_rest_s, 0);
    least("black_hole.count", c_.black_hole_count, 0);
    Want(c_.black_hole_count <= 20, "black_hole.count",
         "must be at most 20: so many ends are remembered");
    least("black_hole.min", c_.black_hole_min_s, 0);
    least("black_hole.hold", c_.black_hole_hold_s, 1);
    least("survival.kills", c_.survival_kills, 0);
    least("stragglers.times", c_.straggler_times, 0);
    Want(c_.user_priority >= 0 && c_.user_priority <= 10, "user_priority", "must be from 0 to 10");
    Want(c_.multi_slot_step > 0, "multi_slot.step", "must be above 0");
    Want(c_.multi_slot_queue >= 0 && c_.multi_slot_queue <= 1, "multi_slot.queue",
         "must be from 0 to 1, a part of the slots of a cluster");
    Want(c_.simple_decay >= 0 && c_.simple_decay <= 1, "simple.decay", "must be from 0 to 1");
    Want(c_.black_hole_fraction > 0 && c_.black_hole_fraction < 1, "black_hole.fraction",
         "must be between 0 and 1");
    Want(c_.urgent_percent >= 0 && c_.urgent_percent <= 100, "urgent.percent",
         "must be from 0 to 100");
  }

  void Positive(const std::string& key, const std::string& name, double value) {
    Want(std::isfinite(value) && value > 0, key, "of \"" + name + "\" must be above 0");
  }

  void Weights() {
    for (const auto& [level, weight] : c_.weights) {
      if (level == 0)
        Add("weights", "has priority 0, which is suspended and has no weight");
      else
        Positive("weights", std::to_string(level), weight);
    }
    for (const auto& [user, weight] : c_.user_weights) Positive("user_weights", user, weight);
    for (const auto& [cls, quality] : c_.qos) Positive("qos", cls, quality);
  }

  // GRID-37: all whole numbers, or all fractions of one.
  void Groups() {
    int wholes = 0, fractions = 0;
    double sum = 0;
    for (const auto& [name, x] : c_.sla_groups) {
      const bool fraction = x > 0 && x < 1;
      const bool whole = std::isfinite(x) && x >= 1 && x == std::floor(x);
      if (!fraction && !whole)
        Add("sla.groups", "of \"" + name + "\" is neither a number of slots nor a part of one",
            "write 20 for twenty slots, or 0.25 for a quarter");
      fractions += fraction, wholes += whole;
      if (fraction) sum += x;
    }
    if (wholes > 0 && fractions > 0)
      Add("sla.groups", "mixes numbers of slots and parts", "write all of them in one way");
    if (sum > 1 + 1e-9) Add("sla.groups", "add up to more than the whole");
    if (c_.policy == PolicyKind::kSla && c_.sla_groups.empty())
      Add("sla.groups", "is empty, and policy sla needs groups");
  }

  void Tree() {
    std::vector<std::string> names;
    for (const auto& [name, share] : c_.projects) names.push_back(name);
    auto parent = [&](const std::string& key, const std::string& name, const Share& s) {
      Positive(key, name, s.share);
      if (s.parent.empty() || c_.projects.count(s.parent) != 0) return;
      const auto near = DidYouMean(s.parent, names);
      Add(key, "of \"" + name + "\" names the unknown project \"" + s.parent + "\"",
          near ? "did you mean \"" + *near + "\"?" : "");
    };
    for (const auto& [name, share] : c_.users) parent("users", name, share);
    for (const auto& [name, share] : c_.projects) {
      parent("projects", name, share);
      if (InCycle(name)) Add("projects", "go in a circle through \"" + name + "\"");
    }
  }

  bool InCycle(const std::string& start) const {
    std::set<std::string> seen;
    std::string at = start;
    while (seen.insert(at).second) {
      const auto it = c_.projects.find(at);
      if (it == c_.projects.end() || it->second.parent.empty()) return false;
      at = it->second.parent;
    }
    return at == start;
  }

  void Queues() {
    for (const auto& [name, q] : c_.queues) {
      Want(std::isfinite(q.min) && q.max > q.min, "queues",
           "of \"" + name + "\" needs max above min");
      Want(q.inc >= 0 && std::isfinite(q.inc), "queues",
           "of \"" + name + "\" needs inc of 0 or more");
      Want(q.dec > 0 && std::isfinite(q.dec), "queues", "of \"" + name + "\" needs dec above 0");
      Want(q.gap >= 0, "queues", "of \"" + name + "\" needs gap of 0 or more");
    }
  }

  void MultiSlotClasses() {
    for (const auto& [name, rule] : c_.multi_slot_classes) {
      const std::string of = "of \"" + name + "\" needs ";
      Want(std::isfinite(rule.age) && rule.age >= -1, "multi_slot.classes",
           of + "age of at least -1");
      Want(std::isfinite(rule.step) && rule.step > 0, "multi_slot.classes", of + "step above 0");
      Want(std::isfinite(rule.start) && rule.start >= 0, "multi_slot.classes",
           of + "start of 0 or more");
    }
  }

  void Scope(const std::string& key, const std::string& scope, std::vector<std::string> words) {
    if (std::find(words.begin(), words.end(), scope) != words.end()) return;
    const auto near = DidYouMean(scope, words);
    Add(key, "has scope \"" + scope + "\", which is none of " + Join(words, ", "),
        near ? "did you mean \"" + *near + "\"?" : "");
  }

  void Limits() {
    for (const auto& q : c_.quotas) {
      Scope("quotas", q.scope, {"grid", "user", "project", "campaign", "class"});
      if (q.slots < 0 && q.jobs < 0)
        Add("quotas", "of " + q.scope + " \"" + q.name + "\" limits nothing", "give slots or jobs");
    }
    for (const auto& r : c_.start_rates) {
      Scope("start_rates", r.scope, {"grid", "cluster", "user", "project", "campaign", "class"});
      Positive("start_rates", r.scope, r.per_minute);
    }
    for (const auto& [name, size] : c_.licences)
      Want(size >= 0, "licences", "of \"" + name + "\" must be 0 or more");
  }

  void Reserves() {
    std::map<std::string, double> sum;
    for (const auto& r : c_.reserves) {
      Want(r.fraction > 0 && r.fraction <= 1, "reserves",
           "for \"" + r.cls + "\" must be above 0 and at most 1");
      if (r.cls.empty()) Add("reserves", "has an entry without a class");
      sum[r.cluster] += r.fraction;
    }
    for (const auto& [cluster, x] : sum)
      if (x + (cluster.empty() ? 0 : sum[""]) > 1 + 1e-9)
        Add("reserves", "add up to more than the whole of " +
                            (cluster.empty() ? "a cluster" : "\"" + cluster + "\""));
  }

  const PolicyConfig& c_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> ValidateConfig(const PolicyConfig& config) { return Checker(config).Run(); }

std::vector<Fault> LintConfig(const PolicyConfig& c) {
  std::vector<Fault> odd;
  auto warn = [&](const std::string& key, const std::string& what, const std::string& hint = "") {
    odd.push_back({key, what, hint});
  };
  for (const auto& [low, a] : c.queues)
    for (const auto& [high, b] : c.queues)
      if (a.min < b.min && a.max >= b.min)  // FBS-23
        warn("queues",
             fmt::format("\"{}\" can rise to {:g} and pass \"{}\", which starts at {:g}", low,
                         a.max, high, b.min),
             "set max of \"" + low + "\" below min of \"" + high + "\"");
  auto unused = [&](bool set, const char* key, bool used) {
    if (set && !used)
      warn(key, std::string("\"") + key + "\" says nothing under policy " + ToString(c.policy));
  };
  const bool tree = c.policy == PolicyKind::kFairshare || c.policy == PolicyKind::kFairshareSimple;
  unused(!c.queues.empty(), "queues", c.policy == PolicyKind::kDynamic);
  unused(!c.sla_groups.empty(), "sla.groups", c.policy == PolicyKind::kSla);
  unused(!c.projects.empty(), "projects", tree || c.aggregate == Aggregate::kProject);
  unused(c.sla_preempt, "sla.preempt", c.policy == PolicyKind::kSla);
  const bool drawn = c.policy == PolicyKind::kLottery || c.policy == PolicyKind::kStride;
  const bool recent = c.policy == PolicyKind::kUsage || c.policy == PolicyKind::kSla;
  const PolicyConfig defaults;
  const bool shares = std::any_of(c.users.begin(), c.users.end(),
                                  [](const auto& user) { return user.second.share != 1; });
  unused(shares, "users", tree);
  unused(!c.user_weights.empty(), "user_weights",
         drawn || (c.policy == PolicyKind::kUsage && c.aggregate == Aggregate::kUser));
  unused(c.usage_window_s != defaults.usage_window_s, "usage.window",
         recent || c.policy == PolicyKind::kLottery);
  unused(c.fairshare_half_life_s != defaults.fairshare_half_life_s, "fairshare.half_life",
         c.policy == PolicyKind::kFairshare);
  unused(c.fairshare_window_s != defaults.fairshare_window_s, "fairshare.window",
         c.policy == PolicyKind::kFairshare);
  unused(c.multi_slot_queue != defaults.multi_slot_queue, "multi_slot.queue",
         c.policy == PolicyKind::kFairshare);
  unused(c.fairshare_payback != defaults.fairshare_payback, "fairshare.payback",
         c.policy == PolicyKind::kFairshare);
  if (drawn && c.aggregate == Aggregate::kNone && c.parallel_campaigns == 0)  // TECH-16
    warn("parallel_campaigns", "every campaign draws slots: who submits more of them gets more",
         "parallel_campaigns=1, or aggregate=user");
  if (c.policy == PolicyKind::kFairshareSimple)
    warn("policy", "fairshare-simple does not hold shares under steady load (58/42 for 75/25)",
         "policy fairshare does");
  if (c.urgent_percent > 0 || c.scavenger_preempt || c.sla_preempt)
    warn("urgent.percent", "preemption throws work away, and a freed slot may go to a local user",
         "watch its yield and its lost time");
  if (c.policy == PolicyKind::kSla && c.urgent_percent > 0)
    warn("urgent.percent", "urgent campaigns go before the numbers of every group");
  if (c.policy == PolicyKind::kDynamic && c.KeepsSlots())
    warn("multi_slot.age",
         "policy dynamic holds slots for multi-slot jobs by its own gaps: two holds compete");
  if (c.qos.empty() != (c.qos_weight == 0))
    warn("qos.weight", "changes nothing: it needs the classes of qos, and they need it",
         "qos.weight=1, and qos={\"CLASS\": 1}");
  const bool by_weight = recent || drawn || c.policy == PolicyKind::kFairshare ||
                         c.policy == PolicyKind::kDynamic;
  unused(c.qos_weight > 0, "qos.weight", by_weight);
  if (c.policy == PolicyKind::kFifo && c.affinity_wait_s > 0)
    warn("affinity_wait", "under fifo the first campaign keeps a place that it refuses to use");
  if (c.strict_priority && c.user_priority > 4)
    warn("user_priority", "users may put their campaigns before everybody else's",
         "user_priority=4 leaves what is above normal to operators");
  else if (c.user_priority > 9)
    warn("user_priority", "users may call their own campaigns urgent");
  double before = 0;
  for (const auto& [level, weight] : c.weights) {
    if (weight < before) warn("weights", "a higher priority has less weight than a lower one");
    before = weight;
  }
  return odd;
}

}  // namespace cigri::policy
