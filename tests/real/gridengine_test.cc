// The driver gridengine on a real Grid Engine 8.1.9 (scripts/clusters/gridengine-up).
#include "core/text.h"
#include "real_cluster.h"
#include "tests/support/await.h"

namespace cigri::real {
namespace {

using namespace std::chrono_literals;
using cluster::EndCause;
using cluster::RemoteState;

class RealGridEngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Allowed()) RunScript("gridengine-up");
  }
  static void TearDownTestSuite() {
    if (Allowed() && std::getenv("CIGRI_REAL_KEEP") == nullptr) RunScript("gridengine-down");
  }
  void SetUp() override {
    if (!Allowed())
      GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts Grid Engine";
    engine_ = cluster::MakeCluster(Config());
  }
  static cluster::ClusterConfig Config() {
    cluster::ClusterConfig config;
    config.name = "digitalis";
    config.kind = "gridengine";
    config.api_url = "local:";
    config.auth_user = "grid";
    config.options = {
        {"command_wrapper", CIGRI_SOURCE_DIR "/scripts/clusters/gridengine-up --run %u"},
        {"shared_folder", "/home/%u/.cigri"}};
    return config;
  }
  std::unique_ptr<cluster::Cluster> engine_;
};

TEST_F(RealGridEngineTest, ParametersReachTheProgramByteForByte) {
  ExpectOddValuesToArrive(*engine_, "grid");
}

TEST_F(RealGridEngineTest, EndsAreReportedAsTheyWere) {
  const auto ends = ExpectEndsAsTheyWere(*engine_, "grid");
  EXPECT_EQ(ends.size(), 7u);
}

TEST_F(RealGridEngineTest, TheJobHasItsEnvironmentItsSlotsAndItsOutput) {
  auto batch = BatchOf("grid", {"echo $greeting; echo $CIGRI_TASK_INDEX $CIGRI_JOB_ID; pwd; wc -l "
                                "<$CIGRI_NODE_FILE; echo oops >&2; exit 1"});
  batch.setup = "greeting='hello # world'";
  batch.directory = "$HOME";
  batch.slots = 3;
  const auto refs = SubmitAll(*engine_, batch);
  ASSERT_TRUE(Await(*engine_, refs, 60s).all);
  EXPECT_EQ(engine_->ReadOutput(refs[0], cluster::Stream::kStdout, 0, 10000).bytes,
            "hello # world\n50 1000\n/home/grid\n3\n");
  EXPECT_EQ(engine_->ReadOutput(refs[0], cluster::Stream::kStderr, -3, 100).bytes, "ps\n");
}

// TECH-21, FAIR-21.
TEST_F(RealGridEngineTest, GpusAndQueuesAreCountedOnTheirOwn) {
  auto batch = BatchOf("grid", {"sleep 5", "sleep 5", "sleep 5"});
  batch.options = {{"gpus", 1}};
  const auto gpus = engine_->ResourceClassOf(batch);
  auto other = BatchOf("grid", {"true"});
  other.options = {{"queue", "all.q"}};
  const auto queue = engine_->ResourceClassOf(other);
  other.options = {{"queue", "nobody.q"}};
  const auto unknown = engine_->ResourceClassOf(other);
  EXPECT_EQ(gpus.units, 1);
  EXPECT_EQ(engine_->ResourceClassOf(BatchOf("grid", {"true"})).request, "");
  const auto count = [&] {
    return engine_->GetResources({gpus.request, queue.request, unknown.request});
  };
  auto r = count();
  EXPECT_EQ(r.classes.at(gpus.request).name, "GPUs");
  EXPECT_EQ(r.classes.at(gpus.request).total, 2);
  EXPECT_EQ(r.classes.at(gpus.request).free, 2);
  EXPECT_EQ(r.classes.at(queue.request).name, "slots of queue all.q");
  EXPECT_EQ(r.classes.at(queue.request).total, r.max);
  EXPECT_EQ(r.classes.count(unknown.request), 0u);
  const auto refs = SubmitAll(*engine_, batch);
  EXPECT_TRUE(test::Await([&] { return count().classes.at(gpus.request).free == 0; }));
  r = count();
  EXPECT_EQ(r.classes.at(gpus.request).total, 2);
  EXPECT_EQ(r.used, 2) << "the third waits for a GPU";
  ASSERT_TRUE(Await(*engine_, refs, 60s).all);
  EXPECT_EQ(count().classes.at(gpus.request).free, 2);
}

TEST_F(RealGridEngineTest, AWalltimeIsReported) {
  auto batch = BatchOf("grid", {"sleep 100"});
  batch.walltime_s = 5;
  const auto ends = Await(*engine_, SubmitAll(*engine_, batch), 120s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kWalltime) << ends.jobs.at(0).message;
}

TEST_F(RealGridEngineTest, OneJobOfAnArrayIsDeletedAndTheOthersEndOnTheirOwn) {
  const auto refs = SubmitAll(*engine_, BatchOf("grid", {"sleep 100", "sleep 3", "sleep 3"}));
  EXPECT_EQ(engine_->Kill({refs[0]}).asked.size(), 1u);
  const auto ends = Await(*engine_, refs, 90s);
  ASSERT_TRUE(ends.all);
  if (ends.jobs.count(0) != 0) {  // deleted while it waited, it leaves no trace
    EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kDeleted);
  }
  EXPECT_EQ(ends.jobs.at(1).wait_status, 0);
  EXPECT_EQ(ends.jobs.at(2).wait_status, 0);
}

