// The driver slurm on real Slurm 22.05 and 24.11 (scripts/clusters/slurm-up), with each version of
// 24.11's API, with and without accounting.
#include "core/text.h"
#include "real_cluster.h"

namespace cigri::real {
namespace {

using namespace std::chrono_literals;
using cluster::EndCause;
using cluster::RemoteState;

/// A Slurm to run the suite on, and how to speak to it.
struct SlurmSite {
  const char* name;         ///< of the parameter
  const char* cluster;      ///< as slurm-up knows it, with accounting
  const char* forgetful;    ///< one without accounting that forgets after 5 s
  int port;                 ///< of slurmrestd; that of the forgetful one is 100 higher
  const char* release;      ///< what slurm-up is told besides
  const char* api_version;  ///< "" = the newest that is offered
};
constexpr SlurmSite kSites[] = {
    {"v22_05", "alpha", "beta", 6820, "", ""},
    {"v24_11", "gamma", "delta", 7020, "--release trixie ", ""},
    {"v24_11_v40", "gamma", "delta", 7020, "--release trixie ", "v0.0.40"},
    {"v24_11_v41", "gamma", "delta", 7020, "--release trixie ", "v0.0.41"}};
void PrintTo(const SlurmSite& site, std::ostream* to) { *to << site.name; }
std::string NameOfSlurm(const testing::TestParamInfo<SlurmSite>& site) { return site.param.name; }

class RealSlurmTest : public testing::TestWithParam<SlurmSite> {
 protected:
  static void TearDownTestSuite() {
    if (std::getenv("CIGRI_REAL_KEEP") == nullptr)
      for (const auto& [cluster, token] : tokens_) RunScript("slurm-down " + cluster);
    tokens_.clear();
  }
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts Slurm";
    Start(GetParam().cluster, port() - 3, "");
    slurm_ = Make(port(), token_);
  }
  /// Starts the cluster once; it is stopped after the suite.
  static void Start(const std::string& cluster, int base, const std::string& environment) {
    if (tokens_.count(cluster) == 0) {
      tokens_[cluster] = TokenIn(RunScript(
          "slurm-up " + std::string(GetParam().release) + cluster + " " + std::to_string(base),
          "SLURM_UP_EXTRA=SlurmctldParameters=preempt_send_user_signal " + environment));
    }
    token_ = tokens_[cluster];
  }
  static int port() { return GetParam().port; }
  /// What runs a command of the other release.
  static std::string InRelease() {
    return "IN_DEBIAN_BIND=/var/lib/slurm-clusters " CIGRI_SOURCE_DIR
           "/scripts/clusters/in-debian trixie ";
  }
  static std::string Scontrol(const std::string& words) {
    const std::string in = *GetParam().release == 0 ? "" : InRelease();
    return Shell(in + "env SLURM_CONF=/var/lib/slurm-clusters/" + GetParam().cluster +
                 "/etc/slurm.conf scontrol " + words);
  }
  static std::string TokenIn(const std::string& lines) {
    const std::string key = "SLURM_REST_TOKEN=";
    for (const auto& line : Split(lines, '\n'))
      if (StartsWith(line, key)) return line.substr(key.size());
    return "";
  }
  static cluster::ClusterConfig Config(int port) {
    cluster::ClusterConfig config;
    config.name = "luke";
    config.kind = "slurm";
    config.api_url = "http://127.0.0.1:" + std::to_string(port);
    config.auth_type = "jwt";
    config.auth_user = "grid";
    config.options = {{"best_effort_partition", "besteffort"},
                      {"partition", "normal"},
                      {"shared_folder", "/home/%u/.cigri"},
                      {"api_version", GetParam().api_version}};
    return config;
  }
  static std::unique_ptr<cluster::Cluster> Make(
      int port, const std::string& token,
      const nlohmann::json& options = nlohmann::json::object()) {
    auto config = Config(port);
    config.options.update(options);
    return cluster::MakeCluster(config, [token](const std::string&) { return token; });
  }
  static std::string token_;
  static std::map<std::string, std::string> tokens_;  // by cluster that runs
  std::unique_ptr<cluster::Cluster> slurm_;
};
std::string RealSlurmTest::token_;
std::map<std::string, std::string> RealSlurmTest::tokens_;
INSTANTIATE_TEST_SUITE_P(Slurm, RealSlurmTest, testing::ValuesIn(kSites), NameOfSlurm);

TEST_P(RealSlurmTest, ParametersReachTheProgramByteForByte) {
  ExpectOddValuesToArrive(*slurm_, "grid");
}

TEST_P(RealSlurmTest, EndsAreReportedAsTheyWere) {
  const auto ends = ExpectEndsAsTheyWere(*slurm_, "grid");
  for (const auto& [index, job] : ends) EXPECT_NE(job.node, "") << index;
}

TEST_P(RealSlurmTest, TheJobHasItsEnvironmentItsSetupAndItsOutput) {
  auto batch = BatchOf("grid", {"echo $greeting; echo $CIGRI_TASK_INDEX $CIGRI_JOB_ID "
                                "$CIGRI_CAMPAIGN_ID $CIGRI_JOB_NAME; pwd; cat "
                                "$CIGRI_NODE_FILE | sort | uniq -c | wc -l; wc -l "
                                "<$CIGRI_NODE_FILE; echo oops >&2; exit 1"});
  batch.setup = "greeting='hello # world'";
  batch.directory = "$HOME";
  batch.resources = "/nodes=2/core=3";
  const auto refs = SubmitAll(*slurm_, batch);
  ASSERT_TRUE(Await(*slurm_, refs, 60s).all);
  const auto out = slurm_->ReadOutput(refs[0], cluster::Stream::kStdout, 0, 10000);
  EXPECT_EQ(out.bytes, "hello # world\n50 1000 7 it's a test\n/home/grid\n2\n6\n");
  EXPECT_EQ(slurm_->ReadOutput(refs[0], cluster::Stream::kStderr, -3, 100).bytes, "ps\n");
}

TEST_P(RealSlurmTest, FilesTravelWithTheJobs) { ExpectFilesToTravel(*slurm_, "grid"); }

TEST_P(RealSlurmTest, AMissingDirectoryIsABadDirectoryAndNothingRuns) {
  auto batch = BatchOf("grid", {"touch /tmp/cigri-must-not-run"});
  batch.directory = "/no/such place";
  const auto ends = Await(*slurm_, SubmitAll(*slurm_, batch), 60s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kBadDirectory);
  EXPECT_NE(access("/tmp/cigri-must-not-run", F_OK), 0);
}

TEST_P(RealSlurmTest, JobsAreOnHoldUntilReleasedAndFoundByTheirTag) {
  const auto batch = BatchOf("grid", {"exit 1", "exit 2"});
  const auto ids = slurm_->Submit(batch);
  const auto found = slurm_->Find(batch.tag, "grid", Lately(), false);
  EXPECT_TRUE(found.complete);
  ASSERT_EQ(found.jobs.size(), 2u);
  EXPECT_EQ(found.jobs[1].state, RemoteState::kHeld);
  EXPECT_EQ(found.jobs[1].ref.remote_id, ids[1]);
  EXPECT_EQ(found.jobs[1].ref.index, 1);
  slurm_->Release(batch, ids);
  slurm_->Release(batch, ids);
  EXPECT_TRUE(Await(*slurm_, RefsOf(batch, ids), 60s).all);
  const auto never = slurm_->Find("cigri.7.real.never", "grid", Lately(), false);
  EXPECT_TRUE(never.complete);
  EXPECT_TRUE(never.jobs.empty());
}

TEST_P(RealSlurmTest, DeletionsAreReported) {
  // More than fits: some run, some wait.
  const auto refs = SubmitAll(*slurm_, BatchOf("grid", std::vector<std::string>(30, "sleep 100")));
  ASSERT_TRUE(AwaitPoll(*slurm_, refs, 60s, [](const cluster::PollResult& r) {
    return r.jobs.at(0).state == RemoteState::kRunning;
  }));
  EXPECT_EQ(slurm_->Kill({refs[0], refs[29]}).asked.size(), 2u);
  EXPECT_EQ(slurm_->Kill(refs).failed.size(), 0u);
  const auto ends = Await(*slurm_, refs, 120s);
  ASSERT_TRUE(ends.all);
  for (const auto& [index, job] : ends.jobs)
    EXPECT_EQ(job.cause, EndCause::kDeleted)
        << index << ": " << job.wait_status.value_or(-1) << " " << job.message;
  // Deleted alone before it started, a task leaves no trace in slurmctld; in slurmdbd it may.
  for (const auto& ref : ends.missing) EXPECT_EQ(ref.index, 29);
}

// GRID-20: a best-effort job gives way to the cluster's own users, and is not requeued.
TEST_P(RealSlurmTest, ANormalJobPreemptsBestEffortOnesAlsoWhereSlurmWouldRequeue) {
  for (const char* partition : {"besteffort", "requeue"}) {
    auto batch = BatchOf("grid", std::vector<std::string>(4, "sleep 200"));
    batch.options = {{"partition", partition}, {"cores", 4}};
    const auto refs = SubmitAll(*slurm_, batch);
    ASSERT_TRUE(AwaitPoll(*slurm_, refs, 60s, [](const cluster::PollResult& r) {
      for (const auto& job : r.jobs)
        if (job.state != RemoteState::kRunning) return false;
      return true;
    }));
    auto normal = BatchOf("grid", {"exit 7"});
    normal.best_effort = false;
    normal.options = {{"cores", 4}};
    const auto normal_refs = SubmitAll(*slurm_, normal);
    const auto normal_ends = Await(*slurm_, normal_refs, 90s);
    ASSERT_TRUE(normal_ends.all);
    EXPECT_EQ(normal_ends.jobs.at(0).wait_status, 7 << 8);
    slurm_->Kill(refs);
    const auto ends = Await(*slurm_, refs, 60s);
    ASSERT_TRUE(ends.all);
    int preempted = 0;
    for (const auto& [index, job] : ends.jobs) preempted += job.cause == EndCause::kPreempted;
    EXPECT_EQ(preempted, 1) << partition;
  }
}

// The partition gives evicted jobs some time.
class RealSlurmGraceTest : public RealSlurmTest {
 protected:
  void SetUp() override {
    RealSlurmTest::SetUp();
    if (!IsSkipped()) Scontrol("update partitionname=besteffort gracetime=60");
  }
  void TearDown() override {
    if (!IsSkipped()) Scontrol("update partitionname=besteffort gracetime=0");
  }
};
INSTANTIATE_TEST_SUITE_P(Slurm, RealSlurmGraceTest, testing::ValuesIn(kSites), NameOfSlurm);

TEST_P(RealSlurmGraceTest, ATaskThatIsEvictedAgainAndAgainGoesOnFromItsCheckpoint) {
  auto batch = BatchOf("grid", {});
  batch.resources = "/nodes=4/core=4";
  batch.directory = "$HOME";
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 60}};
  ExpectToGoOnFromCheckpoints(*slurm_, batch, false, [&](const auto&) {
    auto normal = BatchOf("grid", {"true"});
    normal.best_effort = false;
    normal.resources = batch.resources;
    return SubmitAll(*slurm_, normal);
  });
}

