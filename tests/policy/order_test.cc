// fifo, affinity, test campaigns, flow control: what the grid of 2009 promised.
#include <gtest/gtest.h>

#include "policy/forecast/flow.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

TEST(T01, TheFastestSlotsRunUpToTheCapAndTheRestStaysIdle) {
  PolicyFixture s;
  for (int i = 1; i <= 1200; ++i) s.AddCluster(1, i);
  s.AddCampaign(5000);
  s.snapshot.config.quotas = {{.scope = "grid", .slots = 500}};
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 500);
  for (int i = 1; i <= 700; ++i) EXPECT_EQ(s.Given(1, i), 0);
  EXPECT_EQ(s.Why(1, 700), "QUOTA");
  s.cluster(1200).unusable = Unusable::kDisabled;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 500);
  EXPECT_EQ(s.Given(1, 700), 1);
}

TEST(T03, StepsOfTwoCampaignsOfOneUserOnFourSlots) {
  PolicyFixture s;
  s.snapshot.config.parallel_campaigns = 1;
  s.AddCluster(4);
  s.AddCampaign(6);
  s.AddCampaign(6);
  const int want[3][2] = {{4, 0}, {2, 2}, {0, 4}};
  for (const auto& step : want) {
    s.Run();
    EXPECT_EQ(s.Given(1), step[0]);
    EXPECT_EQ(s.Given(2), step[1]);
    s.Start();
    s.now += 1;
    s.EndAll();
  }
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
}

TEST(T04, AnOverdueJobIsCopiedBeforeTheNextCampaignOfItsUser) {
  PolicyFixture s;
  s.snapshot.config.parallel_campaigns = 1;
  s.AddCluster(4).free = 3;
  auto& c = s.AddCampaign(0);
  c.replicas = true;
  c.placements[0].in_flight = c.placements[0].running = 1;
  c.placements[0].running_since = 998;
  c.placements[0].single = c.placements[0].overdue = 1;
  s.AddCampaign(4);
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kReplica), 1);
  EXPECT_EQ(s.Given(2), 2);
  EXPECT_EQ(s.result.plan.allocations.front().campaign, 1);
}

// One task runs much longer than others, one waits: a copy may go to the second cluster.
PolicyFixture WithOverdueJob() {
  PolicyFixture s;
  s.AddCluster(4).free = 0;
  s.AddCluster(4);
  auto& c = s.AddCampaign(1);
  c.replicas = true;
  auto& first = c.placements[0];
  first.in_flight = first.running = first.single = first.overdue = 1;
  return s;
}

// CIG-29: of what was measured to need all slots and more, one job goes, be it a copy.
TEST(T04, ACopyIsTheJobThatGoesWhateverTheRatio) {
  PolicyFixture s = WithOverdueJob();
  s.placement(1, 2).job_ratio = 0.1;
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kReplica), 1);
  EXPECT_EQ(s.GivenInAll(), 1);
  EXPECT_EQ(s.Why(1, 2), "FULL") << "no room that nobody was given";
}

TEST(T04, ACopyWaitsInNoQueue) {
  PolicyFixture s = WithOverdueJob();
  s.cluster(2).free = 0, s.cluster(2).waiting_allowed = 1;
  s.placement(1, 2).avoid = 1;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
  EXPECT_EQ(s.Why(1, 2), "AVOIDED")
      << "its task is not to go there, and no slot is idle for a copy";
}

TEST(T04, NobodyWhoDidNotAskGetsCopies) {
  PolicyFixture s;
  s.AddCluster(4);
  auto& c = s.AddCampaign(0);
  c.placements[0].in_flight = c.placements[0].running = c.placements[0].single =
      c.placements[0].overdue = 1;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
}

TEST(T10, AClusterWithTheDataIsTakenFirstAndAnotherWhenItIsBusy) {
  PolicyFixture s;
  s.AddCluster(1, 1);
  s.AddCluster(1, 5);
  s.AddCampaign(1);
  s.placement(1, 1).local = true;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 1);
  s.cluster(1).free = 0;
  s.Run();
  EXPECT_EQ(s.Given(1, 2), 1);
}

