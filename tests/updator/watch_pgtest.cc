// Jobs that stay on hold or give no sign of life are reported only when it lasts.
#include "tests/cluster/recorded_server.h"
#include "tests/support/rows.h"
#include "updator/watch.h"

namespace cigri::updator {
namespace {

using std::chrono::seconds;

class WatchPgTest : public test::RowsTest {
 protected:
  // A recorded batch 7 of 20 jobs on cluster 1 with the tag of the recorded answers; those of
  // elements 0 to 18 are in flight.
  void SetUp() override {
    RowsTest::SetUp();
    GivenClusters(1);
    GivenCampaign({.ntasks = 20});
    Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, "
        "slots, tag, state, "
        "epoch, send_by, released) VALUES (7, 100, 'task', 1, 1, 20, 0, 1, 'arr', 'recorded', 0, "
        "now(), true); "
        "INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
        "remote_id, attempt, "
        "slots) SELECT 100 + i, 1, i, 'task', 7, i, 1, '12_' || i, 1, 1 FROM generate_series(0, "
        "18) AS i");
    config_ = test::ConfigOf("slurm", server_.port());
  }
  // What the poller makes of a recorded answer about jobs 12_16 .. 12_18, `at` that time.
  Answer Polled(const std::string& fixture, seconds at) {
    server_.On("GET", "/job/12", test::Fixture(fixture));
    Answer a;
    a.cluster_id = 1;
    a.ok = a.holds = true;
    a.began = start_ + at;
    cluster::PollRequest request;
    for (int i = 16; i <= 18; ++i)
      request.jobs.push_back(test::RefOf("12_" + std::to_string(i), "arr", i));
    a.poll = cluster::MakeCluster(config_)->Poll(request);
    EXPECT_EQ(a.poll.jobs.size(), 3u);
    return a;
  }
  void UpdateHeld(const Answer& answer) {
    auto c = Connect();
    db::Tx tx(*c);
    Memory memory;
    Store store(tx);
    memory.Load(store);
    held_.Update(store, memory, answer);
    tx.Commit();
  }
  // Jobs of these elements are running and silent.
  void UpdateUnresponsive(const std::vector<int>& elements, seconds at) {
    Answer a;
    a.cluster_id = 1;
    a.ok = true;
    a.began = start_ + at;
    for (const int i : elements) {
      cluster::RemoteJob job;
      job.ref = test::RefOf("12_" + std::to_string(i), "arr", i);
      job.state = cluster::RemoteState::kRunning;
      job.node = "n4";
      job.unresponsive = true;
      a.poll.jobs.push_back(job);
    }
    auto c = Connect();
    db::Tx tx(*c);
    Memory memory;
    Store store(tx);
    memory.Load(store);
    unresponsive_.Update(store, memory, a, "luke");
    tx.Commit();
  }
  std::string Unresponsive() {
    return Sql("SELECT coalesce(string_agg(job_id::text, ' ' ORDER BY job_id), '') FROM "
               "unresponsive_jobs")[0][0]
        .c_str();
  }
  std::string Since(int job) {
    return Sql("SELECT since FROM unresponsive_jobs WHERE job_id = " + std::to_string(job))[0][0]
        .c_str();
  }
  std::string Message() {
    return Sql("SELECT coalesce(max(message), '') FROM events WHERE state = 'open' AND code = "
               "'NOT_STARTING'")[0][0]
        .c_str();
  }
  test::RecordedServer server_;
  cluster::ClusterConfig config_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  HeldWatch held_;
  UnresponsiveWatch unresponsive_;
};

TEST_F(WatchPgTest, ABatchOnHoldIsReportedEveryHalfMinute) {
  UpdateHeld(Polled("slurm/array-held", seconds(0)));
  UpdateHeld(Polled("slurm/array-held", seconds(29)));
  EXPECT_EQ(Count("still_held"), 0) << "its release may still be on its way";
  UpdateHeld(Polled("slurm/array-held", seconds(30)));
  EXPECT_EQ(Count("still_held WHERE batch_id = 7 AND cluster_id = 1"), 1);
  Sql("DELETE FROM still_held");  // as the runner does
  UpdateHeld(Polled("slurm/array-held", seconds(50)));
  EXPECT_EQ(Count("still_held"), 0);
  UpdateHeld(Polled("slurm/array-held", seconds(60)));
  EXPECT_EQ(Count("still_held"), 1) << "the release did not take";
}

TEST_F(WatchPgTest, ABatchThatRanMeanwhileStartsItsHalfMinuteAgain) {
  UpdateHeld(Polled("slurm/array-held", seconds(0)));
  UpdateHeld(Polled("slurm/array-done", seconds(20)));
  UpdateHeld(Polled("slurm/array-held", seconds(40)));
  EXPECT_EQ(Count("still_held"), 0);
  UpdateHeld(Polled("slurm/array-held", seconds(70)));
  EXPECT_EQ(Count("still_held"), 1);
}

TEST_F(WatchPgTest, JobsWithoutASignOfLifeAreNamedAfterAMinuteUntilTheyGiveOne) {
  UpdateUnresponsive({1, 2}, seconds(0));
  UpdateUnresponsive({1}, seconds(30));  // 2 has begun
  EXPECT_EQ(Unresponsive(), "");
  UpdateUnresponsive({1, 2, 19}, seconds(61));
  EXPECT_EQ(Unresponsive(), "101") << "19 is not in flight";
  EXPECT_EQ(Count("unresponsive_jobs WHERE since <= now() - interval '61 seconds'"), 1);
  const auto since = Since(101);
  EXPECT_EQ(Message(),
            "luke says that jobs of ours are starting or running, but the jobs give no sign of "
            "life or have recorded their end. If this lasts, nikita kills them, and the grid "
            "retries those that have not succeeded: 12_1 on n4");
  UpdateUnresponsive({1, 2}, seconds(62));
  UpdateUnresponsive({1, 2}, seconds(121));
  EXPECT_EQ(Unresponsive(), "101 102");
  EXPECT_EQ(Since(101), since) << "the time since when does not change";
  EXPECT_EQ(Count("events WHERE state = 'open'"), 1);
  UpdateUnresponsive({}, seconds(130));
  EXPECT_EQ(Unresponsive(), "");
  EXPECT_EQ(Message(), "");
}

}  // namespace
}  // namespace cigri::updator
