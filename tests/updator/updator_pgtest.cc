// The pass as it runs: real tables, fake clusters that answer from a script.
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"
#include "tests/updator/fake_cluster.h"
#include "updator/memory.h"
#include "updator/store.h"
#include "updator/updator.h"

namespace cigri::updator {
namespace {

using cluster::RemoteState;

class UpdatorPgTest : public test::RowsTest {
 protected:
  UpdatorPgTest()
      : updator_([this](const clusterdb::ClusterRow& row) {
          if (row.config.id == broken_) throw std::runtime_error("no such kind");
          return std::make_unique<FakeCluster>(script_, feed_);
        }) {}
  void SetUp() override {
    RowsTest::SetUp();
    GivenClusters(1);
    grid_ = Sql("SELECT grid_id FROM grid")[0][0].c_str();
    db_ = Connect();
  }
  void TearDown() override {
    script_->Close();
    db_.reset();
    RowsTest::TearDown();
  }

  void Pass() {
    module::Step step{*db_,   config_,   Number("SELECT epoch FROM grid"), ++number_, fresh_,
                      waker_, conninfo()};
    updator_.Pass(step);
    fresh_ = false;
  }
  // Lets the cluster answer, and makes the cycle that its poller asks for.
  void PassWith(const cluster::PollResult& answer) {
    script_->Answer(answer);
    ++answers_;
    ASSERT_TRUE(test::Await([&] { return waker_.wakes >= answers_; })) << "no cycle asked for";
    Pass();
  }
  // What the cluster was asked in poll number `n`, from 1.
  cluster::PollRequest Request(std::size_t n) {
    EXPECT_TRUE(test::Await([&] { return script_->requests().size() >= n; }));
    return script_->requests().at(n - 1);
  }

  std::int64_t Number(const std::string& query) { return Sql(query)[0][0].as<std::int64_t>(); }
  std::string Text(const std::string& query) { return Sql(query)[0][0].as<std::string>(""); }
  std::string Token() { return Text("SELECT max(feed_token) FROM cluster_status"); }

  // The runner has claimed `n` tasks of campaign 1: jobs 100, 101, ...
  void GivenIntended(int n) {
    GivenCampaign({.ntasks = n});
    Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, "
        "slots, "
        "tag, epoch, send_by) VALUES (7, 100, 'task', 1, 1, " +
        std::to_string(n) + ", 0, 1, '" + Tag() +
        "', 0, now());"
        "UPDATE campaign_cursor SET next_idx = ntasks");
  }
  void Record() {
    Sql("UPDATE batches SET state = 'recorded', recorded_at = now(), "
        "recorded_xid = pg_current_xact_id();"
        "INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
        "remote_id, attempt, slots) SELECT 100 + i, 1, i, 'task', 7, i, 1, 'r' || i, 1, 1 "
        "FROM batches, generate_series(0, n - 1) AS i");
  }
  void GivenRecorded(int n) {
    GivenIntended(n);
    Record();
  }
  std::string Tag() const { return "cigri.1." + grid_ + ".aa"; }

  cluster::RemoteJob Job(int element, RemoteState state, int wait_status = 0) const {
    cluster::RemoteJob job;
    job.ref.remote_id = "r" + std::to_string(element);
    job.ref.tag = Tag();
    job.ref.index = element;
    job.state = state;
    if (state == RemoteState::kEnded) job.wait_status = wait_status;
    return job;
  }
  static cluster::PollResult Changes(std::vector<cluster::RemoteJob> jobs,
                                     const std::string& token = "") {
    cluster::PollResult result;
    result.jobs = std::move(jobs);
    result.full = false;
    result.token = token;
    return result;
  }