TEST(AffinityWait, ClustersWithoutTheDataAreRefusedBeforeTheDelayAndUsedAfterIt) {  // GRID-23
  PolicyFixture s;
  s.AddCluster(1).free = 0;
  s.AddCluster(1);
  auto& c = s.AddCampaign(1);
  s.placement(1, 1).local = true;
  c.affinity_wait_s = 60;
  c.waiting_since = s.now - 59;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
  EXPECT_EQ(s.Why(1, 2), "AFFINITY_WAIT");
  s.now += 1;
  s.Run();
  EXPECT_EQ(s.Given(1, 2), 1);
}

TEST(T20, AffinePairsGoFirstInTheOrderOfCampaignsThenTheOthers) {
  PolicyFixture s(PolicyKind::kAffinity);
  s.AddCluster(9);
  s.AddCluster(9);
  for (int i = 0; i < 3; ++i) s.AddCampaign(2);
  s.placement(1, 1).affinity = s.placement(2, 1).affinity = s.placement(2, 2).affinity = 1;
  // One job a turn, so that every pair shows: cap each placement by max_jobs.
  for (auto& c : s.snapshot.campaigns)
    for (auto& l : c.placements) l.max_jobs = 1;
  s.Run();
  std::vector<std::pair<int, int>> by_cluster[2];
  for (const auto& g : s.result.plan.allocations)
    by_cluster[g.cluster - 1].emplace_back(g.rank, g.campaign);
  using Ranks = std::vector<std::pair<int, int>>;
  EXPECT_EQ(by_cluster[0], (Ranks{{1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(by_cluster[1], (Ranks{{1, 2}, {2, 1}, {3, 3}}));
  std::vector<std::pair<int, int>> order;
  for (const auto& g : s.result.plan.allocations) order.emplace_back(g.campaign, g.cluster);
  EXPECT_EQ(order, (Ranks{{1, 1}, {2, 1}, {2, 2}, {1, 2}, {3, 1}, {3, 2}}));
}

TEST(T22, ATestCampaignMakesOneJobPerClusterBeforeEverybody) {
  PolicyFixture s;
  for (int i = 0; i < 3; ++i) s.AddCluster(1);
  s.AddCampaign(1000);
  s.AddCampaign(10000).test = true;
  s.Run();
  for (int k = 1; k <= 3; ++k) {
    EXPECT_EQ(s.Given(2, k), 1);
    EXPECT_EQ(s.Given(1, k), 0);
  }
  EXPECT_EQ(s.GivenOf(2, BatchKind::kTest), 3);
  EXPECT_EQ(s.Why(2), "TEST_DONE");
  s.Start();
  for (auto& l : s.campaign(2).placements) l.tested = true;
  s.EndAll();
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
}

TEST(T23, TestsInTheirOrderThenDefaultsInTheirs) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kFairshare, PolicyKind::kUsage}) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    for (const bool test : {false, true, false, true}) s.AddCampaign(2).test = test;
    s.Run();
    std::vector<int> order;
    for (const auto& g : s.result.plan.allocations) order.push_back(int(g.campaign));
    EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 3})) << ToString(policy);
  }
}

TEST(T24, TheLastJobsGetAtMostOneCopyEachAndOnlyOnFreeSlots) {
  PolicyFixture s;
  s.AddCluster(10);
  auto& c = s.AddCampaign(0);
  c.placements[0].in_flight = c.placements[0].running = c.placements[0].single = 5;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0) << "not asked for";
  c.replicas = true;
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kReplica), 5);
  s.cluster(1).free = 2;
  s.cluster(1).waiting_allowed = 10;
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kReplica), 2);
  c.placements[0].single = 0;  // all have their copy
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
}

