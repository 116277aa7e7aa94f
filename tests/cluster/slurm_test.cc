// The Slurm driver against answers that a real slurmrestd 22.05 gave.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cluster/job_record.h"
#include "cluster/slurm_array.h"
#include "cluster/slurm_codec.h"
#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::Answer;
using test::BatchOf;
using test::Fixture;
using test::FixtureJson;
using test::RefOf;
using test::Says;
using Json = nlohmann::json;

constexpr char kTag[] = "cigri.12.g1.abcd";
// What the recorded jobs were called.
constexpr char kRecorded[] = "arr";

class SlurmTest : public testing::Test {
 protected:
  SlurmTest() {
    config_ = test::ConfigOf("slurm", server_.port());
    config_.options["best_effort_partition"] = "besteffort";
    slurm_ = MakeCluster(config_);
    server_.On("GET", "/partitions", Fixture("slurm/partitions"));
  }
  std::pair<std::string, std::string> Submitted(const Batch& batch) {
    try {
      return {"ids " + Join(slurm_->Submit(batch), " "), ""};
    } catch (const SubmitInDoubt& e) {
      return {"doubt [" + Join(e.ids, " ") + "]", e.what()};
    } catch (const SubmitRefused& e) {
      static const char* const kWhy[] = {"batch", "user", "token", "limit", "bytes", "temporary"};
      return {kWhy[static_cast<int>(e.why())], e.what()};
    }
  }
  PollResult Poll(const std::string& tag, const std::vector<std::string>& ids) {
    PollRequest request;
    for (const auto& id : ids)
      request.jobs.push_back(RefOf(id, tag, std::stoi(id.substr(id.find('_') + 1))));
    return slurm_->Poll(request);
  }
  test::RecordedServer server_;
  ClusterConfig config_;
  std::unique_ptr<Cluster> slurm_;
};

TEST_F(SlurmTest, ASubmissionIsAHeldArrayThatSlurmNeverRequeues) {
  server_.On("POST", "/job/submit", Fixture("slurm/submit-array"));
  auto batch = BatchOf({"echo $HOME", "echo '#'"});
  batch.walltime_s = 61;
  batch.resources = "/nodes=2/core=3";
  batch.options = {{"mem", "2000M"}, {"gpus", 1}, {"qos", "low"}, {"constraint", "ib"}};
  EXPECT_TRUE(StartsWith(Submitted(batch).first, "ids "));
  const auto asked = server_.Asked("POST", "").at(0);
  EXPECT_EQ(asked.Header("X-SLURM-USER-NAME"), "alice");
  EXPECT_EQ(asked.Header("Content-Type"), "application/json");
  const auto body = Json::parse(asked.body);
  const auto& job = body["job"];
  EXPECT_EQ(job["name"], kTag);
  EXPECT_EQ(job["comment"], kTag);
  EXPECT_EQ(job["array"], "0-1");
  EXPECT_EQ(job["hold"], true);
  EXPECT_EQ(job["no_requeue"], true);
  EXPECT_FALSE(job.contains("requeue"));
  EXPECT_EQ(job["time_limit"], 2);
  EXPECT_EQ(job["nodes"], 2);
  EXPECT_EQ(job["tasks"], 2);
  EXPECT_EQ(job["cpus_per_task"], 3);
  EXPECT_EQ(job["memory_per_node"], 2000);
  EXPECT_EQ(job["gres"], "gpu:1");
  EXPECT_EQ(job["qos"], "low");
  EXPECT_EQ(job["constraints"], "ib");
  EXPECT_EQ(job["partition"], "besteffort");
  EXPECT_TRUE(StartsWith(body["script"].get<std::string>(), "#!/bin/sh\n"));
}

TEST_F(SlurmTest, EveryAnswerToASubmissionMeansWhatItMeansForTheJobs) {
  server_.On("GET", "/ping", Fixture("slurm/ping"));
  const struct {
    const char* fixture;
    const char* want;
  } cases[] = {
      {"submit-ok", "ids 3_0"},
      {"submit-held", "ids 4_0"},
      {"err-controller-down-submit", "temporary"},
      {"err-bad-token-submit", "doubt []"},
      {"err-unknown-partition", "batch"},
      {"err-array-spec", "batch"},
      {"err-comment-too-long", "bytes"},
      {"err-unknown-key", "batch"},
      {"err-missing-environment", "batch"},
      {"err-malformed-json", "batch"},
      {"err-no-token", "user"},
      {"err-404", "temporary"},
  };
  for (const auto& c : cases) {
    server_.On("POST", "/job/submit", Fixture(std::string("slurm/") + c.fixture));
    const auto [outcome, words] = Submitted(BatchOf({"true"}));
    EXPECT_EQ(outcome, c.want) << c.fixture << ": " << words;
    if (c.want[0] != 'i') {
      EXPECT_NE(words.find("submit 1 jobs to froggy"), words.npos) << words;
    }
  }
  server_.On("POST", "/job/submit", {502, "<html>Bad Gateway</html>", "text/html"});
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "doubt []");
  server_.On("POST", "/job/submit", Fixture("slurm/err-array-spec"));
  EXPECT_EQ(Submitted(BatchOf({"a", "b"})).first, "limit") << "MaxArraySize";
}

TEST_F(SlurmTest, ABadTokenIsDistinguishedFromADoubtByAskingAgain) {
  config_.auth_type = "jwt";
  std::string token = "bad";
  slurm_ = MakeCluster(config_, [&](const std::string&) { return token; });
  server_.On("POST", "/job/submit", Fixture("slurm/err-bad-token-submit"));
  server_.On("GET", "/ping", Fixture("slurm/err-bad-token-get"));
  const auto [outcome, words] = Submitted(BatchOf({"true"}));
  EXPECT_EQ(outcome, "token");
  EXPECT_NE(slurm_->CredentialError("alice"), "") << "it is not tried again at once";
  EXPECT_EQ(slurm_->CredentialError("bob"), "");
  token = "new";
  EXPECT_EQ(slurm_->CredentialError("alice"), "");
  EXPECT_NE(words.find("token of user alice"), words.npos) << words;
}

