// Jobs on nodes: what fits where, who is killed for it, what a node that fails takes with it.
#include "sim/nodes.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::Outcome;
using Taken = std::vector<std::pair<int, int>>;

Taken Places(const std::optional<Nodes::Places>& places) {
  Taken taken;
  if (places)
    for (const auto& part : *places) taken.emplace_back(part.node, part.slots);
  return taken;
}

TEST(NodesTest, AJobGoesToTheFullestNodeOnWhichItFits) {
  Nodes nodes(24, 3);
  nodes.Take({{1, 4}});
  nodes.Take({{2, 6}});
  EXPECT_EQ(Places(nodes.Find(1)), (Taken{{2, 1}}));
  EXPECT_EQ(Places(nodes.Find(3)), (Taken{{1, 3}}));
  EXPECT_EQ(Places(nodes.Find(8)), (Taken{{0, 8}}));
  nodes.Take({{0, 1}});
  EXPECT_FALSE(nodes.Find(8)) << "13 slots are free, on no node 8";
}

TEST(NodesTest, AJobThatIsWiderThanANodeTakesWholeNodes) {
  Nodes nodes(10, 3);  // 4, 3, 3
  EXPECT_EQ(Places(nodes.Find(10)).size(), 3u);
  EXPECT_EQ(Places(nodes.Find(6)), (Taken{{0, 4}, {1, 2}}));
  nodes.Take({{0, 1}});
  EXPECT_EQ(Places(nodes.Find(5)), (Taken{{2, 3}, {0, 2}}));
  nodes.Take({{1, 1}});
  nodes.Take({{2, 1}});
  EXPECT_FALSE(nodes.Find(5)) << "7 slots are free, no node is empty";
}

TEST(NodesTest, UnevenNodesAreAllOfTheCluster) {
  const Nodes nodes(7, 5);  // 2, 2, 1, 1, 1
  EXPECT_EQ(Places(nodes.Find(7)).size(), 5u);
  EXPECT_EQ(Places(nodes.Find(6)).size(), 4u);
}

TEST(NodesTest, ANodeThatFailsHasNoRoom) {
  Nodes nodes(4, 2);
  nodes.Fail(0);
  EXPECT_EQ(Places(nodes.Find(2)), (Taken{{1, 2}}));
  EXPECT_FALSE(nodes.Find(3));
  nodes.Repair(0);
  EXPECT_TRUE(nodes.Find(3));
}

RC_GTEST_PROP(NodesProperty, WhatIsTakenIsFreeAndWhatIsGivenBackIsThere, ()) {
  const int count = *rc::gen::inRange(1, 6), slots = count + *rc::gen::inRange(0, 20);
  Nodes nodes(slots, count);
  std::vector<std::pair<int, Nodes::Places>> jobs;
  for (int step = 0; step < 60; ++step) {
    if (!jobs.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto which = *rc::gen::inRange<std::size_t>(0, jobs.size());
      nodes.Give(jobs[which].second);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const int wanted = *rc::gen::inRange(1, slots + 1);
    int free = 0, roomiest = 0, largest = 0;
    for (int n = 0; n < count; ++n) {
      free += nodes.free(n), roomiest = std::max(roomiest, nodes.free(n));
      largest = std::max(largest, nodes.size(n));
    }
    const auto places = nodes.Find(wanted);
    if (wanted <= largest) RC_ASSERT(places.has_value() == (roomiest >= wanted));
    if (free == slots) RC_ASSERT(places.has_value());
    if (!places) continue;
    int sum = 0;
    for (const auto& part : *places) sum += part.slots;
    RC_ASSERT(sum == wanted);
    nodes.Take(*places);
    for (int n = 0; n < count; ++n) RC_ASSERT(nodes.free(n) >= 0);
    jobs.emplace_back(wanted, *places);
  }
  for (const auto& [wanted, places] : jobs) nodes.Give(places);
  RC_ASSERT(nodes.Find(slots).has_value());
}

constexpr char kPolicy[] = R"("policy": {"policy": "fifo", "canary_jobs": 1000})";

// Two nodes of 16, each half full: 16 slots are free, and no node has them.
TEST(NodesTest, AWideJobWaitsForANodeThoughAsManySlotsAreFree) {
  const auto start = [](int nodes) {
    const Outcome run(R"({"clusters": [{"slots": 32, "nodes": )" + std::to_string(nodes) +
                      R"(, "job_ratio": "none"}], "campaigns": [
        {"name": "short", "duration": 10, "slots": 8}, {"name": "a", "duration": 500, "slots": 8},
        {"name": "fill", "at": 1, "duration": 10, "slots": 8}, {"name": "b", "at": 2, "duration": 900, "slots": 8},
        {"name": "wide", "at": 20, "duration": 60, "slots": 16}], )" + kPolicy + "}");
    return run.Starts("wide").at(0);
  };
  EXPECT_NEAR(start(1), 20, 2);
  EXPECT_NEAR(start(2), 500, 5);
}

