// Fair shares as a game: whatever a user writes into a JDL, and into however many of them, the
// slots that he gets stay what operators gave him.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "policy/members.h"
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using policy::NameKind;
using policy::PolicyKind;

int In(int low, int high) { return *rc::gen::inRange(low, high + 1); }
bool Maybe(int percent) { return In(0, 99) < percent; }

constexpr double kUntil = 3600, kJob = 30;
constexpr std::int64_t kEndless = 100'000;

// alice is in project physics, carol in none; bob is the one who tries.
policy::PolicyConfig AnyConfig() {
  policy::PolicyConfig c;
  const bool preset = Maybe(30);
  if (preset) {
    const auto& presets = policy::Presets();
    c = policy::ParseConfig(presets[In(0, static_cast<int>(presets.size()) - 1)].rows).config;
  } else {
    c.policy = static_cast<PolicyKind>(In(0, static_cast<int>(PolicyKind::kFairshareSimple)));
    c.first_results = Maybe(50) ? 10 : 0;
  }
  c.canary_jobs = 1'000'000;
  c.survival_kills = 0;
  c.projects = {{"physics", {.share = 3}}};
  c.users = {{"alice", {.parent = "physics"}}};
  c.sla_groups = {{"all", 0.5}, {"physics", 0.5}};
  c.queues = {{"short", {.dec = 0.1}}};
  c.reserves = {{.cls = "short", .fraction = 0.2}};
  c.licences = {{"matlab", 5}};
  if (Maybe(30)) c.quotas.push_back({.scope = "class", .slots = 4});
  if (Maybe(30)) c.quotas.push_back({.scope = "project", .name = "physics", .slots = 100});
  return c;
}

CampaignSpec Campaign(const std::string& user) {
  CampaignSpec c;
  c.name = c.user = user, c.sla_group = "all";
  c.tasks = kEndless, c.duration = Distribution::Constant(kJob);
  return c;
}

// One task after the other, each in a campaign of its own or ten together: by the time that the
// next one comes, the ones before have nothing more to send.
std::vector<CampaignSpec> Trickle(int tasks, double per_s) {
  std::vector<CampaignSpec> campaigns;
  for (double at = 0; at < kUntil; at += tasks / per_s) {
    CampaignSpec c = Campaign("bob");
    c.tasks = tasks, c.at = at;
    campaigns.push_back(c);
  }
  return campaigns;
}

/// What bob submits, as the API takes it: a name that he may not write changes nothing.
struct Attack {
  std::string what;
  std::vector<CampaignSpec> campaigns;
};

Attack AnyAttack(const policy::PolicyConfig& config) {
  const policy::Members members(config, {{"*", NameKind::kSlaGroup, "all"}});
  CampaignSpec c = Campaign("bob");
  c.project = members.ProjectOf("bob");
  const std::string name = Maybe(50) ? "invented" : "physics";
  const auto may = [&](NameKind kind, const std::string& n) { return members.Has(kind, n, "bob"); };
  switch (In(0, 11)) {
    case 0:
      if (may(NameKind::kProject, name)) c.project = name;
      return {"project " + name, {c}};
    case 1:
      if (may(NameKind::kClass, "short")) c.cls = "short";
      if (may(NameKind::kClass, "invented")) c.cls = "invented";
      return {"class", {c}};
    case 2:
      if (may(NameKind::kSlaGroup, name)) c.sla_group = name;
      return {"sla_group " + name, {c}};
    case 3:
      if (may(NameKind::kLicence, "matlab")) c.licences = {{"matlab", 1}};
      return {"licences", {c}};
    case 4:
      c.priority = In(1, config.user_priority);
      return {"priority " + std::to_string(c.priority), {c}};
    case 5:
      c.replicas = true;
      return {"finalize", {c}};
    case 6: {
      Attack attack{"test campaigns", {c}};
      c.test = true, c.tasks = 2;
      for (int i = In(1, 200); i > 0; --i) attack.campaigns.push_back(c);
      return attack;
    }
    case 7:
      c.deadline = In(1, static_cast<int>(kUntil));
      return {"deadline", {c}};
    case 8:
      return {"one campaign after the other", Trickle(In(20, 50), 7)};
    default: {
      const int n = In(2, 60);
      Attack attack{std::to_string(n) + " campaigns", {}};
      c.tasks = Maybe(50) ? kEndless : In(5, 100);
      attack.campaigns.assign(n, c);
      if (c.tasks < kEndless) attack.campaigns.push_back(Campaign("bob"));
      for (auto& one : attack.campaigns) one.priority = Maybe(80) ? 4 : In(1, config.user_priority);
      return attack;
    }
  }
}

