// What a simulated grid does, and what holds for every scenario.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "sim/writers.h"
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::kHour;
using test::Outcome;

TEST(EngineTest, AFasterClusterTakesLessTimeAndSubmittingAndSeeingTakeTheirs) {
  const Outcome run(
      R"({"cycle": 0, "clusters": [{"speed": 2, "submit": 5, "see": 3, "job_ratio": "none", "max_waiting": 0}],
    "campaigns": [{"tasks": 2, "duration": 100}]})");
  const auto starts = run.Starts("campaign1");
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_DOUBLE_EQ(starts[0], 5);
  EXPECT_DOUBLE_EQ(starts[1], 5 + 50 + 3 + 5) << "sent when the end of the first was seen";
}

TEST(EngineTest, LocalUsersTakeTheirSlotsBackAndWhatTheyKillIsRetried) {
  const Outcome run(
      R"({"clusters": [{"slots": 4, "job_ratio": "none", "local": [{"every": "30 min", "slots": 3, "duration": "10 min"}]}],
    "campaigns": [{"tasks": 200, "duration": "10 min"}], "policy": {"policy": "fifo", "survival.kills": 0}})");
  EXPECT_EQ(run.report.totals.done, 200);
  EXPECT_GT(run.report.preempted, 0);
  EXPECT_GT(run.report.lost_slot_s, 0);
  EXPECT_EQ(run.Count(End::kPreempted), run.report.preempted);
  EXPECT_GT(run.report.of_left, run.report.utilisation);
}

TEST(EngineTest, AClusterThatGoesDownLosesItsJobsAndTheyRunElsewhere) {
  const Outcome run(
      R"({"clusters": [{"name": "a", "slots": 5, "down": [{"from": 300, "until": "1 h"}]}, {"name": "b", "slots": 5}],
    "campaigns": [{"tasks": 100, "duration": "10 min"}], "policy": {"policy": "fifo", "canary_jobs": 100}})");
  EXPECT_EQ(run.report.totals.done, 100);
  EXPECT_GE(run.Count(End::kLost), 5);
  EXPECT_EQ(run.RunningAt(2000, "", "a"), 0);
  EXPECT_GT(run.RunningAt(2000, "", "b"), 0);
  EXPECT_GT(run.RunningAt(3700, "", "a"), 0);
  EXPECT_TRUE(run.Had("campaign1", "CLUSTER_STALE"));
}

TEST(EngineTest, AClosedClusterEndsItsJobsAndGetsNoNewOnes) {
  const Outcome run(
      R"({"clusters": [{"slots": 2, "max_waiting": 0, "job_ratio": "none", "closed": [{"from": 60, "until": "2 h"}]}],
    "campaigns": [{"tasks": 6, "duration": "10 min"}], "policy": "fifo"})");
  EXPECT_EQ(run.report.totals.done, 6);
  EXPECT_EQ(run.Count(End::kLost), 0);
  EXPECT_DOUBLE_EQ(run.Starts("campaign1")[2], 2 * kHour);
  EXPECT_TRUE(run.Had("campaign1", "CLUSTER_HOURS"));
}

TEST(EngineTest, FailuresUseUpTriesAndWalltimesKill) {
  const Outcome run(R"({"clusters": [{"slots": 4}], "campaigns": [
    {"name": "bad", "tasks": 200, "duration": 60, "failures": 0.5, "tries": 2},
    {"name": "long", "tasks": 3, "duration": ["10 min", "10 min", "3 h"], "walltime": "1 h"}]})");
  EXPECT_NEAR(static_cast<double>(run.report.totals.failed), 50, 25);
  EXPECT_EQ(run.Count(End::kWalltime, "long"), 2);
  EXPECT_EQ(run.report.campaigns[1].done, 2);
}

