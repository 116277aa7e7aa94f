// Statements that are asked for again and again read what they need, however much there is besides:
// blocks, as times say nothing.
#include <sql/checks.h>
#include <sql/placements.h>
#include <sql/reasons.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class BlocksPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    Sql("INSERT INTO clusters (id, name, kind, api_url) VALUES (1, 'c1', 'local', 'unix:/none')");
    GivenCampaigns(1, 1);
  }
  void GivenCampaigns(int first, int last) {
    const std::string ids =
        "generate_series(" + std::to_string(first) + ", " + std::to_string(last) + ") AS i";
    Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) SELECT i, "
        "'ann', 'c', 1, 1, '{}' FROM " +
        ids);
    Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
        "cluster_login) SELECT i, 1, 'true', '/resource_id=1', 3600, 'ann' FROM " +
        ids);
    Sql("INSERT INTO placements (campaign_id, cluster_id) SELECT i, 1 FROM " + ids);
    Sql("INSERT INTO reasons (campaign_id, cluster_id, code, until) SELECT i, 1, 'x' || j, CASE "
        "WHEN j > 0 THEN now() - interval '1 day' END FROM " +
        ids + ", generate_series(0, 4) AS j");
    Sql("ANALYZE campaigns, campaign_clusters, placements, reasons");
  }
  int BlocksOf(std::string_view sql) {
    auto text = ReplaceAll(std::string(sql), "$1", "1");
    text = ReplaceAll(ReplaceAll(std::move(text), "$2", "100"), "$3", "0");
    const auto plan =
        nlohmann::json::parse(Sql("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + text)[0][0].c_str());
    return plan[0]["Plan"]["Shared Hit Blocks"].get<int>() +
           plan[0]["Plan"]["Shared Read Blocks"].get<int>();
  }
};

TEST_F(BlocksPgTest, WhatHeldACampaignIsReadWithoutWhatHeldOthers) {
  GivenCampaigns(2, 3000);
  EXPECT_LT(BlocksOf(sql::kReasonHistory.sql), 30);
}

TEST_F(BlocksPgTest, ReasonsThatComeAndGoAreFoundWithoutThoseOfOthers) {
  GivenCampaigns(2, 3000);
  Sql("INSERT INTO reasons (campaign_id, cluster_id, code, until) SELECT i, k, 'x' || j, now() - "
      "interval '1 day' + i * interval '1 second' FROM generate_series(1, 3000) AS i, "
      "generate_series(2, 10) AS k, generate_series(1, 4) AS j; ANALYZE reasons");
  Sql("UPDATE reasons SET until = now() WHERE cluster_id = 1 AND code = 'x1' AND campaign_id <= "
      "100");
  auto sql = std::string(sql::kPutReasons.sql);
  for (const auto& [place, value] : {std::pair{"$1", "ARRAY(SELECT generate_series(1, 100))"},
                                     {"$2", "array_fill(1, ARRAY[100])"},
                                     {"$3", "array_fill('x1'::text, ARRAY[100])"},
                                     {"$4", "array_fill('{}'::text, ARRAY[100])"}})
    sql = ReplaceAll(std::move(sql), place, value);
  EXPECT_LT(BlocksOf(sql), 3000) << "30 for each";
  EXPECT_EQ(Sql("SELECT count(*) FROM reasons WHERE code = 'x1' AND until IS NULL")[0][0].as<int>(),
            100);
}

// How many rows a plan has looked at and thrown away.
double RowsThrownAway(const nlohmann::json& plan) {
  double rows = 0;
  for (const char* by : {"Rows Removed by Filter", "Rows Removed by Join Filter"})
    rows += plan.value(by, 0.0) * plan.value("Actual Loops", 1.0);
  for (const auto& part : plan.value("Plans", nlohmann::json::array()))
    rows += RowsThrownAway(part);
  return rows;
}

// With 10,000 campaigns and 100,000 jobs in flight it did not end within two minutes, and was cut.
TEST_F(BlocksPgTest, TheCheckOfAllCampaignsLooksAtEachJobOnce) {
  GivenCampaigns(2, 300);
  Sql("INSERT INTO campaign_cursor (campaign_id, ntasks, next_idx) SELECT i, 20, 10 FROM "
      "generate_series(2, 300) AS i; INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, "
      "element, cluster_id, remote_id, attempt, slots) SELECT 10 * i + k, i, k, 'task', 1, 0, 1, "
      "i, 1, 1 FROM generate_series(2, 300) AS i, generate_series(0, 9) AS k; INSERT INTO retry "
      "(campaign_id, idx, why) VALUES (7, 3, 'x'), (8, 10, 'x'); ANALYZE");
  const auto text = ReplaceAll(std::string(sql::kCheckConservation.sql), "$1", "NULL");
  const auto plan =
      nlohmann::json::parse(Sql("EXPLAIN (ANALYZE, FORMAT JSON) " + text)[0][0].c_str());
  EXPECT_EQ(plan[0]["Plan"]["Actual Rows"], 299);
  EXPECT_LT(RowsThrownAway(plan[0]["Plan"]), 3000);
  std::string broken;
  for (const auto& row :
       Sql("SELECT item->>'campaign_id', item->>'twice', item->>'outside' FROM (" +
           ReplaceAll(text, ";", "") + ") AS c WHERE NOT kept"))
    broken += std::string(row[0].c_str()) + ":" + row[1].c_str() + "," + row[2].c_str() + " ";
  EXPECT_EQ(broken, "7:1,0 8:0,1 ");
}

// Also before PostgreSQL has analysed `live`, when it takes all jobs in flight for one.
TEST_F(BlocksPgTest, ACampaignIsShownWithoutItsJobsInFlight) {
  Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, remote_id, "
      "attempt, slots) SELECT i, 1, i, 'task', 1, 0, 1, i, 1, 1 FROM generate_series(1, 3000) AS "
      "i");
  Sql("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid IN ('live'::regclass, "
      "'live_pkey'::regclass, 'live_by_task'::regclass)");
  EXPECT_LT(BlocksOf(sql::kShowPlacements.sql), 30);
}

}  // namespace
}  // namespace cigri
