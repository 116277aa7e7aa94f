// The golden tests of scheduling runs (T-01 ... T-36), each as a scenario of tests/sim/scenarios.
// T-06..T-09, T-14, T-26..T-28 and T-34 are formulas and stay in tests/policy; T-29 and T-30 are of
// the real grid (tests/system, tests/localcluster, tests/tools).
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::kHour;
using test::Outcome;
using Times = std::vector<double>;

TEST(T01, TheFastestSlotsRunUpToTheCapAndAnotherTakesThePlaceOfOneThatGoes) {
  const auto run = Outcome::Of("T-01");
  EXPECT_EQ(run.RunningAt(1000), 500);
  EXPECT_EQ(run.RunningAt(1000, "all", "best"), 1);
  EXPECT_EQ(run.RunningAt(1000, "all", "slot-701"), 1);
  EXPECT_EQ(run.RunningAt(1000, "all", "slot-700"), 0);
  EXPECT_EQ(run.RunningAt(2000), 500);
  EXPECT_EQ(run.RunningAt(2000, "all", "best"), 0);
  EXPECT_EQ(run.RunningAt(2000, "all", "slot-700"), 1);
  EXPECT_TRUE(run.Had("all", "QUOTA"));
}

TEST(T02, TheLowestGivesWayToNormalAndHigherAndLevelSixNever) {
  for (int k = 1; k <= 7; ++k) {  // Techila's level k is priority 8 - k
    const auto run = Outcome::Of("T-02", {{"campaigns.asker.priority", std::to_string(8 - k)}});
    EXPECT_EQ(run.Count(End::kCancelled, "low"), k <= 4 ? 1 : 0) << "level " << k;
    EXPECT_EQ(run.report.totals.done, 2) << "who was cancelled is retried";
    const auto kept = Outcome::Of("T-02", {{"campaigns.asker.priority", std::to_string(8 - k)},
                                           {"campaigns.low.class", "\"\""},
                                           {"campaigns.low.priority", "2"}});
    EXPECT_EQ(kept.Count(End::kCancelled), 0);
  }
}

TEST(T03, StepsOfTwoCampaignsOfOneUserOnFourSlots) {
  const auto run = Outcome::Of("T-03");
  EXPECT_EQ(run.Starts("P1"), (Times{0, 0, 0, 0, kHour, kHour}));
  EXPECT_EQ(run.Starts("P2"), (Times{kHour, kHour, 2 * kHour, 2 * kHour, 2 * kHour, 2 * kHour}));
  EXPECT_DOUBLE_EQ(run.report.makespan_s, 3 * kHour);
}

TEST(T04, AHungJobIsCopiedBeforeTheLastJobsOfTheNextCampaign) {
  const auto run = Outcome::Of("T-04");
  ASSERT_EQ(run.Count(End::kCopy, "P1"), 1);
  EXPECT_EQ(run.report.totals.done, 48);
  for (const auto& a : run.attempts) {
    if (a.kind != BatchKind::kReplica || run.NameOf(a) != "P1") continue;
    EXPECT_LT(a.started, run.Starts("P2").back());
    EXPECT_EQ(a.end, End::kDone) << "one result: the slow copy is the one that was ended";
  }
  EXPECT_EQ(run.Count(End::kDone, "P1"), 24);
}

TEST(T05, OneCampaignPerUserTakesPart) {
  const auto run = Outcome::Of("T-05");
  EXPECT_EQ(run.RunningAt(60, "1") + run.RunningAt(60, "4"), 0);
  EXPECT_GT(run.RunningAt(60, "2"), 0);
  EXPECT_GT(run.RunningAt(60, "3"), 0);
  EXPECT_EQ(run.RunningAt(60), 50);
  EXPECT_TRUE(run.Had("1", "BEHIND_OWN"));
}

TEST(T10, TheClusterWithTheDataWhenIdleElseTheOther) {
  EXPECT_EQ(Outcome::Of("T-10").RunningAt(60, "X", "A"), 1);
  EXPECT_EQ(Outcome::Of("T-10", {{"campaigns.before.at", "0"}}).RunningAt(60, "X", "B"), 1);
}

TEST(T11, ALevelKeepsItsPartHoweverManyShareIt) {
  const auto plain = Outcome::Of("T-11");
  EXPECT_EQ(plain.RunningAt(60, "6"), 43);
  EXPECT_EQ(plain.RunningAt(60), 100);
  EXPECT_NEAR(plain.RunningAt(60, "4"), 28.5, .5);
  const auto grouped = Outcome::Of("T-11", {{"aggregate", "level"}});
  EXPECT_EQ(grouped.RunningAt(60, "6"), 60);
  EXPECT_EQ(grouped.RunningAt(60, "4"), 20);
  EXPECT_EQ(grouped.RunningAt(60, "4b"), 20);
}