TEST(EngineTest, ACampaignWhoseCanaryJobsFailIsHeldAndTheSimulationEnds) {
  const Outcome run(
      R"({"clusters": [{"slots": 4}], "campaigns": [{"name": "bad", "tasks": 200, "duration": 5, "failures": 1}]})");
  EXPECT_EQ(run.attempts.size(), 10u);
  EXPECT_TRUE(run.Had("bad", "HELD"));
  EXPECT_EQ(run.report.totals.not_done, 200);
}

// All jobs of one campaign take ten times as long: it is as long as the other, and ends later.
TEST(EngineTest, AJobThatItsClusterSlowsDownMakesItsCampaignNoLonger) {
  const Outcome run(R"({"clusters": [{"name": "fast"}, {"name": "slow", "slow_jobs": 1}],
    "policy": {"policy": "fifo", "canary_jobs": 100}, "campaigns": [
      {"name": "a", "duration": 1000, "clusters": ["fast"]},
      {"name": "b", "duration": 1000, "clusters": ["slow"]}]})");
  EXPECT_NEAR(run.report.campaigns[0].slowdown, 1, .01);
  EXPECT_NEAR(run.report.campaigns[1].slowdown, 10, .1) << "not 1: alone it takes 1,000 s";
}

// On a real log one job of two seconds was half of the mean of 440 campaigns.
TEST(EngineTest, ASlowdownIsThatOfTenSecondsAtLeast) {
  const Outcome run(R"({"clusters": [{}], "policy": "fifo", "campaigns": [
      {"name": "long", "duration": 200}, {"name": "short", "duration": 1, "at": 1}]})");
  EXPECT_NEAR(run.report.campaigns[1].slowdown, 20, .5);
}

// One job in fifty takes ten times as long on "slow". Without the rule the end of the campaign
// waits for one of those.
TEST(EngineTest, TheLastTasksGoWhereTheyLikelyEndWithTheOthers) {
  double with = 0, without = 0;
  for (int seed = 1; seed <= 5; ++seed) {
    const auto makespan = [&](const std::string& times) {
      const Outcome run(
          R"({"clusters": [{"name": "a", "slots": 80}, {"name": "slow", "slots": 20, "slow_jobs": 0.02}],
    "campaigns": [{"tasks": 1500, "duration": {"distribution": "lognormal", "median": 600, "sigma": 0.3}}],
    "policy": {"policy": "usage", "stragglers.times": )" +
          times + "}, \"seed\": " + std::to_string(seed) + "}");
      return run.report.makespan_s;
    };
    with += makespan("3"), without += makespan("0");
  }
  EXPECT_LT(with, .85 * without) << without;
}

TEST(EngineTest, ZeroDurationsDivideNothing) {
  const Outcome run(
      R"({"clusters": [{"slots": 3}], "campaigns": [{"tasks": 1000, "duration": 0}, {"user": "b", "tasks": 10}]})");
  EXPECT_EQ(run.report.totals.done, 1010);
  const auto text = ToText(run.report) + ToJson(run.report).dump();
  EXPECT_EQ(text.find("nan"), text.npos) << text;
  EXPECT_EQ(ToJson(run.report).dump().find("null"), std::string::npos);
}

TEST(EngineTest, AStartRateIsKeptThoughNothingElseHappens) {
  const Outcome run(
      R"({"clusters": [{"slots": 100, "job_ratio": "none"}], "campaigns": [{"tasks": 60, "duration": "1 h"}],
    "policy": {"policy": "fifo", "canary_jobs": 1000, "start_rates": [{"scope": "grid", "per_minute": 6, "burst": 1}]}})");
  const auto starts = run.Starts("campaign1");
  EXPECT_NEAR(starts.back(), 590, 15);
}