TEST(T24, CopiesGoToAnotherClusterWhenThereIsOne) {
  PolicyFixture s;
  s.AddCluster(10, 2);
  s.AddCluster(10, 1);
  auto& c = s.AddCampaign(0);
  c.replicas = true;
  s.placement(1, 1).in_flight = s.placement(1, 1).single = 5;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 0);
  EXPECT_EQ(s.Given(1, 2), 5);
}

TEST(T25, AClusterIsOfferedToTheNextOnlyWhenTheFirstHasNothingWaiting) {
  PolicyFixture s;
  for (int i = 0; i < 4; ++i) s.AddCluster(10);
  s.AddCampaign(1000, "alice", {1, 2, 3});
  s.AddCampaign(1000, "bob", {2, 4});
  s.Run();
  EXPECT_EQ(s.Given(1), 30);
  EXPECT_EQ(s.Given(2, 2), 0);
  EXPECT_EQ(s.Given(2, 4), 10);
  EXPECT_EQ(s.Why(2, 2), "SERVED_BEFORE");
  s.campaign(1).waiting = 15;
  s.Run();
  EXPECT_EQ(s.Given(1), 15);
  EXPECT_EQ(s.Given(2, 2), 5);
}

TEST(Flow, TheQueueTakesWhatIsAllowedBeyondTheFreeSlotsLessWhatWaits) {
  const struct {
    const char* when;
    int free, allowed, waiting, launching, want;
  } cases[] = {
      {"nothing waits", 10, 5, 0, 0, 15},         {"some wait and will start", 10, 5, 4, 0, 11},
      {"some are on their way", 10, 5, 2, 3, 10}, {"the queue is full", 0, 5, 5, 0, 0},
      {"more wait than may", 2, 5, 9, 0, 0},      {"nothing free, one may wait", 0, 1, 0, 0, 1}};
  for (const auto& c : cases) {
    PolicyFixture s;
    auto& cluster = s.AddCluster(20);
    cluster.free = c.free;
    cluster.waiting_allowed = c.allowed;
    cluster.waiting = cluster.waiting_slots = c.waiting;
    cluster.launching = cluster.launching_slots = c.launching;
    s.AddCampaign(100);
    s.Run();
    EXPECT_EQ(s.GivenInAll(), c.want) << c.when;
  }
}

TEST(Flow, IdleSlotsOfEveryClusterComeBeforePlacesInTheQueueOfOne) {
  for (const auto policy :
       {PolicyKind::kFifo, PolicyKind::kAffinity, PolicyKind::kUsage, PolicyKind::kLottery,
        PolicyKind::kStride, PolicyKind::kDynamic, PolicyKind::kFairshare}) {
    PolicyFixture s(policy);
    s.AddCluster(8).waiting_allowed = 50;
    s.AddCluster(4).waiting_allowed = 50;
    s.AddCampaign(14);
    s.Run();
    EXPECT_GE(s.Given(1, 1), 8) << static_cast<int>(policy);
    EXPECT_GE(s.Given(1, 2), 4) << static_cast<int>(policy);
    EXPECT_EQ(s.GivenInAll(), 14) << "nothing is left over for want of an idle slot";
  }
}

TEST(Flow, TheQueueIsATimeSoThatALongerJobTakesMoreOfIt) {
  PolicyFixture s;
  auto& cluster = s.AddCluster(8);
  cluster.free = 0, cluster.waiting_allowed = 1000;  // of somebody's short jobs
  s.AddCampaign(100).placements[0].waiting_allowed = 10;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 10);
  // Four of its jobs take four tenths already, and so do 400 short ones.
  s.AddCampaign(0).placements[0].waiting_allowed = 1000;
  s.campaign(2).placements[0].in_flight = 400;
  s.campaign(1).placements[0].in_flight = 4;
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 404;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 2);
}