TEST(T12, UrgentJobsPreemptOnlyWithinTheirPartAndAfterTheFreeSlots) {
  const auto full = Outcome::Of("T-12");
  EXPECT_EQ(full.Count(End::kCancelled, "background"), 3);
  EXPECT_EQ(full.RunningAt(1.5 * kHour, "more"), 3);
  EXPECT_NEAR(full.Starts("more").front(), kHour + 60, 10) << "not before the delay";
  const auto room = Outcome::Of("T-12", {{"campaigns.background.tasks", "43"}});
  EXPECT_EQ(room.RunningAt(1.5 * kHour, "more"), 10);
  EXPECT_EQ(room.Count(End::kCancelled), 0);
}

TEST(T13, TheVictimHasTheLowestPriorityPlusTimeRun) {
  EXPECT_EQ(Outcome::Of("T-13").Count(End::kCancelled, "young"), 1);
  const auto earlier =
      Outcome::Of("T-13", {{"campaigns.young.at", "29 min"}, {"campaigns.alarm.at", "1741 s"}});
  EXPECT_EQ(earlier.Count(End::kCancelled, "old"), 1);
  EXPECT_EQ(earlier.Count(End::kCancelled), 1);
}

TEST(T15, NumbersFirstThenTheRestInProportionWithOneShort) {
  const auto run = Outcome::Of("T-15");
  const int extra[] = {run.RunningAt(60, "a") - 20, run.RunningAt(60, "b") - 30,
                       run.RunningAt(60, "c") - 50};
  EXPECT_EQ(run.RunningAt(60), 109);
  const int most[] = {2, 3, 5};
  int missing = 0;
  for (int i = 0; i < 3; ++i) missing += most[i] - extra[i];
  EXPECT_EQ(missing, 1);
}

int PassedHigh(const std::string& inc, const std::string& gap) {
  const auto run = Outcome::Of(
      "T-16", {{"queues", R"({"high": {"min": 5, "max": 100, "inc": )" + inc + R"(, "gap": )" +
                              gap + R"(}, "bg": {"min": 0, "max": 4}})"}});
  const auto starts = run.Starts("bg");
  EXPECT_DOUBLE_EQ(run.Starts("high").at(0), 1800) << "first when the nodes are free";
  EXPECT_TRUE(run.Had("bg", "MULTI_SLOT_RESERVATION"));
  return static_cast<int>(
      std::count_if(starts.begin(), starts.end(), [](double t) { return t < 1800; }));
}

TEST(T16, BackgroundIsHeldOnceItIsTheGapBelowAStuckHigh) {
  EXPECT_EQ(PassedHigh("3", "7"), 1);
  EXPECT_EQ(PassedHigh("1", "7"), 2);
  EXPECT_EQ(PassedHigh("3", "5"), 0);
}

TEST(T17, SeventyThirtyByTheDecrements) {
  std::string order;
  for (const auto& a : Outcome::Of("T-17").Sent())
    if (order.size() < 1000) order += a.campaign == 0 ? 'A' : 'B';
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_EQ(order.substr(0, 10), "ABAABAABAA");
  EXPECT_EQ(std::count(order.begin(), order.end(), 'A'), 700);
}

TEST(T18, BulkStartsAsOftenAsLightWhileBothWait) {
  const auto run = Outcome::Of("T-18");
  std::string order;
  for (const auto& a : run.Sent()) order += run.NameOf(a);
  EXPECT_EQ(order.substr(0, 12), "LBLBLBLBLBLB");
}

TEST(T19, ExactlyTheGapOfLightJobsBypassesAMultiSlotOne) {
  for (const int gap : {1, 3, 10}) {
    const auto run = Outcome::Of("T-19", {{"multi_slot.age", std::to_string(gap)}});
    const auto starts = run.Starts("light");
    EXPECT_EQ(std::count_if(starts.begin(), starts.end(), [](double t) { return t < 1800; }), gap);
    EXPECT_DOUBLE_EQ(run.Starts("bulk").at(0), 1800);
    EXPECT_TRUE(run.Had("light", "MULTI_SLOT_RESERVATION"));
  }
}

TEST(T20, AffinePairsGoFirstInTheOrderOfCampaignsThenTheOthers) {
  const auto run = Outcome::Of("T-20");
  std::string order;
  for (const auto& a : run.Sent()) order += run.NameOf(a) + run.ClusterOf(a) + " ";
  EXPECT_EQ(order.substr(0, 30), "c1k1 c2k1 c2k2 c1k2 c3k1 c3k2 ");
}

TEST(T21, AClusterThatSwallowsJobsIsHeldAndItsJobsAreRetried) {
  const auto run = Outcome::Of("T-21");
  EXPECT_TRUE(run.Had("all", "BLACK_HOLE"));
  std::set<std::int64_t> good, swallowed;
  double last = 0;
  for (const auto& a : run.attempts) {
    if (a.started < 0) continue;
    (run.ClusterOf(a) == "X" ? swallowed : good).insert(a.task);
    if (run.ClusterOf(a) == "X") last = std::max(last, a.started);
  }
  EXPECT_LE(last, 310) << "known as soon as the others' length is";
  int again = 0;
  for (const auto task : swallowed) again += good.count(task) != 0;
  EXPECT_EQ(again, 20) << "the latest black_hole.count";
}