TEST(EngineTest, ACampaignsOwnStartRateHoldsOnEachCluster) {
  const Outcome run(
      R"({"clusters": [{"name": "a", "slots": 50}, {"name": "b", "slots": 50}], "tick": 1,
    "campaigns": [{"name": "x", "tasks": 80, "duration": 600, "start_rate": 6}],
    "policy": {"policy": "fifo", "canary_jobs": 100}})");
  EXPECT_EQ(run.report.totals.done, 80);
  EXPECT_TRUE(run.Had("x", "START_RATE"));
  std::map<std::string, std::vector<double>> starts;
  for (const auto& a : run.attempts) starts[run.ClusterOf(a)].push_back(a.started);
  EXPECT_EQ(starts.size(), 2u);
  for (auto& [cluster, times] : starts) {
    std::sort(times.begin(), times.end());
    for (std::size_t i = 7; i < times.size(); ++i)
      EXPECT_GE(times[i] - times[i - 7], 60 - 1e-6) << cluster << ": six a minute and one at once";
  }
}

TEST(EngineTest, ACampaignStartsWhenThoseItComesAfterAreOver) {
  const Outcome run(
      R"({"clusters": [{"slots": 20}], "policy": {"policy": "fifo", "canary_jobs": 100},
    "campaigns": [{"name": "a", "tasks": 5, "duration": 100}, {"name": "late", "at": 500, "tasks": 2, "duration": 50},
                  {"name": "then", "tasks": 3, "duration": 10, "after": ["a", "late"]}]})");
  EXPECT_EQ(run.report.totals.done, 10);
  EXPECT_TRUE(run.Had("then", "AFTER"));
  for (const double t : run.Starts("then")) EXPECT_GE(t, 550);
  EXPECT_LT(run.Starts("then")[0], 560);
}

TEST(EngineTest, ACampaignsOwnShortestJobShowsABlackHole) {  // CIG-11: min_duration, without a rule
  const char* scenario =
      R"({"clusters": [{"name": "X", "slots": 5, "swallows": 0.2}, {"name": "good", "slots": 20}],
    "campaigns": [{"name": "x", "tasks": 100, "duration": 300, "min_duration": 10}],
    "policy": {"policy": "fifo", "canary_jobs": 100}})";
  const Outcome run(scenario);
  EXPECT_TRUE(run.Had("x", "BLACK_HOLE"));
  std::set<std::int64_t> good;
  for (const auto& a : run.attempts)
    if (run.ClusterOf(a) == "good" && a.end == End::kDone) good.insert(a.task);
  EXPECT_GT(good.size(), 50u) << "without it the black hole swallows nearly all";
  const Outcome believing(scenario, {{"campaigns.x.min_duration", "0"}});
  EXPECT_FALSE(believing.Had("x", "BLACK_HOLE"));
}

// Jobs that did nothing in 0.2 s would let the long ones of b fill the queue of the other cluster,
// as short ones may, and keep a out.
TEST(EngineTest, WhatABlackHoleHasSwallowedTeachesNothing) {
  const Outcome run(
      R"({"clusters": [{"name": "X", "slots": 20, "swallows": 0.2, "submit": 2, "see": 5},
                       {"name": "good", "slots": 80, "submit": 2, "see": 5}],
    "campaigns": [{"user": "a", "tasks": 800, "duration": 180, "min_duration": 10},
                  {"user": "b", "tasks": 200, "duration": "40 min", "min_duration": 10}]})");
  EXPECT_TRUE(run.Had("campaign2", "BLACK_HOLE"));
  const auto waits = [](const Attempt& a) {
    return a.campaign == 1 && a.sent < 600 && (a.started < 0 || a.started > 600);
  };
  EXPECT_LE(std::count_if(run.attempts.begin(), run.attempts.end(), waits), 2);
}

TEST(EngineTest, WorkThatCanNeverRunEndsTheSimulationWithItsReason) {
  const Outcome run(
      R"({"clusters": [{"slots": 4}], "campaigns": [{"name": "wide", "slots": 9}, {"name": "off", "priority": 0}],
    "policy": {"policy": "fifo", "start_rates": [{"scope": "user", "per_minute": 60}]}})");
  EXPECT_EQ(run.report.totals.not_done, 2);
  EXPECT_TRUE(run.Had("wide", "TOO_MANY_SLOTS"));
  EXPECT_TRUE(run.Had("off", "SUSPENDED"));
}

