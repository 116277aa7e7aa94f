#include "policy/explain/whatif.h"
#include "policy/usage_summary.h"

#include <gtest/gtest.h>

#include "policy/explain/terms.h"
#include "policy/json.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

WhatIfs Ask(const PolicyFixture& s, std::int64_t campaign) {
  return FindWhatIfs(s.snapshot, s.state, s.now, s.seed, campaign, [] { return false; });
}

std::string First(const PolicyFixture& s, std::int64_t campaign) {
  const auto found = Ask(s, campaign);
  return found.useful.empty() ? "" : found.useful[0].change;
}

TEST(WhatIf, EachRuleThatHoldsACampaignBackIsLiftedByTheLeastThatHelps) {
  const struct {
    const char* change;
    Doer doer;
    void (*spoil)(PolicyFixture&);
  } cases[] = {
      {"priority 4 instead of 0", Doer::kUser,
       [](PolicyFixture& s) { s.campaign(1).priority = 0; }},
      {"max_jobs 3 instead of 2 on c1", Doer::kUser,
       [](PolicyFixture& s) { s.placement(1, 1).max_jobs = s.placement(1, 1).in_flight = 2; }},
      {"jobs of 10 slots instead of 12 on c1", Doer::kUser,
       [](PolicyFixture& s) { s.placement(1, 1).slots = 12; }},
      {"the hold lifted on c1", Doer::kUser,
       [](PolicyFixture& s) { s.placement(1, 1).held = "HELD"; }},
      {"a prologue that works on c1", Doer::kUser,
       [](PolicyFixture& s) { s.placement(1, 1).prologue = Prologue::kFailed; }},
      {"jobs of less than 1 h on c1", Doer::kUser,
       [](PolicyFixture& s) {
         s.campaign(1).need_s = 7200;
         s.placement(1, 1).bursts = 5, s.placement(1, 1).killed_at = s.now;
         s.placement(1, 1).median_survival_s = 3600;
       }},
      {"the end of its prologue on c1", Doer::kNobody,
       [](PolicyFixture& s) { s.placement(1, 1).prologue = Prologue::kRunning; }},
      {"its first success on c1", Doer::kNobody,
       [](PolicyFixture& s) {
         s.snapshot.config.canary_jobs = 10;
         s.placement(1, 1).tried = 4, s.placement(1, 1).in_flight = 6;
       }},
      {"the end of the hold for too fast ends on c1", Doer::kNobody,
       [](PolicyFixture& s) {
         s.state.holds[{1, 1}] = {.campaign = 1, .cluster = 1, .code = "BLACK_HOLE", .until = 9999};
       }},
      {"c1 open", Doer::kOperator,
       [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kDrained; }},
      {"c1 in order", Doer::kNobody,
       [](PolicyFixture& s) { s.cluster(1).unusable = Unusable::kStale; }},
      {"c1 open instead of observed", Doer::kOperator,
       [](PolicyFixture& s) { s.cluster(1).mode = ClusterMode::kObserve; }},
      {"a limit of 4 instead of 3 jobs on c1", Doer::kOperator,
       [](PolicyFixture& s) {
         s.cluster(1).mode = ClusterMode::kLimited;
         s.cluster(1).limited = s.cluster(1).running = 3;
       }},
      {"max_running 3 instead of 2 on c1", Doer::kOperator,
       [](PolicyFixture& s) { s.cluster(1).max_running = s.cluster(1).running = 2; }},
      {"a quota of user alice, slots of 1 instead of 0", Doer::kOperator,
       [](PolicyFixture& s) { s.snapshot.config.quotas = {{.scope = "user", .slots = 0}}; }},
      {"a quota of the grid on c1, jobs of 1 instead of 0", Doer::kOperator,
       [](PolicyFixture& s) {
         s.snapshot.config.quotas = {{.scope = "grid", .cluster = "c1", .jobs = 0}};
       }},
      {"licences x 2 instead of 0", Doer::kOperator,
       [](PolicyFixture& s) {
         s.campaign(1).licences = {{"x", 2}};
         s.snapshot.config.licences = {{"x", 0}};
       }},
      {"no reserve for class new", Doer::kOperator,
       [](PolicyFixture& s) { s.snapshot.config.reserves = {{.cls = "new", .fraction = 1}}; }},
      {"1 more free slot on c1", Doer::kNobody, [](PolicyFixture& s) { s.cluster(1).free = 0; }},
  };
  for (const auto& c : cases) {
    PolicyFixture s;
    s.AddCluster(10);
    s.AddCampaign(100);
    c.spoil(s);
    const auto found = Ask(s, 1);
    ASSERT_FALSE(found.useful.empty()) << c.change;
    EXPECT_EQ(found.useful[0].change, c.change);
    EXPECT_EQ(found.useful[0].doer, c.doer) << c.change;
    EXPECT_GT(found.useful[0].jobs, 0) << c.change;
    EXPECT_EQ(found.jobs_now, 0) << c.change;
  }
}

