// What composes with any policy: levels, caps, licences, rates, reserves, classes, black holes.
#include <gtest/gtest.h>

#include "policy/explain/whatif.h"
#include "policy/preempt.h"
#include "policy/slot_life.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

constexpr PolicyKind kAll[] = {PolicyKind::kFifo,      PolicyKind::kAffinity,
                               PolicyKind::kUsage,     PolicyKind::kLottery,
                               PolicyKind::kStride,    PolicyKind::kDynamic,
                               PolicyKind::kFairshare, PolicyKind::kFairshareSimple};

TEST(Levels, PriorityZeroGetsNothingEvenWithAllSlotsIdle) {  // GRID-05
  for (const auto policy : kAll) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    s.AddCampaign(5).priority = 0;
    s.Run();
    EXPECT_EQ(s.GivenInAll(), 0) << ToString(policy);
  }
}

TEST(Levels, StrictLevelsTakeAllTheyCanInDescendingOrder) {  // GRID-21
  for (const auto policy : kAll) {
    PolicyFixture s(policy);
    s.snapshot.config.strict_priority = true;
    s.AddCluster(10);
    s.AddCampaign(100).priority = 4;
    s.AddCampaign(7).priority = 9;
    s.Run();
    EXPECT_EQ(s.Given(2), 7) << ToString(policy);
    EXPECT_EQ(s.Given(1), 3) << ToString(policy);
  }
}

TEST(FirstResults, TheFirstJobsOfEveryUserGoAhead) {  // CIG-16
  PolicyFixture s;
  s.snapshot.config.first_results = 2;
  s.AddCluster(10);
  s.AddCampaign(1000, "alice");
  s.AddCampaign(1000, "bob");
  s.Run();
  EXPECT_EQ(s.Given(2), 2);
  EXPECT_EQ(s.Given(1), 8);
  s.campaign(2).done = 2;
  s.Run();
  EXPECT_EQ(s.Given(1), 10);
}

// Ten wide ones were more than their user's share: they went ahead until all ten had ended.
TEST(FirstResults, MultiSlotJobsCountAsTheirSlots) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.first_results = 10;
  s.AddCluster(64);
  s.AddCampaign(1000, "alice").done = 10;
  s.AddCampaign(1000, "bob", {}, 16);
  s.Run();
  EXPECT_EQ(s.Given(1), 32);
  EXPECT_EQ(s.Given(2), 2);
  s.placement(2, 1).slots = 4;
  s.cluster(1).free = 8;
  s.Run();
  EXPECT_EQ(s.Given(2), 2);
  s.cluster(1).free = 3;
  s.placement(2, 1).slots = 16;
  s.cluster(1).max = 16, s.cluster(1).free = 16;
  s.Run();
  EXPECT_EQ(s.Given(2), 1) << "one goes, however wide";
}

// Attack: 60 campaigns of 10 tasks in place of one had all slots of a fresh grid.
TEST(FirstResults, ManyCampaignsHaveNoMoreOfThemThanOne) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kFairshare, PolicyKind::kUsage}) {
    PolicyFixture s(policy);
    s.snapshot.config.aggregate = Aggregate::kUser;
    s.snapshot.config.first_results = 10;
    s.AddCluster(20);
    s.AddCampaign(1000, "alice");
    for (int i = 0; i < 60; ++i) s.AddCampaign(10, "bob");
    const auto of_bob = [&] {
      int n = 0;
      for (int i = 2; i <= 61; ++i) n += s.Given(i);
      return n;
    };
    s.Run();
    EXPECT_EQ(of_bob(), 10) << ToString(policy);
    EXPECT_EQ(s.Given(1), 10) << ToString(policy);
    if (policy == PolicyKind::kUsage) continue;  // then all goes to one of two with equal usage
    s.Start();
    s.now += 600;
    s.EndAll();
    s.snapshot.campaigns.erase(s.snapshot.campaigns.begin() + 1);  // over, and its usage stays
    s.Run();
    EXPECT_GE(s.Given(1), policy == PolicyKind::kFifo ? 20 : 9) << ToString(policy);
  }
}

// Attack: a thousand test campaigns went before everybody's work.
TEST(TestFirst, OnlyTheFirstTwoTestCampaignsOfAUserGoAhead) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kFairshare, PolicyKind::kStride}) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    s.AddCampaign(1000, "alice");
    for (int i = 0; i < 100; ++i) s.AddCampaign(1, "bob").test = true;
    s.AddCampaign(1, "carol").test = true;
    s.Run();
    int of_bob = 0;
    for (int i = 2; i <= 101; ++i) of_bob += s.Given(i);
    EXPECT_EQ(s.Given(2) + s.Given(3), 2) << ToString(policy);
    EXPECT_EQ(s.Given(102), 1) << ToString(policy) << ": another user's first";
    if (policy == PolicyKind::kFifo) { EXPECT_EQ(s.Given(1), 7); }
    if (policy == PolicyKind::kFifo) { EXPECT_EQ(of_bob, 2); }
  }
}