TEST(EngineTest, AClusterThatKillsOneInAHundredIsNotExcludedForItsKills) {
  const Outcome run(
      R"({"clusters": [{"name": "a", "slots": 8, "life": {"distribution": "exponential", "mean": "10 h"}}, {"name": "b", "slots": 1}],
    "campaigns": [{"name": "c", "tasks": 600, "duration": "10 min"}], "policy": {"policy": "fifo", "survival.kills": 3}})");
  EXPECT_GT(run.Count(End::kPreempted), 3);
  EXPECT_FALSE(run.Had("c", "SHORT_SURVIVAL"));
  const Outcome deadly(
      R"({"clusters": [{"name": "a", "slots": 8, "life": "5 min"}, {"name": "b", "slots": 1}],
    "campaigns": [{"name": "c", "tasks": 60, "duration": "10 min"}], "policy": {"policy": "fifo", "survival.kills": 3}})");
  EXPECT_TRUE(deadly.Had("c", "SHORT_SURVIVAL"));
  EXPECT_EQ(deadly.report.totals.done, 60);
  EXPECT_LT(deadly.Count(End::kPreempted), 60) << "not sent there blindly again";
}

TEST(EngineTest, BurstsOfLocalUsersStopNoCampaign) {
  struct Case {
    int slots, burst, every_min, duration_min, tasks;
  };
  for (const Case& c : {Case{120, 90, 25, 12, 1860},
                        {100, 100, 10, 5, 2000},
                        {100, 50, 10, 5, 2000},
                        {100, 100, 60, 30, 2000}}) {
    for (const char* seed : {"1", "2", "3"}) {
      const auto text = [](int n) { return std::to_string(n); };
      const Outcome run(
          R"({"policy": "site-default", "until": "12 d", "seed": )" + std::string(seed) +
          R"(, "clusters": [{"name": "k", "slots": )" + text(c.slots) +
          R"(, "submit": 2, "see": 5, "local": [{"every": ")" + text(c.every_min) +
          R"( min", "slots": )" + text(c.burst) + R"(, "duration": "3 min"}]}],
          "campaigns": [{"user": "alice", "tasks": )" +
          text(c.tasks) + R"(, "duration": ")" + text(c.duration_min) + R"( min"}]})");
      EXPECT_EQ(run.report.totals.not_done, 0)
          << "seed " << seed << ", jobs of " << c.duration_min << " min, a burst of " << c.burst
          << " in " << c.every_min << " min";
    }
  }
}

// The job ratio falls while local users hold the cluster, and comes back when they have gone.
TEST(EngineTest, AMultiSlotCampaignBesideBurstsIsNotSlowedByItsJobRatio) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const auto makespan = [&](const std::string& ratio) {
      return Outcome(R"({"policy": {"preset": "departments"}, "clusters": [{"name": "k",
          "slots": 100, "submit": 5, "see": 20, "preempts": false,
          "local": [{"every": "10 min", "slots": 90, "duration": "3 min"}]}],
          "campaigns": [{"user": "alice", "tasks": 2000, "duration": 120, "slots": 4}]})",
                     {{"seed", seed}, {"clusters.k.job_ratio", ratio}})
          .report.makespan_s;
    };
    EXPECT_LT(makespan("adaptive"), 1.15 * makespan("none")) << seed;
    EXPECT_LT(makespan("slow-start"), 2 * makespan("none")) << seed;
  }
}

TEST(EngineTest, WhereNoJobLivesLongEnoughOneAtATimeIsTried) {
  const Outcome run(R"({"policy": "site-default", "until": "10 h",
    "clusters": [{"slots": 50, "life": "5 min"}],
    "campaigns": [{"name": "c", "tasks": 60, "duration": "10 min"}]})");
  EXPECT_TRUE(run.Had("c", "SHORT_SURVIVAL"));
  const auto starts = run.Starts("c");
  const auto probes =
      std::count_if(starts.begin(), starts.end(), [](double t) { return t > kHour; });
  EXPECT_GE(probes, 6) << "at least one an hour";
  EXPECT_LE(probes, 12);
  EXPECT_LE(run.RunningAt(5 * kHour), 1);
}

