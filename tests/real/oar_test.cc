// The drivers oar2 and oar3 on a real OAR 2.5 (scripts/clusters/oar-up) and a real OAR 3 (oar3-up).
#include <nlohmann/json.hpp>
#include <set>

#include "cluster/job_script.h"
#include "core/text.h"
#include "real_cluster.h"

namespace cigri::real {
namespace {

using namespace std::chrono_literals;
using cluster::Batch;
using cluster::EndCause;
using cluster::RemoteState;

/// An OAR to run the suite on.
struct OarSite {
  const char* kind;
  const char* up;
  const char* down;
  const char* down_server;  ///< stops all but its API
  int port;
  const char* prefix;
  const char* sql;    ///< psql on its database, as a command that wants -c
  const char* nodes;  ///< names nodes that do not answer
  const char* pids;   ///< of oarexec, without the job's id
  const char* alive;  ///< gives nodes back
};
constexpr OarSite kOar2{"oar2",
                        "oar-up",
                        "oar-down",
                        "OAR_DOWN_ONLY=server oar-down",
                        6668,
                        "/oarapi-cigri",
                        "psql -XqAt -h /run/oar-up/pg -p 5441 -d oar1",
                        "/var/lib/oar-up/1/down-nodes",
                        "/var/lib/oar/pid_of_oarexec_for_jobId_",
                        "/usr/sbin/oarnodesetting -s Alive --sql \"state='Suspected'\""};
constexpr OarSite kOar3{"oar3",
                        "oar3-up",
                        "oar3-down",
                        "oar3-down --only almighty",
                        8670,
                        "",
                        "psql -XqAt -h /var/lib/oar3-up/1/pg -p 8669 -d oar",
                        "/var/lib/oar3-up/1/down-nodes",
                        "/var/lib/oar3-up/1/lib/pid_of_oarexec_for_jobId_",
                        "true"};
void PrintTo(const OarSite& site, std::ostream* to) { *to << site.kind; }
std::string NameOfOar(const testing::TestParamInfo<OarSite>& site) { return site.param.kind; }

class RealOarTest : public testing::TestWithParam<OarSite> {
 protected:
  static void TearDownTestSuite() {
    if (std::getenv("CIGRI_REAL_KEEP") == nullptr)
      for (const auto& down : started_) RunScript(down);
    started_.clear();
  }
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts OAR";
    if (IsOar3() && !HasOar3())
      GTEST_SKIP() << "skips OAR 3: its source is not here (oar3-up --source)";
    // OAR 3 suspects the nodes of jobs that a test before this one has broken: they are given back.
    if (started_.insert(GetParam().down).second || IsOar3()) RunScript(GetParam().up);
    oar_ = Make(GetParam().port);
  }
  static bool IsOar3() { return std::string(GetParam().kind) == "oar3"; }
  static std::string TokenOf(const std::string& user) {
    static std::map<std::string, std::string> tokens;
    if (tokens.count(user) == 0) tokens[user] = Trim(RunScript("oar3-up --token " + user));
    return tokens[user];
  }
  static std::string WhoAmI() {
    return IsOar3() ? "Authorization: Bearer " + TokenOf("alice") : "X-Remote-Ident: alice";
  }
  static std::unique_ptr<cluster::Cluster> Make(int port) {
    cluster::ClusterConfig config;
    config.name = "froggy";
    config.kind = GetParam().kind;
    config.api_url = "http://127.0.0.1:" + std::to_string(port) + GetParam().prefix;
    config.auth_type = IsOar3() ? "jwt" : "header";
    config.auth_user = "alice";
    return cluster::MakeCluster(config, IsOar3() ? TokenOf : cluster::TokenSource());
  }
  static void DownServer() {
    const std::string words = GetParam().down_server;
    const auto space = words.find("oar");
    RunScript(words.substr(space), words.substr(0, space));
  }
  std::unique_ptr<cluster::Cluster> oar_;
  static std::set<std::string> started_;
};
std::set<std::string> RealOarTest::started_;
INSTANTIATE_TEST_SUITE_P(Oar, RealOarTest, testing::Values(kOar2, kOar3), NameOfOar);

TEST_P(RealOarTest, ParametersReachTheProgramByteForByte) {
  ExpectOddValuesToArrive(*oar_, "alice");
}

TEST_P(RealOarTest, EndsAreReportedAsTheyWere) {
  const auto ends = ExpectEndsAsTheyWere(*oar_, "alice");
  for (const auto& [index, job] : ends) EXPECT_GE(job.ended_at, job.started_at) << index;
}

TEST_P(RealOarTest, TheJobHasItsEnvironmentItsSetupAndItsOutput) {
  auto batch = BatchOf("alice", {"echo $greeting; echo $CIGRI_TASK_INDEX $CIGRI_JOB_ID "
                                 "$CIGRI_CAMPAIGN_ID $CIGRI_JOB_NAME; pwd; wc -l "
                                 "<$CIGRI_NODE_FILE; echo oops >&2; exit 1"});
  batch.setup = "greeting='hello # world'";
  batch.directory = "$HOME";
  batch.resources = "/network_address=1/core=2";
  const auto refs = SubmitAll(*oar_, batch);
  ASSERT_TRUE(Await(*oar_, refs, 60s).all);
  const auto out = oar_->ReadOutput(refs[0], cluster::Stream::kStdout, 0, 10000);
  EXPECT_EQ(out.bytes, "hello # world\n50 1000 7 it's a test\n/home/alice\n2\n");
  const auto err = oar_->ReadOutput(refs[0], cluster::Stream::kStderr, -100, 100);
  EXPECT_EQ(err.bytes, "oops\n");
}

TEST_P(RealOarTest, AMissingDirectoryIsABadDirectoryAndNothingRuns) {
  auto batch = BatchOf("alice", {"touch /tmp/cigri-must-not-run"});
  batch.directory = "$HOME/no such place";
  const auto ends = Await(*oar_, SubmitAll(*oar_, batch), 60s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kBadDirectory);
  EXPECT_NE(access("/tmp/cigri-must-not-run", F_OK), 0);
}

TEST_P(RealOarTest, AnArrayIsDeletedInOneCallWhenAllOfItIsMeant) {
  const auto refs = SubmitAll(*oar_, BatchOf("alice", std::vector<std::string>(30, "sleep 100")));
  const auto killed = oar_->Kill(refs);
  EXPECT_EQ(killed.asked.size(), 30u);
  const auto ends = Await(*oar_, refs, 120s);
  ASSERT_TRUE(ends.all);
  for (const auto& [index, job] : ends.jobs) EXPECT_EQ(job.cause, EndCause::kDeleted) << index;
}

TEST_P(RealOarTest, OneJobOfAnArrayIsDeletedAndTheOthersEndOnTheirOwn) {
  const auto refs = SubmitAll(*oar_, BatchOf("alice", {"sleep 100", "sleep 3", "sleep 3"}));
  EXPECT_EQ(oar_->Kill({refs[0]}).asked.size(), 1u);
  EXPECT_EQ(oar_->Kill({refs[0]}).asked.size(), 1u) << "killing twice is no fault";
  const auto ends = Await(*oar_, refs, 60s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kDeleted);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 0);
  EXPECT_EQ(ends.jobs.at(2).wait_status, 0);
}

