// What the share error counts: decisions that gave a user too much, not jobs that were there first.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
using test::kHour;
using test::Outcome;

json Campaign(const std::string& user, int tasks, double duration, double at = 0) {
  return {{"user", user}, {"tasks", tasks}, {"duration", duration}, {"at", at}};
}

double ErrorOf(const json& campaigns, json policy = json::object(), int slots = 10) {
  policy["canary_jobs"] = 1'000'000;
  return Outcome(json({{"clusters", {{{"slots", slots}, {"max_waiting", 0}}}},
                       {"policy", policy},
                       {"campaigns", campaigns}})
                     .dump())
      .report.share_error;
}

// Bob comes when alice has just filled the grid for an hour: half of it is due to him, but nobody
// can give it to him before her jobs end.
const json kBobComesLater = {Campaign("alice", 40, kHour), Campaign("bob", 40, kHour, 100)};

TEST(ShareErrorTest, JobsThatBeganBeforeTheOtherUserCameAreNoError) {
  EXPECT_LT(ErrorOf(kBobComesLater, {{"policy", "usage"}}), 0.01);
}

TEST(ShareErrorTest, SlotsThatWereNotHandedOverWhenTheseJobsEndedAreOne) {
  EXPECT_GT(ErrorOf(kBobComesLater, {{"policy", "fifo"}}), 0.3);
}

TEST(ShareErrorTest, APolicyThatGivesAUserTooMuchHasALargeError) {
  const json two = {Campaign("alice", 2000, 60), Campaign("bob", 2000, 60)};
  json split = {Campaign("bob", 2000, 60)};
  for (int i = 0; i < 4; ++i) split.push_back(Campaign("alice", 500, 60));
  const struct {
    const char* what;
    json campaigns, policy;
    double least, most;
  } cases[] = {
      {"equal shares", two, {{"policy", "fairshare"}}, 0, 0.01},
      {"the first takes all", two, {{"policy", "fifo"}}, 0.4, 0.5},
      {"a weight that shares do not know", two,
       {{"policy", "usage"}, {"user_weights", {{"alice", 4}}}}, 0.2, 0.4},
      {"shares by campaigns", split, {{"policy", "usage"}, {"aggregate", "none"}}, 0.2, 0.4},
      {"shares by users", split, {{"policy", "usage"}}, 0, 0.02},
      {"shares of three to one", two, {{"users", {{"alice", {{"share", 3}}}}}}, 0, 0.02},
  };
  for (const auto& c : cases) {
    const double error = ErrorOf(c.campaigns, c.policy);
    EXPECT_GE(error, c.least) << c.what;
    EXPECT_LE(error, c.most) << c.what;
  }
}