// Both clusters have run thousands of jobs of no length; what comes then is not like them.
TEST(EngineTest, ShortJobsBeforeItLeaveNoClusterIdleForACampaign) {
  const auto took = [](const std::string& before) {
    const Outcome run(R"({"cycle": 0.05, "policy": "fifo", "clusters": [
        {"name": "one", "slots": 8, "see": 0.05, "max_waiting": 2000},
        {"name": "two", "slots": 4, "see": 0.05, "max_waiting": 2000}],
      "campaigns": [)" + before +
                      R"({"name": "main", "at": 120, "tasks": 120, "duration": 3}]})");
    double end = 0;
    for (const auto& a : run.attempts)
      if (run.NameOf(a) == "main") end = std::max(end, a.ended);
    return end - 120;
  };
  const double fresh = took("");
  EXPECT_LE(took(R"({"name": "short", "tasks": 3000, "duration": 0.02},)"), 1.2 * fresh);
  EXPECT_LE(fresh, 1.2 * 120 * 3 / 12) << "12 slots";
}

TEST(EngineTest, AJobThatWaitsIsTakenBackWhenAnotherClusterOpens) {
  const Outcome run(R"({"policy": "fifo", "clusters": [{"name": "one", "slots": 1, "job_ratio": "none"},
      {"name": "two", "slots": 1, "job_ratio": "none", "closed": [{"from": 0, "until": 100}]}],
    "campaigns": [{"name": "main", "tasks": 2, "duration": 1000}]})");
  EXPECT_EQ(run.report.totals.done, 2);
  EXPECT_LT(run.Starts("main").at(1), 102);
  EXPECT_EQ(run.Count(End::kCancelled), 1);
  EXPECT_TRUE(run.Had("main", "RECALLED"));
}

TEST(EngineTest, AnUrgentCampaignThatARuleLimitsThrowsNothingAwayInVain) {
  const Outcome run(R"({"policy": {"policy": "usage", "urgent.percent": 25, "urgent.delay": 60},
    "clusters": [{"slots": 100, "job_ratio": "none", "max_waiting": 0}],
    "campaigns": [{"name": "background", "tasks": 1000, "duration": "6 h"},
                  {"name": "alarm", "user": "ops", "class": "urgent", "at": "9 h", "tasks": 25, "duration": "20 min"}]})");
  EXPECT_EQ(run.report.campaigns[1].done, 25);
  EXPECT_LE(run.Count(End::kCancelled), 25);
}

TEST(EngineTest, ATaskThatIsDoneIsNotCopiedAgainWhileItsCopysEndIsUnseen) {
  const Outcome run(R"({"cycle": 0, "clusters": [{"slots": 4, "see": 2}], "policy": "fifo",
    "campaigns": [{"tasks": 1, "duration": 0, "replicas": true}]})");
  EXPECT_EQ(run.report.totals.done, 1);
  EXPECT_LE(run.attempts.size(), 2u);
}

// Copies of a task that its walltime ends followed each other for days, and each was a failed task.
TEST(EngineTest, ATaskWhoseCopiesFailIsOneFailedTask) {
  const Outcome run(R"({"clusters": [{"slots": 4, "see": 2}, {"slots": 4}], "policy": "fifo",
    "campaigns": [{"tasks": 8, "duration": [10, 10, 10, 10, 10, 10, 10, 500], "walltime": 100,
                   "tries": 2, "replicas": true}]})");
  EXPECT_EQ(run.report.totals.done, 7);
  EXPECT_EQ(run.report.campaigns[0].done, 7);
  EXPECT_EQ(run.report.totals.failed, 1);
  EXPECT_EQ(run.report.totals.not_done, 0);
  EXPECT_LE(run.Count(End::kWalltime), 4);
}