// Attack: tests of wide and long jobs were a way past the user's share.
TEST(TestFirst, OneOfWideJobsGoesAheadWithinTheShareOfItsUser) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kFairshare}) {
    PolicyFixture s(policy);
    for (int k = 0; k < 10; ++k) s.AddCluster(4);
    s.AddCampaign(1000, "alice");
    s.AddCampaign(10, "eve", {}, 4).test = true;
    s.AddCampaign(10, "eve", {1, 2, 3, 4, 5}, 4).test = true;
    s.AddCampaign(10, "eve", {6, 7, 8}, 4).test = true;
    s.Run();
    EXPECT_EQ(s.Given(3), 5) << ToString(policy) << ": 20 of 40 slots are half of them";
    EXPECT_LE(s.Given(2) + s.Given(4), 0) << ToString(policy);
    EXPECT_EQ(s.Given(1), 20) << ToString(policy);
  }
}

TEST(T05, OneCampaignPerUserTakesPartTheBestThenTheEarliest) {
  for (const auto policy : {PolicyKind::kLottery, PolicyKind::kUsage, PolicyKind::kStride}) {
    PolicyFixture s(policy);
    s.snapshot.config.parallel_campaigns = 1;
    s.AddCluster(50);
    s.AddCampaign(1000, "john").priority = 4;
    s.AddCampaign(1000, "john").priority = 5;
    s.AddCampaign(1000, "alice");
    s.AddCampaign(1000, "alice");
    s.Run();
    EXPECT_EQ(s.Given(1), 0);
    EXPECT_EQ(s.Given(4), 0);
    EXPECT_GT(s.Given(2), 0);
    EXPECT_GT(s.Given(3), 0);
    EXPECT_EQ(s.GivenInAll(), 50);
    EXPECT_EQ(s.Why(1), "BEHIND_OWN");
  }
}

TEST(Quotas, CountWhatIsInFlightAndHoldIndefinitelyyPolicy) {  // TECH-05, FBS-30
  for (const auto policy : kAll) {
    PolicyFixture s(policy);
    s.snapshot.config.quotas = {{.scope = "user", .name = "alice", .slots = 5},
                                {.scope = "project", .cluster = "c2", .jobs = 2}};
    s.AddCluster(10);
    s.AddCluster(10);
    s.AddCampaign(100, "alice");
    s.AddCampaign(100, "bob").project = "phys";
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 2;
    s.Run();
    EXPECT_EQ(s.Given(1), 3) << ToString(policy);
    EXPECT_EQ(s.Given(2, 2), 2) << ToString(policy);
    EXPECT_EQ(s.Why(1), "QUOTA");
    EXPECT_EQ(s.result.reasons[0].detail, "user alice, slots");
  }
}

TEST(Licences, AreCountedOverTheGridAndAPoolNobodyNamedIsEmpty) {  // FAIR-21
  PolicyFixture s;
  s.snapshot.config.licences = {{"matlab", 7}};
  s.AddCluster(10);
  s.AddCampaign(10).licences = {{"matlab", 2}};
  s.AddCampaign(10, "bob").licences = {{"idl", 1}};
  s.placement(1, 1).in_flight = 1;
  s.Run();
  EXPECT_EQ(s.Given(1), 2);
  EXPECT_EQ(s.Why(1), "LICENCE");
  EXPECT_EQ(s.Given(2), 0);
}

// Whoever needs one would take each that comes back.
TEST(Licences, AreKeptForAJobThatNeedsSeveralAndIsDue) {
  for (const auto policy : {PolicyKind::kFairshare, PolicyKind::kUsage}) {
    PolicyFixture s(policy);
    s.snapshot.config.licences = {{"matlab", 7}};
    s.AddCluster(10).free = 1;
    s.AddCampaign(1000, "bob").licences = {{"matlab", 1}};
    s.AddCampaign(1000, "alice").licences = {{"matlab", 2}};
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 6;
    s.Run();
    EXPECT_EQ(s.GivenInAll(), 0) << ToString(policy);
    EXPECT_EQ(s.Why(1), "LICENCE") << ToString(policy);
    EXPECT_EQ(s.Why(2), "LICENCE") << ToString(policy);
    s.cluster(1).free = 0, s.cluster(1).waiting_allowed = 1;
    s.Run();
    EXPECT_EQ(s.GivenInAll(), 0) << ToString(policy) << ": nor by a place in the queue";
    s.cluster(1).free = 1, s.cluster(1).waiting_allowed = 0;
    s.AddCampaign(1000, "carol");
    s.Run();
    EXPECT_EQ(s.Given(3), 1) << ToString(policy) << ": the slot waits for nobody";
    s.campaign(3).waiting = 0;
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 5;
    s.Run();
    EXPECT_EQ(s.Given(2), 1) << ToString(policy);
  }
}

