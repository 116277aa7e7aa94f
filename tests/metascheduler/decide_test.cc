#include "metascheduler/decide.h"

#include <gtest/gtest.h>

namespace cigri::metascheduler {
namespace {

// Two clusters of ten idle slots, the second only observed; campaign 1 may use both.
Loaded Given() {
  Loaded loaded;
  loaded.now = 1000;
  auto& s = loaded.snapshot;
  s.config.policy = policy::PolicyKind::kFifo;
  s.clusters = {{.id = 1, .name = "a", .max = 10, .free = 10, .waiting_allowed = 0},
                {.id = 2, .name = "b", .max = 10, .free = 10, .waiting_allowed = 0}};
  s.clusters[1].mode = ClusterMode::kObserve;
  policy::Campaign c{.id = 1, .user = "alice", .waiting = 100};
  c.placements.resize(2);
  for (int i = 0; i < 2; ++i) {
    c.placements[i].cluster = i + 1;
    c.placements[i].verified = true;
  }
  s.campaigns = {c};
  return loaded;
}

TEST(DecideTest, AGrantIsATargetTheAllocationAndWhatIsInFlight) {
  auto loaded = Given();
  loaded.in_flight[{1, 1, BatchKind::kTask}] = 7;
  loaded.in_flight[{1, 1, BatchKind::kReplica}] = 5;  // another kind has a target of its own
  const auto decision = Decide(loaded, {}, 1);
  const std::vector<Allocation> want = {{1, 1, BatchKind::kTask, 17, 1}};
  EXPECT_EQ(decision.grants, want);
}

TEST(DecideTest, WhatAnObservedClusterWouldBeSentIsNotGranted) {
  const auto decision = Decide(Given(), {}, 1);
  EXPECT_EQ(decision.would_send.size(), 1u);
  EXPECT_EQ(decision.would_send.at({1, 2}), 10);
  for (const auto& grant : decision.grants) EXPECT_NE(grant.cluster, 2);
}

TEST(DecideTest, EpiloguesComeBehindAllOtherGrantsOfTheirCluster) {
  auto loaded = Given();
  loaded.epilogues = {{8, 1}, {9, 1}};
  const auto decision = Decide(loaded, {}, 1);
  const std::vector<Allocation> want = {{1, 1, BatchKind::kTask, 10, 1},
                                        {8, 1, BatchKind::kEpilogue, 1, 2},
                                        {9, 1, BatchKind::kEpilogue, 1, 3}};
  EXPECT_EQ(decision.grants, want);
}

TEST(DecideTest, TheSameArgumentsGiveTheSameDecision) {
  auto loaded = Given();
  loaded.snapshot.config.policy = policy::PolicyKind::kLottery;
  EXPECT_EQ(Decide(loaded, {}, 7).grants, Decide(loaded, {}, 7).grants);
}

TEST(DecideTest, ReasonsThatNobodyWillWriteAreNotMade) {
  const auto with = Decide(Given(), {}, 1);
  const auto without = Decide(Given(), {}, 1, false);
  EXPECT_TRUE(with.reasons.has_value());
  EXPECT_FALSE(without.reasons.has_value());
  EXPECT_EQ(with.grants, without.grants);
}

}  // namespace
}  // namespace cigri::metascheduler
