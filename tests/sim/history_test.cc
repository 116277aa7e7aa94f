// The grid's past as a scenario, and its decisions taken again.
#include "sim/history.h"

#include "policy/json.h"
#include "tests/policy/fixture.h"
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using nlohmann::json;

// Decisions of a small grid, as the metascheduler stores and the API gives them.
json Stored(policy::PolicyKind kind) {
  policy::test::PolicyFixture s(kind);
  s.AddCluster(10).waiting_allowed = 2;
  s.AddCluster(4, 2);
  s.AddCampaign(500).done = 20;
  s.AddCampaign(30, "bob", {2});
  json items = json::array();
  for (int i = 1; i <= 6; ++i) {
    if (i == 4) s.AddCampaign(40, "carol");
    const json before = s.state, snapshot = s.snapshot;
    s.seed = static_cast<std::uint64_t>(i);
    s.now += 10;
    const auto result = s.Run();
    json item = {{"id", i},
                 {"at", s.now},
                 {"seed", i},
                 {"now", s.now},
                 {"snapshot", snapshot},
                 {"state", before},
                 {"plan", result.plan}};
    // As it travels: cbor in the table, text in the answer.
    items.push_back(json::parse(json::from_cbor(json::to_cbor(item)).dump()));
    s.Start();
  }
  std::vector<std::int64_t> hist(112, 0);
  hist[50] = 20;
  return {{"items", items},
          {"more", false},
          {"durations",
           {{{"campaign", 1}, {"cluster", 1}, {"n", 20}, {"sum_s", 900.0}, {"hist", hist}}}}};
}

TEST(HistoryTest, StoredDecisionsAreTakenAgainTheSame) {
  for (const auto kind :
       {policy::PolicyKind::kFairshare, policy::PolicyKind::kLottery, policy::PolicyKind::kStride,
        policy::PolicyKind::kUsage, policy::PolicyKind::kDynamic})
    for (const auto& one : Replay(Stored(kind)))
      EXPECT_TRUE(one.same) << ToString(kind) << " " << one.difference;
}

TEST(HistoryTest, ADifferenceIsFoundAndNamed) {
  json answer = Stored(policy::PolicyKind::kFifo);
  answer["items"][0]["plan"]["allocations"][0]["n"] = 999;
  const auto all = Replay(answer);
  EXPECT_FALSE(all[0].same);
  EXPECT_NE(all[0].difference.find("/allocations/0/n"), std::string::npos) << all[0].difference;
  EXPECT_TRUE(all[1].same);
}

TEST(HistoryTest, AScenarioHasTheClustersTheCampaignsAndTheirLengths) {
  std::vector<std::string> notes;
  const std::string text = ScenarioOf(Stored(policy::PolicyKind::kFairshare), notes);
  const auto read = ReadScenario(text, "");
  EXPECT_EQ(test::FaultsOf(read), "") << text;
  const Scenario& s = read.scenario;
  EXPECT_EQ(s.policy.policy, policy::PolicyKind::kFairshare);
  ASSERT_EQ(s.clusters.size(), 2u);
  EXPECT_EQ(s.clusters[0].slots, 10);
  EXPECT_EQ(s.clusters[1].speed, 2);
  ASSERT_EQ(s.campaigns.size(), 3u);
  EXPECT_EQ(s.campaigns[0].tasks, 500);
  EXPECT_NEAR(s.campaigns[0].duration.Mean(), 45, .01) << "measured";
  EXPECT_EQ(s.campaigns[1].clusters, std::vector<std::string>{"c2"});
  EXPECT_EQ(s.campaigns[2].user, "carol");
  EXPECT_EQ(s.campaigns[2].at, 30) << "came later";
  EXPECT_FALSE(notes.empty());
  const test::Outcome run(text);
  EXPECT_EQ(run.report.totals.done, 570);
}

// TECH-21, FAIR-21. Classes have other places in later decisions; names and units count.
TEST(HistoryTest, AScenarioHasTheResourceClassesThatCampaignsAskedFor) {
  json answer = Stored(policy::PolicyKind::kFifo);
  auto& items = answer["items"];
  const auto with = [](json& item, const json& classes, int of) {
    item["snapshot"]["clusters"][0]["classes"] = classes;
    auto& placement = item["snapshot"]["campaigns"][0]["placements"][0];
    placement["resource_class"] = of, placement["class_units"] = 2;
  };
  for (auto& item : items)
    with(item, {{{"name", "GPUs"}, {"total", 8}, {"free", 6}}}, 1);
  const json late = {{{"name", "big"}, {"total", 3}, {"free", 3}},
                     {{"name", "GPUs"}, {"total", 8}, {"free", 1}}};
  for (std::size_t i = 3; i < items.size(); ++i) {
    with(items[i], late, 2);
    auto& carol = items[i]["snapshot"]["campaigns"][2]["placements"][0];
    carol["resource_class"] = 1, carol["class_units"] = 4;
  }
  std::vector<std::string> notes;
  const std::string text = ScenarioOf(answer, notes);
  const auto read = ReadScenario(text, "");
  ASSERT_EQ(test::FaultsOf(read), "") << text;
  const auto& luke = read.scenario.clusters[0];
  ASSERT_EQ(luke.resource_classes.size(), 2u) << text;
  EXPECT_EQ(luke.resource_classes[0], std::pair(std::string("GPUs"), 6))
      << "two are in local users' hands";
  EXPECT_EQ(luke.resource_classes[1].second, 3);
  const auto& campaigns = read.scenario.campaigns;
  EXPECT_EQ(campaigns[0].needs.at(luke.name).of, 1);
  EXPECT_EQ(campaigns[0].needs.at(luke.name).units, 2);
  EXPECT_EQ(campaigns[0].needs.size(), 1u) << "none on the other cluster";
  EXPECT_TRUE(campaigns[2].needs.empty());
  EXPECT_EQ(campaigns[2].clusters, std::vector<std::string>{read.scenario.clusters[1].name});
  EXPECT_NE(Join(notes, "; ").find("needs more of a resource class than"), std::string::npos);
}

TEST(HistoryTest, WhatWasMeasuredOnAFastClusterIsLongerOnASlowOne) {
  std::vector<std::string> notes;
  json answer = Stored(policy::PolicyKind::kFairshare);
  answer["durations"][0]["cluster"] = 2;  // of speed 2
  const auto read = ReadScenario(ScenarioOf(answer, notes), "");
  EXPECT_NEAR(read.scenario.campaigns[0].duration.Mean(), 90, .01);
}

TEST(HistoryTest, WhatIsNoHistoryIsRefused) {
  std::vector<std::string> notes;
  for (const char* text : {"{}", "{\"items\": []}", "{\"items\": [{}]}",
                           "{\"items\": [{\"now\": 1, \"snapshot\": 3}]}"})
    EXPECT_THROW(ScenarioOf(json::parse(text), notes), std::invalid_argument) << text;
}

}  // namespace
}  // namespace cigri::sim