TEST(WhatIf, TheRateOfStartsGivesTheNextOne) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(100);
  s.snapshot.config.start_rates = {{.scope = "user", .per_minute = 60, .burst = 2}};
  s.Run();
  EXPECT_EQ(First(s, 1), "the next start that user:alice is allowed");
}

TEST(WhatIf, WhatHelpsNobodyIsNotReported) {
  PolicyFixture s;
  s.AddCluster(4);
  s.AddCampaign(100);  // takes all, and would take one more
  s.AddCampaign(100, "bob");
  s.placement(2, 1).max_jobs = s.placement(2, 1).in_flight =
      1;  // lifting it alone gives bob nothing
  for (const auto& what : Ask(s, 2).useful) EXPECT_NE(what.code, Code::kMaxJobs) << what.change;
}

TEST(WhatIf, ThePriorityThatBringsItForwardIsTheLeastThatDoes) {
  PolicyFixture s;
  s.snapshot.config.strict_priority = true;
  s.AddCluster(4);
  s.AddCampaign(100).priority = 6;
  s.AddCampaign(100, "bob");
  const auto found = Ask(s, 2);
  ASSERT_FALSE(found.useful.empty());
  EXPECT_EQ(found.useful[0].change, "priority 7 instead of 4");
  EXPECT_EQ(found.useful[0].doer, Doer::kUser);
  EXPECT_EQ(found.useful[0].jobs, 4);
  s.snapshot.config.user_priority = 6;
  EXPECT_EQ(Ask(s, 2).useful[0].doer, Doer::kOperator) << "more than users may give";
}

TEST(WhatIf, SlotsAreCountedUntilOneIsItsOwn) {
  PolicyFixture s(PolicyKind::kFifo);
  s.AddCluster(2).free = 0;
  s.AddCampaign(3);  // would have the first three
  s.AddCampaign(100, "bob");
  const auto found = Ask(s, 2);
  ASSERT_FALSE(found.useful.empty());
  EXPECT_EQ(found.useful[0].change, "4 more free slots on c1");
}

TEST(WhatIf, WithoutTimeNothingIsTriedAndThatIsSaid) {
  PolicyFixture s;
  s.AddCluster(4);
  s.AddCampaign(100).priority = 0;
  const auto found = FindWhatIfs(s.snapshot, s.state, s.now, s.seed, 1, [] { return true; });
  EXPECT_TRUE(found.cut);
  EXPECT_EQ(found.tried, 0);
  EXPECT_TRUE(found.useful.empty());
}

TEST(WhatIf, AnUnknownCampaignHasNoReasons) {
  PolicyFixture s;
  EXPECT_TRUE(Ask(s, 7).reasons.empty());
}

TEST(Canary, TenInAllAreTriedNotTenAtATime) {
  PolicyFixture s;
  s.snapshot.config.canary_jobs = 10;
  s.AddCluster(50);
  s.AddCampaign(100);
  s.placement(1, 1).tried = 7;
  s.Run();
  EXPECT_EQ(s.Given(1), 3);
  EXPECT_EQ(s.Why(1), "CANARY") << "it has set no max_jobs";
}