TEST(StartRate, FillsByTheClockAndIsKeptInTheState) {
  PolicyFixture s;
  s.snapshot.config.start_rates = {{.scope = "user", .per_minute = 60, .burst = 5}};
  s.AddCluster(100);
  s.AddCampaign(1000);
  s.Run();
  EXPECT_EQ(s.Given(1), 5);
  s.Run();
  EXPECT_EQ(s.Given(1), 0);
  EXPECT_EQ(s.Why(1), "START_RATE");
  s.now += 3;
  s.Run();
  EXPECT_EQ(s.Given(1), 3);
  s.now -= 500;  // a clock that steps back gives nothing
  s.Run();
  EXPECT_EQ(s.Given(1), 0);
}

TEST(StartRate, OfACampaignOnAClusterHoldsThereAndWhatNobodyClaimedComesBack) {
  PolicyFixture s;
  s.AddCluster(100);
  s.AddCluster(100);
  s.AddCampaign(1000);
  s.placement(1, 1).start_rate = 30;
  s.placement(1, 1).started = 0;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 5);  // ten seconds' worth
  EXPECT_EQ(s.Given(1, 2), 100);
  s.placement(1, 1).started = 2;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 3);
  EXPECT_EQ(s.Why(1, 1), "START_RATE");
  s.placement(1, 1).started = 5;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 0);
  s.placement(1, 1).started = 0;  // counted again: nothing is given back
  s.now += 2;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 1);
  EXPECT_EQ(s.state.rates.size(), 1u);
  s.placement(1, 1).start_rate = 0;
  s.Run();
  EXPECT_TRUE(s.state.rates.empty()) << "what nobody draws from is not carried indefinitely";
}

TEST(After, ACampaignThatComesAfterAnotherWaitsAndSaysSo) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(5);
  s.AddCampaign(100, "bob").after = 1;
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
  EXPECT_EQ(s.Why(2), "AFTER");
  EXPECT_EQ(s.Given(1), 5);
}

TEST(After, WhatHoldsTheWholeCampaignSaysTheSameOnEachCluster) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(5);
  s.AddCampaign(100, "bob").after_failed = 1;
  s.AddCampaign(100, "carol").not_before = 2000;
  s.Run();
  const ReasonTexts texts(s.snapshot);
  int on_clusters = 0;
  for (const auto& reason : s.result.reasons) {
    if (reason.campaign == 1 || reason.cluster == 0) continue;
    ++on_clusters;
    EXPECT_EQ(texts.Text(reason), reason.campaign == 2
                                      ? "campaign 1 has to succeed first (after), and it was cancelled"
                                      : "its not_before is 1970-01-01 00:33 UTC");
  }
  EXPECT_EQ(on_clusters, 2);
}

TEST(Urgent, WhatIsBeingCancelledForItIsNotAskedForAgain) {
  PolicyFixture s;
  s.snapshot.config.urgent_percent = 50;
  s.AddCluster(10).free = 0;
  s.AddCampaign(0);
  s.AddCampaign(100, "bob").cls = "urgent";
  s.placement(1, 1).in_flight = s.placement(1, 1).running = 10;
  for (int j = 1; j <= 10; ++j) s.snapshot.running.push_back({j, 1, 1, 1, s.now - 10 * j});
  s.campaign(2).waiting_since = s.now - 100;
  EXPECT_EQ(s.Run().plan.preempt.size(), 5u);
  for (int j = 1; j <= 3; ++j) s.snapshot.running[j - 1].for_campaign = 2;
  const auto more = s.Run().plan.preempt;
  ASSERT_EQ(more.size(), 2u);
  for (const auto& p : more) EXPECT_GT(p.job, 3);
}

TEST(Reserve, APartOfAClusterIsKeptForAClass) {  // FAIR-23
  PolicyFixture s;
  s.snapshot.config.reserves = {{.cls = "new", .fraction = 0.3}};
  s.AddCluster(10);
  s.AddCampaign(100);
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 7);
  EXPECT_EQ(s.Why(1), "RESERVE");
  s.AddCampaign(100, "bob").cls = "new";
  s.Run();
  EXPECT_EQ(s.Given(2), 3);
}