TEST_P(RealOarTest, AWalltimeIsReported) {
  auto batch = BatchOf("alice", {"sleep 100"});
  batch.walltime_s = 3;
  const auto ends = Await(*oar_, SubmitAll(*oar_, batch), 90s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kWalltime);
}

// GRID-20: a best-effort job gives way to the cluster's own users.
TEST_P(RealOarTest, ANormalJobPreemptsABestEffortOne) {
  auto batch = BatchOf("alice", {"sleep 200"});
  batch.resources = "/core=8";
  const auto refs = SubmitAll(*oar_, batch);
  ASSERT_TRUE(AwaitPoll(*oar_, refs, 60s, [](const cluster::PollResult& r) {
    return r.jobs.at(0).state == RemoteState::kRunning;
  }));
  auto normal = BatchOf("bob", {"true"});
  normal.best_effort = false;
  normal.resources = "/core=8";
  const auto normal_refs = SubmitAll(*oar_, normal);
  const auto ends = Await(*oar_, refs, 60s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kPreempted) << ends.jobs.at(0).message;
  const auto normal_ends = Await(*oar_, normal_refs, 60s);
  ASSERT_TRUE(normal_ends.all);
  EXPECT_EQ(normal_ends.jobs.at(0).wait_status, 0);
}

TEST_P(RealOarTest, FilesTravelWithTheJobs) { ExpectFilesToTravel(*oar_, "alice"); }

