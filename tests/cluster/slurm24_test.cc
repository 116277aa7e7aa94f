// The Slurm driver against answers that a real slurmrestd 24.11 gave (v0.0.42).
#include <gtest/gtest.h>

#include "cluster/slurm_codec.h"
#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::BatchOf;
using test::Fixture;
using test::FixtureJson;
using test::RefOf;
using test::Says;

constexpr char kRecordedTag[] = "cigri.12.a";

class Slurm24Test : public testing::Test {
 protected:
  Slurm24Test() {
    config_ = test::ConfigOf("slurm", server_.port());
    config_.options.erase("api_version");
    config_.options["best_effort_partition"] = "besteffort";
    for (const char* what : {"ping", "partitions", "nodes", "diag"})
      On("GET", what, std::string("slurm24/") + what);
    slurm_ = MakeCluster(config_);
  }
  void On(const std::string& method, const std::string& path, const std::string& fixture) {
    server_.On(method, "/slurm/v0.0.42/" + path, Fixture(fixture));
  }
  std::pair<std::string, std::string> Submitted(const Batch& batch) {
    try {
      return {"ids " + Join(slurm_->Submit(batch), " "), ""};
    } catch (const SubmitInDoubt& e) {
      return {"doubt", e.what()};
    } catch (const SubmitRefused& e) {
      static const char* const kWhy[] = {"batch", "user", "token", "limit", "bytes", "temporary"};
      return {kWhy[static_cast<int>(e.why())], e.what()};
    }
  }
  CheckItem Checked(const std::string& what) {
    for (const auto& item : slurm_->Check("alice", false))
      if (item.what == what) return item;
    return {what, CheckItem::Verdict::kSkipped, "no such item"};
  }
  test::RecordedServer server_;
  ClusterConfig config_;
  std::unique_ptr<Cluster> slurm_;
};

TEST_F(Slurm24Test, EveryAnswerToASubmissionMeansWhatItMeansForTheJobs) {
  config_.auth_type = "jwt";
  const struct {
    const char* fixture;
    const char* want;
  } cases[] = {{"submit-array", "ids 19_0"},
               {"err-bad-token-submit", "token"},
               {"err-expired-token-submit", "token"},
               {"err-token-of-another-user-submit", "token"},
               {"err-no-token", "token"},
               {"err-controller-down-submit", "temporary"},
               {"err-404-38", "temporary"},
               {"err-impossible", "batch"},
               {"err-unknown-partition", "batch"},
               {"err-missing-environment", "batch"},
               {"err-malformed-json", "batch"},
               {"err-array-too-large", "batch"},
               {"err-comment-too-long", "bytes"}};
  for (const auto& c : cases) {
    // A refused token is not tried again: a new one each time.
    slurm_ = MakeCluster(config_, [&](const std::string&) { return std::string(c.fixture); });
    On("POST", "job/submit", std::string("slurm24/") + c.fixture);
    const auto [outcome, words] = Submitted(BatchOf({"true"}));
    EXPECT_EQ(outcome, c.want) << c.fixture << ": " << words;
  }
}

TEST_F(Slurm24Test, ARefusedTokenIsNoDoubtNoFaultOfTheClusterAndNotHiddenByAPing) {
  config_.auth_type = "jwt";
  slurm_ = MakeCluster(config_, [](const std::string&) { return "bad"; });
  On("GET", "ping", "slurm24/bad-token-ping-200");
  On("GET", "diag", "slurm24/err-bad-token-diag");
  On("GET", "partitions", "slurm24/err-bad-token-get-job");
  On("GET", "job/12", "slurm24/err-bad-token-get-job");
  EXPECT_EQ(Checked("authorised").verdict, CheckItem::Verdict::kFail);
  PollRequest request;
  request.jobs = {RefOf("12_0", kRecordedTag)};
  const auto said = slurm_->Poll(request);
  EXPECT_TRUE(said.jobs.empty() && said.missing.empty()) << "no news is not absence";
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "token");
  EXPECT_TRUE(server_.Asked("POST", "").empty()) << "found out before anything was sent";
  EXPECT_NE(slurm_->CredentialError("alice"), "");
}