// What a limit leaves to several is divided among them, whoever is served first.
TEST(CommonLimits, AreDividedByShares) {
  const struct {
    const char* what;
    void (*limit)(PolicyFixture&);
  } limits[] = {
      {"a reserve",
       [](PolicyFixture& s) {
         s.snapshot.config.reserves = {{"new", "", .7}};
       }},
      {"a ceiling", [](PolicyFixture& s) { s.cluster(1).max_running = 30; }},
      {"a limited cluster",
       [](PolicyFixture& s) {
         s.cluster(1).mode = ClusterMode::kLimited, s.cluster(1).limited = 30;
       }},
      {"a quota",
       [](PolicyFixture& s) { s.snapshot.config.quotas = {{.scope = "grid", .slots = 30}}; }},
      {"licences",
       [](PolicyFixture& s) {
         s.snapshot.config.licences = {{"l", 30}};
         for (auto& c : s.snapshot.campaigns) c.licences = {{"l", 1}};
       }},
      {"a resource class",
       [](PolicyFixture& s) {
         s.cluster(1).classes = {{"GPUs", 30, 30}};
         for (auto& c : s.snapshot.campaigns) c.placements[0].resource_class = 1;
       }},
  };
  for (const auto policy : {PolicyKind::kFairshare, PolicyKind::kUsage, PolicyKind::kSla})
    for (const auto& [what, limit] : limits) {
      PolicyFixture s(policy);
      s.snapshot.config.sla_groups = {{"all", 100}};
      s.AddCluster(100);
      for (const char* user : {"alice", "bob", "carol"})
        s.AddCampaign(1000, user).sla_group = "all";
      limit(s);
      s.Run();
      for (int c = 1; c <= 3; ++c) EXPECT_EQ(s.Given(c), 10) << ToString(policy) << ", " << what;
    }
}

// Who may use the reserve takes it; what is left for the others is theirs, each his part.
TEST(CommonLimits, WhoIsNotBoundHasHisShareOfAll) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.reserves = {{.cls = "new", .fraction = 0.5}};
  s.AddCluster(100);
  s.AddCampaign(1000);
  s.AddCampaign(1000, "bob");
  s.AddCampaign(1000, "carol");
  s.AddCampaign(1000, "dan").cls = "new";
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 100);
  EXPECT_EQ(s.Given(4), 50);
  for (int c = 1; c <= 3; ++c) EXPECT_NEAR(s.Given(c), 16.7, 1);
}

// Of a quota over all clusters each cluster alone leaves all.
TEST(CommonLimits, WhatAQuotaKeepsFromOneIsDividedAmongTheOthers) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.users = {{"alice", {.share = 6}}};
  s.snapshot.config.quotas = {{.scope = "user", .name = "alice", .slots = 100}};
  s.snapshot.config.reserves = {{.cls = "new", .fraction = 0.2}};
  s.AddCluster(170);
  s.AddCluster(100);
  for (const char* user : {"bob", "alice", "carol"}) s.AddCampaign(1000, user);
  s.Run();
  EXPECT_EQ(s.Given(2), 100);
  EXPECT_EQ(s.Given(1), 58);
  EXPECT_EQ(s.Given(3), 58);
}

// Nor does one on the cluster bind the others: of 80 slots 10 are left to her, 35 to each of them.
TEST(CommonLimits, WhatALimitLeavesToOneIsNotAllThatTheOthersHave) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(120).max_running = 80;
  s.cluster(1).free = 80, s.cluster(1).running = s.cluster(1).running_slots = 40;
  s.snapshot.config.quotas = {
      {.scope = "user", .name = "alice", .cluster = s.cluster(1).name, .slots = 10}};
  for (const char* user : {"alice", "bob", "carol"}) s.AddCampaign(1000, user);
  s.placement(2, 1).in_flight = s.placement(2, 1).running = 40;
  s.Run();
  EXPECT_EQ(s.Given(1), 10);
  EXPECT_EQ(s.Given(2), 0);
  EXPECT_EQ(s.Given(3), 30);
}

TEST(Urgent, GoesFirstAndWhatItLeavesGoesOn) {  // GRID-27, GRID-35
  for (const auto policy : kAll) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    s.AddCampaign(100);
    s.AddCampaign(4).cls = "urgent";
    s.AddCampaign(3).cls = "urgent";
    s.Run();
    EXPECT_EQ(s.Given(2), 4) << ToString(policy);
    EXPECT_EQ(s.Given(3), 3) << ToString(policy);
    EXPECT_EQ(s.Given(1), 3) << ToString(policy);
  }
}