TEST_P(RealSlurmGraceTest, ACheckpointIsAskedForBeforeTheWalltime) {
  auto batch = BatchOf("grid", {"trap 'exit 3' USR2; while :; do sleep 0.1; done"});
  batch.walltime_s = 120;
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 60}};
  const auto ends = Await(*slurm_, SubmitAll(*slurm_, batch), 150s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kWalltime) << ends.jobs.at(0).message;
  EXPECT_LT(ends.jobs.at(0).ended_at - ends.jobs.at(0).started_at, 110);
}

TEST_P(RealSlurmTest, AnEvictionLosesOnlyTheOneThatRunsOfThoseThatShareAJob) {
  auto batch = BatchOf("grid", {"true", "exit 3", "sleep 200", "true", "exit 5"});
  batch.tasks_per_job = 4;
  batch.resources = "/nodes=2/core=4";
  const auto refs = SubmitAll(*slurm_, batch);
  const auto ended = [](const cluster::PollResult& r, int index) {
    for (const auto& job : r.jobs)
      if (job.ref.index == index) return job.state == RemoteState::kEnded;
    return false;
  };
  ASSERT_TRUE(AwaitPoll(*slurm_, refs, 60s, [&](const cluster::PollResult& r) {
    return ended(r, 0) && ended(r, 1) && !ended(r, 2) && !ended(r, 3) && ended(r, 4);
  })) << "each end is seen while the job runs";
  const auto found = slurm_->Find(batch.tag, "grid", Lately(), false);
  ASSERT_EQ(found.jobs.size(), 2u);
  EXPECT_EQ(found.jobs[0].ref.index + found.jobs[1].ref.index, 0 + 4);
  auto normal = BatchOf("grid", {"true"});
  normal.best_effort = false;
  normal.resources = "/nodes=4/core=4";
  const auto normal_refs = SubmitAll(*slurm_, normal);
  const auto ends = Await(*slurm_, refs, 90s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 0);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 3 << 8);
  EXPECT_EQ(ends.jobs.at(2).cause, EndCause::kPreempted) << ends.jobs.at(2).message;
  EXPECT_EQ(ends.jobs.at(3).cause, EndCause::kNotBegun) << ends.jobs.at(3).message;
  EXPECT_EQ(ends.jobs.at(4).wait_status, 5 << 8);
  EXPECT_TRUE(Await(*slurm_, normal_refs, 60s).all);
}