TEST_F(Slurm24Test, ADeletionIs200WhateverHappenedAndReadByItsNumbers) {
  const struct {
    const char* fixture;
    std::size_t asked, gone, failed;
  } cases[] = {{"delete-running", 1, 0, 0},
               {"delete-unknown-200", 0, 1, 0},
               {"delete-already-done", 0, 1, 0},
               {"delete-foreign-200", 0, 0, 1}};
  On("GET", "job/19", "slurm24/array-held");
  for (const auto& c : cases) {
    On("DELETE", "job/19_3", std::string("slurm24/") + c.fixture);
    auto ref = RefOf("19_3", kRecordedTag, 3);
    ref.cluster_user = "grid";
    const auto r = slurm_->Kill({ref});
    EXPECT_EQ(r.asked.size(), c.asked) << c.fixture;
    EXPECT_EQ(r.gone.size(), c.gone) << c.fixture;
    ASSERT_EQ(r.failed.size(), c.failed) << c.fixture;
    if (c.failed > 0) {
      EXPECT_NE(r.failed[0].second.find("permission denied (2002)"), std::string::npos);
    }
  }
}

TEST_F(Slurm24Test, OfAnArrayThatIsDeletedWholeEachTaskIsReported) {
  On("GET", "job/19", "slurm24/array-held");       // 0-19
  On("DELETE", "job/19", "slurm24/delete-array");  // 19_2 and 19_4 had ended
  std::vector<RemoteRef> refs;
  for (int i = 0; i < 20; ++i) refs.push_back(RefOf("19_" + std::to_string(i), kRecordedTag, i));
  const auto theirs = refs;
  EXPECT_EQ(slurm_->Kill(theirs).failed.size(), 20u) << "the record says whose they are";
  EXPECT_TRUE(server_.Asked("DELETE", "").empty()) << "v0.0.40 would not say that it did nothing";
  for (auto& ref : refs) ref.cluster_user = "grid";
  const auto r = slurm_->Kill(refs);
  EXPECT_EQ(server_.Asked("DELETE", "").size(), 1u);
  EXPECT_EQ(r.asked.size(), 18u);
  EXPECT_EQ(r.gone.size(), 2u);
}

TEST_F(Slurm24Test, ABatchWaitsForATimeSoThatSlurmRefusesWhatCanNeverRun) {
  On("POST", "job/submit", "slurm24/submit-array");
  ASSERT_EQ(Submitted(BatchOf({"a", "b"})).first, "ids 19_0 19_1");
  const auto job = nlohmann::json::parse(server_.Asked("POST", "").at(0).body)["job"];
  EXPECT_FALSE(job.contains("hold")) << "a held job is taken unseen";
  EXPECT_GT(job["begin_time"]["number"], std::time(nullptr) + kSlurmHoldSeconds / 2);
  auto held = FixtureJson("slurm24/array-held");
  held["jobs"][0].update({{"name", "cigri.12.g1.abcd"},
                          {"state_reason", "BeginTime"},
                          {"hold", false},
                          {"eligible_time", job["begin_time"]}});
  server_.On("GET", "/slurm/v0.0.42/job/19", Says(held));
  PollRequest request;
  request.jobs = {RefOf("19_0", "cigri.12.g1.abcd")};
  EXPECT_EQ(slurm_->Poll(request).jobs.at(0).state, RemoteState::kHeld);
  On("POST", "job/19", "slurm24/update-release");
  slurm_->Release(BatchOf({"a", "b"}), {"19_0", "19_1"});
  const auto release = nlohmann::json::parse(server_.Asked("POST", "/job/19").at(0).body);
  EXPECT_EQ(release["begin_time"]["number"], 1);
  EXPECT_EQ(release["hold"], false) << "held by 22.05, before the cluster was upgraded";
}