TEST_F(SlurmTest, WhatIsAcceptedAndCanNeverRunIsTakenBack) {
  server_.On("POST", "/job/submit", Fixture("slurm/submit-impossible-accepted"));
  server_.On("DELETE", "/job/5", Fixture("slurm/delete-already-done"));
  const auto [outcome, words] = Submitted(BatchOf({"true"}));
  EXPECT_EQ(outcome, "batch");
  EXPECT_NE(words.find("not available now"), words.npos) << words;
  EXPECT_EQ(server_.Asked("DELETE", "/job/5").size(), 1u);
}

TEST_F(SlurmTest, BestEffortNeedsAPartitionWhoseJobsArePreempted) {
  server_.On("POST", "/job/submit", Fixture("slurm/submit-ok"));
  auto batch = BatchOf({"true"});
  batch.options = {{"partition", "normal"}};
  EXPECT_EQ(Submitted(batch).first, "batch");
  EXPECT_NE(Submitted(batch).second.find("partition normal of cluster froggy are not preempted"),
            std::string::npos)
      << Submitted(batch).second;
  batch.options = {{"partition", "nosuch"}};
  EXPECT_EQ(Submitted(batch).first, "batch");
  batch.options = {{"partition", "requeue"}};
  EXPECT_EQ(Submitted(batch).first, "ids 3_0");
  batch.options = {{"partition", "normal"}};
  batch.best_effort = false;
  EXPECT_EQ(Submitted(batch).first, "ids 3_0");
  // The highest of all partitions cannot be preempted by another, whatever its mode says.
  auto all = FixtureJson("slurm/partitions");
  for (auto& p : all["partitions"]) p["priority_tier"] = 1;
  server_.On("GET", "/partitions", Says(all));
  slurm_ = MakeCluster(config_);
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "batch");
  config_.options["not_preemptible"] = true;
  slurm_ = MakeCluster(config_);
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "ids 3_0");
}

TEST_F(SlurmTest, AnArrayIsReadInOneCallWhateverStateItsTasksAreIn) {
  server_.On("GET", "/job/12", Fixture("slurm/array-running"));
  const auto r = Poll(kRecorded, {"12_13", "12_15", "12_16", "12_20"});
  EXPECT_EQ(r.calls, 1);
  ASSERT_EQ(r.jobs.size(), 4u);
  EXPECT_EQ(r.jobs[0].state, RemoteState::kRunning);
  EXPECT_EQ(r.jobs[0].node, "n4");
  EXPECT_EQ(r.jobs[2].state, RemoteState::kWaiting);
  EXPECT_EQ(r.jobs[3].state, RemoteState::kWaiting);
  server_.On("GET", "/job/12", Fixture("slurm/array-held"));
  EXPECT_EQ(Poll(kRecorded, {"12_1"}).jobs.at(0).state, RemoteState::kHeld);
  server_.On("GET", "/job/12", Fixture("slurm/array-done"));
  const auto done = Poll(kRecorded, {"12_17", "12_20"});
  ASSERT_EQ(done.jobs.size(), 2u);
  EXPECT_EQ(done.jobs[0].wait_status, 256);
  EXPECT_EQ(done.jobs[1].wait_status, 0) << "the record of the array became its last task";
}

TEST_F(SlurmTest, OfJobsThatAreAsWeKnowAPollSaysNothing) {
  server_.On("GET", "/job/12", Fixture("slurm/array-running"));
  PollRequest request;
  using S = RemoteState;
  const std::pair<int, std::optional<S>> asked[] = {
      {13, S::kRunning}, {15, S::kWaiting}, {16, S::kWaiting}, {20, S::kRunning}, {17, {}}};
  for (const auto& [index, known] : asked) {
    request.jobs.push_back(RefOf("12_" + std::to_string(index), kRecorded, index));
    request.jobs.back().known = known;
  }
  const auto result = slurm_->Poll(request);
  std::map<int, S> reported;
  for (const auto& job : result.jobs) reported[job.ref.index] = job.state;
  EXPECT_EQ(reported, (std::map<int, S>{{15, S::kRunning}, {20, S::kWaiting}, {17, S::kWaiting}}));
  EXPECT_TRUE(result.missing.empty()) << "no news is not absence";
  server_.On("GET", "/job/12", Fixture("slurm/array-held"));
  EXPECT_EQ(slurm_->Poll(request).jobs.at(0).state, S::kHeld);
}

TEST_F(SlurmTest, ACutListOfTasksLosesNoneOfThem) {
  server_.On("GET", "/job/32", Fixture("slurm/array-task-string-truncated"));
  const auto r = Poll("arrs", {"32_2", "32_999"});
  ASSERT_EQ(r.jobs.size(), 2u);
  EXPECT_EQ(r.jobs[1].state, RemoteState::kHeld);
}

TEST_F(SlurmTest, TasksCancelledBeforeTheyStartedAreDeleted) {
  server_.On("GET", "/job/31", Fixture("slurm/array-cancelled-pending"));
  const auto r = Poll("arrp", {"31_1", "31_2", "31_6"});
  ASSERT_EQ(r.jobs.size(), 2u);
  EXPECT_EQ(r.jobs[0].cause, EndCause::kDeleted);
  EXPECT_FALSE(r.jobs[0].wait_status) << "exit code 0 of a job that never ran is no success";
  EXPECT_EQ(r.missing.size(), 1u);
}

TEST_F(SlurmTest, AnIdThatWasGivenOutAgainIsNotOurJob) {
  server_.On("GET", "/job/12", Fixture("slurm/array-done"));
  const auto r = Poll(kTag, {"12_17"});
  EXPECT_TRUE(r.jobs.empty());
  EXPECT_EQ(r.missing.size(), 1u);
}

