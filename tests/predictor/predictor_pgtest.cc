#include "predictor/predictor.h"
#include "tests/nikita/fixture.h"

namespace cigri::predictor {
namespace {

class PredictorPgTest : public test::PassTest {
 protected:
  void SetUp() override {
    PassTest::SetUp();
    db_ = Connect();
    GivenCluster(1, "unix:/none");
    GivenCluster(2, "unix:/none");
    GivenCampaign(1, 100, "{1,2}");
    Sql("INSERT INTO gridstatus SELECT c, now(), 4, 2, 2, 0, 2, 2, 0 FROM generate_series(1, 2) AS "
        "c");
  }
  // Each is a process of its own, that has just started.
  void Pass() {
    auto step = StepOf(*db_);
    Predictor().Pass(step);
  }
  void GivenEnds(int cluster, int n, double seconds) {
    const std::string k = std::to_string(cluster), count = std::to_string(n),
                      s = std::to_string(seconds);
    Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n) VALUES (1, " + k +
        ", 'task', 'terminated', 'updator', " + count +
        ");INSERT INTO placements (campaign_id, cluster_id, n_ok, sum_s, sum_sq, hist) SELECT 1, " +
        k + ", " + count + ", " + count + " * " + s + ", " + count + " * " + s +
        "^2, array_agg(CASE WHEN i = floor((log(2, " + s + ") + 7) * 4) THEN " + count +
        " ELSE 0 END) FROM generate_series(0, 111) AS i;"
        "UPDATE campaign_cursor SET next_idx = next_idx + " +
        count);
  }

 private:
  std::unique_ptr<db::Connection> db_;
};

TEST_F(PredictorPgTest, ACampaignGetsARowAClusterAndOneAsAWhole) {  // CIG-47
  Pass();
  EXPECT_EQ(
      Number("SELECT count(*) FROM forecasts WHERE campaign_id = 1 AND cluster_id IN (0, 1, 2)"),
      3);
  EXPECT_EQ(Number("SELECT count(*) FROM forecasts_history"), 3);
  EXPECT_EQ(Number("SELECT count(end_low) FROM forecasts"), 0) << "nothing has ended: nobody knows";
}

TEST_F(PredictorPgTest, WhatAnAutomaticWalltimeAsksForIsAForecast) {  // FAIR-09
  GivenEnds(1, 20, 10.0);
  Pass();
  EXPECT_EQ(Number("SELECT count(walltime_s) FROM forecasts"), 0) << "not asked for";
  Sql("UPDATE campaign_clusters SET options = '{\"auto_walltime\": true, \"checkpoint\": "
      "{\"grace\": 40}}', walltime_s = 1000");
  Pass();
  EXPECT_EQ(Number("SELECT walltime_s FROM forecasts WHERE cluster_id = 1"), 90);
  EXPECT_EQ(Number("SELECT count(walltime_s) FROM forecasts"), 1) << "nothing has ended elsewhere";
}

TEST_F(PredictorPgTest, TheEndIsAnIntervalAroundTheWorkLeft) {  // CIG-31, CIG-48
  GivenEnds(1, 20, 10.0);
  Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots, sum_start) "
      "VALUES (1, 1, 'task', 'running', 'updator', 4, 4, 4 * extract(epoch FROM now()))");
  Sql("UPDATE campaign_cursor SET next_idx = next_idx + 4");
  Pass();
  const auto row =
      Sql("SELECT extract(epoch FROM end_low - now()), extract(epoch FROM end_high - now()), "
          "average_s FROM "
          "forecasts WHERE cluster_id = 0")[0];
  // 76 tasks of 10 s and 4 that have just begun, 4 at a time: 200 s.
  EXPECT_LT(row[0].as<double>(), 202);
  EXPECT_GT(row[1].as<double>(), 199);
  EXPECT_GT(row[0].as<double>(), 50);
  EXPECT_LT(row[1].as<double>(), 600);
  EXPECT_NEAR(row[2].as<double>(), 10, 0.01);
  EXPECT_EQ(Number("SELECT count(*) FROM forecasts WHERE end_low <= end_high AND cluster_id = 1"),
            1)
      << "of each cluster too";
}

// A job whose node's clock stood at 1970: the time of the end was none that a timestamp can hold,
// and no campaign got its forecast.
TEST_F(PredictorPgTest, AnEndThatIsBeyondAllTimesIsAFarOne) {
  GivenEnds(1, 20, 1.5e6);
  Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots, sum_start) "
      "VALUES (1, 1, 'task', 'running', 'updator', 1, 1, extract(epoch FROM now()));"
      "UPDATE campaign_cursor SET ntasks = 10000000, next_idx = next_idx + 1");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM forecasts WHERE end_high > now() + interval '99 years' "
                   "AND cluster_id = 0"),
            1);
}

TEST_F(PredictorPgTest, ATaskThatMovesFilesOrSavesItsWorkHasItsJobAlone) {  // CIG-07
  Sql("UPDATE clusters SET groups = true, gives_files = true");
  Sql("UPDATE campaign_clusters SET options = options || '{\"temporal_grouping\": 10}'");
  const auto together =
      "SELECT tasks_per_job FROM forecasts WHERE campaign_id = 1 AND cluster_id = 1";
  Pass();
  EXPECT_EQ(Number(together), 10);
  for (const std::string key : {"inputs", "outputs", "checkpoint"}) {
    Sql("UPDATE campaign_clusters SET options = jsonb_set('{\"temporal_grouping\": 10}', '{" + key +
        "}', '[]')");
    Pass();
    EXPECT_EQ(Number(together), 1) << key;
  }
}