TEST_P(RealSlurmTest, APartitionWithoutPreemptionIsRefusedAsBestEffort) {
  auto batch = BatchOf("grid", {"true"});
  batch.options = {{"partition", "normal"}};
  try {
    slurm_->Submit(batch);
    ADD_FAILURE() << "accepted";
  } catch (const cluster::SubmitRefused& e) {
    EXPECT_EQ(e.why(), cluster::SubmitRefused::Why::kBatch);
    EXPECT_NE(std::string(e.what()).find("--not-preemptible"), std::string::npos) << e.what();
  }
  const auto reported = Make(port(), token_, {{"not_preemptible", true}});
  EXPECT_TRUE(Await(*reported, SubmitAll(*reported, batch), 60s).all);
}

TEST_P(RealSlurmTest, WhatWasAcceptedWithoutAnAnswerIsFoundByItsTagAndRunsOnce) {
  CuttingProxy proxy("0", std::to_string(port()));
  const auto through = Make(proxy.port(), token_);
  ASSERT_TRUE(Await(*through, SubmitAll(*through, BatchOf("grid", {"true"})), 60s).all);
  const auto batch = BatchOf("grid", {"exit 4", "exit 5", "exit 6"});
  proxy.CutAll(true);
  EXPECT_THROW(through->Submit(batch), cluster::SubmitInDoubt);
  proxy.CutAll(false);
  const auto found = through->Find(batch.tag, "grid", Lately(), false);
  EXPECT_TRUE(found.complete);
  ASSERT_EQ(found.jobs.size(), 3u);
  std::vector<std::string> ids;
  for (const auto& job : found.jobs) ids.push_back(job.ref.remote_id);
  through->Release(batch, ids);
  const auto ends = Await(*slurm_, RefsOf(batch, ids), 60s);
  ASSERT_TRUE(ends.all);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ends.jobs.at(i).wait_status, (4 + i) << 8);
}

