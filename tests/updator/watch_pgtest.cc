// Jobs that stay on hold, or give no sign of their start: told only when it lasts.
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
  void LookHeld(const Answer& answer) {
    auto c = Connect();
    db::Tx tx(*c);
    Memory memory;
    memory.Load(tx);
    held_.Look(tx, memory, answer);
    tx.Commit();
  }
  // Jobs of these elements are running and silent.
  void LookSilent(const std::vector<int>& elements, seconds at) {
    Answer a;
    a.cluster_id = 1;
    a.ok = true;
    a.began = start_ + at;
    for (const int i : elements) {
      cluster::RemoteJob job;
      job.ref = test::RefOf("12_" + std::to_string(i), "arr", i);
      job.state = cluster::RemoteState::kRunning;
      job.node = "n4";
      job.silent = true;
      a.poll.jobs.push_back(job);
    }
    auto c = Connect();
    db::Tx tx(*c);
    Memory memory;
    memory.Load(tx);
    silent_.Look(tx, memory, a, "luke");
    tx.Commit();
  }
  std::string Silent() {
    return Sql("SELECT coalesce(string_agg(job_id || '/' || round(extract(epoch FROM now() - "
               "since)), ' ' "
               "ORDER BY job_id), '') FROM silent_jobs")[0][0]
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
  SilentWatch silent_;
};

TEST_F(WatchPgTest, ABatchThatIsOnHoldForHalfAMinuteIsToldAndAgainAfterAsLong) {
  LookHeld(Polled("slurm/array-held", seconds(0)));
  LookHeld(Polled("slurm/array-held", seconds(29)));
  EXPECT_EQ(Count("still_held"), 0) << "its release may still be on its way";
  LookHeld(Polled("slurm/array-held", seconds(30)));
  EXPECT_EQ(Count("still_held WHERE batch_id = 7 AND cluster_id = 1"), 1);
  Sql("DELETE FROM still_held");  // as the runner does
  LookHeld(Polled("slurm/array-held", seconds(50)));
  EXPECT_EQ(Count("still_held"), 0);
  LookHeld(Polled("slurm/array-held", seconds(60)));
  EXPECT_EQ(Count("still_held"), 1) << "the release did not take";
}

TEST_F(WatchPgTest, WhatRanMeanwhileIsNotOnHoldAndItsTimeBeginsAnew) {
  LookHeld(Polled("slurm/array-held", seconds(0)));
  LookHeld(Polled("slurm/array-done", seconds(20)));
  LookHeld(Polled("slurm/array-held", seconds(40)));
  EXPECT_EQ(Count("still_held"), 0);
  LookHeld(Polled("slurm/array-held", seconds(70)));
  EXPECT_EQ(Count("still_held"), 1);
}

TEST_F(WatchPgTest, JobsWithoutASignOfTheirStartAreNamedAfterAMinuteUntilThereIsOne) {
  LookSilent({1, 2}, seconds(0));
  LookSilent({1}, seconds(30));  // 2 has begun
  EXPECT_EQ(Silent(), "");
  LookSilent({1, 2, 19}, seconds(61));
  EXPECT_EQ(Silent(), "101/61") << "19 is not in flight";
  EXPECT_EQ(
      Message(),
      "luke says of jobs of ours that they are starting or running, and they give no sign of it or "
      "have ended by their own record (if it lasts they are killed, and those that have not "
      "succeeded "
      "go again): 12_1 on n4");
  LookSilent({1, 2}, seconds(62));
  LookSilent({1, 2}, seconds(121));
  EXPECT_EQ(Silent(), "101/61 102/60") << "since when does not change";
  EXPECT_EQ(Count("events WHERE state = 'open'"), 1);
  LookSilent({}, seconds(130));
  EXPECT_EQ(Silent(), "");
  EXPECT_EQ(Message(), "");
}

}  // namespace
}  // namespace cigri::updator
