// Which of a user's own campaigns goes first.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "policy/explain/terms.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

class OwnOrder : public ::testing::Test {
 protected:
  OwnOrder() { s.AddCluster(10); }
  Campaign& Add(std::int64_t waiting, double need_s, const std::string& user = "alice") {
    Campaign& c = s.AddCampaign(waiting, user);
    c.need_s = need_s;
    return c;
  }
  PolicyFixture s{PolicyKind::kFairshare};
};

TEST_F(OwnOrder, TheCampaignWithTheLeastWorkLeftTakesWhatItsUserGets) {
  Add(100, 60);
  Add(100, 600);
  Add(10, 60);
  Add(100, 60, "bob");
  s.cluster(1).free = s.cluster(1).max = 20;
  s.Run();
  EXPECT_EQ(s.Given(1), 1) << "the oldest";
  EXPECT_EQ(s.Given(2), 0);
  EXPECT_EQ(s.Given(3), 9);
  EXPECT_EQ(s.Given(4), 10);
}

TEST_F(OwnOrder, TheNextOneTakesWhatTheFirstCannotUse) {
  Add(3, 60);
  Add(100, 60);
  Add(100, 60, "bob");
  s.Run();
  EXPECT_EQ(s.Given(1), 3);
  EXPECT_EQ(s.Given(2), 2);
}

TEST_F(OwnOrder, UntilAJobHasSucceededOneGoesAheadOnAQuarterOfTheSlots) {
  s.cluster(1).free = s.cluster(1).max = 12;
  Add(100, 60);
  s.placement(1, 1).verified = true;
  for (int i = 0; i < 5; ++i) Add(200, 0);
  s.Run();
  for (int i = 2; i <= 6; ++i) EXPECT_EQ(s.Given(i), i <= 4 ? 1 : 0) << i;
  EXPECT_EQ(s.Given(1), 9);
  for (int i = 2; i <= 4; ++i) s.placement(i, 1).in_flight = s.placement(i, 1).running = 1;
  s.cluster(1).free = 9;
  s.Run();
  EXPECT_EQ(s.Given(1), 9) << "that quarter is in use";
}

TEST_F(OwnOrder, WhatIsNotKnownIsTakenToBeLikeTheUsersOtherJobs) {
  Add(100, 60);
  s.placement(1, 1).verified = true;
  Add(8, 0);
  s.Run();
  EXPECT_EQ(s.Given(2), 8);
  EXPECT_EQ(s.Given(1), 2);
}

// Of very different jobs half are short: the long ones are most of the work.
TEST_F(OwnOrder, TheWorkLeftIsReckonedByTheMeanOfTheJobs) {
  Add(100, 60).mean_s = 600;
  Add(100, 300).mean_s = 300;
  s.Run();
  EXPECT_EQ(s.Given(1), 1) << "the oldest";
  EXPECT_EQ(s.Given(2), 9);
}

// The slots of the user were counted for each of them again: eight times as many took 64 times as
// long.
TEST_F(OwnOrder, DeadlinesOfManyCampaignsTakeTimeByTheirNumber) {
  const auto campaigns = [&](std::size_t n) {
    while (s.snapshot.campaigns.size() < n) Add(100, 60).deadline = s.now + 86400;
    return s.snapshot;
  };
  const Snapshot few = campaigns(1000), many = campaigns(8000);
  std::clock_t few_least = std::numeric_limits<std::clock_t>::max(), many_least = few_least;
  const auto run = [&](const Snapshot& snapshot, std::clock_t& least) {
    const std::clock_t began = std::clock();  // of this process: others do not count
    Decide(snapshot, {}, s.now, 1, false);
    least = std::min(least, std::clock() - began);
  };
  // In turns, since caches and clocks of processors change; chance makes no 64 times a 25.
  for (int i = 0; i < 5 || (i < 50 && many_least >= 25 * few_least); ++i)
    run(few, few_least), run(many, many_least);
  EXPECT_LT(many_least, 25 * few_least);
}

TEST_F(OwnOrder, AHigherPriorityGoesFirst) {
  Add(100, 60);
  Add(100, 600).priority = 5;
  s.Run();
  EXPECT_EQ(s.Given(2), 10);
}

TEST_F(OwnOrder, ATenthGoesToTheOldest) {
  Add(1000, 60).submitted_at = 0;
  Add(100, 60).submitted_at = s.now = 1e6;
  s.Run();
  EXPECT_EQ(s.Given(1), 1);
  EXPECT_EQ(s.Given(2), 9);
  s.placement(1, 1).in_flight = 1;
  s.cluster(1).free = 9;
  s.Run();
  EXPECT_EQ(s.Given(1), 0) << "it has its part";
}

TEST_F(OwnOrder, WhatAUserHoldsCountsAlsoOfCampaignsThatWantNothingMore) {
  s.cluster(1).max = 20;
  Campaign& over = Add(0, 60);
  over.placements[0].in_flight = over.placements[0].running = 10;
  over.placements[0].running_since = 10 * s.now;
  Add(100, 60);
  Add(100, 60, "bob");
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
  EXPECT_EQ(s.Given(3), 10);
}

TEST_F(OwnOrder, OfJobsOfSeveralWidthsAUserGetsHisSlots) {
  Add(2, 60);
  Add(100, 60).placements[0].slots = 4;
  Add(100, 60, "bob");
  s.cluster(1).free = s.cluster(1).max = 20;
  s.Run();
  EXPECT_EQ(s.Given(1), 2);
  EXPECT_EQ(s.Given(2), 2);
  EXPECT_EQ(s.Given(3), 10);
}