TEST_F(SlurmTest, EveryEndHasItsCause) {
  const struct {
    const char* fixture;
    EndCause cause;
    int status;
  } cases[] = {
      {"job-completed-full", EndCause::kExited, 0},
      {"job-failed-exit3", EndCause::kExited, 3 << 8},
      {"job-failed-signal9", EndCause::kExited, 9},
      {"job-failed-output-path", EndCause::kBadOutput, -1},
      {"job-timeout", EndCause::kWalltime, -1},
      {"job-cancelled-running", EndCause::kDeleted, -1},
      {"job-cancelled-pending", EndCause::kDeleted, -1},
      {"job-preempted", EndCause::kPreempted, -1},
      {"job-node-fail", EndCause::kNodeFailed, -1},
      {"slurmdb-job-failed-exit3", EndCause::kUnknown, -1},
      {"slurmdb-job-signal9", EndCause::kExited, 9},
  };
  for (const auto& c : cases) {
    const auto records = ParseSlurmJobs("test", Fixture(std::string("slurm/") + c.fixture).body);
    ASSERT_FALSE(records.empty()) << c.fixture;
    RemoteJob job;
    FillFromSlurmRecord(&job, records.back());
    EXPECT_EQ(job.state, RemoteState::kEnded) << c.fixture;
    EXPECT_EQ(job.cause, c.cause) << c.fixture << ": " << job.message;
    EXPECT_EQ(job.wait_status.value_or(-1), c.status) << c.fixture;
  }
}

TEST_F(SlurmTest, CompletingHidesTheEndToCome) {
  auto answer = FixtureJson("slurm/job-cancelled-running");
  answer["jobs"][0]["job_state"] = "COMPLETING";
  RemoteJob job;
  FillFromSlurmRecord(&job, ParseSlurmJobs("test", answer.dump()).at(0));
  EXPECT_EQ(job.state, RemoteState::kRunning);
}

TEST_F(SlurmTest, AJobThatSlurmctldForgotIsAskedOfTheAccounting) {
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/err-unknown-job"));
  server_.On("GET", "/slurmdb/v0.0.38/job/12", Fixture("slurm/slurmdb-array-done"));
  const auto r = Poll(kRecorded, {"12_2", "12_1"});
  ASSERT_EQ(r.jobs.size(), 2u);
  EXPECT_EQ(r.jobs[0].wait_status, 0);
  EXPECT_EQ(r.jobs[1].cause, EndCause::kUnknown) << "the accounting loses exit codes: no success";
  EXPECT_EQ(r.calls, 2);
}

TEST_F(SlurmTest, NeitherKnownNorStoredIsMissingAndNothingMore) {
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/err-unknown-job"));
  EXPECT_EQ(Poll(kTag, {"12_2"}).missing.size(), 1u) << "a cluster without accounting: 404";
  server_.On("GET", "/slurmdb/v0.0.38/job/12", Fixture("slurm/slurmdb-job-unknown-200"));
  EXPECT_EQ(Poll(kTag, {"12_2"}).missing.size(), 1u);
}

TEST_F(SlurmTest, AnAccountingThatIsDownIsNoNewsAtAll) {
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/err-unknown-job"));
  server_.On("GET", "/slurmdb/v0.0.38/job/12", Fixture("slurm/err-slurmdbd-down-200"));
  const auto r = Poll(kTag, {"12_2"});
  EXPECT_TRUE(r.missing.empty());
  EXPECT_TRUE(r.jobs.empty());
}

TEST_F(SlurmTest, OneUserWithoutATokenDoesNotStopTheOthers) {
  config_.auth_type = "jwt";
  config_.auth_user = "grid";
  slurm_ = MakeCluster(config_, [](const std::string& user) {
    return user == "alice" ? std::string("t") : std::string();
  });
  server_.On("GET", "/job/12", Fixture("slurm/array-running"));
  PollRequest request;
  request.jobs = {RefOf("11_0", kTag), RefOf("12_15", kRecorded, 15)};
  request.jobs[0].cluster_user = "bob";
  const auto r = slurm_->Poll(request);
  EXPECT_EQ(r.jobs.size(), 1u);
  EXPECT_TRUE(r.missing.empty());
  request.jobs.pop_back();
  const auto none = slurm_->Poll(request);
  EXPECT_TRUE(none.jobs.empty() && none.missing.empty()) << "no news, and no fault of the cluster";
  // The grid's own account reads what users' tokens no longer can.
  config_.auth_password = "grid";
  slurm_ = MakeCluster(config_, [](const std::string& user) {
    return user == "bob" ? std::string("eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDB9.sig")
                         : std::string();
  });
  server_.On("GET", "/job/11", Fixture("slurm/err-unknown-job"));
  slurm_->Poll(request);
  EXPECT_EQ(server_.Asked("GET", "/job/11").at(0).Header("X-SLURM-USER-TOKEN"), "grid");
}

TEST_F(SlurmTest, AnExpiredTokenIsReportedBeforeAnythingIsSent) {
  config_.auth_type = "jwt";
  // {"exp":1000000000,"sun":"alice"}
  slurm_ = MakeCluster(config_, [](const std::string&) {
    return "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDAsInN1biI6ImFsaWNlIn0.sig";
  });
  const auto [outcome, words] = Submitted(BatchOf({"true"}));
  EXPECT_EQ(outcome, "token");
  EXPECT_NE(words.find("the token of user alice for cluster froggy expired"), words.npos) << words;
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(SlurmTest, AReleaseIsBelievedUnlessAnErrorHasANumber) {
  const auto batch = BatchOf({"a", "b"});
  server_.On("POST", "/job/12", Fixture("slurm/array-update-release-200-with-error"));
  EXPECT_NO_THROW(slurm_->Release(batch, {"12_0", "12_1"}));
  server_.On("POST", "/job/12", Fixture("slurm/update-release"));
  EXPECT_NO_THROW(slurm_->Release(batch, {"12_0", "12_1"}));
  server_.On("POST", "/job/12", Fixture("slurm/update-parse-error-200"));
  EXPECT_THROW(slurm_->Release(batch, {"12_0", "12_1"}), CallFailed);
  server_.On("POST", "/job/12", Fixture("slurm/err-unknown-job"));
  EXPECT_THROW(slurm_->Release(batch, {"12_0", "12_1"}), CallFailed);
}

TEST_F(SlurmTest, ADoubtIsLookedUpAmongTheLiveAndThenAmongTheStored) {
  server_.On("GET", "/slurm/v0.0.38/jobs", Fixture("slurm/array-held"));
  auto found = slurm_->Find(kRecorded, "alice", 1.8e9, false);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.jobs.size(), 20u);
  EXPECT_EQ(found.jobs[0].ref.remote_id, "12_1");
  EXPECT_EQ(found.jobs[0].state, RemoteState::kHeld);
  EXPECT_TRUE(server_.Asked("GET", "/slurmdb/").empty());

  found = slurm_->Find(kTag, "alice", 1.8e9, false);
  EXPECT_TRUE(found.jobs.empty());
  EXPECT_TRUE(found.complete) << "held jobs do not end: the live list is all there is";
  server_.On("GET", "/slurmdb/", Fixture("slurm/err-slurmdbd-down-200"));
  EXPECT_FALSE(slurm_->Find(kTag, "alice", 1.8e9, false).complete);
}

