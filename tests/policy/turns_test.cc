// lottery, stride, dynamic, and multi-slot jobs among narrow ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "policy/multi_slot.h"
#include "policy/usage_summary.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

TEST(T06, TheLotteryGivesByTicketsWithinBinomialBounds) {  // TECH-15: never exact
  PolicyFixture s(PolicyKind::kLottery);
  constexpr int kSlots = 100000;
  s.AddCluster(kSlots);
  for (const double w : {2., 2., 1.}) s.AddCampaign(1'000'000).weight = w;  // ranks 2, 2, 4
  for (const std::uint64_t seed : {1, 2, 3}) {
    s.seed = seed;
    s.Run();
    for (const auto& [campaign, p] : {std::pair{1, .4}, std::pair{2, .4}, std::pair{3, .2}})
      EXPECT_NEAR(s.Given(campaign), p * kSlots, 5 * std::sqrt(kSlots * p * (1 - p)));
  }
}

TEST(Lottery, TheRankGrowsWithUseAndWithJobsInFlight) {  // TECH-22
  auto share_of_first = [](auto change) {
    PolicyFixture s(PolicyKind::kLottery);
    s.AddCluster(20000);
    s.AddCampaign(1'000'000);
    s.AddCampaign(1'000'000, "bob");
    change(s);
    s.Run();
    return s.Given(1) / 20000.0;
  };
  EXPECT_NEAR(share_of_first([](PolicyFixture&) {}), .5, .02);
  EXPECT_LT(share_of_first([](PolicyFixture& s) {
              s.snapshot.usage = {{1, "alice", "", s.now - 60, 60, 1e5}};
            }),
            .36);
  EXPECT_LT(share_of_first([](PolicyFixture& s) { s.placement(1, 1).in_flight = 50; }), .36);
  EXPECT_LT(share_of_first([](PolicyFixture& s) {
              s.snapshot.config.user_weights = {{"bob", 3}};
            }),
            .27);
}

TEST(Lottery, TheRankGrowsWithALaterSubmissionAndWithFasterWorkers) {  // TECH-22
  PolicyFixture s(PolicyKind::kLottery);
  s.AddCluster(20000, 3);
  s.AddCluster(10, 1);
  s.AddCampaign(1'000'000);
  s.AddCampaign(1'000'000, "bob");
  s.placement(1, 2).in_flight = 50;
  s.placement(2, 1).in_flight = 50;
  s.Run();
  const double slow_workers = s.Given(1, 1) / 20000.0;
  EXPECT_NEAR(slow_workers, 1.75 / 3, .02) << "ranks 1.25 and 1.75";
  s.snapshot.config.rank_age = 1;
  s.Run();
  EXPECT_GT(s.Given(1, 1) / 20000.0, slow_workers + .05);
}

TEST(Stride, HoldsTheSharesOfTheLotteryExactlyOverCycles) {
  PolicyFixture s(PolicyKind::kStride);
  s.AddCluster(7);
  for (const double w : {2., 2., 1.}) s.AddCampaign(1'000'000).weight = w;
  int given[4] = {};
  for (int round = 0; round < 100; ++round) {
    s.Run();
    for (int i = 1; i <= 3; ++i) given[i] += s.Given(i);
  }
  EXPECT_NEAR(given[1], 280, 1);
  EXPECT_NEAR(given[2], 280, 1);
  EXPECT_NEAR(given[3], 140, 1);
}

TEST(Stride, WhoWasAwayDoesNotCatchUp) {
  PolicyFixture s(PolicyKind::kStride);
  s.AddCluster(10);
  s.AddCampaign(1'000'000);
  s.AddCampaign(1'000'000, "bob");
  s.Run();
  s.campaign(2).waiting = 0;
  for (int i = 0; i < 20; ++i) s.Run();
  s.campaign(2).waiting = 1'000'000;
  s.Run();
  EXPECT_NEAR(s.Given(2), 5, 1);
}

// Starts one by one on one slot; the order as letters.
std::string Starts(PolicyFixture& s, int n, const std::string& letters) {
  std::string order;
  for (int i = 0; i < n; ++i) {
    s.Run();
    for (std::size_t c = 0; c < letters.size(); ++c)
      if (s.Given(static_cast<int>(c) + 1) > 0) order += letters[c];
  }
  return order;
}