// On the first node three jobs of an hour and one of a minute, on the second four of half an hour.
TEST(NodesTest, LocalUsersTakeTheNodeWhereLeastIsLost) {
  const auto killed = [](const char* nodes) {
    const Outcome run(R"({"clusters": [{"slots": 8, "job_ratio": "none", "max_waiting": 0,
        "local": [{"every": [3600], "until": 4000, "duration": 600, "slots": 4}], "nodes": )" +
                      std::string(nodes) + R"(}], "until": 3700, "campaigns": [
          {"name": "old", "tasks": 3, "duration": 20000}, {"name": "end", "duration": 3000},
          {"name": "half", "at": 1800, "tasks": 4, "duration": 20000},
          {"name": "new", "at": 3540, "duration": 20000}], )" + kPolicy + "}");
    return std::array{run.Count(End::kPreempted, "old"), run.Count(End::kPreempted, "half"),
                      run.Count(End::kPreempted, "new")};
  };
  EXPECT_EQ(killed("1"), (std::array{0, 3, 1})) << "the youngest of all";
  EXPECT_EQ(killed("2"), (std::array{0, 4, 0}));
}

TEST(NodesTest, ANodeThatFailsLosesWhatRunsThereAndNothingElse) {
  const Outcome run(R"({"clusters": [{"slots": 40, "nodes": 10, "node_fails_every": "10 h",
      "job_ratio": "none"}], "until": "20 h",
    "campaigns": [{"tasks": 100000, "duration": "20 min"}], )" + std::string(kPolicy) + "}");
  std::map<double, int> at;
  for (const auto& a : run.attempts)
    if (a.end == End::kLost) ++at[a.ended];
  EXPECT_GT(at.size(), 8u) << "one an hour";
  for (const auto& [time, n] : at) EXPECT_EQ(n, 4) << "four slots, all in use, at " << time;
}

TEST(NodesTest, LocalUsersOfANodeThatFailsBeginAgainElsewhere) {
  const Outcome run(R"({"clusters": [{"slots": 4, "nodes": 4, "node_fails_every": "20 h",
      "local": [{"every": "2 h", "duration": "1 h"}]}], "until": "30 d",
    "campaigns": [{"tasks": 1, "duration": 1}]})");
  class Hours : public Observer {
   public:
    void LocalEnded(int, double started, double ended, int) override {
      whole += ended - started > 3599.99;
      broken += ended - started < 3599.99;
    }
    int whole = 0, broken = 0;
  } hours;
  const Outcome calm(R"({"clusters": [{"slots": 4, "nodes": 4,
      "local": [{"every": "2 h", "duration": "1 h"}]}], "until": "30 d",
    "campaigns": [{"tasks": 1, "duration": 1}]})");
  Hours undisturbed;
  Engine(run.scenario, {&hours}).Run();
  Engine(calm.scenario, {&undisturbed}).Run();
  EXPECT_GT(hours.broken, 5);
  EXPECT_NEAR(hours.whole, undisturbed.whole, 2) << "each is done in the end";
}

TEST(NodesTest, ABadNodeIsAlwaysFreeAndTakesOneJobAfterTheOther) {
  const Outcome run(R"({"clusters": [{"slots": 16, "nodes": 4, "bad_nodes": 1, "bad_after": "3 s",
      "job_ratio": "none"}], "until": "10 min",
    "campaigns": [{"tasks": 5000, "duration": "10 min", "tries": 2}], )" + std::string(kPolicy) + "}");
  EXPECT_GT(run.Count(End::kFailed), 4 * 600 / 3 / 3);
  EXPECT_EQ(run.Count(End::kDone), 12) << "those of the three other nodes";
}

TEST(NodesTest, FaultsOfNodesSayWhatWouldBeRight) {
  const auto read = ReadScenario(
      R"({"clusters": [{"slots": 8, "nodes": 9}, {"slots": 8, "nodes": 2, "bad_nodes": 3}],
    "campaigns": [{}]})", "");
  const std::string all = test::FaultsOf(read);
  for (const char* want : {":1:37: clusters[0].nodes: must be a whole number, 1 to 8",
                           "clusters[1].bad_nodes: must be a whole number, 0 to 2"})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

}  // namespace
}  // namespace cigri::sim