TEST_F(SlurmTest, TheListingSeesNoJobOfCigri3) {
  const auto job = [](int id, const std::string& name) {
    return Json{{"job_id", id},           {"array_job_id", id}, {"array_task_id", 4},
                {"job_state", "RUNNING"}, {"name", name},       {"user_name", "alice"}};
  };
  server_.On("GET", "/jobs", Says({{"jobs", {job(1, "cigri.12"), job(2, kTag), job(3, "x")}}}));
  const auto jobs = slurm_->ListTagged("cigri.", {});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ref.tag, kTag);
  EXPECT_EQ(jobs[0].ref.remote_id, "2_4");
  EXPECT_EQ(jobs[0].ref.index, 4);
}

// What a restored database asks.
TEST_F(SlurmTest, TagsSinceATimeNeedTheAccountingForWhatSlurmctldForgot) {
  const auto job = [](int id, const std::string& name) {
    return Json{{"job_id", id},           {"array_job_id", id}, {"array_task_id", 4},
                {"job_state", "RUNNING"}, {"name", name},       {"user_name", "alice"}};
  };
  server_.On("GET", "/slurm/v0.0.38/jobs", Says({{"jobs", {job(1, "cigri.12"), job(2, kTag)}}}));
  server_.On("GET", "/slurmdb/", Fixture("slurm/err-slurmdbd-down-200"));
  EXPECT_THROW(slurm_->TagsSince("cigri.", 1.8e9), CallFailed);
  server_.On("GET", "/slurmdb/", Says({{"jobs", Json::array()}, {"errors", Json::array()}}));
  EXPECT_EQ(slurm_->TagsSince("cigri.", 1.8e9), std::vector<std::string>{kTag});
}

TEST_F(SlurmTest, DeletionsAreOfTasksAndReadByTheirNumber) {
  const struct {
    const char* fixture;
    int asked, gone, failed;
  } cases[] = {{"delete-running", 1, 0, 0},
               {"delete-already-done", 1, 0, 0},
               {"err-delete-unknown", 0, 1, 0},
               {"err-delete-foreign", 0, 0, 1}};
  server_.On("GET", "/job/12", Fixture("slurm/array-held"));
  for (const auto& c : cases) {
    server_.On("DELETE", "/job/12_3", Fixture(std::string("slurm/") + c.fixture));
    auto ref = RefOf("12_3", kRecorded, 3);
    ref.cluster_user = "grid";
    const auto r = slurm_->Kill({ref});
    EXPECT_EQ(r.asked.size(), static_cast<std::size_t>(c.asked)) << c.fixture;
    EXPECT_EQ(r.gone.size(), static_cast<std::size_t>(c.gone)) << c.fixture;
    EXPECT_EQ(r.failed.size(), static_cast<std::size_t>(c.failed)) << c.fixture;
  }
}

TEST_F(SlurmTest, AnArrayIsDeletedWholeOnlyWhenAllThatLivesOfItIsMeant) {
  server_.On("GET", "/job/12", Fixture("slurm/array-held"));  // 1-20
  server_.On("DELETE", "/job/12", Fixture("slurm/delete-running"));
  std::vector<RemoteRef> refs;
  for (int i = 1; i <= 20; ++i) refs.push_back(RefOf("12_" + std::to_string(i), kRecorded, i));
  for (auto& ref : refs) ref.cluster_user = "grid";
  EXPECT_EQ(slurm_->Kill(refs).asked.size(), 20u);
  EXPECT_EQ(server_.Asked("DELETE", "").size(), 1u);
  refs.pop_back();
  EXPECT_EQ(slurm_->Kill(refs).asked.size(), 19u);
  EXPECT_EQ(server_.Asked("DELETE", "/job/12_").size(), 19u);
}

TEST_F(SlurmTest, DrainingNodesAreNotFreeThoughTheySayIdle) {
  auto nodes = FixtureJson("slurm/nodes");
  auto node = nodes["nodes"][0];
  node["state_flags"] = {"DRAIN"};
  nodes["nodes"].push_back(node);
  auto foreign = nodes["nodes"][0];
  foreign["partitions"] = {"gpu"};
  nodes["nodes"].push_back(foreign);
  auto busy = nodes["nodes"][0];
  busy["state"] = "mixed";
  busy["state_flags"] = {"COMPLETING"};
  busy["alloc_cpus"] = 3;
  busy["idle_cpus"] = 1;
  nodes["nodes"].push_back(busy);
  const auto n = static_cast<int>(nodes["nodes"].size()) - 1;
  server_.On("GET", "/nodes", Says(nodes));
  server_.On("GET", "/diag", Fixture("slurm/diag"));
  const auto r = slurm_->GetResources({});
  EXPECT_EQ(r.max, 4 * n);
  EXPECT_EQ(r.used, 3);
  EXPECT_EQ(r.unavailable, 4);
  EXPECT_NEAR(r.stress, 3.0 / 256, 1e-9);
}

TEST_F(SlurmTest, NodesOfLaterVersionsHaveTheirFlagsInTheState) {
  const auto node = [](const Json& state) { return Json{{"state", state}, {"cpus", 4}}; };
  config_.options.erase("best_effort_partition");
  server_.On("GET", "/nodes",
             Says({{"nodes",
                    {node({"IDLE"}), node({"IDLE", "DRAIN"}), node({"DOWN"}),
                     node({"MIXED", "PLANNED"}), node(nullptr)}}}));
  server_.On("GET", "/diag", Fixture("slurm/diag"));
  const auto r = MakeCluster(config_)->GetResources({});
  EXPECT_EQ(r.max, 20);
  EXPECT_EQ(r.unavailable, 12) << r.note;
}