TEST(T22, ATestCampaignMakesOneJobPerClusterBeforeEverybody) {
  const auto run = Outcome::Of("T-22");
  EXPECT_EQ(run.Starts("test"), (Times{600, 600, 600}));
  for (const char* cluster : {"k1", "k2", "k3"}) EXPECT_EQ(run.RunningAt(700, "test", cluster), 1);
  EXPECT_TRUE(run.Had("test", "FULL"));
}

TEST(T23, TestsInTheirOrderThenDefaultsInTheirs) {
  const auto run = Outcome::Of("T-23");
  std::string order;
  for (const auto& a : run.Sent()) order += run.NameOf(a) + " ";
  EXPECT_EQ(order, "X1 X2 D1 D1 D2 D2 ");
}

TEST(T24, TheLastJobsGetOneCopyEachAndTheFirstSuccessEndsTheOther) {
  const auto run = Outcome::Of("T-24");
  EXPECT_EQ(run.attempts.size(), 10u);
  EXPECT_EQ(run.Count(End::kDone), 5);
  EXPECT_EQ(run.Count(End::kCopy), 5);
  EXPECT_EQ(run.report.campaigns[0].done, 5);
}

TEST(T25, AClusterIsOfferedToTheNextOnlyWhenTheFirstHasNothingWaiting) {
  const auto run = Outcome::Of("T-25");
  EXPECT_EQ(run.RunningAt(60, "1"), 30);
  EXPECT_EQ(run.RunningAt(60, "2", "c2"), 0);
  EXPECT_EQ(run.RunningAt(60, "2", "c4"), 10);
  EXPECT_EQ(run.RunningAt(1.5 * kHour, "2", "c2"), 0);
  EXPECT_EQ(run.RunningAt(2.5 * kHour, "1"), 15);
  EXPECT_EQ(run.RunningAt(2.5 * kHour, "2", "c2"), 5);
}

TEST(T31, OneJobAtATimeTakesNineHours) {
  const auto run = Outcome::Of("T-31");
  EXPECT_DOUBLE_EQ(run.report.makespan_s, 9 * kHour);
  EXPECT_NEAR(100 * run.report.utilisation, 69.44, .005);
}

TEST(T32, PackedAndBackfilledTakeSeven) {
  for (const char* backfill : {"false", "true"}) {
    const auto run = Outcome::Of("T-32", {{"backfill", backfill}});
    EXPECT_DOUBLE_EQ(run.report.makespan_s, 7 * kHour);
    EXPECT_NEAR(100 * run.report.utilisation, 89.29, .005);
    EXPECT_EQ(run.Starts("123"), Times{0});
    EXPECT_EQ(run.Starts("124"), Times{0});
    EXPECT_EQ(run.Starts("125"), Times{2 * kHour});
    EXPECT_EQ(run.Starts("126"), Times{3 * kHour});
  }
}

TEST(T33, TheOtherOrderDistinguishesPackedFromBackfilled) {
  const auto packed = Outcome::Of("T-33");
  EXPECT_DOUBLE_EQ(packed.report.makespan_s, 8 * kHour);
  EXPECT_NEAR(100 * packed.report.utilisation, 78.13, .005);
  const auto easy = Outcome::Of("T-33", {{"backfill", "true"}});
  EXPECT_DOUBLE_EQ(easy.report.makespan_s, 7 * kHour);
  EXPECT_EQ(easy.Starts("124"), Times{0});
  EXPECT_EQ(easy.Starts("126"), Times{2 * kHour});
  EXPECT_EQ(easy.Starts("125"), Times{6 * kHour});
}

TEST(T35, JillJillJillJackOnTheFirstDay) {
  for (const char* times_share : {"false", "true"}) {
    const auto run = Outcome::Of("T-35", {{"simple.times_share", times_share}});
    std::string order;
    for (const auto& a : run.Sent()) order += run.scenario.campaigns[a.campaign].user + " ";
    EXPECT_EQ(order.substr(0, 20), "jill jill jill jack ");
  }
}

double Jill(const std::string& policy, const std::string& times_share) {
  const auto run = Outcome::Of("T-36", {{"policy", policy}, {"simple.times_share", times_share}});
  for (const auto& user : run.report.users)
    if (user.name == "jill") return user.part;
  return 0;
}

TEST(T36, OnlyTheNormalisedPolicyHoldsSharesUnderSteadyLoad) {
  EXPECT_NEAR(Jill("fairshare", "false"), .75, .0075);
  EXPECT_NEAR(Jill("fairshare-simple", "false"), .584, .01);
  EXPECT_NEAR(Jill("fairshare-simple", "true"), .438, .01);
}

}  // namespace
}  // namespace cigri::sim
