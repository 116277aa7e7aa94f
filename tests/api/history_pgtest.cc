// GET /admin/plans/history: stored decisions as gridsim reads them.
#include <fmt/format.h>

#include "policy/json.h"
#include "tests/api/api_fixture.h"
#include "tests/policy/fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class HistoryPgTest : public ApiTest {
 protected:
  // A decision as the metascheduler stores it.
  void Store(double at, std::int64_t seed) {
    policy::test::PolicyFixture s(policy::PolicyKind::kLottery);
    s.AddCluster(10);
    s.AddCampaign(500);
    s.AddCampaign(300, "bob");
    s.now = at, s.seed = static_cast<std::uint64_t>(seed);
    const json before = s.state, snapshot = s.snapshot;
    const auto bytes = json::to_cbor(
        {{"snapshot", snapshot}, {"state", before}, {"now", at}, {"plan", s.Run().plan}});
    std::string hex;
    for (const auto b : bytes) hex += fmt::format("{:02x}", b);
    Sql("INSERT INTO plans (at, seed, snapshot) VALUES (to_timestamp(" + std::to_string(at) +
        "), " + std::to_string(seed) + ", '\\x" + hex + "')");
  }
  std::vector<double> Times(const std::string& query) {
    const auto answer = Ask("oscar", "GET", "/admin/plans/history" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<double> times;
    for (const auto& item : answer.body["items"]) times.push_back(item["now"].get<double>());
    return times;
  }
};

TEST_F(HistoryPgTest, OperatorsAloneReadIt) {
  EXPECT_EQ(Ask("bob", "GET", "/admin/plans/history").status, 403);
  const auto answer = Ask("oscar", "GET", "/admin/plans/history");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body["items"].empty());
  EXPECT_EQ(answer.body["more"], false);
}

TEST_F(HistoryPgTest, ItIsBoundedByTimeAndNumberAndSaysWhenThereIsMore) {
  for (int i = 1; i <= 5; ++i) Store(1000 * i, i);
  Sql("INSERT INTO plans (at, seed) VALUES (to_timestamp(2500), 9)");  // without a snapshot
  using Numbers = std::vector<double>;
  EXPECT_EQ(Times(""), (Numbers{1000, 2000, 3000, 4000, 5000}));
  EXPECT_EQ(Times("?from=2000&until=4000"), (Numbers{2000, 3000}));
  EXPECT_EQ(Times("?limit=2"), (Numbers{1000, 2000}));
  EXPECT_EQ(Ask("oscar", "GET", "/admin/plans/history?limit=2").body["more"], true);
  EXPECT_EQ(Ask("oscar", "GET", "/admin/plans/history?limit=5").body["more"], false);
  for (const char* bad : {"?from=yesterday", "?limit=0", "?limit=5000", "?until=1x"})
    EXPECT_EQ(Ask("oscar", "GET", std::string("/admin/plans/history") + bad).status, 400) << bad;
}

TEST_F(HistoryPgTest, WhatIsReadTakesTheSameDecisionAgain) {
  Store(1234.5, 77);
  const auto item = Ask("oscar", "GET", "/admin/plans/history").body["items"][0];
  EXPECT_EQ(item["seed"], 77);
  const auto user_requeues =
      policy::Decide(item["snapshot"].get<policy::Snapshot>(), item["state"].get<policy::State>(),
                     item["now"].get<double>(), 77);
  EXPECT_FALSE(user_requeues.plan.allocations.empty());
  EXPECT_EQ(json(user_requeues.plan), item["plan"]);
}

TEST_F(HistoryPgTest, ItReportsHowLongJobsTook) {
  Store(1000, 1);
  Sql("INSERT INTO placements (campaign_id, cluster_id, n_ok, sum_s, hist) VALUES (1, 1, 4, 100, "
      "'{0,4}'), (9, 1, 4, 100, '{0,4}')");
  const auto durations = Ask("oscar", "GET", "/admin/plans/history").body["durations"];
  ASSERT_EQ(durations.size(), 1u) << "of the campaigns in the snapshots";
  EXPECT_EQ(durations[0]["sum_s"], 100);
  EXPECT_EQ(durations[0]["hist"], (json{0, 4}));
}

}  // namespace
}  // namespace cigri::test