TEST_F(SlurmTest, TheClassOfABatchIsWhatItsJobsCanUse) {
  const struct {
    Json options;
    const char *properties, *request;
    int units;
  } cases[] = {
      {Json::object(), "", "", 1},
      {{{"partition", "besteffort"}}, "", "", 1},  // the cluster's own
      {{{"gpus", 2}}, "", R"({"gpus":true})", 2},
      {{{"partition", "long"}}, "", R"({"partition":"long"})", 3},
      {Json::object(), "ib&fast", R"({"constraint":"ib&fast"})", 3},
      {{{"constraint", "ib"}, {"gpus", 1}}, "", R"({"constraint":"ib","gpus":true})", 1},
      {{{"constraint", "[a|b]"}}, "", "", 1},  // more than we count
      {{{"constraint", "a&b|c"}}, "", "", 1},
  };
  for (const auto& c : cases) {
    auto batch = BatchOf({"true"});
    batch.options = c.options;
    batch.properties = c.properties;
    batch.slots = 3;
    const auto got = slurm_->ResourceClassOf(batch);
    EXPECT_EQ(got.request, c.request) << c.options << c.properties;
    EXPECT_EQ(got.units, c.units) << c.options << c.properties;
  }
}

TEST_F(SlurmTest, GpusPartitionsAndFeaturesAreCountedOnTheirOwn) {
  auto nodes = FixtureJson("slurm/nodes");
  const auto plain = nodes["nodes"][0];  // 4 CPUs
  nodes["nodes"] = Json::array();
  const auto add = [&](Json changes) {
    auto node = plain;
    node.update(changes);
    nodes["nodes"].push_back(node);
  };
  add({{"gres", "gpu:a100:4(S:0-1)"}, {"gres_used", "gpu:a100:3(IDX:0,2-3)"}, {"state", "mixed"},
       {"alloc_cpus", 3}, {"features", "ib,fast"}});
  add({{"gres", "gpu:2,nic:1"}, {"gres_used", "gpu:0,nic:0"}, {"features", {"ib"}}});
  add({{"gres", "gpu:2"}, {"gres_used", "gpu:0"}, {"state_flags", {"DRAIN"}}});
  add({{"partitions", {"long"}}, {"features", "fast"}});
  server_.On("GET", "/diag", Fixture("slurm/diag"));
  const std::string gpus = R"({"gpus":true})", ib = R"({"constraint":"ib"})",
                    both = R"({"constraint":"ib&fast","gpus":true})",
                    either = R"({"constraint":"none|fast"})", far = R"({"partition":"long"})";
  const auto counts = [&] {
    server_.On("GET", "/nodes", Says(nodes));
    return slurm_->GetResources({gpus, ib, both, either, far, "of OAR"}).classes;
  };
  auto classes = counts();
  ASSERT_EQ(classes.size(), 5u);
  const auto count = [&](const std::string& request) {
    const auto& c = classes.at(request);
    return std::tuple(c.name, c.total, c.free);
  };
  EXPECT_EQ(count(gpus), std::tuple("GPUs", 8, 3));
  EXPECT_EQ(count(ib), std::tuple("CPUs with ib", 8, 5));
  EXPECT_EQ(count(both), std::tuple("GPUs with ib&fast", 4, 1));
  EXPECT_EQ(count(either), std::tuple("CPUs with none|fast", 4, 1));
  EXPECT_EQ(count(far), std::tuple("CPUs of partition long", 4, 4));
  nodes["nodes"][0]["gres_used"] = "";  // a job runs, and which GPUs it has is not shown
  classes = counts();
  EXPECT_EQ(classes.count(gpus), 0u);
  EXPECT_EQ(classes.count(ib), 1u);
}

// Of a real Slurm 22.05: two nodes of 4 CPUs and 2 GPUs; a job has one CPU and one GPU.
TEST_F(SlurmTest, TheGpusOfARealOneAreCounted) {
  server_.On("GET", "/nodes", Fixture("slurm/nodes-gpu"));
  server_.On("GET", "/diag", Fixture("slurm/diag"));
  const std::string gpus = R"({"gpus":true})", fast = R"({"constraint":"ib&fast"})";
  const auto classes = slurm_->GetResources({gpus, fast}).classes;
  const auto count = [&](const std::string& request) {
    return std::tuple(classes.at(request).total, classes.at(request).free);
  };
  EXPECT_EQ(count(gpus), std::tuple(4, 3));
  EXPECT_EQ(count(fast), std::tuple(8, 7));
}

TEST_F(SlurmTest, WithoutASharedFolderItSaysWhereTheOutputIs) {
  try {
    slurm_->ReadOutput(RefOf("12_3", kTag, 3), Stream::kStdout, 0, 10);
    ADD_FAILURE() << "read";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("$HOME/.cigri/output/12.g1/abcd.0/3.out"),
              std::string::npos)
        << e.what();
  }
}