// A queue that is always nearly full of somebody's short jobs: 990 of 1,000 wait, and one long job
// is as much as may wait.
TEST(Flow, AQueueThatShortJobsFillAgainAndAgainHasRoomForALongOne) {
  PolicyFixture s(PolicyKind::kFairshare);
  auto& cluster = s.AddCluster(4);
  cluster.free = 0, cluster.running = cluster.running_slots = 4, cluster.waiting_allowed = 1000;
  cluster.waiting = cluster.waiting_slots = 990;
  auto& of_short = s.AddCampaign(100'000).placements[0];
  of_short.waiting_allowed = 1000, of_short.in_flight = 994, of_short.running = 4;
  s.AddCampaign(10, "bob").placements[0].waiting_allowed = 1;
  s.Run();
  EXPECT_EQ(s.Given(2), 1);
  EXPECT_EQ(s.Given(1), 0) << "until it has started";
  s.placement(2, 1).in_flight = 1;
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 300;
  s.placement(1, 1).in_flight = 303;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0) << "one long job waits: as much as may";
}

// Six jobs of campaign 1 wait on a full cluster of eight slots, four slots of another are idle.
PolicyFixture WaitingBesideIdleSlots() {
  PolicyFixture s;
  auto& full = s.AddCluster(8);
  full.free = 0, full.running = full.running_slots = 8, full.waiting = full.waiting_slots = 6;
  s.AddCluster(4);
  auto& here = s.AddCampaign(0).placements[0];
  here.in_flight = 14, here.running = 8;
  return s;
}

TEST(Recall, JobsThatWaitAreTakenBackForIdleSlotsElsewhere) {
  auto s = WaitingBesideIdleSlots();
  s.Run();
  ASSERT_EQ(s.result.plan.recalls.size(), 1u);
  const Recall& recall = s.result.plan.recalls[0];
  EXPECT_EQ(recall.cluster, 1);
  EXPECT_EQ(recall.to, 2);
  EXPECT_EQ(recall.n, 4);
  EXPECT_EQ(s.GivenInAll(), 0);
  EXPECT_EQ(s.Why(1, 1), "RECALLED");
  EXPECT_EQ(ReasonTexts(s.snapshot).Text(s.result.reasons.at(0)),
            "slots are free on c2: of 6 jobs that wait on c1, 4 are taken back");
}

TEST(Recall, NothingIsTakenBackThatWouldNotStartAtOnceElsewhere) {
  const struct {
    const char* when;
    void (*change)(PolicyFixture&);
  } cases[] = {
      {"others want the slots", [](PolicyFixture& s) { s.AddCampaign(4, "bob"); }},
      {"jobs on their way there will take them",
       [](PolicyFixture& s) { s.cluster(2).launching = s.cluster(2).launching_slots = 4; }},
      {"the cluster of the queue is about to start them",
       [](PolicyFixture& s) { s.cluster(1).free = 6; }},
      {"it is held there", [](PolicyFixture& s) { s.placement(1, 2).held = "BLACKLIST"; }},
      {"the other cluster is drained",
       [](PolicyFixture& s) { s.cluster(2).unusable = Unusable::kDrained; }},
      {"a limit forbids it", [](PolicyFixture& s) { s.placement(1, 2).max_jobs = 0; }},
      {"the campaign is paused", [](PolicyFixture& s) { s.campaign(1).active = false; }}};
  for (const auto& c : cases) {
    auto s = WaitingBesideIdleSlots();
    c.change(s);
    s.Run();
    EXPECT_TRUE(s.result.plan.recalls.empty()) << c.when;
  }
}

TEST(Recall, TwoCampaignsAreNotTakenBackForTheSameSlot) {
  auto s = WaitingBesideIdleSlots();
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 9;
  s.AddCampaign(0).placements[0].in_flight = 3;
  s.campaign(1).placements[0].in_flight = 10;  // two wait
  s.Run();
  ASSERT_EQ(s.result.plan.recalls.size(), 2u);
  EXPECT_EQ(s.result.plan.recalls[0].n, 2);
  EXPECT_EQ(s.result.plan.recalls[1].n, 2) << "of three";
}