TEST_F(OwnOrder, TheReasonNamesTheCampaignThatGoesFirstAndWhatEachHasLeft) {
  Add(1000, 3600).submitted_at = s.now;
  Add(100, 72).submitted_at = s.now;
  s.Run();
  EXPECT_EQ(s.Why(1), "OWN_FIRST");
  const Reason& reason = s.result.reasons.at(0);
  EXPECT_EQ(reason.other, 2);
  EXPECT_EQ(ReasonTexts(s.snapshot).Text(reason),
            "campaign 2 of the same user takes his next free slot on c1: it has 2 h of work left, "
            "this one 41 d 16 h of work left");
  EXPECT_NE(WhyFirst(s.snapshot, s.state, s.now, 2, 1, 1).find("of the same user"),
            std::string::npos);
}

TEST_F(OwnOrder, WhatIsSaidOfTheOrderIsTrueAlsoWhenNothingIsKnownOrLeft) {
  const struct {
    const char* when;
    std::int64_t waiting, other_waiting;
    double need_s, other_need_s;
    int priority;
    const char* want;  // why the first, older one goes before the other
  } cases[] = {
      {"the other is not known", 20, 10, 60, 0, 4,
       "it is the older one: a part of its user's slots is for his oldest campaign"},
      {"it has more left", 20, 10, 60, 60, 4,
       "it is the older one: a part of its user's slots is for his oldest campaign"},
      {"it is not known", 5, 10, 0, 60, 4,
       "it has 5 min of work left, this one 10 min of work left, if jobs take as long as his "
       "others"},
      {"none is known", 10, 10, 0, 0, 4, "it was submitted earlier"},
      {"equal", 10, 10, 60, 60, 4, "it was submitted earlier"},
      {"less left", 10, 20, 60, 60, 4, "it has 10 min of work left, this one 20 min of work left"},
      {"nothing left", 0, 10, 60, 60, 4, "it has no work left, this one 10 min of work left"},
      {"a higher priority", 10, 20, 60, 60, 5, "its priority is higher"},
      {"a lower priority", 10, 20, 60, 60, 3, "it takes what this one cannot use"},
  };
  for (const auto& c : cases) {
    PolicyFixture two{PolicyKind::kFairshare};
    two.AddCluster(10);
    Campaign& first = two.AddCampaign(c.waiting, "alice");
    first.need_s = c.need_s;
    first.priority = c.priority;
    two.AddCampaign(c.other_waiting, "alice").need_s = c.other_need_s;
    EXPECT_EQ(WhyFirst(two.snapshot, two.state, two.now, 1, 2, 1),
              std::string("of the same user, campaign 1 goes first: ") + c.want)
        << c.when;
  }
}

TEST_F(OwnOrder, ADeadlineGoesFirstAsItsSlackShrinks) {  // FAIR-22
  Add(100, 60);
  Campaign& due = Add(1000, 60);
  // One slot: 60,000 s of work.
  const struct {
    const char* when;
    double left_s, weight;
    int given, priority;  // of the one that is due; the other, older one has priority 5
    const char* why;
  } cases[] = {
      {"twice as long is left as it needs", 121'000, 1, 0, 5, ""},
      {"some slack is left", 100'000, 1, 9, 5,
       "its deadline is in 1 d 3 h and its work takes 16 h 40 min"},
      {"none is left", 50'000, 1, 9, 5,
       "its deadline is in 13 h 53 min and its work takes 16 h 40 min"},
      {"the time is over", -5, 1, 9, 5, "its deadline is over"},
      {"little slack against a higher priority", 80'000, 0.1, 0, 4, ""},
      {"none against a higher priority", 60'000, 1, 9, 4,
       "its deadline is in 16 h 40 min and its work takes 16 h 40 min"},
      {"operators want none", 60'000, 0, 0, 5, ""},
  };
  s.campaign(1).priority = 5;
  for (const auto& c : cases) {
    s.campaign(1).waiting = 100;
    s.campaign(1).submitted_at = due.submitted_at = s.now;
    due.deadline = s.now + c.left_s;
    due.priority = c.priority;
    s.snapshot.config.deadline_weight = c.weight;
    s.Run();
    EXPECT_EQ(s.Given(2), c.given) << c.when;
    if (c.given > 0) {
      EXPECT_EQ(WhyFirst(s.snapshot, s.state, s.now, 2, 1, 1),
                std::string("of the same user, campaign 2 goes first: ") + c.why)
          << c.when;
    }
  }
}

// Behind another one with a deadline nothing would ever be known of it.
TEST_F(OwnOrder, TheFirstJobsOfACampaignWithADeadlineHaveNoSlack) {
  Add(1000, 60).deadline = s.now + 60'000;
  Add(100, 0).deadline = s.now + 100'000;
  s.Run();
  EXPECT_EQ(s.Given(2), 9);
  EXPECT_EQ(
      WhyFirst(s.snapshot, s.state, s.now, 2, 1, 1),
      "of the same user, campaign 2 goes first: it has 1 h 40 min of work left, this one 16 h "
      "40 min of work left, if jobs take as long as his others");
}

TEST_F(OwnOrder, NoDeadlineTakesAnythingFromAnotherUser) {
  Add(1000, 60).deadline = 1;
  Add(1000, 60, "bob");
  s.snapshot.config.deadline_weight = 100;
  s.Run();
  EXPECT_EQ(s.Given(1), 5);
  EXPECT_EQ(s.Given(2), 5);
}

TEST_F(OwnOrder, ACampaignThatMayNotRunThereIsNoReason) {
  s.AddCluster(10);
  s.AddCampaign(1000, "alice", {1}).need_s = 60;
  s.AddCampaign(2000, "alice").need_s = 60;
  s.Run();
  EXPECT_EQ(s.Why(2, 1), "OWN_FIRST");
  EXPECT_EQ(s.Why(2, 2), "FULL");
}

}  // namespace
}  // namespace cigri::policy