// What jobs leave in a folder that this host sees too.
class SlurmRecordsTest : public SlurmTest {
 protected:
  SlurmRecordsTest() {
    char name[] = "/tmp/cigri-shared-XXXXXX";
    folder_ = mkdtemp(name);
    user_ = getpwuid(geteuid())->pw_name;
    config_.options["shared_folder"] = folder_;
    config_.options["records"] = true;
    slurm_ = MakeCluster(config_);
  }
  ~SlurmRecordsTest() override { std::filesystem::remove_all(folder_); }
  RemoteRef Ref(int index) const {
    auto ref = RefOf("12_" + std::to_string(index), kTag, index);
    ref.cluster_user = user_;
    return ref;
  }
  void Record(int index, const std::string& text) {
    const auto path = std::filesystem::path(folder_) / RecordPath(Ref(index));
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // What a poll says of the elements of array 12, whose recorded `fixture`s these are.
  std::map<int, RemoteJob> Polled(const std::map<int, std::string>& fixtures, double started_at) {
    Json jobs = Json::array();
    PollRequest request;
    for (const auto& [index, fixture] : fixtures) {
      auto job = FixtureJson(fixture)["jobs"][0];
      job.update({{"name", kTag},
                  {"array_job_id", 12},
                  {"array_task_id", index},
                  {"start_time", started_at}});
      jobs.push_back(job);
      request.jobs.push_back(Ref(index));
    }
    server_.On("GET", "/job/12", Says({{"jobs", jobs}, {"errors", Json::array()}}));
    std::map<int, RemoteJob> reported;
    for (const auto& job : slurm_->Poll(request).jobs) reported[job.ref.index] = job;
    return reported;
  }
  static double Soon() { return static_cast<double>(std::time(nullptr)) + 5; }
  std::string folder_, user_;
};

// Seen on a real Slurm: a slurmd that knew the id from before a crash of slurmctld refused the job,
// which "ran" until its time limit.
TEST_F(SlurmRecordsTest, AJobThatRunsWithoutHavingBegunGivesNoSign) {
  const std::string running = "slurm/job-running", done = "slurm/job-completed-full";
  Record(1, "cigri1 began 1 n2 12_1 4711\n");
  auto reported = Polled({{2, running}}, Soon());
  EXPECT_FALSE(reported[2].unresponsive) << "nothing shows yet that this is the right folder";
  reported = Polled({{1, running}, {2, running}}, Soon());
  EXPECT_FALSE(reported[1].unresponsive);
  EXPECT_TRUE(reported[2].unresponsive);
  Record(2, "cigri1 began 1 n2 12_2 4712\n");
  EXPECT_FALSE(Polled({{1, running}, {2, running}}, Soon())[2].unresponsive);
  std::filesystem::remove_all(folder_ + "/records");
  reported = Polled({{1, running}, {2, running}, {3, running}}, Soon());
  EXPECT_FALSE(reported[1].unresponsive || reported[2].unresponsive) << "they had begun";
  EXPECT_FALSE(reported[3].unresponsive) << "the folder is not there any more";
}

// A poll that failed had forgotten who had begun: where the record had been cleaned away since, a
// job that ran well would have been killed.
TEST_F(SlurmRecordsTest, APollThatFailsForgetsNobodyWhoHasBegun) {
  const std::string running = "slurm/job-running";
  Record(1, "cigri1 began 1 n2 12_1 4711\n");
  Record(2, "cigri1 began 1 n2 12_2 4712\n");
  EXPECT_FALSE(Polled({{1, running}, {2, running}}, Soon())[1].unresponsive);
  PollRequest request;
  request.jobs = {Ref(1), Ref(2)};
  server_.On("GET", "/job/12", Says("<html>", 502));
  EXPECT_THROW(slurm_->Poll(request), CallFailed);
  std::filesystem::remove(std::filesystem::path(folder_) / RecordPath(Ref(1)));
  const auto reported = Polled({{1, running}, {2, running}}, Soon());
  EXPECT_FALSE(reported.at(1).unresponsive);
  EXPECT_FALSE(reported.at(2).unresponsive);
}

// Started once, forgotten by a slurmctld that crashed, started again and refused by its node.
TEST_F(SlurmRecordsTest, AJobThatRunsAndHasEndedByItsOwnRecordGivesNoSignEither) {
  Record(1, "cigri1 began 1 n2 12_1 4711\ncigri1 0 1 2 n2 12_1 1 end\n");
  const std::string running = "slurm/job-running", cancelled = "slurm/job-cancelled-running";
  EXPECT_TRUE(Polled({{1, running}}, Soon())[1].unresponsive);
  const auto killed = Polled({{1, cancelled}}, Soon());
  EXPECT_EQ(killed.at(1).cause, EndCause::kExited) << "and when it is killed its success counts";
  EXPECT_EQ(killed.at(1).wait_status, 0);
}

TEST_F(SlurmRecordsTest, WhatBeganBeforeThisDriverIsNotJudged) {
  Record(1, "cigri1 began 1 n2 12_1 4711\n");
  const auto reported =
      Polled({{1, "slurm/job-running"}, {2, "slurm/job-running"}}, 1795165861.0 - 1e8);
  EXPECT_FALSE(reported.at(2).unresponsive) << "its record may have been cleaned away";
}

TEST_F(SlurmRecordsTest, AJobOfALostNodeThatHasSucceededByItsOwnRecordHas) {
  Record(1, "cigri1 began 1 n4 12_1 4711\ncigri1 0 1000 1005 n4 12_1 1 end\n");
  Record(2, "cigri1 began 1 n4 12_2 4711\n");
  Record(3, "cigri1 began 1 n4 12_3 4711\ncigri1 15 1000 1005 n4 12_3 1 end\n");
  const std::string lost = "slurm/job-node-fail";
  auto reported = Polled({{1, lost}, {2, lost}, {3, "slurm/job-cancelled-running"}}, Soon());
  EXPECT_EQ(reported[1].cause, EndCause::kExited);
  EXPECT_EQ(reported[1].wait_status, 0);
  EXPECT_EQ(reported[2].cause, EndCause::kNodeFailed);
  EXPECT_EQ(reported[3].cause, EndCause::kDeleted);
}

// It ran again: Slurm evicts a job whose program has just ended, and calls it PREEMPTED.
TEST_F(SlurmRecordsTest, AJobThatEndedWithZeroInTheSecondOfItsEvictionIsDone) {
  Record(1, "cigri1 began 1 n1 12_1 4711\ncigri1 0 1000 1003 n1 12_1 1 end\n");
  Record(2, "cigri1 began 1 n1 12_2 4711\ncigri1 15 1000 1003 n1 12_2 1 end\n");
  Record(3, "cigri1 began 1 n1 12_3 4711\ncigri1 256 1000 1003 n1 12_3 1 end\n");
  const std::string evicted = "slurm/job-preempted";
  auto reported = Polled({{1, evicted}, {2, evicted}, {3, evicted}, {4, evicted}}, Soon());
  EXPECT_EQ(reported[1].cause, EndCause::kExited);
  EXPECT_EQ(reported[1].wait_status, 0);
  EXPECT_EQ(reported[2].cause, EndCause::kPreempted);
  EXPECT_EQ(reported[3].cause, EndCause::kPreempted) << "a failure may be the eviction's doing";
  EXPECT_EQ(reported[4].cause, EndCause::kPreempted);
  // slurmctld has forgotten it, and only the accounting has it.
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/err-unknown-job"));
  auto stored = FixtureJson("slurm/slurmdb-array-done");
  for (auto& job : stored["jobs"]) job["state"]["current"] = "PREEMPTED";
  server_.On("GET", "/slurmdb/v0.0.38/job/12", Says(stored));
  PollRequest request;
  request.jobs = {Ref(1)};
  EXPECT_EQ(slurm_->Poll(request).jobs.at(0).wait_status, 0);
}

// Its script could start no process any more, or a second start of it knew no end (215).
TEST_F(SlurmRecordsTest, AJobWhoseScriptFailedAfterItsProgramHadSucceededIsDone) {
  Record(1, "cigri1 began 1 n1 12_1 4711\ncigri1 used 1 0.5 1 0 0 0 1003\n");
  Record(2, "cigri1 began 1 n1 12_2 4711\ncigri1 used 1 0.5 1 0 0 768 1003\n");
  const std::string failed = "slurm/job-failed-exit3";
  auto reported = Polled({{1, failed}, {2, failed}}, Soon());
  EXPECT_EQ(reported[1].wait_status, 0);
  EXPECT_EQ(reported[1].measured.cpu_s, 0.5);
  EXPECT_EQ(reported[2].wait_status, 3 << 8);
}

// Elements 0 and 1 share task 0 of array 12, 2 and 3 task 2.
class SlurmGroupTest : public SlurmRecordsTest {
 protected:
  std::vector<RemoteRef> Refs() const {
    std::vector<RemoteRef> refs;
    for (int i = 0; i < 4; ++i) {
      refs.push_back(Ref(i));
      refs.back().remote_id = "12_" + std::to_string(i / 2 * 2);
      refs.back().job_id = 100 + i;
      refs.back().tasks_per_job = 2;
      refs.back().known = RemoteState::kWaiting;
    }
    return refs;
  }
  void Log(int first, const std::string& text) {
    const auto path = std::filesystem::path(folder_) / GroupPath(Refs().at(first));
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void Shows(const std::map<int, std::string>& fixtures) {
    Json jobs = Json::array();
    for (const auto& [task, fixture] : fixtures) {
      jobs.push_back(FixtureJson(fixture)["jobs"][0]);
      jobs.back().update({{"name", kTag},
                          {"user_name", user_},
                          {"array_job_id", 12},
                          {"array_task_id", task}});
    }
    server_.On("GET", "/job/12", Says({{"jobs", jobs}, {"errors", Json::array()}}));
  }
  std::map<int, RemoteJob> PollAll() {
    PollRequest request;
    request.jobs = Refs();
    std::map<int, RemoteJob> reported;
    for (const auto& job : slurm_->Poll(request).jobs) reported[job.ref.index] = job;
    return reported;
  }
};

TEST_F(SlurmGroupTest, AnArrayHasATaskForEachJobWithTheNumberOfItsFirstElement) {
  auto batch = BatchOf({"a", "b", "c", "d", "e"});
  batch.tasks_per_job = 2;
  server_.On("POST", "/job/submit", Fixture("slurm/submit-array"));
  const auto ids = slurm_->Submit(batch);
  const auto body = Json::parse(server_.Asked("POST", "/job/submit").at(0).body);
  EXPECT_EQ(body["job"]["array"], "0-4:2");
  const auto script = body["script"].get<std::string>();
  EXPECT_NE(script.find("\n2) set -- 2 "), script.npos);
  EXPECT_EQ(script.find("\n1) set -- "), script.npos);
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[1], ids[0]);
  EXPECT_TRUE(ids[3] == ids[2] && ids[4] != ids[2]);
}

TEST_F(SlurmGroupTest, EachEndIsSeenWhileTheJobRuns) {
  Shows({{0, "slurm/job-running"}, {2, "slurm/job-running"}});
  Log(0, "cigri1 begins 100 1000\ncigri1 used 100 0.5 2048 0 0\n"
         "cigri1 768 1000 1005 n1 12_0 100 end\ncigri1 begins 101 1005\n");
  const auto jobs = PollAll();
  EXPECT_EQ(jobs.at(0).wait_status, 3 << 8);
  EXPECT_EQ(jobs.at(0).measured.peak_mb, 2.0);
  EXPECT_EQ(jobs.at(1).state, RemoteState::kRunning);
  EXPECT_EQ(jobs.count(2), 0u) << "its turn has not come: it waits, as it is known to";
  EXPECT_EQ(server_.Asked("GET", "/job/12").size(), 1u);
}

TEST_F(SlurmGroupTest, AnEvictionLosesOnlyTheElementThatRan) {
  Shows({{0, "slurm/job-preempted"}, {2, "slurm/job-preempted"}});
  Log(0, "cigri1 begins 100 1000\ncigri1 0 1000 1005 n1 12_0 100 end\ncigri1 begins 101 1005\n");
  Log(2, "cigri1 begins 102 1000\n");
  const auto jobs = PollAll();
  EXPECT_EQ(jobs.at(0).wait_status, 0);
  EXPECT_EQ(jobs.at(1).cause, EndCause::kPreempted);
  EXPECT_EQ(jobs.at(2).cause, EndCause::kPreempted);
  EXPECT_EQ(jobs.at(3).cause, EndCause::kNotBegun);
}

TEST_F(SlurmGroupTest, ForgottenJobsAreKnownByWhatTheirElementsWrote) {
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/err-unknown-job"));
  server_.On("GET", "/slurmdb/v0.0.38/job/12", Fixture("slurm/slurmdb-job-unknown-200"));
  for (int i : {0, 2})
    Record(i, "cigri1 began 1 n1 x 4711\ncigri1 0 1000 1005 n1 12_0 " + std::to_string(100 + i) +
                  " end\n");
  PollRequest request;
  request.jobs = Refs();
  const auto result = slurm_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[1].ref.index, 2);
  EXPECT_EQ(result.jobs[1].wait_status, 0);
  EXPECT_EQ(result.missing.size(), 2u);
}