// ---------------------------------------------------------------- what holds for every scenario
int In(int low, int high) { return *rc::gen::inRange(low, high + 1); }
bool Maybe(int percent) { return In(0, 99) < percent; }

Scenario AnyScenario() {
  Scenario s;
  s.seed = static_cast<std::uint64_t>(In(0, 1000));
  s.cycle_s = In(0, 3);
  s.policy.policy = static_cast<policy::PolicyKind>(In(0, 8));
  if (s.policy.policy == policy::PolicyKind::kSla) s.policy.sla_groups = {{"g", 5}};
  s.policy.first_results = Maybe(30) ? 3 : 0;
  s.policy.parallel_campaigns = Maybe(30) ? 1 : 0;
  s.policy.strict_priority = Maybe(20);
  if (Maybe(40)) s.policy.quotas.push_back({.scope = "user", .slots = In(1, 12)});
  if (Maybe(20)) s.policy.quotas.push_back({.scope = "grid", .jobs = In(1, 12)});
  for (int k = In(1, 3); k > 0; --k) {
    ClusterSpec c;
    c.name = "c" + std::to_string(k);
    c.slots = In(2, 12), c.nodes = 2, c.speed = In(1, 3);
    c.submit_s = Maybe(50) ? In(0, 5) : 0;
    c.see_s = Maybe(50) ? In(0, 20) : 0;
    c.ratio = Maybe(50) ? "adaptive" : "none";
    c.max_waiting = In(0, 6);
    if (Maybe(30)) c.max_running = In(1, 8);
    if (Maybe(30)) c.failures = 0.1;
    if (Maybe(20)) c.node_mtbf_s = 5000, c.node_repair_s = 300;
    if (Maybe(30))
      c.local.push_back(
          {.every = Distribution::Constant(400), .duration = Distribution::Constant(200), .slots = Distribution::Constant(In(1, 2))});
    if (Maybe(20)) c.down.push_back({500, 900});
    s.clusters.push_back(c);
  }
  for (int i = In(1, 5); i > 0; --i) {
    CampaignSpec c;
    c.name = "x" + std::to_string(i), c.user = std::string(1, static_cast<char>('a' + In(0, 2)));
    c.at = In(0, 300), c.tasks = In(1, 60), c.slots = Maybe(80) ? 1 : 2;
    c.duration = {Distribution::Kind::kUniform, 0, 120, {}};
    c.priority = In(1, 9), c.tries = Maybe(70) ? 50 : In(1, 2), c.sla_group = "g";
    if (Maybe(20)) c.walltime_s = 90;
    c.replicas = Maybe(20);
    if (Maybe(20)) c.max_jobs = In(1, 5);
    s.campaigns.push_back(c);
  }
  return s;
}

// Watches each decision and each slot while a scenario runs.
class Watch : public Observer {
 public:
  explicit Watch(const Scenario& s) : s_(s), held_(s.clusters.size()) {}
  void Started(int campaign, int slots, double) override {
    by_user[s_.campaigns[campaign].user] += slots;
    CheckUsers();
  }
  void Ended(const Attempt& a) override {
    if (a.started >= 0) by_user[s_.campaigns[a.campaign].user] -= a.slots;
    ends[{a.campaign, a.task}] += a.end == End::kDone;
    if (a.started >= 0) spans.push_back(a);
    order += std::to_string(a.job) + ToString(a.end).data() + std::to_string(a.ended) + "\n";
  }
  // Work conserving: where a job would fit, every campaign that still waits has a reason.
  void Decided(const Moment& m) override {
    std::map<std::int64_t, std::int64_t> given;
    for (const auto& g : m.result.plan.allocations) given[g.campaign] += g.n;
    std::set<std::pair<std::int64_t, std::int64_t>> why;
    for (const auto& r : m.result.reasons)
      if (r.code != policy::Code::kNone) why.insert({r.campaign, r.cluster});
    for (const auto& c : m.snapshot.campaigns) {
      if (c.waiting <= given[c.id]) continue;
      for (const auto& l : c.placements) unexplained += why.count({c.id, l.cluster}) == 0;
    }
  }
  bool ReadsReasons() const override { return true; }
  void CheckUsers() {
    for (const auto& quota : s_.policy.quotas)
      if (quota.scope == "user")
        for (const auto& [user, slots] : by_user) over += slots > quota.slots;
  }
  const Scenario& s_;
  std::vector<int> held_;
  std::map<std::string, int> by_user;
  std::map<std::pair<int, std::int64_t>, int> ends;
  std::vector<Attempt> spans;
  std::string order;
  int unexplained = 0, over = 0;
};

