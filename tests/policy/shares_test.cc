// usage, sla, fairshare and the arithmetic below them.
#include "policy/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/explain/terms.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;
using Numbers = std::vector<double>;

// One free cluster and hungry campaigns of these weights.
PolicyFixture Hungry(PolicyKind policy, int slots, const Numbers& weights) {
  PolicyFixture s(policy);
  s.AddCluster(slots);
  for (const double w : weights) s.AddCampaign(100000).weight = w;
  return s;
}

TEST(T06, TicketsAreTheSumOfRanksOverTheOwn) {
  EXPECT_EQ(Tickets({1, 1}), (Numbers{2, 2}));
  EXPECT_EQ(Tickets({2, 2, 4}), (Numbers{4, 4, 2}));
  const auto t = Tickets({1, 3});
  EXPECT_DOUBLE_EQ(t[0], 4);
  EXPECT_NEAR(t[1], 1.333, 0.001);
  EXPECT_DOUBLE_EQ(t[0] / (t[0] + t[1]), 0.75);
}

TEST(T07, EightSlotsByWeight) {
  auto s = Hungry(PolicyKind::kUsage, 8, {2, 2, 4});
  s.Run();
  EXPECT_EQ(s.Given(1), 2);
  EXPECT_EQ(s.Given(2), 2);
  EXPECT_EQ(s.Given(3), 4);
}

TEST(T08, ANewcomerCountsAsIfItHadHadItsIdealOverTheWindow) {
  auto s = Hungry(PolicyKind::kUsage, 8, {2, 2, 4});
  s.snapshot.config.usage_window_s = 600;
  s.Run();
  EXPECT_DOUBLE_EQ(s.state.credit.at(1).usage, 1200);
  EXPECT_DOUBLE_EQ(s.state.credit.at(2).usage, 1200);
  EXPECT_DOUBLE_EQ(s.state.credit.at(3).usage, 2400);
  auto alone = Hungry(PolicyKind::kUsage, 8, {2});
  alone.snapshot.config.usage_window_s = 600;
  alone.Run();
  EXPECT_DOUBLE_EQ(alone.state.credit.at(1).usage, 4800);
}

TEST(T09, IdealsAreRoundedUpAndTheLeastUsedIsNotTheOneWhoIsShort) {
  auto s = Hungry(PolicyKind::kUsage, 9, {2, 2, 4});
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 9);
  EXPECT_EQ(s.Given(1), 3);
  EXPECT_EQ(s.Given(2), 3);
  EXPECT_EQ(s.Given(3), 3);
  // Now the third has used least for its weight, so the others share what it leaves.
  s.snapshot.usage = {{1, "", "", s.now - 100, 100, 500}, {2, "", "", s.now - 100, 100, 400}};
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 9);
  EXPECT_EQ(s.Given(3), 5);
  EXPECT_EQ(s.Given(2), 3);
  EXPECT_EQ(s.Given(1), 1);
}

TEST(T11, ALevelKeepsItsPartHoweverManyShareIt) {
  auto s = Hungry(PolicyKind::kUsage, 100, {});
  for (const int level : {6, 4, 4}) s.AddCampaign(1000).priority = level;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 100);
  EXPECT_EQ(s.Given(1), 43);
  EXPECT_GE(s.Given(2) + s.Given(3), 57);
  s.snapshot.config.aggregate = Aggregate::kLevel;
  s.Run();
  EXPECT_EQ(s.Given(1), 60);
  EXPECT_EQ(s.Given(2), 20);
  EXPECT_EQ(s.Given(3), 20);
}

TEST(Usage, AUserWithManyCampaignsGetsNoMoreThanOneWithOne) {  // GRID-25
  auto s = Hungry(PolicyKind::kUsage, 100, {});
  s.snapshot.config.aggregate = Aggregate::kUser;
  s.AddCampaign(1000, "alice");
  for (int i = 0; i < 4; ++i) s.AddCampaign(1000, "bob");
  s.Run();
  EXPECT_EQ(s.Given(1), 50);
}