// Short jobs keep a slot busy only while some of them wait in the cluster's queue. These are no
// slots, and long jobs must not stand among them.
TEST(ShareErrorTest, WhoHasShortJobsGetsHisShareBesideLongOnes) {
  const struct {
    const char* what;
    double length;
    json cluster;
  } cases[] = {
      {"10 min", 600, {{"slots", 20}}},
      {"100 min", 6000, {{"slots", 20}, {"job_ratio", "none"}}},
      {"the defaults of OAR, without a job ratio",
       6000,
       {{"slots", 20}, {"max_waiting", 2000}, {"queue_s", 10}, {"job_ratio", "none"}}},
  };
  for (const auto& c : cases) {
    const json campaigns = {Campaign("alice", 100'000, c.length),
                            Campaign("bob", 100'000, 6, kHour)};
    const Outcome run(json({{"clusters", {c.cluster}}, {"campaigns", campaigns}}).dump(), {},
                      12 * kHour);
    EXPECT_LT(run.report.share_error, 0.05) << c.what;
  }
}

// What a job ratio above 1 lets go besides are no slots: they were divided as if they were.
TEST(ShareErrorTest, AJobRatioAboveOneGivesNobodyMoreSlots) {
  const json local = {{{"every", "20 min"}, {"duration", "10 min"}, {"slots", 6}}};
  const json cluster = {{"slots", 20}, {"preempts", false}, {"local", local}};
  const json campaigns = {Campaign("alice", 100'000, 1800), Campaign("bob", 1'000'000, 6)};
  const Outcome run(json({{"clusters", {cluster}}, {"campaigns", campaigns}}).dump(), {},
                    12 * kHour);
  EXPECT_LT(run.report.share_error, 0.02);
}

double ErrorUnder(const std::string& policy, int slots, const json& campaigns) {
  return Outcome(
             json(
                 {{"clusters", {{{"slots", slots}}}}, {"policy", policy}, {"campaigns", campaigns}})
                 .dump(),
             {}, 24 * kHour)
      .report.share_error;
}

// Nothing starts for a job of four slots while each slot that is free goes to one of one slot.
TEST(ShareErrorTest, WideJobsGetTheirPartBesideEarlierNarrowOnes) {
  json wide = Campaign("eve", 20'000, 600, kHour);
  wide["slots"] = 4;
  EXPECT_LT(ErrorUnder("departments", 20, {Campaign("bob", 100'000, 600), wide}), 0.1);
}

TEST(ShareErrorTest, PartsAreEqualForTeachingHoweverLongTheJobs) {
  EXPECT_LT(ErrorUnder("teaching", 20,
                       {Campaign("bob", 100'000, 600), Campaign("dan", 100'000, 65, kHour)}),
            0.03);
}

// The share of a project is a part of its parent's.
TEST(ShareErrorTest, ProjectsInsideProjectsHaveTheirPartOfIt) {
  const auto of = [](const char* project) {
    json campaign = Campaign(project, 20'000, 60);
    campaign["project"] = project;
    return campaign;
  };
  const json projects = {{"p", {{"share", 5}}},
                         {"q", {{"share", 2}}},
                         {"p1", {{"share", 3}, {"parent", "p"}}},
                         {"p2", {{"share", 1}, {"parent", "p"}}}};
  EXPECT_LT(ErrorOf({of("p1"), of("p2"), of("q")}, {{"projects", projects}}, 56), 0.02);
}

// A licence that comes back goes to whoever needs one, unless it is kept for who needs two.
TEST(ShareErrorTest, WhoNeedsTwoLicencesGetsThemBesideWhoNeedsOne) {
  json two = Campaign("two", 30'000, 300), one = Campaign("one", 30'000, 420);
  two["licences"] = {{"m", 2}}, one["licences"] = {{"m", 1}};
  const json policy = {{"policy", "fairshare"}, {"licences", {{"m", 7}}}};
  const Outcome run(json({{"clusters", {{{"slots", 40}, {"job_ratio", "none"}}}},
                          {"policy", policy},
                          {"campaigns", {two, one, Campaign("none", 30'000, 180)}}})
                        .dump(),
                    {}, 6 * kHour);
  const auto& users = run.report.users;
  EXPECT_GT(users[0].slot_s, 0.5 * users[1].slot_s);
  EXPECT_GT(2 * users[0].slot_s + users[1].slot_s, 0.95 * 7 * 6 * kHour)
      << "none lies idle for long";
}

// Each slot of a limit that comes back goes to a job of one slot, unless it is kept for one of
// four.
TEST(ShareErrorTest, WideJobsGetTheirPartOfALimitWithoutReservations) {
  const json plain = {{{"slots", 6}}, {{"slots", 6}}};
  const json ceilings = {{{"slots", 12}, {"max_running", 5}}, {{"slots", 12}, {"max_running", 5}}};
  const auto quota = [](int slots) {
    return json({{"preset", "site-default"}, {"quotas", {{{"scope", "grid"}, {"slots", slots}}}}});
  };
  const struct {
    const char* what;
    json clusters, policy;
    int slots;
  } cases[] = {
      {"a quota of as many slots as a cluster has", plain, quota(6), 6},
      {"a quota of some slots on each cluster", plain, quota(8), 8},
      {"a quota that leaves no cluster four idle slots", plain, quota(10), 10},
      {"ceilings", ceilings, {{"preset", "site-default"}}, 10},
      {"a reserve",
       {{{"slots", 12}}},
       {{"preset", "site-default"}, {"reserves", {{{"class", "new"}, {"fraction", 0.5}}}}},
       6},
  };
  json wide = Campaign("wide", 20'000, 1200);
  wide["slots"] = 4;
  const json campaigns = {Campaign("bob", 20'000, 600), Campaign("dan", 20'000, 600), wide};
  for (const auto& c : cases) {
    const Outcome run(
        json({{"clusters", c.clusters}, {"policy", c.policy}, {"campaigns", campaigns}}).dump(), {},
        24 * kHour);
    for (const auto& user : run.report.users) {
      EXPECT_GT(user.part, 0.3) << c.what << ": " << user.name;
      EXPECT_LT(user.part, 0.4) << c.what << ": " << user.name;
    }
    const auto& users = run.report.users;
    EXPECT_GT(users[0].slot_s + users[1].slot_s + users[2].slot_s, 0.95 * c.slots * 24 * kHour)
        << c.what << ": little lies idle";
  }
}

// Starts are scarce and slots are not: who has the longest job was never taken to want a slot.
TEST(ShareErrorTest, AStartRateIsDividedBySharesOfSlots) {
  json wide = Campaign("wide", 9000, 600);
  wide["slots"] = 4;
  const json policy = {{"policy", "fairshare"},
                       {"start_rates", {{{"scope", "grid"}, {"per_minute", 6}, {"burst", 3}}}}};
  for (const json& other : {wide, Campaign("long", 9000, 1200)}) {
    const Outcome run(
        json({{"clusters", {{{"slots", 100}}}},
              {"policy", policy},
              {"campaigns", {Campaign("bob", 9000, 900), Campaign("dan", 9000, 300), other}}})
            .dump(),
        {}, 12 * kHour);
    for (const auto& user : run.report.users) {
      EXPECT_GT(user.part, 0.3) << user.name;
      EXPECT_LT(user.part, 0.37) << user.name;
    }
  }
}

// What a small user cannot use is the other's: no error, whoever was counted first.
TEST(ShareErrorTest, WhatOthersCannotUseIsNoError) {
  json campaigns = {Campaign("large", 3000, 300)};
  for (int i = 0; i < 20; ++i)
    campaigns.push_back(Campaign("small" + std::to_string(i), 8, 240, 400.0 + 300 * i));
  EXPECT_LT(ErrorOf(campaigns, json::object(), 100), 0.01);
}

}  // namespace
}  // namespace cigri::sim