TEST_P(RealSlurmTest, ABadTokenIsTheUsersAndNotADoubt) {
  const auto bad = Make(port(), "eyJhbGciOiJIUzI1NiJ9.e30.bad");
  try {
    bad->Submit(BatchOf("grid", {"true"}));
    ADD_FAILURE() << "accepted";
  } catch (const cluster::SubmitRefused& e) {
    EXPECT_EQ(e.why(), cluster::SubmitRefused::Why::kToken) << e.what();
  }
  cluster::PollRequest request;
  request.jobs = {{"1_0", "cigri.x", 0, 1, "grid", 60}};
  const auto said = bad->Poll(request);
  EXPECT_TRUE(said.jobs.empty() && said.missing.empty()) << "no news is not absence";
  EXPECT_THROW(bad->GetResources({}), cluster::CallFailed) << "nobody may read anything there";
}

TEST_P(RealSlurmTest, WhatCanNeverRunIsRefusedAndLeavesNoLiveJob) {
  const std::pair<const char*, nlohmann::json> cases[] = {{"cores", 1000}, {"mem", "900G"}};
  for (const auto& [key, value] : cases) {
    // 22.05 has no limit on memory in this configuration: it takes the job and never starts it.
    if (std::string(key) == "mem" && *GetParam().release == 0) continue;
    auto batch = BatchOf("grid", {"true", "true"});
    batch.options = {{key, value}};
    try {
      slurm_->Submit(batch);
      ADD_FAILURE() << "accepted with " << key;
    } catch (const cluster::SubmitRefused& e) {
      EXPECT_EQ(e.why(), cluster::SubmitRefused::Why::kBatch) << e.what();
    }
    for (const auto& job : slurm_->Find(batch.tag, "grid", Lately(), false).jobs)
      EXPECT_EQ(job.state, RemoteState::kEnded) << key;
  }
}