TEST(Usage, WhatOneCannotUseTheOthersGet) {  // GRID-17, GRID-19
  auto s = Hungry(PolicyKind::kUsage, 90, {1, 1, 1});
  s.campaign(1).waiting = 5;
  s.placement(2, 1).max_jobs = 25;
  s.Run();
  EXPECT_EQ(s.Given(1), 5);
  EXPECT_EQ(s.Given(2), 25);
  EXPECT_EQ(s.Given(3), 60);
}

TEST(Usage, JobsThatRunNowCountAndOnlyTheDifferenceIsGiven) {  // GRID-03, GRID-12
  auto s = Hungry(PolicyKind::kUsage, 10, {1, 1});
  s.cluster(1).free = 4;
  s.placement(1, 1).in_flight = s.placement(1, 1).running = 6;
  s.placement(1, 1).running_since = 6 * (s.now - 300);
  s.Run();
  EXPECT_EQ(s.Given(1), 0);
  EXPECT_EQ(s.Given(2), 4);
}

TEST(Usage, AnOldCampaignAmongNewOnesIsKnownByItsNumberToo) {
  for (const std::int64_t far : {2, 5'000'000}) {
    auto s = Hungry(PolicyKind::kUsage, 1, {1, 1});
    s.campaign(2).id = far;
    s.snapshot.usage = {{1, "u", "", s.now - 60, 60, 1}, {far, "u", "", s.now - 60, 60, 500}};
    s.snapshot.usage.push_back({99, "gone", "", s.now - 60, 60, 1e6});
    s.Run();
    EXPECT_EQ(s.Given(1), 1) << "the other has used more";
    s.snapshot.usage[0].slot_seconds = 1000;
    s.Run();
    EXPECT_EQ(s.Given(1), 0);
    EXPECT_EQ(s.Given(far), 1);
  }
}

// The numbers of T-14 and T-15: groups a, b, c with one hungry campaign each.
PolicyFixture Groups(int slots, double a, double b, double c) {
  PolicyFixture s(PolicyKind::kSla);
  s.snapshot.config.sla_groups = {{"a", a}, {"b", b}, {"c", c}};
  s.AddCluster(slots);
  for (const char* group : {"a", "b", "c"}) s.AddCampaign(1000).sla_group = group;
  return s;
}

TEST(T14, FractionsAreOfAllSlots) {
  auto s = Groups(40, .25, .5, .1);
  for (auto& c : s.snapshot.campaigns) c.placements[0].max_jobs = 1000;
  s.campaign(1).waiting = 10, s.campaign(2).waiting = 20, s.campaign(3).waiting = 4;
  s.Run();
  EXPECT_EQ(s.Given(1), 10);
  EXPECT_EQ(s.Given(2), 20);
  EXPECT_EQ(s.Given(3), 4);
}

TEST(T15, NumbersFirstThenTheRestInProportionRoundedUpWithOneShort) {
  auto s = Groups(109, 20, 30, 50);
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 109);
  const int extra[3] = {s.Given(1) - 20, s.Given(2) - 30, s.Given(3) - 50};
  const int most[3] = {2, 3, 5};
  int missing = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(extra[i], most[i]);
    EXPECT_GE(extra[i], most[i] - 1);
    missing += most[i] - extra[i];
  }
  EXPECT_EQ(missing, 1);
}

TEST(Sla, ScarceSlotsAreDividedByTheNumbers) {  // GRID-43
  auto s = Groups(50, 20, 30, 50);
  s.Run();
  EXPECT_EQ(s.Given(1), 10);
  EXPECT_EQ(s.Given(2), 15);
  EXPECT_EQ(s.Given(3), 25);
}

TEST(Sla, AnIdleGroupLendsAndAnUnknownOneIsRefused) {  // GRID-39, GRID-45
  auto s = Groups(100, 20, 30, 50);
  s.campaign(3).waiting = 0;
  s.campaign(2).sla_group = "zzz";
  s.Run();
  EXPECT_EQ(s.Given(1), 100);
  EXPECT_EQ(s.Why(2), "BAD_GROUP");
}