TEST_F(PredictorPgTest, TasksShareAJobWhereTheGridCanReadWhatItWrites) {
  Sql("UPDATE clusters SET groups = true; UPDATE campaign_clusters SET options = options || "
      "'{\"temporal_grouping\": 10}'");
  const auto together =
      "SELECT tasks_per_job FROM forecasts WHERE campaign_id = 1 AND cluster_id = 1";
  Pass();
  EXPECT_EQ(Number(together), 1);
  Sql("UPDATE clusters SET options = options || '{\"shared_folder\": \"/home/%u/.cigri\"}'");
  Pass();
  EXPECT_EQ(Number(together), 10);
  Sql("UPDATE clusters SET options = options || '{\"records\": false}'");
  Pass();
  EXPECT_EQ(Number(together), 1);
}

TEST_F(PredictorPgTest, ShortJobsOfOthersDoNotLengthenTheQueueOfACampaign) {
  Sql("INSERT INTO usage (campaign_id, grid_user, project, cluster_id, bucket, slot_s, ok) SELECT "
      "77, 'bob', '', c, date_trunc('minute', now()), 3, 3000 FROM generate_series(1, 2) AS c");
  Pass();
  EXPECT_EQ(Number("SELECT max(waiting_allowed) FROM forecasts"), 1);
  GivenEnds(1, 20, 10.0);
  Pass();
  EXPECT_EQ(Number("SELECT waiting_allowed FROM forecasts WHERE cluster_id = 2"), 2)
      << "4 slots and 10 s a job, as measured on the other cluster: two end in 5 s";
}

TEST_F(PredictorPgTest, NothingChangedMeansNothingWritten) {
  Predictor predictor;
  auto db = Connect();
  auto step = StepOf(*db);
  predictor.Pass(step);
  const auto before = Number("SELECT txid_snapshot_xmax(txid_current_snapshot())");
  auto again = StepOf(*db);
  again.fresh = false;
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(600))
    predictor.Pass(again);
  EXPECT_EQ(Number("SELECT txid_snapshot_xmax(txid_current_snapshot())"), before);
}

// It stood still while another leader took over, and its forecasts replaced newer ones.
TEST_F(PredictorPgTest, UnderAnEpochThatIsOverNothingIsForecast) {  // high-availability 2
  auto db = Connect();
  auto step = StepOf(*db);
  --step.epoch;
  EXPECT_THROW(Predictor().Pass(step), module::StaleEpoch);
  EXPECT_EQ(Number("SELECT count(*) FROM forecasts"), 0);
}

// Where nothing ends any more, as on drained clusters.
TEST_F(PredictorPgTest, ARateAndAnEndThatNothingHoldsUpFade) {
  config.Set("CAMPAIGN_THROUGHPUT_WINDOW", "2");
  Predictor predictor;
  auto db = Connect();
  const auto pass_until = [&](const std::string& what, const std::string& before = "SELECT") {
    const auto began = std::chrono::steady_clock::now();
    while (Number("SELECT count(*) FROM forecasts WHERE cluster_id = 0 AND " + what) == 0) {
      ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60)) << what;
      Sql(before);
      auto step = StepOf(*db);
      predictor.Pass(step);
    }
  };
  pass_until("rate = 0");
  GivenEnds(1, 20, 10.0);
  // Where the window has gone by since the last pass, an end before it gives no rate.
  pass_until("rate > 0 AND end_high IS NOT NULL",
             "UPDATE counters SET n = n + 1 WHERE state = 'terminated'");
  pass_until("rate = 0 AND end_high IS NULL");
}

// Each row costs 360 bytes of WAL, and a rate falls through a step each second at first.
TEST_F(PredictorPgTest, ARateThatFallsAloneIsNotWrittenAsOftenAsWhatHappens) {
  Predictor predictor;
  auto db = Connect();
  std::int64_t writes = 0;
  std::string last;
  const auto pass_for = [&](std::chrono::milliseconds time) {
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < time) {
      auto step = StepOf(*db);
      predictor.Pass(step);
      const auto rows = Sql("SELECT xmin FROM forecasts WHERE cluster_id = 0");
      if (rows.empty() || rows[0][0].c_str() == last) continue;
      last = rows[0][0].c_str();
      ++writes;
    }
  };
  pass_for(std::chrono::milliseconds(300));
  GivenEnds(1, 20, 10.0);
  pass_for(std::chrono::seconds(3));  // the ends are news; the rate of 20 in 3 s falls from now on
  writes = 0;
  pass_for(std::chrono::seconds(6));
  EXPECT_LE(writes, 1);
}

TEST_F(PredictorPgTest, ACampaignThatIsOverIsLeftAsItWas) {
  Pass();
  Sql("UPDATE campaigns SET state = 'terminated'; DELETE FROM forecasts");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM forecasts"), 0);
}

}  // namespace
}  // namespace cigri::predictor