RC_GTEST_PROP(EngineProperty, NothingIsLostNoCapIsPassedAndEveryIdleSlotHasAReason, ()) {
  const Scenario s = AnyScenario();
  Watch watch(s);
  Engine engine(s, {&watch});
  const Totals totals = engine.Run();
  RC_ASSERT(watch.unexplained == 0);
  RC_ASSERT(watch.over == 0);
  std::int64_t tasks = 0;
  for (const auto& c : s.campaigns) tasks += c.tasks;
  RC_ASSERT(totals.done + totals.failed + totals.not_done == tasks);
  RC_ASSERT(totals.not_done >= 0);
  for (const auto& [task, n] : watch.ends)  // a copy may end before the first one's end is seen
    RC_ASSERT(n <= (s.campaigns[task.first].replicas ? 2 : 1));
  // Never more slots held than there are.
  for (std::size_t k = 0; k < s.clusters.size(); ++k) {
    std::vector<std::pair<double, int>> steps;
    for (const auto& a : watch.spans)
      if (a.cluster == static_cast<int>(k) && a.ended > a.started)
        steps.emplace_back(a.started, a.slots), steps.emplace_back(a.ended, -a.slots);
    std::sort(steps.begin(), steps.end());
    int held = 0;
    for (const auto& [at, n] : steps) RC_ASSERT((held += n) <= s.clusters[k].slots);
  }
}

RC_GTEST_PROP(EngineProperty, WithoutErrorsEveryTaskIsDoneOnce, ()) {
  Scenario s = AnyScenario();
  for (auto& c : s.clusters) c.failures = 0;
  for (auto& c : s.campaigns) c.walltime_s = 0;
  Watch watch(s);
  const Totals totals = Engine(s, {&watch}).Run();
  bool blocked = false;  // a job wider than a limit waits indefinitely, with that reason
  for (const auto& c : s.campaigns) {
    blocked = blocked || std::all_of(s.clusters.begin(), s.clusters.end(), [&](const auto& k) {
                return k.max_running != policy::kNoLimit && k.max_running < c.slots;
              });
    for (const auto& q : s.policy.quotas) blocked = blocked || (q.slots >= 0 && q.slots < c.slots);
  }
  if (!blocked) RC_ASSERT(totals.not_done == 0);
}

RC_GTEST_PROP(EngineProperty, NobodyIsDoneBeforeTheLeastMakespan, ()) {
  Scenario s = AnyScenario();
  for (auto& c : s.clusters) c.node_mtbf_s = 0;  // local users who wait for a node take less
  s.clairvoyant = Maybe(50);
  Collector collector(s);
  const Totals totals = Engine(s, {&collector}).Run();
  const Report report = collector.Finish(totals, "");
  const double least = LeastMakespan(s);
  if (totals.not_done == 0 && totals.failed == 0) RC_ASSERT(report.makespan_s >= least - 1e-2);
}

RC_GTEST_PROP(EngineProperty, TheSameSeedGivesTheSameBytes, ()) {
  const Scenario s = AnyScenario();
  Watch a(s), b(s);
  Collector first(s), second(s);
  Engine one(s, {&a, &first}), two(s, {&b, &second});
  RC_ASSERT(ToJson(first.Finish(one.Run(), "")).dump() ==
            ToJson(second.Finish(two.Run(), "")).dump());
  RC_ASSERT(a.order == b.order);
}

}  // namespace
}  // namespace cigri::sim