// A cluster of `max` slots whose busy ones run jobs of campaign 1 since `ages` seconds.
void Busy(PolicyFixture& s, int max, int free, std::int64_t campaign, int jobs, double age) {
  if (s.snapshot.clusters.empty()) s.AddCluster(max);
  s.cluster(1).max = max, s.cluster(1).free = free;
  if (s.campaign(campaign).placements.empty())
    s.campaign(campaign).placements.push_back({.cluster = 1});
  Placement& placement = s.placement(campaign, 1);
  placement.in_flight = placement.running = jobs;
  placement.running_since = jobs * (s.now - age);
  for (int i = 0; i < jobs; ++i)
    s.snapshot.running.push_back({.job = campaign * 1000 + i,
                                  .campaign = campaign,
                                  .cluster = 1,
                                  .started_at = s.now - age - i});
}

PolicyFixture UrgentFixture(int free) {
  PolicyFixture s;
  s.snapshot.config.urgent_percent = 50;
  s.AddCluster(100);
  s.AddCampaign(0);
  s.AddCampaign(20).cls = "urgent";
  Busy(s, 100, free, 1, 53 - free, 100);
  Busy(s, 100, free, 2, 47, 100);
  return s;
}

TEST(T12, UrgentJobsPreemptOnlyWithinTheirPartAndAfterTheFreeSlots) {
  auto s = UrgentFixture(0);
  s.Run();
  EXPECT_EQ(s.result.plan.preempt.size(), 3u);
  for (const auto& p : s.result.plan.preempt) {
    EXPECT_EQ(p.campaign, 1);
    EXPECT_EQ(p.for_campaign, 2);
    EXPECT_EQ(p.code, "URGENT");
    EXPECT_GE(p.lost_s, 100);
  }
  auto with_free = UrgentFixture(10);
  with_free.Run();
  EXPECT_EQ(with_free.Given(2), 10);
  EXPECT_TRUE(with_free.result.plan.preempt.empty());
}

TEST(Urgent, PreemptsNothingByDefaultNorBeforeItsDelayNorOtherUrgentJobs) {
  auto off = UrgentFixture(0);
  off.snapshot.config.urgent_percent = 0;
  off.Run();
  EXPECT_TRUE(off.result.plan.preempt.empty());
  auto early = UrgentFixture(0);
  early.campaign(2).waiting_since = early.now - 59;
  early.Run();
  EXPECT_TRUE(early.result.plan.preempt.empty());
  auto all_urgent = UrgentFixture(0);
  all_urgent.snapshot.config.urgent_percent = 100;
  all_urgent.campaign(1).cls = "urgent";
  all_urgent.Run();
  EXPECT_TRUE(all_urgent.result.plan.preempt.empty());
}

TEST(Urgent, FreesNoSlotThatARuleKeepsItFromTaking) {
  auto s = UrgentFixture(0);
  s.snapshot.config.urgent_percent = 100;
  s.snapshot.config.canary_jobs = 49;  // 47 of its jobs have just started, none has succeeded yet
  s.placement(2, 1).running_since = 47 * s.now;
  s.Run();
  EXPECT_EQ(s.result.plan.preempt.size(), 2u);
  s.snapshot.config.quotas = {{.scope = "class", .name = "urgent", .jobs = 48}};
  s.Run();
  EXPECT_EQ(s.result.plan.preempt.size(), 1u);
  s.snapshot.config.canary_jobs = 10;
  s.Run();
  EXPECT_TRUE(s.result.plan.preempt.empty());
}

TEST(T13, TheVictimHasTheLowestPriorityPlusTimeRun) {
  EXPECT_LT(VictimValue(2, 0, 1800), VictimValue(1, 31 * 60, 1800));
  EXPECT_GT(VictimValue(2, 0, 1800), VictimValue(1, 29 * 60, 1800));
  EXPECT_EQ(VictimValue(2, 0, 1800), VictimValue(1, 30 * 60, 1800));
  for (const auto& [minutes, victim] : {std::pair{31, 1}, std::pair{29, 2}}) {
    PolicyFixture s;
    s.snapshot.config.urgent_percent = 50;
    s.AddCluster(2);
    s.AddCampaign(0).priority = 2;
    s.AddCampaign(0).priority = 1;
    s.AddCampaign(1).cls = "urgent";
    Busy(s, 2, 0, 1, 1, 0);
    Busy(s, 2, 0, 2, 1, minutes * 60);
    s.Run();
    ASSERT_EQ(s.result.plan.preempt.size(), 1u);
    EXPECT_EQ(s.result.plan.preempt[0].campaign, victim);
  }
}

TEST(T02, AScavengerGivesWayToNormalAndHigherOnly) {
  // Techila's level k is priority 8 - k: levels 1 to 4 are priorities 7 to 4.
  for (int k = 1; k <= 7; ++k) {
    PolicyFixture s;
    s.snapshot.config.scavenger_preempt = true;
    s.AddCluster(1);
    auto& low = s.AddCampaign(0);
    low.priority = 1, low.cls = "scavenger";
    s.AddCampaign(1, "bob").priority = 8 - k;
    Busy(s, 1, 0, 1, 1, 10);
    s.Run();
    EXPECT_EQ(s.result.plan.preempt.size(), k <= 4 ? 1u : 0u) << "level " << k;
    s.campaign(1).cls = "", s.campaign(1).priority = 2;  // level 6
    s.Run();
    EXPECT_TRUE(s.result.plan.preempt.empty());
  }
}