TEST(Fairshare, UsersShareEquallyHoweverManyCampaignsTheyHave) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(100);
  s.AddCampaign(1000, "alice");
  for (int i = 0; i < 9; ++i) s.AddCampaign(1000, "bob");
  s.Run();
  EXPECT_EQ(s.Given(1), 50);
}

TEST(Fairshare, TheTreeIsProjectThenUserThenCampaign) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.projects = {{"phys", {60, ""}}, {"bio", {40, ""}}};
  s.snapshot.config.users = {
      {"a", {1, "phys"}}, {"b", {2, "phys"}}, {"c", {1, "bio"}}, {"d", {1, "bio"}}};
  s.AddCluster(300);
  for (const char* user : {"a", "b", "c", "d"}) s.AddCampaign(1000, user);
  s.Run();
  EXPECT_EQ(s.Given(1), 60);
  EXPECT_EQ(s.Given(2), 120);
  EXPECT_EQ(s.Given(3), 60);
  EXPECT_EQ(s.Given(4), 60);
}

TEST(Fairshare, WhoUsedLessGetsMoreAndOldUseIsForgotten) {  // FAIR-13
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(100);
  s.AddCampaign(1000, "alice");
  s.AddCampaign(1000, "bob");
  s.now = 100 * 86400;
  s.snapshot.usage = {{99, "alice", "", s.now - 7200, 3600, 1e6}};
  s.Run();
  EXPECT_GT(s.Given(2), s.Given(1));
  EXPECT_GT(s.Given(1), 0);
  s.snapshot.usage[0].start = s.now - 15 * 86400;
  s.Run();
  EXPECT_EQ(s.Given(1), 50);
}

TEST(Fairshare, WhatWasUsedBeforeOthersCameMovesABoundedPartOfTheSlots) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(100);
  s.AddCampaign(1000, "alice");
  s.AddCampaign(1000, "bob");
  s.now = 100 * 86400;
  s.snapshot.usage = {{99, "alice", "", s.now - 7200, 3600, 1e6}};
  s.Run();
  EXPECT_EQ(s.Given(1), 45);
  s.state = {};
  s.snapshot.config.fairshare_payback = 1;
  s.Run();
  EXPECT_EQ(s.Given(1), 20) << "2^0 : 2^-2";
}

// Six slots for two users; the jobs of one of them are four wide.
TEST(Fairshare, WhoIsBehindByAPartOfAJobIsNext) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(6);
  s.AddCampaign(1'000'000, "narrow");
  s.AddCampaign(1'000'000, "wide", {}, 4);
  for (auto& c : s.snapshot.campaigns) c.need_s = 600;
  double wide = 0, narrow = 0;
  for (int i = 0; i < 400; ++i) {
    s.Run();
    narrow += s.Given(1), wide += 4 * s.Given(2);
    s.Start();
    s.now += 600;
    s.EndAll();
    s.snapshot.usage.clear();  // no usage says so: what a user got is remembered
  }
  EXPECT_NEAR(wide / (wide + narrow), .5, .01);
}

TEST(Fairshare, WhoWantedNothingForAWhileComesBackAsNew) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(6);
  s.AddCampaign(1'000'000, "narrow");
  s.AddCampaign(1'000'000, "wide", {}, 4);
  s.Run();
  EXPECT_EQ(s.state.lags.size(), 2u);
  s.campaign(2).waiting = 0;
  s.now += 60;
  s.Run();
  s.now += 60;
  s.Run();
  ASSERT_EQ(s.state.lags.size(), 1u);
  EXPECT_EQ(s.state.lags.begin()->first, "\nnarrow");
}

TEST(BoundDeviation, PartsStayNearTheSharesAndSumToOne) {
  std::vector<double> parts = {.9, .1, 0};
  BoundDeviation({.5, .25, .25}, .1, parts);
  EXPECT_NEAR(parts[0], .6, 1e-9);
  EXPECT_NEAR(parts[1] + parts[2], .4, 1e-9);
  std::vector<double> near = {.52, .48};
  BoundDeviation({.5, .5}, .1, near);
  EXPECT_EQ(near, (Numbers{.52, .48}));
}