TEST_F(SlurmGroupTest, ElementsThatShareAJobAreKilledByOneCall) {
  Shows({{0, "slurm/job-running"}, {2, "slurm/job-running"}});
  server_.On("DELETE", "/job/12_0", Fixture("slurm/delete-running"));
  auto refs = Refs();
  refs.resize(2);
  const auto result = slurm_->Kill(refs);
  EXPECT_EQ(result.asked.size(), 2u);
  EXPECT_EQ(server_.Asked("DELETE", "").size(), 1u);
}

TEST_F(SlurmTest, TheVersionIsFoundFromTheNewestDown) {
  config_.options.erase("api_version");
  slurm_ = MakeCluster(config_);
  server_.On("GET", "/slurm/v0.0.38/ping", Fixture("slurm/ping"));
  server_.On("GET", "/slurm/v0.0.37/ping", Fixture("slurm/ping"));
  server_.On("GET", "/slurm/v0.0.38/job/12", Fixture("slurm/array-held"));
  Poll(kRecorded, {"12_1"});
  Poll(kRecorded, {"12_1"});
  EXPECT_EQ(server_.Asked("GET", "/ping").size(), 6u) << "43 to 38, once";
  EXPECT_EQ(server_.Asked("GET", "/slurm/v0.0.38/job/12").size(), 2u);
}