TEST(T17, SeventyThirtyByTheDecrements) {
  PolicyFixture s(PolicyKind::kDynamic);
  s.snapshot.config.queues = {{"A", {.dec = 3}}, {"B", {.dec = 7}}};
  s.AddCluster(1);
  s.AddCampaign(1'000'000).cls = "A";
  s.AddCampaign(1'000'000).cls = "B";
  const std::string order = Starts(s, 1000, "AB");
  EXPECT_EQ(order.substr(0, 10), "ABAABAABAA");
  EXPECT_EQ(std::count(order.begin(), order.end(), 'A'), 700);
  s.state = {};
  s.cluster(1).free = s.cluster(1).max = 1000;
  s.Run();
  EXPECT_EQ(s.Given(1), 700) << "the same in one decision";
}

TEST(Dynamic, SharesAreInverseToTheDecrements) {  // FBS-28
  PolicyFixture s(PolicyKind::kDynamic);
  s.snapshot.config.queues = {{"A", {.max = 1000, .dec = 2}},
                              {"B", {.max = 1000, .dec = 4}},
                              {"C", {.max = 1000, .dec = 8}}};
  s.AddCluster(7000);
  for (const char* cls : {"A", "B", "C"}) s.AddCampaign(1'000'000).cls = cls;
  s.Run();
  EXPECT_NEAR(s.Given(1), 4000, 5);
  EXPECT_NEAR(s.Given(2), 2000, 5);
  EXPECT_NEAR(s.Given(3), 1000, 5);
}

TEST(Dynamic, CampaignsWithoutAClassShareByWeight) {
  PolicyFixture s(PolicyKind::kDynamic);
  s.AddCluster(900);
  for (const double w : {4., 8.}) s.AddCampaign(1'000'000).weight = w;
  s.Run();
  EXPECT_NEAR(s.Given(1), 300, 5);
  EXPECT_NEAR(s.Given(2), 600, 5);
}

// T-16: High needs two slots and one is free; how many background jobs start, one slot at a time.
int BackgroundStarts(double inc, double gap) {
  PolicyFixture s(PolicyKind::kDynamic);
  s.snapshot.config.queues = {{"high", {.min = 5, .max = 100, .inc = inc, .gap = gap}},
                              {"bg", {.min = 0, .max = 4}}};
  s.AddCluster(1).max = 2;
  s.AddCampaign(100, "alice", {}, 2).cls = "high";
  s.AddCampaign(100, "bob").cls = "bg";
  int starts = 0;
  for (int i = 0; i < 10; ++i) {
    s.Run();
    starts += s.Given(2);
    EXPECT_EQ(s.Given(1), 0);
  }
  EXPECT_EQ(s.Why(2), "MULTI_SLOT_RESERVATION");
  s.cluster(1).free = 2;
  s.Run();
  EXPECT_EQ(s.Given(1), 1);
  return starts;
}

TEST(T16, BackgroundIsHeldOnceItIsTheGapBelowAStuckHigh) {
  EXPECT_EQ(BackgroundStarts(3, 7), 1);
  EXPECT_EQ(BackgroundStarts(1, 7), 2);
  EXPECT_EQ(BackgroundStarts(3, 5), 0);
}

TEST(Dynamic, AHoldIsBoundedInTime) {  // FBS-05
  PolicyFixture s(PolicyKind::kDynamic);
  s.snapshot.config.queues = {{"high", {.min = 5, .gap = 5}}, {"bg", {.max = 4}}};
  s.AddCluster(1).max = 2;
  s.AddCampaign(100, "alice", {}, 2).cls = "high";
  s.AddCampaign(100, "bob").cls = "bg";
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
  s.now += 3599;
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
  s.now += 1;
  s.Run();
  EXPECT_EQ(s.Given(2), 1) << "given up";
  s.now += 10;
  s.Run();
  EXPECT_EQ(s.Given(2), 1) << "and not taken up again at once";
}