TEST_P(RealOarTest, AnEvictionLosesOnlyTheOneThatRunsOfThoseThatShareAJob) {
  auto batch = BatchOf("alice", {"true", "exit 3", "sleep 200", "true"});
  batch.tasks_per_job = 4;
  batch.resources = "/core=8";
  const auto refs = SubmitAll(*oar_, batch);
  const auto ended = [](const cluster::PollResult& r, int index) {
    for (const auto& job : r.jobs)
      if (job.ref.index == index) return job.state == RemoteState::kEnded;
    return false;
  };
  ASSERT_TRUE(AwaitPoll(*oar_, refs, 60s, [&](const cluster::PollResult& r) {
    return ended(r, 0) && ended(r, 1) && !ended(r, 2) && !ended(r, 3);
  })) << "each end is seen while the job runs";
  const auto found = oar_->Find(batch.tag, "alice", Lately(), false);
  ASSERT_EQ(found.jobs.size(), 1u);
  EXPECT_EQ(found.jobs[0].ref.index, 0);
  auto normal = BatchOf("bob", {"true"});
  normal.best_effort = false;
  normal.resources = "/core=8";
  const auto normal_refs = SubmitAll(*oar_, normal);
  const auto ends = Await(*oar_, refs, 60s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 0);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 3 << 8);
  EXPECT_EQ(ends.jobs.at(2).cause, EndCause::kPreempted) << ends.jobs.at(2).message;
  EXPECT_EQ(ends.jobs.at(3).cause, EndCause::kNotBegun) << ends.jobs.at(3).message;
  EXPECT_TRUE(Await(*oar_, normal_refs, 60s).all);
}

// A program that goes on after the signal is killed in OAR's next round, up to a minute later. OAR 3
// evicts without a signal: there it goes on from what `every` has asked for.
TEST_P(RealOarTest, ATaskThatIsEvictedAgainAndAgainGoesOnFromItsCheckpoint) {
  auto batch = BatchOf("alice", {});
  batch.resources = "/core=8";
  batch.directory = "$HOME";
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 3}};
  if (IsOar3()) batch.options["checkpoint"]["every"] = 2;
  ExpectToGoOnFromCheckpoints(*oar_, batch, IsOar3(), [&](const auto&) {
    auto normal = BatchOf("bob", {"true"});
    normal.best_effort = false;
    normal.resources = "/core=8";
    return SubmitAll(*oar_, normal);
  });
}

TEST_P(RealOarTest, ACheckpointIsAskedForBeforeTheWalltime) {
  auto batch = BatchOf("alice", {"trap 'exit 3' USR2; while :; do sleep 0.1; done"});
  batch.walltime_s = 120;  // OAR looks at walltimes in rounds
  batch.options["checkpoint"] = {{"signal", "USR2"}, {"grace", 90}};
  const auto ends = Await(*oar_, SubmitAll(*oar_, batch), 150s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kWalltime) << ends.jobs.at(0).message;
  EXPECT_LT(ends.jobs.at(0).ended_at - ends.jobs.at(0).started_at, batch.walltime_s);
}