TEST(Fairshare, SitesWithoutUsageHistoryShareByShares) {
  EXPECT_EQ(FairFactor(0, 0), 0);
  EXPECT_EQ(FairFactor(0.5, 0), 1);
  EXPECT_EQ(FairFactor(0.5, 0.5), 0.5);
}

TEST(T34, TheSimplePriorityComesBackDayByDay) {
  const Numbers want = {0, .225, .3825, .49275, .56993, .62395, .66176, .75};
  for (int day = 0; day < 8; ++day) {
    Numbers daily(std::min(day, 6) + 1, 0.0);
    if (day < 7) daily[day] = 1;
    EXPECT_NEAR(.75 - .75 * DecayedUse(daily, .7, 7), want[day], 6e-6) << day;
  }
}

// Two users on 4 nodes with endless jobs of 4 nodes x 6 hours, one after the other: FAIR-14.
class TwoOwners {
 public:
  explicit TwoOwners(PolicyKind policy, bool times_share = false) : fixture_(policy) {
    fixture_.snapshot.config.users = {{"jack", {1, ""}}, {"jill", {3, ""}}};
    fixture_.snapshot.config.simple_times_share = times_share;
    fixture_.now = 1000 * 86400.0;
    fixture_.AddCluster(4);
    fixture_.AddCampaign(1'000'000, "jack", {}, 4);
    fixture_.AddCampaign(1'000'000, "jill", {}, 4);
    for (auto& c : fixture_.snapshot.campaigns) c.need_s = 6 * 3600;
  }
  std::string Next() {
    fixture_.Run();
    const std::string winner = fixture_.Given(1) > 0 ? "jack" : "jill";
    EXPECT_EQ(fixture_.GivenInAll(), 1);
    fixture_.Start();
    fixture_.now += 6 * 3600;
    fixture_.EndAll();
    auto& usage = fixture_.snapshot.usage;
    std::erase_if(usage, [&](const Usage& u) { return u.start < fixture_.now - 15 * 86400; });
    return winner;
  }
  // The part of jill after `days` days.
  double Jill(int days) {
    int jill = 0;
    for (int i = 0; i < 4 * days; ++i) jill += Next() == "jill";
    return jill / (4.0 * days);
  }

 private:
  PolicyFixture fixture_;
};

TEST(T35, JillJillJillJackOnTheFirstDay) {
  TwoOwners plain(PolicyKind::kFairshareSimple);
  for (const char* want : {"jill", "jill", "jill", "jack"}) EXPECT_EQ(plain.Next(), want);
  TwoOwners times_share(PolicyKind::kFairshareSimple, true);
  for (const char* want : {"jill", "jill", "jill", "jack"}) EXPECT_EQ(times_share.Next(), want);
}

TEST(T36, OnlyTheNormalisedPolicyHoldsSharesUnderSteadyLoad) {
  EXPECT_NEAR(TwoOwners(PolicyKind::kFairshareSimple).Jill(400), .584, .01);
  EXPECT_NEAR(TwoOwners(PolicyKind::kFairshareSimple, true).Jill(400), .438, .01);
  EXPECT_NEAR(TwoOwners(PolicyKind::kFairshare).Jill(400), .75, .0075);
}