TEST(T18, BulkStartsAsOftenAsLight) {
  PolicyFixture s(PolicyKind::kDynamic);
  s.snapshot.config.queues = {{"bulk", {.gap = 1}}, {"light", {.gap = 100}}};
  s.AddCluster(2);
  s.AddCampaign(1000, "alice", {}, 2).cls = "bulk";
  s.AddCampaign(1000, "bob").cls = "light";
  std::string order;
  for (int i = 0; i < 12; ++i) {
    s.cluster(1).free = 1;  // too little for a bulk job; held for it, the other slot comes free
    s.Run();
    if (s.GivenInAll() == 0) {
      s.cluster(1).free = 2;
      s.Run();
    }
    order += s.Given(1) > 0 ? 'B' : 'L';
  }
  EXPECT_EQ(order, "LBLBLBLBLBLB");
}

TEST(T19, ExactlyTheGapOfLightJobsBypassesAMultiSlotOne) {
  for (const int gap : {1, 3, 10}) {
    PolicyFixture s;
    s.snapshot.config.multi_slot_age = gap;
    s.AddCluster(8).free = 2;
    s.AddCampaign(10, "alice", {}, 4);
    s.AddCampaign(1000, "bob");
    int passed = 0;
    for (int i = 0; i < 12; ++i) {
      s.Run();
      EXPECT_EQ(s.Given(1), 0);
      passed += s.Given(2);
      EXPECT_EQ(s.Why(1), passed < gap ? "BYPASSED" : "SLOTS_KEPT");
    }
    EXPECT_EQ(passed, gap);
    EXPECT_EQ(s.Why(2), "MULTI_SLOT_RESERVATION");
    s.cluster(1).free = 4;
    s.Run();
    EXPECT_EQ(s.Given(1), 1) << "it goes first when it fits";
  }
}

// Where campaigns share, an earlier one passes a multi-slot job no more often than a later one.
TEST(T19, AnEarlierCampaignBypassesItNoMoreOftenWhereCampaignsShare) {
  for (const auto policy : {PolicyKind::kFairshare, PolicyKind::kUsage, PolicyKind::kStride}) {
    PolicyFixture s(policy);
    s.snapshot.config.multi_slot_age = 5;
    s.AddCluster(8).free = 1;
    s.AddCampaign(1000, "bob");
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 7;
    s.AddCampaign(10, "alice", {}, 4);
    int passed = 0;
    for (int i = 0; i < 20; ++i) {
      s.Run();
      EXPECT_EQ(s.Given(2), 0);
      passed += s.Given(1);
    }
    EXPECT_EQ(passed, 5) << ToString(policy);
    EXPECT_EQ(s.Why(1), "MULTI_SLOT_RESERVATION") << ToString(policy);
    s.cluster(1).free = 4;
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 4;
    s.Run();
    EXPECT_EQ(s.Given(2), 1) << ToString(policy);
    // Its user has his half now: nothing is kept for the next one.
    s.cluster(1).free = 1;
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 3;
    s.placement(2, 1).in_flight = s.placement(2, 1).running = 1;
    passed = 0;
    for (int i = 0; i < 20; ++i) s.Run(), passed += s.Given(1);
    EXPECT_EQ(passed, 20) << ToString(policy);
  }
}