TEST_P(RealOarTest, WhatWasAcceptedWithoutAnAnswerIsFoundByItsTag) {
  CuttingProxy proxy("0", std::to_string(GetParam().port));
  const auto through = Make(proxy.port());
  const auto batch = BatchOf("alice", {"exit 4", "exit 5", "exit 6"});
  proxy.CutAll(true);
  EXPECT_THROW(through->Submit(batch), cluster::SubmitInDoubt);
  proxy.CutAll(false);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  const auto found = through->Find(batch.tag, "alice", now.count(), false);
  EXPECT_TRUE(found.complete);
  ASSERT_EQ(found.jobs.size(), 3u);
  std::vector<cluster::RemoteRef> refs;
  for (const auto& job : found.jobs) refs.push_back(job.ref);
  const auto ends = Await(*oar_, refs, 60s);
  ASSERT_TRUE(ends.all);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ends.jobs.at(i).wait_status, (4 + i) << 8);
}

TEST_P(RealOarTest, JobsSubmittedWhileTheSchedulerIsDownAreNamedAndRunOnce) {
  DownServer();
  const auto batch = BatchOf("alice", {"exit 1", "exit 2"});
  std::vector<std::string> named;
  try {
    named = oar_->Submit(batch);
    EXPECT_TRUE(IsOar3()) << "accepted without a scheduler";  // its API needs none
  } catch (const cluster::SubmitInDoubt& e) {
    named = e.ids;
  }
  RunScript(GetParam().up);
  ASSERT_EQ(named.size(), 2u);
  const auto found = oar_->Find(batch.tag, "alice", Lately(), false);
  ASSERT_EQ(found.jobs.size(), 2u);
  EXPECT_EQ(found.jobs[0].ref.remote_id, named[0]);
  const auto ends = Await(*oar_, RefsOf(batch, named), 90s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(1).wait_status, 2 << 8);
}

// OAR starts again and leaves them so. The processes of both are gone; one has ended well before,
// by its own record.
TEST_P(RealOarTest, WhatAStoppedServerWasLaunchingGivesNoSignAndEndsByOurKillOrByItsOwnRecord) {
  const auto batch = BatchOf("alice", {"sleep 400", "sleep 400"});
  const auto refs = SubmitAll(*oar_, batch);
  ASSERT_TRUE(AwaitPoll(*oar_, refs, 60s, [](const cluster::PollResult& r) {
    return r.jobs.size() == 2 && r.jobs[0].state == RemoteState::kRunning &&
           r.jobs[1].state == RemoteState::kRunning;
  }));
  const std::string records = "/home/alice/.cigri/records/" + batch.tag + "/0/";
  ASSERT_TRUE(AwaitPoll(*oar_, refs, 60s, [&](const auto&) {
    return !ReadFile(records + "0").empty() && !ReadFile(records + "1").empty();
  }));
  DownServer();
  const auto ids = refs[0].remote_id + ", " + refs[1].remote_id;
  for (const auto& ref : refs)  // "cigri1 began TIME NODE ID PID"
    Shell("read -r _ _ _ _ _ pid < " + records + std::to_string(ref.index) + " && kill -9 $(cat " +
          GetParam().pids + ref.remote_id + ") $pid $(pgrep -P $pid)");
  Shell("cd / && runuser -u postgres -- " + std::string(GetParam().sql) +
        " -c \"UPDATE jobs SET state = 'Launching', start_time = 0 WHERE job_id IN (" + ids +
        ")\"");
  Shell("echo cigri1 0 1000 1005 node1 " + refs[1].remote_id + " 1001 end >> " + records + "1");
  RunScript(GetParam().up);
  ASSERT_TRUE(AwaitPoll(*oar_, refs, 30s, [](const cluster::PollResult& r) {
    return r.jobs.size() == 2 && r.jobs[0].unresponsive && r.jobs[1].unresponsive;
  }));
  EXPECT_EQ(oar_->Kill(refs).asked.size(), 2u);
  const auto ends = Await(*oar_, refs, 180s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).cause, EndCause::kDeleted) << ends.jobs.at(0).message;
  EXPECT_EQ(ends.jobs.at(1).cause, EndCause::kExited) << ends.jobs.at(1).message;
  EXPECT_EQ(ends.jobs.at(1).wait_status, 0);
}