// What fills one raises the level of the next only: each turn fills few, and most are in no order.
TEST(WaterFill, WantsMadeForManyTurnsAreFilledToOneLevel) {
  constexpr int kMembers = 1000;
  Numbers weights, caps;
  for (int i = 0; i < kMembers; ++i) {
    weights.push_back(1 + i % 7);
    caps.push_back(weights.back() * std::pow(1.05, (i * 7919) % kMembers));
  }
  const double total = 0.5 * std::accumulate(caps.begin(), caps.end(), 0.0);
  const auto filled = WaterFill(total, weights, caps);
  EXPECT_NEAR(std::accumulate(filled.begin(), filled.end(), 0.0) / total, 1, 1e-9);
  double level = 0;  // of those who get less than they want
  for (int i = 0; i < kMembers; ++i)
    if (filled[i] < caps[i]) level = filled[i] / weights[i];
  ASSERT_GT(level, 0);
  for (int i = 0; i < kMembers; ++i)
    EXPECT_NEAR(filled[i] / std::min(caps[i], level * weights[i]), 1, 1e-9) << i;
}

TEST(WaterFill, AWeightThatIsLostBesideAGreatOneIsDueNothing) {
  EXPECT_EQ(WaterFill(10, {1e20, 1}, {1, 100}), (Numbers{1, 0}));
}

TEST(WaterFill, NobodyGetsMoreThanItsCapAndTheRestGoesToTheOthers) {
  EXPECT_EQ(WaterFill(9, {2, 2, 4}, {100, 100, 100}), (Numbers{2.25, 2.25, 4.5}));
  EXPECT_EQ(WaterFill(10, {1, 1, 2}, {1, 100, 100}), (Numbers{1, 3, 6}));
  EXPECT_EQ(WaterFill(10, {1, 1}, {2, 3}), (Numbers{2, 3}));
  EXPECT_EQ(WaterFill(0, {1, 1}, {2, 3}), (Numbers{0, 0}));
  EXPECT_TRUE(WaterFill(5, {}, {}).empty());
  EXPECT_EQ(WaterFill(150, {1, 0, 1}, {1000, 0, 12}), (Numbers{138, 0, 12})) << "one wants nothing";
}

// FAIR-22: weights 5 : 3.5 : 1 of the classes gold, silver and none.
PolicyFixture QosGrid(PolicyKind policy, Aggregate aggregate) {
  PolicyFixture s(policy);
  s.snapshot.config.aggregate = aggregate;
  s.snapshot.config.qos = {{"gold", 8}, {"silver", 5}};
  s.snapshot.config.qos_weight = 4;
  s.AddCluster(95);
  s.AddCampaign(1000).cls = "gold";
  s.AddCampaign(1000, "bob").cls = "silver";
  s.AddCampaign(1000, "carol");
  return s;
}

TEST(Qos, AddsToTheWeightByWhichCampaignsShare) {
  PolicyFixture s = QosGrid(PolicyKind::kUsage, Aggregate::kNone);
  s.Run();
  EXPECT_EQ(s.Given(1), 50);
  EXPECT_EQ(s.Given(2), 35);
  EXPECT_EQ(s.Given(3), 10);
  s.snapshot.config.qos_weight = 0;
  s.state = {};
  s.Run();
  EXPECT_NEAR(s.Given(1), s.Given(3), 1) << "by default it changes nothing";
}

TEST(Qos, GivesNoUserMoreThanHisShare) {
  for (const auto policy : {PolicyKind::kFairshare, PolicyKind::kUsage, PolicyKind::kStride}) {
    PolicyFixture s = QosGrid(policy, Aggregate::kUser);
    s.cluster(1).free = s.cluster(1).max = 90;
    s.Run();
    for (const int id : {1, 2, 3}) EXPECT_EQ(s.Given(id), 30) << ToString(policy);
  }
}

TEST(Qos, OrdersTheCampaignsOfAUser) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.snapshot.config.qos = {{"gold", 1}};
  s.snapshot.config.qos_weight = 1;
  s.AddCluster(1);
  s.AddCampaign(100).need_s = 60;
  s.AddCampaign(100).need_s = 600;
  s.campaign(2).cls = "gold";
  s.Run();
  EXPECT_EQ(s.Given(2), 1) << "though it has more work left";
  EXPECT_EQ(WhyFirst(s.snapshot, s.state, s.now, 2, 1, 1),
            "of the same user, campaign 2 goes first: the quality of service of its class is "
            "higher");
}

}  // namespace
}  // namespace cigri::policy