TEST_F(Slurm24Test, ACheckpointSignalIsAskedForWhereTheApiTakesOne) {
  On("POST", "job/submit", "slurm24/submit-array");
  auto batch = BatchOf({"a", "b"});
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 90}};
  ASSERT_EQ(Submitted(batch).first, "ids 19_0 19_1");
  const auto job = nlohmann::json::parse(server_.Asked("POST", "").at(0).body)["job"];
  EXPECT_EQ(job["kill_warning_signal"], "USR1");
  EXPECT_EQ(job["kill_warning_delay"]["number"], 90);
  EXPECT_EQ(job["kill_warning_flags"], nlohmann::json({"BATCH_JOB"}));
  const auto old = WriteSlurmRequest({.signal = "USR1", .signal_before_s = 90}, 38)["job"];
  EXPECT_FALSE(old.contains("kill_warning_signal")) << "Slurm 22.05 refuses keys that it does not know";
}

TEST_F(Slurm24Test, AWalltimeBeyondThePartitionsIsRefused) {
  auto all = FixtureJson("slurm24/partitions");
  for (auto& p : all["partitions"])
    p["maximums"]["time"] = {{"set", true}, {"infinite", false}, {"number", 10}};
  server_.On("GET", "/slurm/v0.0.42/partitions", Says(all));
  auto batch = BatchOf({"true"});
  batch.walltime_s = 601;
  const auto [outcome, words] = Submitted(batch);
  EXPECT_EQ(outcome, "batch");
  EXPECT_NE(words.find("at most 10 min"), words.npos) << words;
  On("POST", "job/submit", "slurm24/submit-array");
  batch.walltime_s = 600;
  EXPECT_EQ(Submitted(batch).first, "ids 19_0");
}

TEST_F(Slurm24Test, TheDefaultPartitionIsFoundOutFromTheBatchItself) {
  config_.options.erase("best_effort_partition");
  slurm_ = MakeCluster(config_);
  On("POST", "job/submit", "slurm24/submit-array");
  auto record = FixtureJson("slurm24/array-held");
  record["jobs"][0]["partition"] = "normal";
  server_.On("GET", "/slurm/v0.0.42/job/19", Says(record));
  On("DELETE", "job/19", "slurm24/delete-running");
  const auto [outcome, words] = Submitted(BatchOf({"true"}));
  EXPECT_EQ(outcome, "batch");
  EXPECT_NE(words.find("partition normal of cluster froggy are not preempted"), words.npos)
      << words;
  EXPECT_EQ(server_.Asked("DELETE", "/job/19").size(), 1u);
  record["jobs"][0]["partition"] = "besteffort";
  server_.On("GET", "/slurm/v0.0.42/job/19", Says(record));
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "ids 19_0");
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "ids 19_0");
  EXPECT_EQ(server_.Asked("GET", "/job/19").size(), 2u) << "known from then on";
}

TEST_F(Slurm24Test, ACheckSaysWhatThisVersionDoesNotShow) {
  const auto version = Checked("version");
  EXPECT_EQ(version.verdict, CheckItem::Verdict::kOk);
  EXPECT_EQ(version.detail, "API v0.0.42; it does not show PreemptMode, the default partition");
  const auto partition = Checked("best-effort");
  EXPECT_EQ(partition.verdict, CheckItem::Verdict::kOk);
  EXPECT_NE(partition.detail.find("does not show PreemptMode"), std::string::npos);
}

TEST_F(Slurm24Test, AnUnknownVersionIsNamed) {
  server_.On("GET", "/openapi/v3",
             Says({{"paths",
                    {{"/slurm/v0.0.42/ping/", {}},
                     {"/slurm/v0.0.44/ping/", {}},
                     {"/slurmdb/v0.0.45/ping/", {}}}}}));
  EXPECT_NE(Checked("version").detail.find("it also offers v0.0.44, not known and not used"),
            std::string::npos)
      << Checked("version").detail;
  config_.options["api_version"] = "v0.0.44";
  server_.On("GET", "/slurm/v0.0.44/ping", Fixture("slurm24/ping"));
  slurm_ = MakeCluster(config_);
  EXPECT_EQ(Checked("version").verdict, CheckItem::Verdict::kWarn);
  EXPECT_NE(Checked("version").detail.find("v0.0.44: not known, spoken as v0.0.43"),
            std::string::npos)
      << Checked("version").detail;
  config_.options.erase("api_version");
  slurm_ = MakeCluster(config_);
  On("GET", "ping", "slurm/err-404");
  const auto reachable = Checked("reachable");
  EXPECT_NE(reachable.detail.find("offers none of v0.0.36 to v0.0.43, but v0.0.44"),
            std::string::npos)
      << reachable.detail;
}