TEST_P(RealOarTest, AJobThatOarSubmittedAgainIsFoundAsADuplicateWithItsIndex) {
  if (IsOar3()) GTEST_SKIP() << "OAR 3 submits nothing again on its own";
  Shell("for h in 1 2 3 4; do echo 127.0.0.1$h; done >" + std::string(GetParam().nodes));
  const auto batch = BatchOf("alice", {"exit 0", "exit 1"});
  const auto refs = SubmitAll(*oar_, batch);
  const auto ends = Await(*oar_, {refs[1]}, 60s);
  Shell("rm " + std::string(GetParam().nodes) + "; " + GetParam().alive);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(1).cause, EndCause::kNodeFailed);
  const auto found = oar_->Find(batch.tag, "alice", Lately(), false);
  int copies = 0;
  for (const auto& job : found.jobs) copies += job.ref.index == 1 ? 1 : 0;
  EXPECT_GE(copies, 2);
  std::vector<cluster::RemoteRef> all;
  for (const auto& job : found.jobs) all.push_back(job.ref);
  oar_->Kill(all);
}

TEST_P(RealOarTest, RefusalsSayWhyAndWhoseFaultTheyAre) {
  const auto why = [&](const Batch& batch) {
    try {
      oar_->Submit(batch);
    } catch (const cluster::SubmitRefused& e) {
      return std::pair(e.why(), std::string(e.what()));
    }
    return std::pair(cluster::SubmitRefused::Why::kTemporary, std::string("accepted"));
  };
  using Why = cluster::SubmitRefused::Why;
  auto batch = BatchOf("alice", {"true"});
  batch.resources = "/nosuch=1";
  EXPECT_EQ(why(batch).first, Why::kBatch) << why(batch).second;
  batch = BatchOf("alice", {"true"});
  batch.resources = "/core=1000";
  EXPECT_EQ(why(batch).first, Why::kBatch) << why(batch).second;
  batch = BatchOf("alice", {"true"});
  batch.job_types = {"nosuchtype"};
  EXPECT_EQ(why(batch).first, Why::kBatch) << why(batch).second;
  // OAR 3 takes it, as it takes a token of any name: the job breaks on its node, which is suspected.
  if (!IsOar3()) {
    EXPECT_EQ(why(BatchOf("nosuchuser", {"true"})).first, Why::kUser);
  }
  EXPECT_EQ(why(BatchOf("alice-x", {"true"})).first, Why::kUser);
}

TEST_P(RealOarTest, CheckNamesAVersionAndRunsATestJob) {
  for (const auto& item : oar_->Check("alice", true))
    EXPECT_EQ(item.verdict, cluster::CheckItem::Verdict::kOk) << item.what << ": " << item.detail;
}

TEST_P(RealOarTest, ResourcesAreCountedInTheClustersUnit) {
  const auto r = oar_->GetResources({});
  EXPECT_EQ(r.max, 8);
  EXPECT_EQ(r.unavailable, 0) << r.note;
}

// Submits `command` as a CiGri 3 does, which calls all jobs of a campaign cigri.<campaign>; its id.
std::string SubmitAsCigri3(const OarSite& site, const std::string& who, const std::string& campaign,
                           const std::string& command) {
  const nlohmann::json job = {{"command", command}, {"name", "cigri." + campaign}};
  const auto answer = Shell("curl -sf -H '" + who + "' -H 'Content-Type: application/json' -d '" +
                            job.dump() + "' http://127.0.0.1:" + std::to_string(site.port) +
                            site.prefix + (std::string(site.kind) == "oar3" ? "/jobs" : "/jobs.json"));
  return nlohmann::json::parse(answer).at("id").dump();
}