TEST(Scavenger, TakesWhatAllOthersLeave) {
  for (const auto policy : kAll) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    s.AddCampaign(100).cls = "scavenger";
    s.AddCampaign(8);
    s.Run();
    EXPECT_EQ(s.Given(2), 8) << ToString(policy);
    EXPECT_EQ(s.Given(1), 2) << ToString(policy);
  }
}

TEST(Sla, AGroupTakesBackWhatWasBorrowedAndNoMore) {  // GRID-45
  PolicyFixture s(PolicyKind::kSla);
  s.snapshot.config.sla_groups = {{"a", 4}, {"b", 6}};
  s.snapshot.config.sla_preempt = true;
  s.AddCluster(10);
  s.AddCampaign(100).sla_group = "a";
  s.AddCampaign(100).sla_group = "b";
  Busy(s, 10, 0, 1, 10, 50);
  s.Run();
  EXPECT_EQ(s.result.plan.preempt.size(), 6u);
  s.snapshot.config.sla_preempt = false;
  s.Run();
  EXPECT_TRUE(s.result.plan.preempt.empty());
}

TEST(T21, AClusterThatSwallowsJobsIsHeldForTheCampaign) {
  PolicyFixture s;
  s.snapshot.config.black_hole_count = 20;
  s.AddCluster(100);
  s.AddCluster(100);
  s.AddCampaign(10000);
  s.placement(1, 1).recent = 19, s.placement(1, 1).recent_longest_s = 0.2;
  s.placement(1, 2).median_s = 300;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 100);
  s.placement(1, 1).recent = 20;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 0);
  EXPECT_EQ(s.Given(1, 2), 100);
  ASSERT_EQ(s.result.plan.holds.size(), 1u);
  EXPECT_EQ(s.result.plan.holds[0].code, "BLACK_HOLE");
  EXPECT_EQ(s.result.plan.holds[0].requeue, 20);
  EXPECT_EQ(s.Why(1, 1), "BLACK_HOLE");
  s.placement(1, 1).recent = 0;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 0) << "the hold lasts, and is said once";
  EXPECT_TRUE(s.result.plan.holds.empty());
  s.now += 3601;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 100) << "and heals itself";
}

TEST(T21, ACampaignOfShortJobsIsNoBlackHole) {
  PolicyFixture s;
  s.snapshot.config.black_hole_count = 5;
  s.AddCluster(10);
  s.AddCluster(10);
  s.AddCampaign(100);
  s.placement(1, 1).recent = 5, s.placement(1, 1).recent_longest_s = 0.01;
  s.placement(1, 2).median_s = 0.5;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 10);
}

// Design: survival costs time, it closes nothing. Burst n (of three or more) without a success
// between them makes the next probe wait 2 min x 2^(n - 3), an hour at most.
class SurvivalTest : public ::testing::Test {
 protected:
  SurvivalTest() {
    s_.AddCluster(10), s_.AddCluster(4);
    s_.AddCampaign(50);
    s_.campaign(1).need_s = 5 * 3600;
    s_.placement(1, 1).median_survival_s = 2 * 3600;
    s_.placement(1, 1).killed_at = 10'000;
  }
  int GivenAt(int bursts, double seconds) {
    s_.placement(1, 1).bursts = bursts;
    s_.now = 10'000 + seconds;
    s_.Run();
    EXPECT_EQ(s_.Given(1, 2), 4) << "other clusters are as open as ever";
    return s_.Given(1, 1);
  }
  PolicyFixture s_;
};

TEST_F(SurvivalTest, TwoBurstsSayLittle) { EXPECT_EQ(GivenAt(2, 0), 10); }

TEST_F(SurvivalTest, AProbeGoesMinutesAfterTheLastBurstAndEachOtherBurstDoublesThem) {
  for (const auto& [bursts, wait] :
       std::map<int, double>{{3, 120}, {4, 240}, {5, 480}, {40, 3600}}) {
    EXPECT_EQ(GivenAt(bursts, wait - 1), 0) << bursts;
    EXPECT_EQ(s_.Why(1, 1), "SHORT_SURVIVAL");
    EXPECT_EQ(GivenAt(bursts, wait), 1) << bursts;
  }
}