TEST(Flow, TheJobRatioTurnsFreeSlotsIntoJobs) {  // CIG-29
  PolicyFixture s;
  s.AddCluster(100);
  s.AddCampaign(1000);
  const std::pair<double, int> cases[] = {{0, 100}, {0.55, 55}, {0.5, 50}, {2, 200}, {0.01, 1}};
  for (const auto& [ratio, want] : cases) {
    s.placement(1, 1).job_ratio = ratio;
    s.Run();
    EXPECT_EQ(s.GivenInAll(), want) << ratio;
  }
  s.placement(1, 1).job_ratio = 0;
  s.placement(1, 1).slots = 3;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 33);
}

TEST(Flow, WaitingAllowedIsATimeOfWorkBetweenOneAndTheMost) {
  EXPECT_EQ(WaitingAllowed(50, 5, 0), 1);
  EXPECT_EQ(WaitingAllowed(50, 5, 2.5), 12);
  EXPECT_EQ(WaitingAllowed(50, 5, 1000), 50);
}

TEST(Canary, AnUnverifiedCampaignHasAtMostTenJobsOnACluster) {
  PolicyFixture s;
  s.snapshot.config.canary_jobs = 10;
  s.AddCluster(1000);
  s.AddCampaign(40000);
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 10);
  EXPECT_EQ(s.Why(1), "CANARY");
  s.placement(1, 1).verified = true;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 1000);
}

TEST(CanaryJobs, TheKeyCountsJobsInFlightAndThoseThatFailed) {
  for (const int canary_jobs : {kDefaultCanaryJobs, 20}) {
    PolicyFixture s;
    s.snapshot.config.canary_jobs = canary_jobs;
    s.AddCluster(1000);
    s.AddCampaign(40000);
    EXPECT_EQ((s.Run(), s.GivenInAll()), canary_jobs);
    s.placement(1, 1).tried = 4;
    s.placement(1, 1).in_flight = 3;
    EXPECT_EQ((s.Run(), s.GivenInAll()), canary_jobs - 7);
  }
  EXPECT_EQ(PolicyConfig{}.canary_jobs, kDefaultCanaryJobs);
}

// A program that does not work on a cluster fails early: an hour of canary jobs of six hours says
// nearly as much as their success, and until then their user would have a tenth of his share.
TEST(CanaryJobs, EachMinuteThatTheyRunLetsOneMoreFollow) {
  PolicyFixture s;
  s.snapshot.config.canary_jobs = 10;
  s.AddCluster(1000);
  s.AddCampaign(40000);
  auto& placement = s.placement(1, 1);
  placement.in_flight = placement.running = 10;
  placement.running_since = 10 * (s.now - 30);
  EXPECT_EQ((s.Run(), s.GivenInAll()), 5) << "ten of them for half a minute";
  placement.running_since = 10 * (s.now - 600);
  EXPECT_EQ((s.Run(), s.GivenInAll()), 100);
  EXPECT_EQ(s.Why(1), "CANARY");
  placement.tried = 4;
  EXPECT_EQ((s.Run(), s.GivenInAll()), 96);
}

// Ten wide jobs of a new campaign took all of a grid, for as long as they last, while another one
// might only try ten narrow ones.
TEST(CanaryJobs, WhileUsersShareMultiSlotJobsTakeAsManySlots) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.canary_jobs = 10;
  s.AddCluster(1000);
  s.AddCampaign(100, "alice", {}, 4);
  EXPECT_EQ((s.Run(), s.Given(1)), 10) << "alone";
  s.AddCampaign(100, "bob");
  s.Run();
  EXPECT_EQ(s.Given(1), 2);
  EXPECT_EQ(s.Given(2), 10);
  s.placement(1, 1).slots = 16;
  EXPECT_EQ((s.Run(), s.Given(1)), 1);
  s.placement(1, 1).tried = 9;
  EXPECT_EQ((s.Run(), s.Given(1)), 1);
  s.placement(1, 1).tried = 10;
  EXPECT_EQ((s.Run(), s.Given(1)), 0);
}