TEST_F(RealGridEngineTest, AKillLosesOnlyTheOneThatRunsOfThoseThatShareAJob) {
  auto batch = BatchOf("grid", {"true", "exit 3", "sleep 200", "true", "exit 5"});
  batch.tasks_per_job = 4;
  const auto refs = SubmitAll(*engine_, batch);
  const auto ended = [](const cluster::PollResult& r, int index) {
    return std::any_of(r.jobs.begin(), r.jobs.end(), [&](const auto& job) {
      return job.ref.index == index && job.state == RemoteState::kEnded;
    });
  };
  ASSERT_TRUE(AwaitPoll(*engine_, refs, 60s, [&](const cluster::PollResult& r) {
    return ended(r, 0) && ended(r, 1) && !ended(r, 2) && !ended(r, 3) && ended(r, 4);
  })) << "each end is seen while the job runs";
  const auto found = engine_->Find(batch.tag, "grid", Lately(), false);
  ASSERT_EQ(found.jobs.size(), 2u);
  EXPECT_EQ(found.jobs[0].ref.index + found.jobs[1].ref.index, 0 + 4);
  EXPECT_EQ(engine_->Kill({refs[2], refs[3]}).asked.size(), 2u);
  const auto ends = Await(*engine_, refs, 90s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 0);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 3 << 8);
  EXPECT_EQ(ends.jobs.at(2).cause, EndCause::kDeleted) << ends.jobs.at(2).message;
  EXPECT_EQ(ends.jobs.at(3).cause, EndCause::kNotBegun) << ends.jobs.at(3).message;
  EXPECT_EQ(ends.jobs.at(4).wait_status, 5 << 8);
  EXPECT_TRUE(ends.jobs.at(0).measured.cpu_s);
}

// By a kill and by a suspension, as queues of others with a higher priority do it.
TEST_F(RealGridEngineTest, ATaskThatIsEvictedAgainAndAgainGoesOnFromItsCheckpoint) {
  auto batch = BatchOf("grid", {});
  batch.directory = "$HOME";
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 60}};
  std::string verb = "qdel ";
  ExpectToGoOnFromCheckpoints(*engine_, batch, false, [&](const cluster::RemoteRef& task) {
    RunScript("gridengine-up --run grid " + verb + task.remote_id + " || true");
    verb = "qmod -sj ";
    return std::vector<cluster::RemoteRef>();
  });
}

TEST_F(RealGridEngineTest, WhatCanNeverRunIsRefused) {
  const auto why = [&](const cluster::Batch& batch) {
    try {
      engine_->Submit(batch);
    } catch (const cluster::SubmitRefused& e) {
      return std::pair(e.why(), std::string(e.what()));
    }
    return std::pair(cluster::SubmitRefused::Why::kTemporary, std::string("accepted"));
  };
  using Why = cluster::SubmitRefused::Why;
  auto batch = BatchOf("grid", {"true"});
  batch.slots = 1000;
  EXPECT_EQ(why(batch).first, Why::kBatch) << why(batch).second;
  batch = BatchOf("grid", {"true"});
  batch.properties = "nosuch=1";
  EXPECT_EQ(why(batch).first, Why::kBatch) << why(batch).second;
}

TEST_F(RealGridEngineTest, WhileQmasterIsDownNothingIsTakenAndNothingIsAbsent) {
  const auto refs = SubmitAll(*engine_, BatchOf("grid", {"sleep 8; exit 4"}));
  RunScript("gridengine-down --only qmaster");
  try {
    engine_->Submit(BatchOf("grid", {"true"}));
    ADD_FAILURE() << "accepted";
  } catch (const cluster::SubmitRefused& e) {
    EXPECT_EQ(e.why(), cluster::SubmitRefused::Why::kTemporary) << e.what();
  }
  cluster::PollRequest request;
  request.jobs = refs;
  EXPECT_THROW(engine_->Poll(request), cluster::CallFailed);
  RunScript("gridengine-up");
  const auto ends = Await(*engine_, refs, 120s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 4 << 8);
}

TEST_F(RealGridEngineTest, WhatHasEndedIsAmongTheTagsAfterARestore) {
  const auto batch = BatchOf("grid", {"true"});
  ASSERT_TRUE(Await(*engine_, SubmitAll(*engine_, batch), 60s).all);
  const auto tags = engine_->TagsSince("cigri.", Lately());
  EXPECT_EQ(std::count(tags.begin(), tags.end(), batch.tag), 1);
}

TEST_F(RealGridEngineTest, CheckRunsATestJob) {
  for (const auto& item : engine_->Check("grid", true))
    EXPECT_EQ(item.verdict, cluster::CheckItem::Verdict::kOk) << item.what << ": " << item.detail;
}

TEST_F(RealGridEngineTest, CheckRefusesToBelieveAnAccountingThatComesTooLate) {
  auto config = Config();
  config.options["accounting_delay_s"] = 0;
  const auto items = cluster::MakeCluster(config)->Check("grid", false);
  const auto item = std::find_if(items.begin(), items.end(),
                                 [](const auto& i) { return i.what == "accounting"; });
  ASSERT_NE(item, items.end());
  EXPECT_EQ(item->verdict, cluster::CheckItem::Verdict::kFail) << item->detail;
  // Its own part of that is done (gridengine-up).
  EXPECT_NE(item->detail.find("set accounting_delay_s"), std::string::npos) << item->detail;
  EXPECT_EQ(item->detail.find("accounting_flush_time"), std::string::npos) << item->detail;
}

}  // namespace
}  // namespace cigri::real