// A slot that a limit leaves goes to the next narrow job, too.
TEST(T19, WhatALimitLeavesIsKeptLikeIdleSlots) {
  const struct {
    const char* what;
    void (*limit)(PolicyFixture&);
    const char* code;
  } limits[] = {
      {"a ceiling", [](PolicyFixture& s) { s.cluster(1).max_running = 24; }, "CLUSTER_MAX_RUNNING"},
      {"a reserve",
       [](PolicyFixture& s) {
         s.snapshot.config.reserves = {{"new", "", .4}};
       },
       "RESERVE"},
      {"a quota",
       [](PolicyFixture& s) { s.snapshot.config.quotas = {{.scope = "grid", .slots = 24}}; },
       "QUOTA"},
  };
  const auto narrow = [](PolicyFixture& s, int running) {
    s.placement(1, 1).in_flight = s.placement(1, 1).running = running;
    s.cluster(1).running = s.cluster(1).running_slots = running;
    s.cluster(1).free = 40 - running;
  };
  for (const auto& [what, limit, code] : limits)
    for (const auto policy : {PolicyKind::kFairshare, PolicyKind::kStride}) {
      PolicyFixture s(policy);
      s.snapshot.config.multi_slot_age = 5;
      s.AddCluster(40);
      s.AddCampaign(1000, "bob");
      s.AddCampaign(10, "alice", {}, 6);
      limit(s);
      narrow(s, 23);
      int passed = 0;
      for (int i = 0; i < 20; ++i) s.Run(), passed += s.Given(1);
      // By shares alone it is kept at once: no job needs to be passed.
      const bool at_once = policy == PolicyKind::kFairshare;
      EXPECT_EQ(passed, at_once ? 0 : 5) << what;
      EXPECT_EQ(s.Why(1), at_once ? code : "MULTI_SLOT_RESERVATION") << what;
      EXPECT_EQ(s.Why(2), at_once || code == std::string("QUOTA") ? code : "SLOTS_KEPT") << what;
      narrow(s, 18);
      s.Run();
      EXPECT_EQ(s.Given(2), 1) << what;
    }
}

// FBS-13: the gap, the step and the start value of a class.
TEST(T19, AClassHasItsOwnGapStepAndStart) {
  const struct {
    const char* when;
    const char* cls;
    int want;
  } cases[] = {{"its own gap", "wide", 4},
               {"its step is 2", "fast", 3},
               {"it begins with an age", "late", 2},
               {"the grid's gap", "", 6},
               {"never", "last", 24}};
  for (const auto& c : cases) {
    PolicyFixture s;
    s.snapshot.config.multi_slot_age = 6;
    s.snapshot.config.multi_slot_classes = {{"wide", {.age = 4}},
                                            {"fast", {.age = 6, .step = 2}},
                                            {"late", {.age = 6, .start = 4}},
                                            {"last", {.age = -1}}};
    s.AddCluster(8).free = 2;
    s.AddCampaign(10, "alice", {}, 4).cls = c.cls;
    s.AddCampaign(1000, "bob");
    int passed = 0;
    for (int i = 0; i < 12; ++i) {
      s.Run();
      passed += s.Given(2);
    }
    EXPECT_EQ(passed, c.want) << c.when;
  }
}

TEST(T19, OnlyTheClassesThatAgeMayWaitInTheGrid) {
  PolicyFixture s;
  s.snapshot.config.multi_slot_classes = {{"wide", {.age = 1}}};
  auto& cluster = s.AddCluster(8);
  cluster.free = 0, cluster.waiting_allowed = 3;
  s.AddCampaign(10, "alice", {}, 4).cls = "wide";
  s.AddCampaign(10, "bob", {}, 4);
  s.Run();
  EXPECT_EQ(s.Given(1), 0) << "slots will be kept for it";
  EXPECT_EQ(s.Given(2), 3) << "it waits in the queue";
}

TEST(Wide, TheHoldIsGivenUpAfterItsTime) {
  PolicyFixture s;
  s.snapshot.config.multi_slot_age = 0;
  s.snapshot.config.multi_slot_hold_s = 600;
  s.AddCluster(4).free = 2;
  s.AddCampaign(10, "alice", {}, 4);
  s.AddCampaign(1000, "bob");
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
  s.now += 600;
  s.Run();
  s.now += 1;
  s.Run();
  EXPECT_EQ(s.Given(2), 2);
}

// Jobs that last longer than a hold start at last.
TEST(Wide, AHoldThatWasInVainIsFollowedByOneOfTwiceTheTime) {
  PolicyFixture s;
  s.snapshot.config.multi_slot_age = 0;
  s.snapshot.config.multi_slot_hold_s = 600, s.snapshot.config.multi_slot_rest_s = 60;
  s.AddCluster(4).free = 2;
  s.AddCampaign(10, "alice", {}, 4);
  s.AddCampaign(1000, "bob");
  const auto held = [&] {
    double seconds = 0;
    for (; seconds < 5000; s.now += 10, seconds += 10) {
      s.Run();
      if (s.Given(2) > 0) break;
    }
    return seconds;
  };
  EXPECT_NEAR(held(), 600, 20);
  s.now += 60;
  EXPECT_NEAR(held(), 1200, 20);
  s.now += 60;
  EXPECT_EQ(held(), 0) << "and the rest before the next one, too";
}