// What starts from a queue is beyond its user's share. Jobs that nobody knows the length of counted
// as long as the longest known ones: those of eight hours kept what they got at each end of short
// ones.
TEST(Flow, JobsThatRunForLongAndHaveNotEndedCountAsLongOnes) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(100).waiting_allowed = 6;
  s.AddCampaign(1000, "alice");
  s.AddCampaign(1000, "bob").done = 100;
  s.campaign(2).mean_s = s.campaign(2).need_s = 100;
  for (const int id : {1, 2}) {
    s.placement(id, 1).in_flight = s.placement(id, 1).running = 50;
    s.placement(id, 1).running_since = 50 * (s.now - (id == 1 ? 900 : 50));
  }
  s.cluster(1).free = 0;
  s.cluster(1).running = s.cluster(1).running_slots = 100;
  s.Run();
  EXPECT_EQ(s.Given(1), 0);
  EXPECT_EQ(s.Given(2), 6);
}

TEST(Prologue, ItGoesAloneAndTheJobsAfterIt) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(10);
  s.placement(1, 1).prologue = Prologue::kNeeded;
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kPrologue), 1);
  EXPECT_EQ(s.GivenInAll(), 1);
  EXPECT_EQ(s.Why(1, 1), "PROLOGUE");
  s.placement(1, 1).prologue = Prologue::kRunning;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
  s.placement(1, 1).prologue = Prologue::kDone;
  s.Run();
  EXPECT_EQ(s.GivenOf(1, BatchKind::kTask), 10);
}

TEST(Observe, AnObservedClusterIsDecidedForAndTakesNothingFromOthers) {
  PolicyFixture s;
  s.AddCluster(4).mode = ClusterMode::kObserve;
  s.AddCluster(4);
  s.AddCampaign(5);
  s.Run();
  EXPECT_EQ(s.Given(1, 2), 4);
  EXPECT_EQ(s.Given(1, 1), 0);
  int shadow = 0;
  for (const auto& g : s.result.plan.allocations) shadow += g.shadow ? g.n : 0;
  EXPECT_EQ(shadow, 4);
  EXPECT_EQ(s.Why(1, 1), "CLUSTER_OBSERVED");
}

TEST(Reasons, EveryClosedDoorHasItsOwnWord) {
  const struct {
    const char* want;
    void (*close)(PolicyFixture&);
  } cases[] = {
      {"SUSPENDED", [](PolicyFixture& s) { s.campaign(1).priority = 0; }},
      {"CLUSTER_STALE", [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kStale; }},
      {"CLUSTER_DRAINED", [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kDrained; }},
      {"CLUSTER_HOURS", [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kHours; }},
      {"CLUSTER_BREAKER", [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kBreaker; }},
      {"CLUSTER_STRESS", [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kStress; }},
      {"TOO_MANY_SLOTS", [](PolicyFixture& s) { s.placement(1, 1).slots = 11; }},
      {"HELD", [](PolicyFixture& s) { s.placement(1, 1).held = "BLACKLIST"; }},
      {"MAX_JOBS", [](PolicyFixture& s) { s.placement(1, 1).max_jobs = 0; }},
      {"AVOIDED", [](PolicyFixture& s) { s.placement(1, 1).avoid = 5; }},
      {"CAMPAIGN_SCHEDULER",
       [](PolicyFixture& s) {
         s.campaign(1).scheduler = "immediate", s.cluster(1).free = 0;
         s.cluster(1).waiting_allowed = 5;
       }},
      {"PROLOGUE_FAILED", [](PolicyFixture& s) { s.placement(1, 1).prologue = Prologue::kFailed; }},
      {"CLUSTER_MAX_RUNNING", [](PolicyFixture& s) { s.cluster(1).max_running = 0; }},
      {"CLUSTER_LIMITED",
       [](PolicyFixture& s) {
         s.cluster(1).mode = ClusterMode::kLimited, s.cluster(1).limited = 0;
       }},
      {"FULL", [](PolicyFixture& s) { s.cluster(1).free = 0; }},
      {"NO_CLUSTER", [](PolicyFixture& s) { s.placement(1, 1).cluster = 77; }},
      {"SHORT_SURVIVAL",
       [](PolicyFixture& s) {
         s.campaign(1).need_s = 5 * 3600;
         s.placement(1, 1).bursts = 6, s.placement(1, 1).killed_at = s.now;
         s.placement(1, 1).median_survival_s = 2 * 3600;
       }},
  };
  for (const auto& c : cases) {
    PolicyFixture s;
    s.AddCluster(10);
    s.AddCampaign(5);
    c.close(s);
    s.Run();
    EXPECT_EQ(s.GivenInAll(), 0) << c.want;
    EXPECT_EQ(s.Why(1), c.want);
  }
}