  const std::shared_ptr<FakeScript> script_ = std::make_shared<FakeScript>();
  bool feed_ = false, fresh_ = true;
  std::int64_t broken_ = 0, number_ = 0;
  int answers_ = 0;
  std::string grid_;
  Config config_;
  test::TestWaker waker_;
  std::unique_ptr<db::Connection> db_;
  Updator updator_;
};

TEST_F(UpdatorPgTest, AnAnswerIsWrittenAndTheNextPollAsksAboutWhatIsLeft) {
  GivenRecorded(2);
  Pass();
  const auto first = Request(1);
  ASSERT_EQ(first.jobs.size(), 2u);
  EXPECT_EQ(first.jobs[0].known, std::nullopt);
  PassWith(Changes({Job(0, RemoteState::kRunning), Job(1, RemoteState::kEnded)}));
  EXPECT_EQ(Text("SELECT string_agg(job_id || state::text, ' ') FROM live"), "100running");
  EXPECT_EQ(Text("SELECT string_agg(job_id || state::text, ' ') FROM done"), "101terminated");
  const auto second = Request(2);
  ASSERT_EQ(second.jobs.size(), 1u);
  EXPECT_EQ(second.jobs[0].job_id, 100);
  EXPECT_EQ(second.jobs[0].known, RemoteState::kRunning);
  PassWith(Changes({Job(0, RemoteState::kEnded)}));
  EXPECT_EQ(Text("SELECT state FROM campaigns"), "terminated");
  EXPECT_GE(Count("gridstatus WHERE max_resources = 10"), 1);
  ExpectConservation(1);
}

// Before the pass published the lists of jobs it was two: one to ask for the list, one to hand in
// the answer.
TEST_F(UpdatorPgTest, APollCostsOneCycleOfTheGrid) {
  GivenRecorded(1);
  Pass();
  for (int i = 1; i <= 5; ++i) {
    PassWith(Changes({Job(0, i % 2 == 1 ? RemoteState::kRunning : RemoteState::kWaiting)}));
    Request(static_cast<std::size_t>(i) + 1);  // the next poll has begun, and asked for nothing
    EXPECT_EQ(waker_.wakes, i);
  }
}

TEST_F(UpdatorPgTest, TheResourceClassesThatCampaignsAskForAreCounted) {
  GivenRecorded(2);
  const auto classes = [&] {
    return Text("SELECT string_agg(concat_ws(' ', request, name, total, free, used_by_cigri), ', ' "
                "ORDER BY request) FROM resource_classes");
  };
  Sql("INSERT INTO resource_classes VALUES (1, 'left over', 'GPUs', 9, 9, 0)");
  Sql("UPDATE campaign_clusters SET resource_class = 'gpu', class_units = 2");
  GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaign_clusters SET resource_class = 'unknown there' WHERE campaign_id = 2");
  Pass();
  PassWith(Changes({Job(0, RemoteState::kRunning), Job(1, RemoteState::kWaiting)}));
  EXPECT_EQ(classes(), "gpu GPUs 4 3 2, unknown there 0 0 0") << "one job that runs has two";
}

TEST_F(UpdatorPgTest, ABatchThatIsRecordedWhileAClusterRestsIsInTheNextPoll) {
  Pass();
  EXPECT_TRUE(Request(1).jobs.empty());
  GivenRecorded(1);
  script_->Answer({});
  // The updator sees that there is a campaign when it reads the clusters again.
  ASSERT_TRUE(test::Await([&] {
    Pass();
    return script_->requests().size() == 2;
  }));
  EXPECT_EQ(Request(2).jobs.size(), 1u);
}

// While a transaction is open that is older, the batches recorded since are read in each pass;
// those whose jobs had all ended were kept for as long as the updator ran.
TEST_F(UpdatorPgTest, AGridThatHasFilledIsPlannedForAtOnce) {
  GivenRecorded(2000);
  // as an autovacuum leaves it that has found the table almost empty
  Sql("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid = 'live'::regclass");
  Pass();
  EXPECT_EQ(Number("SELECT reltuples::bigint FROM pg_class WHERE oid = 'live'::regclass"), 2000);
}

TEST_F(UpdatorPgTest, ABatchWithoutJobsInFlightIsNotRemembered) {
  auto db = Connect();
  Memory memory;
  const auto refresh = [&] {
    db::Tx tx(*db);
    Store store(tx);
    memory.Refresh(store);
  };
  GivenRecorded(2);
  refresh();
  ASSERT_NE(memory.BatchOf(Tag()), nullptr);
  memory.Ended(100);
  memory.Ended(101);
  ASSERT_EQ(memory.BatchOf(Tag()), nullptr);
  Sql("DELETE FROM live");
  Sql("UPDATE batches SET recorded_xid = (pg_current_xact_id()::text::bigint + 1000)::text::xid8");
  refresh();
  EXPECT_EQ(memory.BatchOf(Tag()), nullptr);
  EXPECT_EQ(memory.BatchById(7), nullptr);
}

TEST_F(UpdatorPgTest, AReportThatComesBeforeTheRecordWaitsAndItsTokenIsNotStored) {
  feed_ = true;
  GivenIntended(1);
  Pass();
  PassWith(Changes({Job(0, RemoteState::kEnded)}, "t1"));
  EXPECT_EQ(Count("done"), 0);
  EXPECT_EQ(Token(), "") << "after a crash the feed must say it again";
  PassWith(Changes({}, "t2"));
  EXPECT_EQ(Token(), "") << "it still waits";
  Record();
  Pass();
  EXPECT_EQ(Text("SELECT string_agg(job_id || state::text, ' ') FROM done"), "100terminated");
  ExpectConservation(1);
  PassWith(Changes({}, "t3"));
  EXPECT_EQ(Token(), "t3");
}

TEST_F(UpdatorPgTest, AReportOfARefusedBatchHoldsNoTokenBack) {
  feed_ = true;
  GivenIntended(1);
  Pass();
  PassWith(Changes({Job(0, RemoteState::kRunning)}, "t1"));
  EXPECT_EQ(Token(), "");
  Sql("UPDATE batches SET state = 'refused'");
  Pass();
  PassWith(Changes({}, "t2"));
  EXPECT_EQ(Token(), "t2");
  EXPECT_EQ(Count("live"), 0);
}

TEST_F(UpdatorPgTest, AReportWithATagOfAnotherGridIsIgnored) {
  feed_ = true;
  GivenIntended(1);
  Pass();
  auto foreign = Job(0, RemoteState::kEnded);
  foreign.ref.tag = "cigri.1.othergrid.aa";
  PassWith(Changes({foreign}, "t1"));
  EXPECT_EQ(Token(), "t1") << "nothing waits";
}

TEST_F(UpdatorPgTest, AfterAPassThatFailedTheFeedIsAskedFromTheStoredTokenAgain) {
  feed_ = true;
  GivenRecorded(1);
  Pass();
  PassWith(Changes({Job(0, RemoteState::kRunning)}, "t1"));
  EXPECT_EQ(Token(), "t1");
  Sql("ALTER TABLE counters RENAME TO hidden");
  script_->Answer(Changes({Job(0, RemoteState::kEnded)}, "t2"));
  ++answers_;
  ASSERT_TRUE(test::Await([&] { return waker_.wakes == answers_; }));
  EXPECT_THROW(Pass(), db::SqlError);
  Sql("ALTER TABLE hidden RENAME TO counters");
  EXPECT_EQ(Token(), "t1");
  EXPECT_EQ(Count("live WHERE state = 'running'"), 1) << "nothing of the failed pass is left";

  const auto asked = script_->requests().size();
  Pass();  // begins again: with a new poller
  ASSERT_TRUE(test::Await([&] {
    const auto requests = script_->requests();
    return requests.size() > asked && requests.back().token == "t1";
  }));
  // One poll of the dropped poller may still take an answer: nobody hears it.
  const auto again = Changes({Job(0, RemoteState::kEnded)}, "t2");
  script_->Answer(again);
  script_->Answer(again);
  ASSERT_TRUE(test::Await([&] {
    Pass();
    return Count("done") == 1;
  }));
  EXPECT_EQ(Token(), "t2");
  ExpectConservation(1);
}

TEST_F(UpdatorPgTest, AfterALostSessionTheJobsInFlightAreReadAgain) {
  GivenRecorded(2);
  Pass();
  PassWith(Changes({Job(0, RemoteState::kRunning)}));
  Sql("SELECT pg_terminate_backend(" + std::to_string(db_->backend_pid()) + ")");
  ASSERT_TRUE(test::Await([&] {
    return Count("pg_stat_activity WHERE pid = " + std::to_string(db_->backend_pid())) == 0;
  }));
  EXPECT_THROW(Pass(), db::Broken);
  Sql("DELETE FROM live WHERE job_id = 101");  // somebody else changed the tables meanwhile
  db_ = Connect();
  fresh_ = true;
  const auto asked = script_->requests().size();
  Pass();
  ASSERT_TRUE(test::Await([&] { return script_->requests().size() > asked; }));
  const auto request = script_->requests().back();
  ASSERT_EQ(request.jobs.size(), 1u);
  EXPECT_EQ(request.jobs[0].job_id, 100);
  EXPECT_EQ(request.jobs[0].known, RemoteState::kRunning);
}

TEST_F(UpdatorPgTest, AFeedThatBeginsAgainEndsTheJobsThatItDoesNotListAndTheirTasksAreRetried) {
  feed_ = true;
  GivenRecorded(2);
  Pass();
  auto whole = Changes({Job(0, RemoteState::kRunning)}, "t1");
  whole.full = true;
  PassWith(whole);
  EXPECT_EQ(Text("SELECT string_agg(job_id::text, ' ') FROM live"), "100");
  EXPECT_EQ(Text("SELECT string_agg(code || exit_class::text, ' ') FROM done"),
            "UNKNOWN_ENDinfrastructure");
  EXPECT_EQ(Count("retry WHERE idx = 1"), 1);
  ExpectConservation(1);
}

// The answer was made before the job was submitted, and taken after it had been recorded: the job
// ended for the grid, and its task ran twice.
TEST_F(UpdatorPgTest, AJobThatIsRecordedSinceAFullAnswerBeganIsNotGone) {
  feed_ = true;
  GivenIntended(2);
  Pass();
  Request(1);
  Record();
  auto whole = Changes({Job(0, RemoteState::kRunning)}, "t1");
  whole.full = true;
  PassWith(whole);
  EXPECT_EQ(Count("live"), 2);
  EXPECT_EQ(Request(2).token, "t1") << "this poll had begun";
  PassWith(Changes({}, "t2"));
  EXPECT_EQ(Request(3).token, "") << "asks for all jobs once more";
  PassWith(whole);
  EXPECT_EQ(Text("SELECT string_agg(job_id::text, ' ') FROM live"), "100") << "it is not there";
  EXPECT_EQ(Request(4).token, "t1");
}

TEST_F(UpdatorPgTest, JobsOnALostClusterEndAndTheirTasksLoseNoTry) {
  GivenRecorded(2);
  Sql("UPDATE clusters SET lost_at = now() + interval '1 second'");
  Pass();
  EXPECT_EQ(Count("live"), 0);
  EXPECT_EQ(Count("retry WHERE why = 'NODE_FAILED'"), 2);
  EXPECT_EQ(Number("SELECT sum(program) FROM tries"), 0);
  ExpectConservation(1);
}

TEST_F(UpdatorPgTest, AClusterThatCannotBeDrivenDelaysNoOther) {
  Sql("INSERT INTO clusters (id, name, kind, api_url) VALUES (2, 'c2', 'local', 'unix:/nowhere')");
  broken_ = 2;
  GivenRecorded(1);
  Pass();
  PassWith(Changes({Job(0, RemoteState::kEnded)}));
  EXPECT_EQ(Count("done WHERE counted"), 1);
}

// A host without the key of the grid: its log said why every two seconds, and nothing else did.
TEST_F(UpdatorPgTest, WhyAClusterCannotBeDrivenIsSaidUntilItCan) {
  broken_ = 1;
  ASSERT_TRUE(test::Await([&] {
    Pass();
    return Count("events WHERE code = 'CLUSTER_ERROR' AND state = 'open'") == 1;
  }));
  EXPECT_EQ(Sql("SELECT error FROM cluster_status WHERE cluster_id = 1")[0][0].c_str(),
            std::string("cannot be driven: no such kind"));
  EXPECT_EQ(Count("cluster_status WHERE failing_since IS NOT NULL"), 1);
  broken_ = 0;
  script_->Answer(Changes({}));
  EXPECT_TRUE(test::Await([&] {
    Pass();
    return Count("events WHERE code = 'CLUSTER_ERROR' AND state = 'open'") == 0;
  }));
}

TEST_F(UpdatorPgTest, UnderAnOldEpochNothingIsWritten) {
  GivenRecorded(1);
  Pass();
  script_->Answer(Changes({Job(0, RemoteState::kEnded)}));
  ASSERT_TRUE(test::Await([&] { return waker_.wakes == 1; }));
  module::Step step{*db_, config_, Number("SELECT epoch FROM grid"), 9, false, waker_, conninfo()};
  Sql("UPDATE grid SET epoch = epoch + 1");
  EXPECT_THROW(updator_.Pass(step), module::StaleEpoch);
  EXPECT_EQ(Count("done"), 0);
}

// Node n1 fails the jobs of two campaigns at once, and n2 completes some.
class BlackHoleNodePgTest : public UpdatorPgTest {
 protected:
  void SetUp() override {
    UpdatorPgTest::SetUp();
    Sql("UPDATE clusters SET dedicated = false, kind = 'oar2'");
    GivenRecorded(6);
    const auto other = std::to_string(GivenCampaign({.ntasks = 2}));
    Sql("UPDATE campaigns SET grid_user = 'somebody else' WHERE id = " + other);
    Sql("UPDATE campaign_cursor SET next_idx = ntasks; UPDATE campaigns SET max_tries = 1;"
        "UPDATE live SET campaign_id = " + other + ", idx = element - 4 WHERE element >= 4;"
        "UPDATE campaign_cursor SET ntasks = 4, next_idx = 4 WHERE campaign_id = 1");
  }
  cluster::RemoteJob EndOn(const std::string& node, int element, int wait_status) {
    auto job = Job(element, RemoteState::kEnded, wait_status);
    job.node = node;
    job.started_at = 1000;
    job.ended_at = 1001;
    return job;
  }
  cluster::PollResult At(std::vector<cluster::RemoteJob> jobs) {
    auto result = Changes(std::move(jobs));
    result.cluster_time = 1001;
    return result;
  }
};

TEST_F(BlackHoleNodePgTest, IsExcludedAndWhatItFailedIsRetriedUncharged) {
  Pass();
  PassWith(At({EndOn("n2", 0, 0), EndOn("n1", 1, 1 << 8), EndOn("n1", 2, 1 << 8),
               EndOn("n1", 4, 1 << 8), EndOn("n1", 5, 1 << 8)}));
  EXPECT_EQ(Text("SELECT node FROM bad_nodes WHERE until > now() + interval '4 minutes'"), "n1");
  EXPECT_EQ(Number("SELECT count(*) FROM retry WHERE why = 'BLACK_HOLE_NODE'"), 4);
  EXPECT_EQ(Number("SELECT coalesce(sum(program), 0) FROM tries"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM needs_attention"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'EXIT_ERROR' AND state = 'open'"), 0);
  const auto said = Text("SELECT message FROM events WHERE code = 'BLACK_HOLE_NODE'");
  EXPECT_NE(said.find("node n1 of c1 failed 4 jobs of 2 campaigns"), std::string::npos) << said;
  ExpectConservation(1);
}

TEST_F(BlackHoleNodePgTest, OneUsersJobsThatFailThereExcludeNoNode) {
  Sql("UPDATE campaigns SET grid_user = 'bob'");
  Pass();
  PassWith(At({EndOn("n2", 0, 0), EndOn("n1", 1, 1 << 8), EndOn("n1", 2, 1 << 8),
               EndOn("n1", 4, 1 << 8), EndOn("n1", 5, 1 << 8)}));
  EXPECT_EQ(Number("SELECT count(*) FROM bad_nodes"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'BLACK_HOLE_NODE'"), 0);
}

TEST_F(BlackHoleNodePgTest, TheLastNodeIsNeverExcludedAndTheEventSaysSo) {
  Pass();
  PassWith(At({EndOn("n1", 1, 1 << 8), EndOn("n1", 2, 1 << 8), EndOn("n1", 4, 1 << 8),
               EndOn("n1", 5, 1 << 8)}));
  EXPECT_EQ(Number("SELECT count(*) FROM bad_nodes"), 0);
  const auto said = Text("SELECT message FROM events WHERE code = 'BLACK_HOLE_NODE'");
  EXPECT_NE(said.find("no other node of the cluster is known to work"), std::string::npos) << said;
  EXPECT_EQ(Number("SELECT count(*) FROM needs_attention"), 4) << "their users look at it";
}

TEST_F(BlackHoleNodePgTest, ATrialThatSucceedsGivesItBackAndOneThatFailsExcludesItForLonger) {
  Sql("INSERT INTO bad_nodes (cluster_id, node, until) VALUES (1, 'n1', now());"
      "UPDATE batches SET node = 'n1';"
      "INSERT INTO events (class, code, cluster_id, fingerprint) "
      "VALUES ('cluster', 'BLACK_HOLE_NODE', 1, 'n1')");
  Pass();
  PassWith(At({EndOn("n1", 0, 1 << 8)}));
  EXPECT_EQ(Number("SELECT times FROM bad_nodes WHERE until > now() + interval '9 minutes'"), 2);
  PassWith(At({EndOn("n1", 1, 0)}));
  EXPECT_EQ(Number("SELECT count(*) FROM bad_nodes"), 0);
  EXPECT_EQ(Text("SELECT state FROM events WHERE code = 'BLACK_HOLE_NODE'"), "closed");
}

// After a month of daily trials the time doubled beyond all that a timestamp can hold, and the end
// of the trial could never be stored.
TEST_F(BlackHoleNodePgTest, ANodeThatStaysBadIsTriedOnceADay) {
  Sql("INSERT INTO bad_nodes (cluster_id, node, until, times) VALUES (1, 'n1', now(), 1000);"
      "UPDATE batches SET node = 'n1';"
      "INSERT INTO events (class, code, cluster_id, fingerprint) "
      "VALUES ('cluster', 'BLACK_HOLE_NODE', 1, 'n1')");
  Pass();
  PassWith(At({EndOn("n1", 0, 1 << 8)}));
  EXPECT_EQ(Number("SELECT times FROM bad_nodes WHERE until BETWEEN now() + interval '23 hours' "
                   "AND now() + interval '1 day'"),
            1001);
}

TEST_F(BlackHoleNodePgTest, AnOperatorGivesItBackByClosingItsEvent) {
  Sql("INSERT INTO bad_nodes (cluster_id, node, until) VALUES (1, 'n1', now())");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM bad_nodes"), 0);
}

}  // namespace
}  // namespace cigri::updator