// Two stuck multi-slot jobs of 4 slots, and narrow ones: of 2,000 s, how long the narrow ones were
// kept out. `change` sees each moment before its decision.
double SecondsKept(const std::function<void(PolicyFixture&, double)>& change) {
  PolicyFixture s;
  s.snapshot.config.multi_slot_age = 0;
  s.snapshot.config.multi_slot_hold_s = 200, s.snapshot.config.multi_slot_rest_s = 200;
  s.AddCluster(6).free = 3;
  s.AddCampaign(10, "alice", {}, 4);
  s.AddCampaign(10, "alice", {}, 4);
  s.AddCampaign(10'000, "bob");
  double kept = 0;
  for (double t = 0; t < 2000; t += 10, s.now += 10) {
    change(s, t);
    s.Run();
    if (s.Given(3) == 0) kept += 10;
  }
  return kept;
}

// Each in its turn would keep the slots without end.
TEST(Wide, WhatIsAsWideRestsAfterAHoldInVain) {
  // 200, 400 and 800 s, and as long a rest after each.
  EXPECT_NEAR(SecondsKept([](auto&, double) {}), 1400, 50);
  const auto kept = SecondsKept(
      [](PolicyFixture& s, double) { s.placement(2, 1).slots = 3, s.cluster(1).free = 2; });
  EXPECT_GT(kept, 1700) << "one that is narrower has its own turn";
}

TEST(Wide, AHoldForAnotherJobIsNoNewHold) {
  const auto kept = SecondsKept([](PolicyFixture& s, double t) {
    const bool first = static_cast<int>(t / 100) % 2 == 0;
    s.campaign(1).waiting = first ? 10 : 0, s.campaign(2).waiting = first ? 0 : 10;
  });
  EXPECT_LT(kept, 1500) << "they take turns before a hold has lasted its time";
}

// A job of seconds waited for hours behind one of hours, on a real log.
TEST(Wide, SlotsAreKeptFirstForWhoWaitsLongForHisLength) {
  const auto kept_for = [](double submitted, double need) {
    PolicyFixture s(PolicyKind::kFairshare);
    auto& c = s.AddCluster(32);
    c.free = 6, c.running = c.running_slots = 26;
    for (const char* user : {"alice", "carol"}) s.AddCampaign(1, user, {}, 16).need_s = 7200;
    s.AddCampaign(10, "bob").need_s = 36'000;
    s.campaign(1).waiting_since = s.now - 7200;
    s.campaign(2).waiting_since = s.now - submitted, s.campaign(2).need_s = need;
    s.Run();
    EXPECT_EQ(s.Given(3), 0);
    for (const auto& [key, ageing] : s.state.ageing)
      if (ageing.held_since > 0) return key.first;
    return std::int64_t{0};
  };
  EXPECT_EQ(kept_for(60, 10), 2);
  EXPECT_EQ(kept_for(60, 3600), 1);
  EXPECT_EQ(kept_for(7200, 3600), 2) << "it has waited twice its length";
  EXPECT_EQ(kept_for(60, 0), 1) << "of unknown length";
}

// A wide job at the head of a queue kept idle slots from all others for hours, on a real log.
TEST(Wide, WhatTakesMuchOfAClusterWaitsInTheGridWhileNarrowerOnesWantIt) {
  const auto given = [](auto change) {
    PolicyFixture s(PolicyKind::kFairshare);
    auto& c = s.AddCluster(32);
    c.free = 6, c.running = c.running_slots = 26;
    s.AddCampaign(10, "alice", {}, 8);
    s.AddCampaign(10, "bob");
    s.campaign(2).need_s = 60, s.campaign(1).need_s = 3600;
    c.releases = {{s.now + 3600, 2}}, c.waiting_allowed = 5;
    change(s);
    s.Run();
    return std::pair(s.Given(1), s.Given(2));
  };
  EXPECT_EQ(given([](auto&) {}), std::pair(0, 10)) << "short ones go before";
  EXPECT_EQ(given([](auto& s) { s.campaign(2).need_s = 7200; }).first, 0);
  EXPECT_LE(given([](auto& s) { s.campaign(2).need_s = 7200; }).second, 0) << "slots are kept";
  EXPECT_GT(given([](auto& s) { s.campaign(2).waiting = 0; }).first, 0) << "in the queue";
  EXPECT_GT(given([](auto& s) { s.snapshot.config.multi_slot_queue = .25; }).first, 0);
  EXPECT_GT(given([](auto& s) { s.snapshot.config.policy = PolicyKind::kUsage; }).first, 0);
  EXPECT_EQ(given([](auto& s) {
              s.state.decided_at = s.now;
              s.state.lags[UserKey("", "alice")] = {.behind = -1e6, .at = s.now};
              s.campaign(2).need_s = 7200;
            }).second,
            10)
      << "who has had more than his due waits until the others have had theirs";
}

// A campaign of unknown length was taken for the shortest, and deadlines were not looked at.
TEST(Wide, SlotsAreKeptForACampaignInItsTurnAmongItsUsersOwn) {
  const auto kept = [](auto change) {
    PolicyFixture s(PolicyKind::kFairshare);
    auto& c = s.AddCluster(32);
    c.free = 6, c.running = c.running_slots = 26;
    c.releases = {{s.now + 600, 2}};
    s.AddCampaign(100, "alice").need_s = 7200;
    s.AddCampaign(50, "alice", {}, 8).need_s = 3600;
    change(s);
    s.Run();
    return s.Given(1) == 0;
  };
  EXPECT_FALSE(kept([](auto&) {})) << "the narrow one has less work left";
  EXPECT_TRUE(kept([](auto& s) { s.campaign(2).waiting = 20; }));
  EXPECT_TRUE(kept([](auto& s) { s.campaign(2).deadline = s.now + 60; })) << "FAIR-22";
  EXPECT_FALSE(kept([](auto& s) {
    s.campaign(2).waiting = 20, s.campaign(1).deadline = s.now + 60;
  })) << "FAIR-22";
  EXPECT_TRUE(kept([](auto& s) { s.campaign(2).need_s = 0; })) << "its first job";
  EXPECT_FALSE(kept([](auto& s) {
    s.campaign(2).need_s = 0;
    s.placement(2, 1).in_flight = s.placement(2, 1).running = 1;
  })) << "takes as long as the others until it has succeeded";
  EXPECT_TRUE(kept([](auto& s) {
    s.snapshot.config.parallel_campaigns = 1, s.campaign(2).priority = 5;
  })) << "TECH-17";
}

TEST(Wide, WhoIsAheadReadsThatAFirstJobOfUnknownLengthGoesAhead) {
  PolicyFixture s(PolicyKind::kFairshare);
  auto& c = s.AddCluster(32);
  c.free = 6, c.running = c.running_slots = 26;
  c.releases = {{s.now + 600, 2}};
  s.AddCampaign(10, "alice").need_s = 60;
  s.AddCampaign(50, "alice", {}, 8);
  s.AddCampaign(100, "bob").need_s = 7200;
  s.state.decided_at = s.now;
  s.state.lags[UserKey("", "alice")] = {.behind = -1e6, .at = s.now};
  s.Run();
  EXPECT_EQ(s.Given(1), 0);
  EXPECT_EQ(s.Why(1, 1), "OWN_FIRST");
  const auto& reasons = s.result.reasons;
  const auto said = std::find_if(reasons.begin(), reasons.end(),
                                 [](const auto& r) { return r.campaign == 1 && r.cluster == 1; });
  ASSERT_NE(said, reasons.end());
  EXPECT_EQ(said->detail, "none of its jobs has succeeded yet, the first one goes ahead");
}

// Slots that are being kept are nobody's, so a user of wide jobs had less than his due for ever.
TEST(Wide, WhoIsBehindIsDueOneJobMore) {
  const auto kept = [](double behind) {
    PolicyFixture s(PolicyKind::kFairshare);
    auto& c = s.AddCluster(32);
    c.free = 2, c.running = 16, c.running_slots = 30;
    c.releases = {{s.now + 600, 6}};
    s.AddCampaign(10, "alice", {}, 8).need_s = 3600;
    s.AddCampaign(100, "bob").need_s = 3600;
    s.placement(1, 1).in_flight = s.placement(1, 1).running = 2;
    s.placement(2, 1).in_flight = s.placement(2, 1).running = 14;
    s.state.decided_at = s.now;
    s.state.lags[UserKey("", "alice")] = {.behind = behind, .at = s.now};
    s.Run();
    return s.Given(2) == 0;
  };
  EXPECT_FALSE(kept(0)) << "two jobs are half of the slots";
  EXPECT_FALSE(kept(7 * 3600));
  EXPECT_TRUE(kept(8 * 3600)) << "a whole job";
}

// Sent for three idle slots, they waited in the queue and took the next that came free.
TEST(Wide, AJobThatAJobRatioLetsGoForFewerSlotsPassesNoReservation) {
  PolicyFixture s(PolicyKind::kFairshare);
  auto& c = s.AddCluster(64);
  c.free = 3, c.running = 16, c.running_slots = 61;
  c.releases = {{s.now + 600, 4}, {s.now + 700, 4}, {s.now + 800, 4}, {s.now + 900, 4}};
  s.AddCampaign(10, "alice", {}, 16).need_s = 3600;
  s.AddCampaign(100, "bob", {}, 4).need_s = 1200;
  s.placement(2, 1).job_ratio = 1 / 3.;
  s.Run();
  EXPECT_EQ(s.Given(2), 0);
  EXPECT_EQ(s.Why(2, 1), "MULTI_SLOT_RESERVATION");
}

// Its length was taken for that of the jobs that its user has in the queue.
TEST(Wide, WhatWaitsInTheGridHasNoPartOfTheQueue) {
  PolicyFixture s(PolicyKind::kFairshare);
  auto& c = s.AddCluster(16);
  c.free = 0, c.waiting_allowed = 8;
  for (const char* user : {"alice", "bob"}) {
    auto& narrow = s.AddCampaign(1000, user);
    narrow.need_s = narrow.mean_s = 4;
  }
  auto& wide = s.AddCampaign(3, "alice", {}, 8);
  wide.need_s = wide.mean_s = 2;
  s.state.ageing[{3, 1}].rest_until = s.now + 3600;
  s.Run();
  EXPECT_EQ(s.Given(1), 4);
  EXPECT_EQ(s.Given(2), 4);
}

// The metascheduler reads then when what runs will end.
TEST(Wide, SlotsMayBeKeptOnlyWhereATaskWaitsThatIsTooWideForAQueue) {
  PolicyFixture s(PolicyKind::kFairshare);
  s.AddCluster(32);
  s.AddCampaign(10, "alice", {}, 2);
  EXPECT_FALSE(MayKeepSlots(s.snapshot));
  s.placement(1, 1).slots = 8;
  EXPECT_FALSE(MayKeepSlots(s.snapshot)) << "nobody else wants slots there";
  s.AddCampaign(10, "bob", {}, 8);
  EXPECT_FALSE(MayKeepSlots(s.snapshot)) << "nobody's jobs are narrower";
  s.placement(2, 1).slots = 2;
  EXPECT_TRUE(MayKeepSlots(s.snapshot));
  s.campaign(2).waiting = 0;
  EXPECT_FALSE(MayKeepSlots(s.snapshot)) << "he has no task that waits";
  s.placement(2, 1).in_flight = 1;
  EXPECT_TRUE(MayKeepSlots(s.snapshot)) << "but a job there";
  s.campaign(1).waiting = 0;
  EXPECT_FALSE(MayKeepSlots(s.snapshot));
}

TEST(Wide, WhatWasKeptForAJobThatIsServedInItsTurnGoesToThoseBefore) {
  PolicyFixture s(PolicyKind::kAffinity);  // the narrow one comes first in the order of service
  s.snapshot.config.multi_slot_age = 0;
  s.AddCluster(10);
  s.AddCampaign(1, "alice", {}, 4);
  s.AddCampaign(100, "bob");
  s.placement(2, 1).affinity = 1;
  s.cluster(1).free = 3, s.cluster(1).max = 10;
  s.Run();
  EXPECT_EQ(s.GivenInAll(), 0);
  s.placement(1, 1).job_ratio = 0.5;  // it is narrower than it says: it fits
  s.Run();
  EXPECT_EQ(s.Given(1), 1);
  EXPECT_EQ(s.Given(2), 1) << "what was kept for it and not needed";
}

// FAIR-05: jobs of `hours` on `nodes` of 4, in this order; when each starts.
struct Mix {
  double makespan = 0;
  std::vector<double> starts;
  double Utilisation(double node_hours) const { return 100 * node_hours / (4 * makespan); }
};

Mix RunMix(PolicyFixture s, const std::vector<std::pair<double, int>>& jobs) {
  s.AddCluster(4);
  Mix mix;
  mix.starts.assign(jobs.size(), -1);
  for (const auto& [hours, nodes] : jobs) s.AddCampaign(1, "u", {}, nodes).need_s = hours;
  std::vector<double> ends(jobs.size(), 0);
  s.now = 0;
  for (int step = 0; step < 20; ++step) {
    s.cluster(1).releases.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (s.placement(int(i) + 1, 1).running > 0)
        s.cluster(1).releases.push_back({ends[i], jobs[i].second});
    s.Run();
    s.Start();
    for (const auto& g : s.result.plan.allocations) {
      mix.starts[g.campaign - 1] = s.now;
      ends[g.campaign - 1] = s.now + jobs[g.campaign - 1].first;
      mix.makespan = std::max(mix.makespan, ends[g.campaign - 1]);
    }
    double next = 1e9;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (s.placement(int(i) + 1, 1).running > 0) next = std::min(next, ends[i]);
    if (next == 1e9) break;
    s.now = next;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (s.placement(int(i) + 1, 1).running > 0 && ends[i] <= s.now) s.End(int(i) + 1, 1, 1);
  }
  return mix;
}

PolicyFixture Serial() {
  PolicyFixture s;
  s.snapshot.config.quotas = {{.scope = "grid", .jobs = 1}};
  s.snapshot.config.multi_slot_age = 0;
  s.snapshot.config.backfill = false;
  return s;
}
PolicyFixture Packed(bool backfill) {
  PolicyFixture s;
  s.snapshot.config.multi_slot_age = 0;
  s.snapshot.config.backfill = backfill;
  return s;
}

const std::vector<std::pair<double, int>> kMix = {{2, 2}, {2, 2}, {1, 1}, {4, 4}};
const std::vector<std::pair<double, int>> kReordered = {{2, 2}, {4, 4}, {2, 2}, {1, 1}};

TEST(T31, OneJobAtATimeTakesNineHours) {
  const Mix mix = RunMix(Serial(), kMix);
  EXPECT_DOUBLE_EQ(mix.makespan, 9);
  EXPECT_NEAR(mix.Utilisation(25), 69.44, .005);
  EXPECT_DOUBLE_EQ((50 + 50 + 25 + 100) / 4.0, 56.25);  // the seed's other denominator
}

TEST(T32, PackedAndBackfilledTakeSeven) {
  for (const bool backfill : {false, true}) {
    const Mix mix = RunMix(Packed(backfill), kMix);
    EXPECT_DOUBLE_EQ(mix.makespan, 7);
    EXPECT_NEAR(mix.Utilisation(25), 89.29, .005);
    EXPECT_EQ(mix.starts, (std::vector<double>{0, 0, 2, 3}));
  }
}

TEST(T33, TheOtherOrderDistinguishesPackedFromBackfilled) {
  const Mix packed = RunMix(Packed(false), kReordered);
  EXPECT_DOUBLE_EQ(packed.makespan, 8);
  EXPECT_NEAR(packed.Utilisation(25), 78.13, .005);
  const Mix easy = RunMix(Packed(true), kReordered);
  EXPECT_DOUBLE_EQ(easy.makespan, 7);
  EXPECT_EQ(easy.starts, (std::vector<double>{0, 2, 0, 6}));
}

}  // namespace
}  // namespace cigri::policy