// CIG-02, the first example of the note: both clusters are idle, and slower than neither.
TEST(Affinity, AUserGetsItsOwnClusterUnderEveryPolicy) {
  for (const auto policy :
       {PolicyKind::kFifo, PolicyKind::kAffinity, PolicyKind::kUsage, PolicyKind::kSla,
        PolicyKind::kLottery, PolicyKind::kStride, PolicyKind::kDynamic, PolicyKind::kFairshare,
        PolicyKind::kFairshareSimple}) {
    PolicyFixture s(policy);
    s.snapshot.config.sla_groups = {{"all", 20}};
    s.AddCluster(10), s.AddCluster(10);  // Grenoble, Lyon
    s.AddCampaign(10, "lyon").sla_group = "all", s.AddCampaign(10, "grenoble").sla_group = "all";
    s.placement(1, 2).affinity = s.placement(2, 1).affinity = 5;
    s.Run();
    EXPECT_EQ(s.Given(1, 2), 10) << ToString(policy);
    EXPECT_EQ(s.Given(2, 1), 10) << ToString(policy);
    // It orders, it keeps nobody out.
    s.campaign(1).waiting = 20, s.campaign(2).waiting = 0;
    s.Run();
    EXPECT_EQ(s.Given(1), 20) << ToString(policy);
  }
}

TEST(Affinity, SharesHoldWhereItOrdersTheClusters) {
  for (const auto policy : {PolicyKind::kUsage, PolicyKind::kStride, PolicyKind::kFairshare}) {
    PolicyFixture s(policy);
    s.AddCluster(10), s.AddCluster(10);
    s.AddCampaign(100, "lyon"), s.AddCampaign(100, "grenoble");
    s.placement(1, 2).affinity = 5;
    s.Run();
    EXPECT_EQ(s.Given(1), 10) << ToString(policy);
    EXPECT_EQ(s.Given(1, 2), 10) << ToString(policy);
    EXPECT_EQ(s.Given(2, 1), 10) << ToString(policy);
  }
}

// Expected completion: where jobs are killed, a long one is done soonest on the calm cluster; short
// ones, to which it makes no difference, leave it to them.
TEST(Placement, LongTasksGoToCalmClustersAndShortOnesFillRoughGaps) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(10, 1.01).life_s = 1800;
  s.AddCluster(10);
  s.AddCampaign(10, "short").need_s = 60, s.AddCampaign(10, "long").need_s = 3 * 3600;
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 10);
  EXPECT_EQ(s.Given(2, 2), 10);
  // The rough one is faster by so much that even jobs of an hour are done there sooner.
  s.cluster(1).speed = 30;
  s.campaign(2).need_s = 3600, s.campaign(1).waiting = 0;
  s.Run();
  EXPECT_EQ(s.Given(2, 1), 10);
  // It is only an order: nothing stays idle.
  s.cluster(1).speed = 1, s.campaign(2).waiting = 100, s.campaign(2).need_s = 1e6;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 20);
}