TEST_F(SurvivalTest, TheReasonNamesTheTimeOfTheNextProbe) {
  GivenAt(3, 0);
  const ReasonTexts texts(s_.snapshot);
  const auto reason = [&] {
    for (const auto& r : s_.result.reasons)
      if (r.cluster == 1) return texts.Text(r);
    return std::string();
  };
  EXPECT_EQ(reason(),
            "a job needs 5 h, the median survival on c1 is 2 h: the next probe goes at 02:48 UTC");
  s_.placement(1, 1).in_flight = 1;
  EXPECT_EQ(GivenAt(3, 5000), 0) << "one at a time";
  EXPECT_EQ(reason(), "a job needs 5 h, the median survival on c1 is 2 h: a probe is in flight");
}

// Cluster 1 has 100 slots; its own users come every ten minutes and leave 20. Cluster 2 is calm.
class UnsafeSlotsTest : public ::testing::Test {
 protected:
  UnsafeSlotsTest() {
    s_.AddCluster(100).life_s = 1000, s_.AddCluster(calm_);
    s_.AddCampaign(500).done = 1;
    s_.campaign(1).need_s = 3600;
    s_.now = 1e6;
    for (int i = 0; i < 12; ++i) {
      s_.now += 300;
      s_.cluster(1).free = i % 2 == 0 ? 100 : 20;
      LearnSlotLives(s_.snapshot, s_.now, s_.state);
    }
    s_.cluster(1).free = 100;
    s_.now += 1;
  }
  static constexpr int calm_ = 60;
  PolicyFixture s_;
};

TEST_F(UnsafeSlotsTest, WhoWouldBeKilledGetsTheSlotsThatNoBurstTakes) {
  s_.Run();
  EXPECT_EQ(s_.Given(1, 2), calm_);
  EXPECT_LE(s_.Given(1, 1), 20);
  EXPECT_GE(s_.Given(1, 1), 15) << "counted by parts of the cluster";
  EXPECT_EQ(s_.Why(1, 1), "UNSAFE_SLOTS");
  for (const auto& r : s_.result.reasons) {
    if (r.cluster != 1) continue;
    EXPECT_EQ(ReasonTexts(s_.snapshot).Text(r),
              "a job needs 1 h, and 100 % of such jobs are killed before on c1: it waits for safer "
              "slots");
  }
}

// The first burst is known as long as its memory lasts, and not from the second one on.
TEST_F(UnsafeSlotsTest, OneBurstIsEnoughUntilItIsForgotten) {
  const auto given_after = [&](double hours) {
    auto s = s_;
    s.state.slot_lives.clear();
    for (const int free : {100, 20, 100}) {
      s.now += 600;
      s.cluster(1).free = free;
      LearnSlotLives(s.snapshot, s.now, s.state);
    }
    s.now += hours * 3600;
    LearnSlotLives(s.snapshot, s.now, s.state);
    s.Run();
    return s.Given(1, 1);
  };
  EXPECT_LE(given_after(0.2), 20);
  EXPECT_EQ(given_after(5), 100);
}

TEST_F(UnsafeSlotsTest, ShortJobsTakeTheSlotsThatLongOnesLeave) {
  s_.campaign(1).need_s = 60;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 100);
}

TEST_F(UnsafeSlotsTest, ItIsSaidHowMuchShorterJobsWouldHaveToBe) {
  const auto never = [] { return false; };
  std::string changes;
  for (const auto& found : FindWhatIfs(s_.snapshot, s_.state, s_.now, s_.seed, 1, never).useful)
    changes += found.change + "\n";
  EXPECT_NE(changes.find(" instead of 1 h\n"), changes.npos) << changes;
  EXPECT_NE(changes.find("survival.kills 0 instead of 3\n"), changes.npos) << changes;
}

TEST_F(UnsafeSlotsTest, JobsThatEndSoonAreNotOlderForLong) {
  s_.AddCampaign(0, "bob").done = 1;
  s_.campaign(2).need_s = 30;
  s_.placement(2, 1).in_flight = s_.placement(2, 1).running = 50;
  s_.placement(2, 1).running_since = 50 * s_.now;
  s_.cluster(1).free = 50, s_.cluster(1).running = s_.cluster(1).running_slots = 50;
  s_.Run();
  EXPECT_GE(s_.Given(1, 1), 15);
  s_.campaign(2).need_s = 7200;
  s_.state.slot_lives[1].left = 100;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 1) << "one at a time goes all the same";
}