TEST(Reasons, ABlackHolesHoldHasItsEnd) {
  PolicyFixture s;
  s.AddCluster(50);
  s.AddCampaign(100);
  s.state.holds[{1, 1}] = {.campaign = 1, .cluster = 1, .code = "BLACK_HOLE", .until = 4600};
  s.Run();
  ASSERT_EQ(s.Why(1), "BLACK_HOLE");
  EXPECT_EQ(s.result.reasons[0].numbers[2], 4600);
}

TEST(WhyFirst, TheTermOfThePolicyIsNamedWithItsNumbers) {
  const auto say = [](PolicyKind kind, void (*change)(PolicyFixture&)) {
    PolicyFixture s(kind);
    s.AddCluster(4);
    s.AddCampaign(100, "alice");
    s.AddCampaign(100, "bob");
    change(s);
    return WhyFirst(s.snapshot, s.state, s.now, 1, 2, 1);
  };
  const auto nothing = [](PolicyFixture&) {};
  EXPECT_EQ(say(PolicyKind::kFifo, nothing), "it was submitted 1.0 s earlier");
  EXPECT_EQ(say(PolicyKind::kAffinity, [](PolicyFixture& s) { s.placement(1, 1).affinity = 3; }),
            "the affinity of its user and the cluster is 3 against 0");
  EXPECT_EQ(say(PolicyKind::kFairshare,
                [](PolicyFixture& s) {
                  s.snapshot.usage = {{2, "bob", "", 940, 60, 6000}};
                }),
            "user alice has used 0 slot-min a share lately, user bob 100 slot-min");
  EXPECT_EQ(say(PolicyKind::kFairshare,
                [](PolicyFixture& s) {
                  s.state.lags[UserKey("", "alice")].behind = 300;
                  s.state.lags[UserKey("", "bob")].behind = -300;
                }),
            "user alice has used 0 slot-min a share lately, user bob 0 slot-min; while both wanted "
            "slots the first is 5 slot-min behind its share, the other 5 slot-min ahead of its "
            "share");
  EXPECT_EQ(say(PolicyKind::kUsage,
                [](PolicyFixture& s) {
                  s.snapshot.usage = {{2, "bob", "", 940, 60, 2400}};
                }),
            "in the last 10 min it has used, for its weight, 0 slot-min, this one 10 slot-min");
  EXPECT_EQ(say(PolicyKind::kStride,
                [](PolicyFixture& s) {
                  s.state.pass = {{1, 2}, {2, 5}};
                }),
            "its pass is 2 against 5, the lower goes first");
  EXPECT_EQ(say(PolicyKind::kLottery,
                [](PolicyFixture& s) {
                  s.snapshot.usage = {{2, "bob", "", 940, 60, 2400}};
                  s.placement(1, 1).in_flight = 1;
                  s.placement(2, 1).in_flight = 3;
                }),
            "slots are drawn by lot, and chances fall with the rank: its rank is 0.31 (0 % of the "
            "use lately, holds 25 %), that of this one 0.69 (100 % of the use lately, holds 75 %)");
  EXPECT_EQ(say(PolicyKind::kFifo,
                [](PolicyFixture& s) {
                  s.snapshot.config.strict_priority = true;
                  s.campaign(1).priority = 6;
                }),
            "its priority is 6 against 4, and that is obeyed strictly");
  EXPECT_EQ(say(PolicyKind::kFifo, [](PolicyFixture& s) { s.campaign(1).test = true; }),
            "test campaigns go first");
  EXPECT_EQ(say(PolicyKind::kFifo,
                [](PolicyFixture& s) {
                  s.snapshot.config.first_results = 10;
                  s.campaign(2).done = 20;
                }),
            "it still waits for its first 10 results");
}

}  // namespace
}  // namespace cigri::policy