// A task of 200 s at speed 1, with its transfers. The second cluster is twice as fast.
TEST(Placement, ATaskGoesWhereItIsDoneSoonerWithItsTransfers) {
  PolicyFixture s;
  s.AddCluster(1);
  s.AddCluster(1, 2);
  auto& c = s.AddCampaign(1);
  const auto best = [&](double transfer_s, bool known) {
    auto &near = s.placement(1, 1), &far = s.placement(1, 2);
    near.mean_s = 220, near.transfer_s = 20;
    far.mean_s = known ? 100 + transfer_s : 0;
    far.transfer_s = known ? transfer_s : 0;
    c.need_s = 200 + (known ? (20 + transfer_s) / 2 : 20);
    s.Run();
    return s.Given(1, 2) == 1 ? 2 : 1;
  };
  EXPECT_EQ(best(40, true), 2) << "140 s there, 220 s here";
  EXPECT_EQ(best(300, true), 1) << "400 s there";
  EXPECT_EQ(best(0, false), 2) << "nothing is known of it: it is tried";
}

TEST(Placement, AJobOfUnknownLengthNeedsAtLeastWhatItsLikeHaveRun) {
  PolicyFixture s;
  s.AddCluster(10).life_s = 1800;
  s.AddCluster(5);
  s.AddCampaign(5);
  s.Run();
  EXPECT_EQ(s.Given(1, 1), 5) << "nothing is known";
  s.now = 50'000;
  s.placement(1, 1).in_flight = s.placement(1, 1).running = 1;
  s.placement(1, 1).running_since = s.now - 2 * 3600;
  s.Run();
  EXPECT_EQ(s.Given(1, 2), 5);
}

TEST(Reasons, OneMessageWithItsNumbersAndAnAction) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(5);
  s.campaign(1).need_s = 5 * 3600;
  s.placement(1, 1).bursts = 6, s.placement(1, 1).killed_at = s.now = 1500;
  s.placement(1, 1).median_survival_s = 2 * 3600;
  s.Run();
  const ReasonTexts texts(s.snapshot);
  ASSERT_EQ(s.result.reasons.size(), 1u);
  EXPECT_EQ(texts.Text(s.result.reasons[0]),
            "a job needs 5 h, the median survival on c1 is 2 h: the next probe goes at 00:41 UTC");
  EXPECT_EQ(texts.Action(s.result.reasons[0]),
            "make the jobs shorter, or choose other clusters (gridsub -c 1 --set clusters=...)");
  EXPECT_EQ(ReasonTexts::Numbers(s.result.reasons[0])["next probe"], 1500 + 8 * 120);
}

TEST(Reasons, WordsGoWithTheirNumbers) {
  PolicyFixture s;
  s.AddCluster(10);
  const ReasonTexts texts(s.snapshot);
  Reason reason;
  reason.code = Code::kFull;
  reason.cluster = 1;
  reason.numbers = {1, 4, 1};
  EXPECT_EQ(texts.Text(reason),
            "no room on c1: 1 slot free, a job takes 4, 1 job waits there already");
  reason.numbers = {0, 4, 2};
  EXPECT_EQ(texts.Text(reason),
            "no room on c1: 0 slots free, a job takes 4, 2 jobs wait there already");
  for (const auto code : AllCodes())
    for (const double n : {1, 2}) {
      reason.code = code;
      reason.numbers = {n, n, n};
      EXPECT_EQ(texts.Text(reason).find_first_of("{|}"), std::string::npos) << texts.Text(reason);
    }
}

TEST(Reasons, EveryCodeHasAWordOfItsOwnThatReadsBack) {
  for (const auto code : AllCodes()) EXPECT_EQ(CodeFrom(ToString(code)), code);
}

}  // namespace
}  // namespace cigri::policy