// A real log showed it: tasks of hours, each a campaign of its own, were killed over and over,
// since "one at a time" was always theirs.
TEST_F(UnsafeSlotsTest, OneTaskWaitsFourTimesAsLongAsItNeeds) {
  s_.campaign(1).waiting = 1, s_.campaign(1).need_s = 600;
  s_.cluster(2).free = 0, s_.cluster(2).running = s_.cluster(2).running_slots = calm_;
  s_.AddCampaign(0, "bob").done = 1;
  s_.campaign(2).need_s = 7200;
  s_.placement(2, 1).in_flight = s_.placement(2, 1).running = 50;
  s_.placement(2, 1).running_since = 50 * s_.now;
  s_.cluster(1).free = 50, s_.cluster(1).running = s_.cluster(1).running_slots = 50;
  s_.placement(1, 1).killed_at = s_.now - 3 * 600;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 0);
  std::string text;
  for (const auto& r : s_.result.reasons)
    if (r.campaign == 1 && r.cluster == 1) text = ReasonTexts(s_.snapshot).Text(r);
  EXPECT_NE(text.find(" it waits for safer slots: one goes there all the same at "), text.npos)
      << text;
  s_.placement(1, 1).killed_at = s_.now - 4 * 600;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 1);
  s_.campaign(1).waiting_since = s_.now - 3 * 600;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 0) << "it has just come";
}

TEST_F(UnsafeSlotsTest, NothingIsRecalledToThem) {
  s_.campaign(1).waiting = 0;
  s_.placement(1, 2).in_flight = 10;
  s_.cluster(2).waiting = s_.cluster(2).waiting_slots = 10;
  s_.cluster(2).free = 0, s_.cluster(2).running = s_.cluster(2).running_slots = calm_;
  s_.placement(1, 1).killed_at = s_.now - 3600;
  s_.AddCampaign(0, "bob").done = 1;
  s_.campaign(2).need_s = 7200;
  s_.placement(2, 1).in_flight = s_.placement(2, 1).running = 50;
  s_.placement(2, 1).running_since = 50 * s_.now;
  s_.cluster(1).free = 50, s_.cluster(1).running = s_.cluster(1).running_slots = 50;
  const auto recalled = [&] {
    s_.Run();
    return !s_.result.plan.recalls.empty();
  };
  EXPECT_FALSE(recalled());
  s_.campaign(1).need_s = 60;
  EXPECT_TRUE(recalled()) << "a short one may";
}

TEST_F(UnsafeSlotsTest, WhoHasNoOtherClusterTakesWhatThereIs) {
  const auto given = [&](auto close) {
    auto s = s_;
    close(s);
    s.Run();
    return s.Given(1, 1);
  };
  EXPECT_EQ(given([](auto& s) { s.campaign(1).placements.pop_back(); }), 100);
  EXPECT_EQ(given([](auto& s) { s.placement(1, 2).held = "BLACKLIST"; }), 100);
  EXPECT_EQ(given([](auto& s) { s.placement(1, 2).max_jobs = 0; }), 100);
  EXPECT_EQ(given([](auto& s) { s.cluster(2).free = 0; }), 100) << "others hold all of it";
  EXPECT_EQ(given([](auto& s) { s.cluster(2).unusable = Unusable::kDrained; }), 100);
  EXPECT_EQ(given([](auto& s) { s.snapshot.config.survival_kills = 0; }), 100);
}

// Others held the safe slots for hours: who waited for them had half of his share.
TEST_F(UnsafeSlotsTest, WhoHoldsLessThanHalfOfHisPartWaitsForNoSafeSlots) {
  s_.campaign(1).waiting = 50;
  s_.AddCampaign(500, "bob").done = 1;
  s_.campaign(2).need_s = 3600;
  s_.placement(2, 2).in_flight = s_.placement(2, 2).running = 50;
  s_.placement(2, 2).running_since = 50 * s_.now;
  s_.cluster(2).free = 10, s_.cluster(2).running = s_.cluster(2).running_slots = 50;
  s_.Run();
  EXPECT_EQ(s_.Given(1), 50);
  EXPECT_GE(s_.Given(1, 1), 40);
  EXPECT_LE(s_.Given(2, 1), 20) << "bob holds 50 of 80";
  EXPECT_EQ(s_.Why(2, 1), "UNSAFE_SLOTS");
  s_.campaign(1).done = 0;
  s_.Run();
  EXPECT_LE(s_.Given(1, 1), 20) << "his were all killed: how long they last is not known";
}

TEST_F(UnsafeSlotsTest, AFewSafeSlotsKeepNobodyFromALargeCluster) {
  s_.campaign(1).need_s = 400;  // half of them live
  s_.Run();
  EXPECT_LE(s_.Given(1, 1), 20);
  s_.state.slot_lives.clear();
  auto& life = s_.state.slot_lives[1];
  life = {std::vector<double>(32, 6), std::vector<double>(32, 3600), 100, s_.now};
  s_.cluster(2).free = s_.cluster(2).max = 4;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 100);
}

}  // namespace
}  // namespace cigri::policy