// Upgraded under a driver that has found an older version.
TEST_F(Slurm24Test, AVersionThatIsGoneIsFoundAgain) {
  server_.On("GET", "/slurm/v0.0.42/ping", Fixture("slurm/err-404"));
  server_.On("GET", "/slurm/v0.0.38/ping", Fixture("slurm/ping"));
  server_.On("GET", "/slurm/v0.0.38/job/19", Fixture("slurm/array-held"));
  PollRequest request;
  request.jobs = {RefOf("19_15", kRecordedTag, 15)};
  slurm_->Poll(request);
  server_.On("GET", "/slurm/v0.0.38/job/19", Fixture("slurm24/err-404-38"));
  On("GET", "ping", "slurm24/ping");
  On("GET", "job/19", "slurm24/array-running");
  EXPECT_THROW(slurm_->Poll(request), CallFailed) << "no news, and not missing";
  const auto said = slurm_->Poll(request);
  ASSERT_EQ(said.jobs.size(), 1u);
  EXPECT_EQ(said.jobs[0].state, RemoteState::kRunning);
}

TEST_F(Slurm24Test, EveryEndHasItsCause) {
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
      {"job-preempted-requeue-requeue-false", EndCause::kPreempted, -1},
      {"job-node-fail", EndCause::kNodeFailed, -1},
      {"slurmdb-job-failed-exit3", EndCause::kExited, 3 << 8},
      {"slurmdb-job-signal9", EndCause::kExited, 9},
  };
  for (const auto& c : cases) {
    const auto records = ParseSlurmJobs("test", Fixture(std::string("slurm24/") + c.fixture).body);
    ASSERT_FALSE(records.empty()) << c.fixture;
    RemoteJob job;
    FillFromSlurmRecord(&job, records.back());
    EXPECT_EQ(job.state, RemoteState::kEnded) << c.fixture;
    EXPECT_EQ(job.cause, c.cause) << c.fixture << ": " << job.message;
    EXPECT_EQ(job.wait_status.value_or(-1), c.status) << c.fixture;
  }
  RemoteJob job;
  FillFromSlurmRecord(&job, ParseSlurmJobs("t", Fixture("slurm24/job-completing").body).at(0));
  EXPECT_EQ(job.state, RemoteState::kRunning) << "COMPLETING hides the end to come";
}

TEST_F(Slurm24Test, ForgottenJobsAreAskedOfTheAccounting) {
  On("GET", "job/39", "slurm24/err-unknown-job");
  server_.On("GET", "/slurmdb/v0.0.42/job/39", Fixture("slurm24/slurmdb-array-done"));
  PollRequest request;
  request.jobs = {RefOf("39_2", kRecordedTag, 2)};
  EXPECT_EQ(slurm_->Poll(request).jobs.at(0).cause, EndCause::kExited);
  server_.On("GET", "/slurmdb/v0.0.42/job/39", Fixture("slurm24/err-slurmdbd-down"));
  auto said = slurm_->Poll(request);
  EXPECT_TRUE(said.jobs.empty() && said.missing.empty()) << "down: nothing is known";
  server_.On("GET", "/slurmdb/v0.0.42/job/39", Fixture("slurm24/slurmdb-job-unknown-200"));
  said = slurm_->Poll(request);
  EXPECT_EQ(said.missing.size(), 1u);
}

}  // namespace
}  // namespace cigri::cluster