// Next to CiGri 3.
TEST_P(RealOarTest, AJobOfCigri3IsNotSeen) {
  SubmitAsCigri3(GetParam(), WhoAmI(), "7", "sleep 5");
  const auto refs = SubmitAll(*oar_, BatchOf("alice", {"sleep 5", "sleep 5"}));
  auto seen = oar_->ListTagged("cigri.7", {});
  std::erase_if(seen, [&](const auto& job) {  // those of an earlier test
    return StartsWith(job.ref.tag, "cigri.7.") && job.ref.tag != refs[0].tag;
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].ref.remote_id, refs[1].remote_id);
  EXPECT_EQ(seen[1].ref.index, 1);
}

// `cigri import-cigri3` makes such jobs ours.
TEST_P(RealOarTest, AJobOfACigri3ThatWasTakenOverIsFollowedAndKilledByItsId) {
  std::vector<cluster::RemoteRef> refs;
  for (const char* command : {"sleep 2; exit 3", "sleep 300"})
    refs.push_back({SubmitAsCigri3(GetParam(), WhoAmI(), "77", command), "cigri.77",
                    static_cast<int>(refs.size()), 1000, "alice", 7200});
  ASSERT_TRUE(AwaitPoll(*oar_, {refs[1]}, 90s, [](const cluster::PollResult& r) {
    return !r.jobs.empty() && r.jobs.at(0).state == RemoteState::kRunning;
  }));
  auto other = refs[1];
  other.tag = "cigri.78";
  EXPECT_TRUE(oar_->Kill({other}).asked.empty()) << "a job of another campaign is not touched";
  EXPECT_EQ(oar_->Kill({refs[1]}).asked.size(), 1u);
  const auto ends = Await(*oar_, refs, 120s);
  ASSERT_TRUE(ends.all);
  EXPECT_EQ(ends.jobs.at(0).wait_status, 3 << 8) << ends.jobs.at(0).message;
  EXPECT_EQ(ends.jobs.at(1).cause, EndCause::kDeleted) << ends.jobs.at(1).message;
}

// bench/real_calls.sh measures what a whole campaign costs.
TEST_P(RealOarTest, CallsPerThousandJobsAreCounted) {
  constexpr int kJobs = 20;
  const auto ends = Await(
      *oar_, SubmitAll(*oar_, BatchOf("alice", std::vector<std::string>(kJobs, "true"))), 600s);
  ASSERT_TRUE(ends.all);
  const int lookups = ends.calls - ends.polls;
  std::printf("%s: %d jobs: 1 submission, %d polls of 1 call, %d look-ups of ended jobs\n",
              GetParam().kind, kJobs, ends.polls, lookups);
  // OAR 2 has a look-up for each job; both read the measurements of a poll's ends by one call.
  EXPECT_LE(lookups, IsOar3() ? kJobs : 2 * kJobs);
}

TEST_P(RealOarTest, AThousandLiveJobsArePolledInOneCall) {
  // OAR 3: 9 bytes more of URL a job, and lists of 500.
  const std::size_t n = IsOar3() ? 400 : 1000;
  const auto refs = SubmitAll(*oar_, BatchOf("alice", std::vector<std::string>(n, "true")));
  cluster::PollRequest request;
  request.jobs = refs;
  const auto result = oar_->Poll(request);
  int ended = 0;
  for (const auto& job : result.jobs) ended += job.state == RemoteState::kEnded ? 1 : 0;
  EXPECT_EQ(result.jobs.size(), n);
  EXPECT_LE(result.calls - (IsOar3() ? 0 : ended), 1);
  oar_->Kill(refs);
}

}  // namespace
}  // namespace cigri::real