class Used : public Observer {
 public:
  explicit Used(const Scenario& s) : s_(s) {}
  void Ended(const Attempt& a) override {
    if (a.started < 0) return;
    const double seconds = std::min(a.ended, kUntil) - std::min(a.started, kUntil);
    of[s_.campaigns[a.campaign].user] += a.slots * seconds;
  }
  const Scenario& s_;
  std::map<std::string, double> of;
};

double SlotSecondsOfBob(Scenario s, const std::vector<CampaignSpec>& bobs, bool first) {
  s.campaigns = {Campaign("alice"), Campaign("carol")};
  s.campaigns[0].project = "physics";
  s.campaigns.insert(first ? s.campaigns.begin() : s.campaigns.end(), bobs.begin(), bobs.end());
  for (std::size_t i = 0; i < s.campaigns.size(); ++i) s.campaigns[i].name += std::to_string(i);
  Used used(s);
  Engine(s, {&used}).Run(kUntil);
  return used.of["bob"];
}

TEST(SharesTest, OneSmallCampaignAfterTheOtherBringsNoMoreThanALargeOne) {
  std::vector<std::pair<std::string, policy::PolicyConfig>> configs;
  for (const auto kind : {PolicyKind::kUsage, PolicyKind::kSla, PolicyKind::kLottery})
    configs.emplace_back(ToString(kind), policy::PolicyConfig{.policy = kind});
  for (const auto& preset : policy::Presets())
    if (preset.name == "departments" || preset.name == "deadline-desk")
      configs.emplace_back(preset.name, policy::ParseConfig(preset.rows).config);
  for (auto& [name, config] : configs) {
    Scenario s;
    s.policy = config;
    s.policy.canary_jobs = 1'000'000;
    s.policy.sla_groups = {{"all", 100}};
    s.cycle_s = 2;
    ClusterSpec c;
    c.name = "c", c.slots = 50, c.ratio = "none";
    s.clusters.push_back(c);
    const double without = SlotSecondsOfBob(s, {Campaign("bob")}, false);
    EXPECT_LT(SlotSecondsOfBob(s, Trickle(10, 2), false), 1.12 * without) << name;
  }
}

RC_GTEST_PROP(SharesProperty, NoKeyOfAJdlAndNoSplittingRaisesTheShareOfItsUser, ()) {
  Scenario s;
  s.policy = AnyConfig();
  s.cycle_s = 2;
  s.seed = static_cast<std::uint64_t>(In(1, 1000));
  for (int k = In(1, 2); k > 0; --k) {
    ClusterSpec c;
    c.name = "c" + std::to_string(k), c.slots = In(100, 200);  // few slots cannot be dealt to a tenth
    c.ratio = "none", c.max_waiting = 0;
    if (Maybe(20)) c.max_running = c.slots / 2;
    s.clusters.push_back(c);
  }
  const bool first = Maybe(50);
  const Attack attack = AnyAttack(s.policy);
  const double without = SlotSecondsOfBob(s, {Campaign("bob")}, first);
  const double with = SlotSecondsOfBob(s, attack.campaigns, first);
  // Two tests of a user go ahead, a job of each on every cluster.
  const double tests = attack.what == "test campaigns"
                           ? 2.0 * kUntil * static_cast<double>(s.clusters.size())
                           : 0;
  // A tenth, and what rounding of a few slots per cluster brings.
  if (with > 1.12 * without + tests)
    RC_FAIL("policy " + ToString(s.policy.policy) + ", " + attack.what + ", first_results " +
            std::to_string(s.policy.first_results) + (first ? ", bob first" : ", bob last") + ": " +
            std::to_string(with) + " slot-seconds in place of " + std::to_string(without));
}

}  // namespace
}  // namespace cigri::sim