TEST_P(RealSlurmTest, AnotherUsersJobIsNotDeletedAndAnUnknownOneIsGone) {
  const auto refs = SubmitAll(*slurm_, BatchOf("grid", {"sleep 100"}));
  ASSERT_TRUE(AwaitPoll(*slurm_, refs, 60s, [](const cluster::PollResult& r) {
    return r.jobs.at(0).state == RemoteState::kRunning;
  }));
  Shell("id slurmbob >/dev/null 2>&1 || useradd --create-home slurmbob");
  const auto lines = Scontrol("token username=slurmbob lifespan=600");
  const auto bob = Make(port(), std::string(Trim(lines.substr(lines.find('=') + 1))));
  auto theirs = refs;
  theirs[0].cluster_user = "slurmbob";
  const auto refused = bob->Kill(theirs);
  EXPECT_EQ(refused.failed.size(), 1u);
  EXPECT_TRUE(refused.asked.empty() && refused.gone.empty());
  EXPECT_EQ(slurm_->Poll({refs, "", {}}).jobs.at(0).state, RemoteState::kRunning);
  EXPECT_EQ(slurm_->Kill(refs).asked.size(), 1u);
  ASSERT_TRUE(Await(*slurm_, refs, 60s).all);
  auto unknown = refs;
  unknown[0].remote_id = "999999_0";
  EXPECT_EQ(slurm_->Kill(unknown).gone.size(), 1u);
}

TEST_P(RealSlurmTest, CheckFindsTheVersionAndRunsATestJob) {
  for (const auto& item : slurm_->Check("grid", true))
    EXPECT_EQ(item.verdict, cluster::CheckItem::Verdict::kOk) << item.what << ": " << item.detail;
}

TEST_P(RealSlurmTest, ResourcesAreCpusOfThePartition) {
  const auto r = slurm_->GetResources({});
  EXPECT_EQ(r.max, 16);
  EXPECT_EQ(r.unavailable, 0) << r.note;
}

TEST_P(RealSlurmTest, AnArrayIsPolledInOneCall) {
  const auto refs = SubmitAll(*slurm_, BatchOf("grid", std::vector<std::string>(500, "true")));
  cluster::PollRequest request;
  request.jobs = refs;
  const auto result = slurm_->Poll(request);
  EXPECT_EQ(result.jobs.size(), 500u);
  EXPECT_EQ(result.calls, 1);
  slurm_->Kill(refs);
}

// bench/real_calls.sh measures what a whole campaign costs.
TEST_P(RealSlurmTest, CallsPerThousandJobsAreCounted) {
  const auto ends = Await(
      *slurm_, SubmitAll(*slurm_, BatchOf("grid", std::vector<std::string>(100, "true"))), 300s);
  ASSERT_TRUE(ends.all);
  std::printf("slurm: 100 jobs: 1 submission, 1 release, %d polls of %d calls in all\n", ends.polls,
              ends.calls);
  EXPECT_EQ(ends.calls, ends.polls);
}

// A cluster that forgets after 5 s and has no accounting: only the job's own record tells.
class RealForgetfulSlurmTest : public RealSlurmTest {
 protected:
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root";
    Start(GetParam().forgetful, port() + 97,
          "SLURM_UP_DBD=0 SLURM_UP_MINJOBAGE=5 SLURM_UP_NODES=1");
  }
};
INSTANTIATE_TEST_SUITE_P(Slurm, RealForgetfulSlurmTest, testing::Values(kSites[0], kSites[1]),
                         NameOfSlurm);

TEST_P(RealForgetfulSlurmTest, AForgottenJobsEndIsReadFromItsOwnRecordElseItIsMissing) {
  const auto slurm = Make(port() + 100, token_);
  const auto blind = Make(port() + 100, token_, {{"shared_folder", ""}});
  const auto refs = SubmitAll(*slurm, BatchOf("grid", {"exit 9", "exit 0"}));
  cluster::PollResult last;
  ASSERT_TRUE(AwaitPoll(*blind, refs, 120s,
                        [](const cluster::PollResult& r) { return r.missing.size() == 2; }));
  const auto ends = Await(*slurm, refs, 10s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 9 << 8);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 0);
  EXPECT_GT(ends.jobs.at(1).ended_at, 0);
}

}  // namespace
}  // namespace cigri::real