TEST(SlurmCodecTest, LaterVersionsAreWrittenAsDocumented) {
  SlurmRequest r;
  r.script = "#!/bin/sh\n";
  r.tag = kTag;
  r.array = "0-0";
  r.walltime_s = 60;
  r.nodes = 2;
  r.gpus = 2;
  r.mem_mb = 100;
  const auto body = WriteSlurmRequest(r, 40);
  const auto& job = body["job"];
  EXPECT_EQ(job["time_limit"], Json({{"set", true}, {"infinite", false}, {"number", 1}}));
  EXPECT_TRUE(job["environment"].is_array());
  EXPECT_EQ(job["requeue"], false);
  EXPECT_EQ(job["script"], r.script);
  EXPECT_EQ(job["nodes"], "2");
  EXPECT_EQ(job["tres_per_node"], "gres/gpu:2");
  EXPECT_TRUE(WriteSlurmRequest(r, 39).contains("script"));
  EXPECT_FALSE(job.contains("excluded_nodes"));
  r.excluded_nodes = {"n1", "n2"};
  r.required_nodes = {"n3"};
  EXPECT_EQ(WriteSlurmRequest(r, 40)["job"]["excluded_nodes"], Json({"n1", "n2"}));
  EXPECT_EQ(WriteSlurmRequest(r, 38)["job"]["exclude_nodes"], Json({"n1", "n2"}));
  EXPECT_EQ(WriteSlurmRequest(r, 38)["job"]["required_nodes"], Json({"n3"}));
}

TEST(SlurmCodecTest, LaterVersionsAreReadAsDocumented) {
  const auto number = [](int n) { return Json{{"set", true}, {"infinite", false}, {"number", n}}; };
  const Json unset{{"set", false}, {"infinite", false}, {"number", 0}};
  Json job{{"job_id", 77},
           {"array_job_id", number(12)},
           {"array_task_id", number(3)},
           {"name", kTag},
           {"comment", kTag},
           {"user_name", "alice"},
           {"job_state", {"RUNNING", "COMPLETING"}},
           {"start_time", number(1000)},
           {"end_time", number(1005)},
           {"nodes", "n1"},
           {"exit_code", {{"status", {"ERROR"}}, {"return_code", number(3)}}}};
  const auto read = [&] { return ParseSlurmJobs("t", Json{{"jobs", {job}}}.dump()).at(0); };
  EXPECT_EQ(read().state, "COMPLETING");
  job["job_state"] = {"FAILED"};
  EXPECT_EQ(read().state, "FAILED");
  EXPECT_EQ(read().task, 3);
  EXPECT_EQ(read().array_job_id, 12);
  EXPECT_EQ(read().wait_status, 3 << 8);
  EXPECT_DOUBLE_EQ(read().ended_at, 1005);
  job["exit_code"] = {{"status", {"SIGNALED"}},
                      {"return_code", unset},
                      {"signal", {{"id", number(9)}, {"name", "KILL"}}}};
  EXPECT_EQ(read().wait_status, 9);
  job["array_task_id"] = unset;
  job["array_task_string"] = "4-9";
  EXPECT_FALSE(read().task);
}

TEST(SlurmCodecTest, ListsOfTasksAreReadInAllTheirForms) {
  bool cut = false;
  EXPECT_EQ(ParseTaskString("1,3,5-7", &cut), (std::set<int>{1, 3, 5, 6, 7}));
  EXPECT_EQ(ParseTaskString("1-9:4%2", &cut), (std::set<int>{1, 5, 9}));
  EXPECT_FALSE(cut);
  EXPECT_EQ(ParseTaskString("", &cut), (std::set<int>{}));
  ParseTaskString("1,2,...", &cut);
  EXPECT_TRUE(cut);
  // An answer of some bytes is no reason to hold billions of numbers.
  EXPECT_EQ(ParseTaskString("5,0-2147483647,7", &cut), (std::set<int>{5, 7}));
  EXPECT_TRUE(cut);
  EXPECT_EQ(ParseTaskString("2147483646-2147483647:2,-5,9-3", &cut), (std::set<int>{2147483646}));
  EXPECT_FALSE(cut);
  EXPECT_EQ(TasksOfBitmap("0xEA"), (std::set<int>{1, 3, 5, 6, 7}));
  EXPECT_EQ(TasksOfBitmap("1-3"), (std::set<int>{}));
}

TEST(SlurmCodecTest, NumbersBeyondAnIntAreItsEnds) {
  const auto records = ParseSlurmJobs(
      "t", R"({"jobs":[{"job_id":1e300,"array_task_id":-1e300,"exit_code":{"return_code":1e10}}]})");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].job_id, INT64_MAX);
  EXPECT_EQ(records[0].task, INT32_MIN);
  EXPECT_EQ(records[0].wait_status, 255 << 8);
}

TEST(SlurmCodecTest, AJobNameWithInvalidBytesDoesNotStopAList) {
  const auto body = ReplaceAll(FixtureJson("slurm/array-held").dump(), "cigri:13:arr", "caf\xE9");
  EXPECT_EQ(ParseSlurmJobs("t", body).size(), 1u);
}

}  // namespace
}  // namespace cigri::cluster
