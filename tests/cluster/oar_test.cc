// The OAR 2.5 driver against answers that a real OAR gave.
#include <gtest/gtest.h>

#include <ctime>

#include "cluster/job_script.h"
#include "cluster/oar_jobs.h"
#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::Answer;
using test::BatchOf;
using test::ConfigOf;
using test::Fixture;
using test::FixtureJson;
using test::RefOf;
using test::Says;

class OarTest : public testing::Test {
 protected:
  OarTest() : oar_(MakeCluster(ConfigOf("oar2", server_.port()))) {}

  // "ids", "doubt [84 85]", "kUser"... and the words of the exception.
  std::pair<std::string, std::string> Submitted(const Batch& batch) {
    try {
      return {"ids " + Join(oar_->Submit(batch), " "), ""};
    } catch (const SubmitInDoubt& e) {
      return {"doubt [" + Join(e.ids, " ") + "]", e.what()};
    } catch (const SubmitRefused& e) {
      static const char* const kWhy[] = {"batch", "user", "token", "limit", "bytes", "temporary"};
      return {kWhy[static_cast<int>(e.why())], e.what()};
    }
  }
  // A list item of OAR 2.5.
  static nlohmann::json Item(int id, const std::string& state, const std::string& name = kTag) {
    return {{"id", id}, {"name", name}, {"owner", "alice"}, {"state", state}};
  }
  static Answer List(const nlohmann::json& items) {
    return Says({{"items", items}, {"total", items.size()}, {"offset", 0}});
  }
  static nlohmann::json Job(int id, int index, const std::string& state = "Running") {
    return {{"id", id},
            {"name", kTag},
            {"state", state},
            {"exit_code", 0},
            {"command", "exec /bin/sh -c 'eval \"$(echo QQ==|base64 -d)\"' cigri " +
                            std::to_string(index) + " 100 0 1 b QQ=="}};
  }
  static constexpr char kTag[] = "cigri.12.g1.abcd";
  test::RecordedServer server_;
  std::unique_ptr<Cluster> oar_;
};

TEST_F(OarTest, ASubmissionIsOneArrayThatNothingOnTheWayCanExpand) {
  server_.On("POST", "/jobs.json", Fixture("oar/post_array_param_201"));
  auto batch = BatchOf({"echo $HOME", "echo '#'", "echo \xC3\xA9"});
  batch.resources = "/nodes=1/core=2";
  batch.properties = "mem > `5`";
  batch.project = "p$1";
  EXPECT_EQ(Submitted(batch).first, "ids 84 85 86");
  const auto asked = server_.requests().at(0);
  EXPECT_EQ(asked.Header("X-Remote-Ident"), "alice");
  const auto body = nlohmann::json::parse(asked.body);
  EXPECT_EQ(body["name"], kTag);
  EXPECT_EQ(body["resource"], "/nodes=1/core=2,walltime=1:00:00");
  EXPECT_EQ(body["type"], nlohmann::json::array({"besteffort"}));
  EXPECT_EQ(body["property"], "mem > \\`5\\`");
  EXPECT_EQ(body["project"], "p\\$1");
  const std::string lines = body["param_file"];
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_EQ(lines.find_first_of("#$`\"'\\"), lines.npos);
  EXPECT_TRUE(StartsWith(lines, "0 100 0 1 b ")) << lines;
}

TEST_F(OarTest, EveryAnswerToASubmissionMeansWhatItMeansForTheJobs) {
  const struct {
    const char* fixture;
    const char* want;
  } cases[] = {
      {"post_single_201", "ids 83"},
      {"post_array_param_201", "doubt [84 85 86]"},  // three jobs of one element: not ours to judge
      {"server_down_post_500", "doubt [73]"},
      {"server_down_post_array_500", "doubt [74 75 76]"},
      {"jobs_500_html_spurious", "doubt []"},
      {"api_down_503", "doubt []"},
      {"err_admission_rule_500", "batch"},
      {"err_admin_queue_500", "batch"},
      {"err_unknown_queue_500", "batch"},
      {"err_unknown_option_500", "batch"},
      {"err_garbage_resource_500", "batch"},
      {"err_trailing_backslash_500", "batch"},
      {"err_workdir_500", "batch"},
      {"err_no_matching_resource_400", "batch"},
      {"err_too_many_resources_400", "batch"},
      {"err_unknown_property_400", "batch"},
      {"err_bad_json_400", "batch"},
      {"err_unknown_user_401", "user"},
      {"err_noauth_post_401", "user"},
      {"err_unknown_uri_404", "temporary"},
  };
  for (const auto& c : cases) {
    server_.On("POST", "/jobs.json", Fixture(std::string("oar/") + c.fixture));
    const auto [outcome, words] = Submitted(BatchOf({"true"}));
    EXPECT_EQ(outcome, c.want) << c.fixture << ": " << words;
    if (c.want[0] != 'i') {
      EXPECT_NE(words.find("submit 1 jobs to froggy"), words.npos) << words;
    }
  }
}

TEST_F(OarTest, ARefusalSaysTheSitesErrorMessage) {
  server_.On("POST", "/jobs.json", Fixture("oar/err_admission_rule_500"));
  const auto words = Submitted(BatchOf({"true"})).second;
  EXPECT_NE(words.find("unknown job type: nosuchtype"), words.npos) << words;
}

TEST_F(OarTest, AnArrayThatOarNeverStoredIsRefusedAndNotInDoubt) {
  for (const char* status : {"245", "251"}) {
    server_.On("POST", "/jobs.json",
               Says({{"message", std::string("Oarsub command exited with status ") + status +
                                     ": Simple array job submission is used\nBad resource"}},
                    500));
    EXPECT_EQ(Submitted(BatchOf({"true", "true"})).first, "batch") << status;
  }
}

TEST_F(OarTest, ABodyTooLargeIsALimitAndAnArgumentTooLongTooB) {
  server_.On("POST", "/jobs.json", {413, "<h1>Request Entity Too Large</h1>", "text/html"});
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "bytes");
  server_.On("POST", "/jobs.json",
             Says({{"message", "Oarsub command exited with status 72057594037927935: "}}, 500));
  EXPECT_EQ(Submitted(BatchOf({"true"})).first, "bytes");
}

TEST_F(OarTest, AUserWhomOarWouldTakeForAnotherIsRefused) {
  for (const char* user : {"alice-x", "alice.x@dom", "", "al ice"}) {
    auto batch = BatchOf({"true"});
    batch.cluster_user = user;
    EXPECT_EQ(Submitted(batch).first, "user") << user;
  }
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(OarTest, WhatExceedsALimitIsRefusedWithTheLimitAndTheTask) {
  auto batch = BatchOf({"true", RandomHex(200000)});
  EXPECT_NE(oar_->WhyNot(batch).find("at most 120000 bytes once encoded; that of task 1"),
            std::string::npos)
      << oar_->WhyNot(batch);
  EXPECT_EQ(Submitted(batch).first, "batch");
  EXPECT_EQ(oar_->WhyNot(BatchOf({"echo " + std::string(100 * 1024, 'x')})), "");
  batch = BatchOf({"true"});
  batch.job_types = {"idempotent"};
  EXPECT_NE(oar_->WhyNot(batch).find("idempotent"), std::string::npos);
  batch = BatchOf({"true"});
  batch.options = {{"mem", "2G"}};
  EXPECT_NE(oar_->WhyNot(batch).find("mem_property"), std::string::npos);
  batch.options = {{"gpus", 1}};
  batch.resources = "/nodes=2/core=4";
  EXPECT_NE(oar_->WhyNot(batch).find("both gpus and resources"), std::string::npos);
  batch.resources = "/nodes=2/gpu=1";
  EXPECT_EQ(oar_->WhyNot(batch), "");
}

// As the runner sends them: the JDL's "cores" has become /core=N, and what it does not say the
// grid's default.
TEST_F(OarTest, CoresGpusAndMemoryAreOfOneNode) {
  auto config = ConfigOf("oar2", server_.port());
  config.options["mem_property"] = "memnode";
  oar_ = MakeCluster(config);
  server_.On("POST", "/jobs.json", Fixture("oar/post_single_201"));
  const auto sent = [&](const nlohmann::json& options, const std::string& resources) {
    auto batch = BatchOf({"true"});
    batch.options = options;
    batch.resources = resources;
    EXPECT_EQ(Submitted(batch).first, "ids 83");
    const auto body = nlohmann::json::parse(server_.requests().back().body);
    return body.value("resource", "") + " " + body.value("property", "");
  };
  EXPECT_EQ(sent({{"cores", 4}}, "/core=4"), "/nodes=1/core=4,walltime=1:00:00 ");
  EXPECT_EQ(sent({{"mem", "1.5G"}}, "/resource_id=1"),
            "/resource_id=1,walltime=1:00:00 memnode >= 1536");
  EXPECT_EQ(sent({{"gpus", 2}, {"cores", 4}}, "/core=4"), "/nodes=1/gpu=2,walltime=1:00:00 ");
  EXPECT_EQ(sent({{"cores", 4}}, "/nodes=2/core=2"), "/nodes=2/core=2,walltime=1:00:00 ")
      << "resources of its own count";
  EXPECT_EQ(sent({{"excluded_nodes", {"n1", "n2"}}, {"mem", "1G"}}, "/resource_id=1"),
            "/resource_id=1,walltime=1:00:00 (memnode >= 1024) AND network_address NOT IN ('n1', "
            "'n2')");
  EXPECT_EQ(sent({{"node", "n1"}}, "/resource_id=1"),
            "/resource_id=1,walltime=1:00:00 network_address = 'n1'");
}

// What OAR says of an ended job, and what it means.
TEST_F(OarTest, EveryEndHasItsCause) {
  const struct {
    const char* fixture;
    EndCause cause;
    int status;  // -1: not known
  } cases[] = {
      {"job_terminated", EndCause::kExited, 3 << 8},
      {"job_killed_by_signal", EndCause::kExited, 15},
      {"besteffort_killed", EndCause::kPreempted, -1},
      {"job_walltime_exceeded", EndCause::kWalltime, -1},
      {"job_deleted_running", EndCause::kDeleted, -1},
      {"job_deleted_waiting", EndCause::kDeleted, -1},
      {"job_bad_directory", EndCause::kBadDirectory, -1},
      {"job_bad_stdout", EndCause::kBadOutput, -1},
      {"job_node_failed", EndCause::kNodeFailed, -1},
      {"job_noop", EndCause::kWalltime, -1},
  };
  for (const auto& c : cases) {
    RemoteJob job;
    FillFromOarJob(&job, FixtureJson(std::string("oar/") + c.fixture));
    EXPECT_EQ(job.state, RemoteState::kEnded) << c.fixture;
    EXPECT_EQ(job.cause, c.cause) << c.fixture << ": " << job.message;
    EXPECT_EQ(job.wait_status.value_or(-1), c.status) << c.fixture;
  }
}

TEST_F(OarTest, ABestEffortJobThatEndsWellBeforeItsKillIsASuccess) {
  auto answer = FixtureJson("oar/besteffort_killed");
  answer["state"] = "Terminated";
  answer["exit_code"] = 0;
  RemoteJob job;
  FillFromOarJob(&job, answer);
  EXPECT_EQ(job.cause, EndCause::kExited);
  EXPECT_EQ(job.wait_status, 0);
  answer["exit_code"] = 15;
  FillFromOarJob(&job, answer);
  EXPECT_EQ(job.cause, EndCause::kPreempted) << "what it did when it was killed is not its fault";
}

TEST_F(OarTest, LiveStatesAreDistinguished) {
  EXPECT_EQ(OarState("Hold"), RemoteState::kHeld);
  for (const char* s : {"Waiting", "toLaunch", "Launching", "toAckReservation"})
    EXPECT_EQ(OarState(s), RemoteState::kWaiting) << s;
  for (const char* s : {"Running", "Suspended", "Resuming", "Finishing", "toError"})
    EXPECT_EQ(OarState(s), RemoteState::kRunning) << s;
  for (const char* s : {"toLaunch", "Launching", "Running", "Suspended", "Resuming", "Finishing"})
    EXPECT_TRUE(OarRuns(s)) << s;
  // toError: it is being ended, as a deletion of a waiting job shows itself for a while.
  for (const char* s : {"Hold", "Waiting", "toAckReservation", "toError", "Terminated", "Error"})
    EXPECT_FALSE(OarRuns(s)) << s;
}

TEST_F(OarTest, APollReadsOneListAndThenOnlyTheEnded) {
  server_.On("GET",
             "ids=", List({Item(84, "Running"), Item(85, "Waiting"), Item(86, "Terminated")}));
  server_.On("GET", "/jobs/86.json", Fixture("oar/job_terminated"));
  PollRequest request;
  for (int i = 0; i < 4; ++i) request.jobs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  const auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 3u);
  EXPECT_EQ(result.jobs[2].wait_status, 3 << 8);
  EXPECT_EQ(result.jobs[2].ref.index, 2);
  ASSERT_EQ(result.missing.size(), 1u) << "an id that the answer leaves out is no success";
  EXPECT_EQ(result.missing[0].remote_id, "87");
  EXPECT_EQ(result.calls, 2);
  EXPECT_EQ(server_.requests().at(0).target, "/oarapi-cigri/jobs.json?limit=0&ids=84:85:86:87");
}

TEST_F(OarTest, AnIdThatWasGivenOutAgainIsNotOurJob) {
  server_.On("GET", "ids=", List({Item(84, "Terminated", "cigri.12"), Item(85, "Running", "")}));
  PollRequest request;
  request.jobs = {RefOf("84", kTag), RefOf("85", kTag, 1)};
  const auto result = oar_->Poll(request);
  EXPECT_TRUE(result.jobs.empty());
  EXPECT_EQ(result.missing.size(), 2u);
}

TEST_F(OarTest, OfJobsThatAreAsWeKnowAPollSaysNothing) {
  server_.On("GET", "ids=",
             List({Item(84, "Running"), Item(85, "Waiting"), Item(86, "Running"),
                   Item(87, "Waiting"), Item(88, "Terminated"), Item(89, "Running")}));
  server_.On("GET", "/jobs/88.json", Fixture("oar/job_terminated"));
  PollRequest request;
  for (int i = 0; i < 6; ++i) request.jobs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  using S = RemoteState;
  const std::optional<S> known[] = {S::kRunning, S::kWaiting, S::kWaiting,
                                    S::kRunning, S::kRunning, std::nullopt};
  for (int i = 0; i < 6; ++i) request.jobs[i].known = known[i];
  const auto result = oar_->Poll(request);
  std::map<std::string, S> reported;
  for (const auto& job : result.jobs) reported[job.ref.remote_id] = job.state;
  EXPECT_EQ(reported,
            (std::map<std::string, S>{
                {"86", S::kRunning}, {"87", S::kWaiting}, {"88", S::kEnded}, {"89", S::kRunning}}));
  EXPECT_TRUE(result.missing.empty()) << "no news is not absence";
}

TEST_F(OarTest, AnIdOfTwoBatchesIsTheOneItsNameReports) {
  server_.On("GET", "ids=", List(nlohmann::json::array({Item(84, "Running")})));
  PollRequest request;
  request.jobs = {RefOf("84", "cigri.12.g1.0000"), RefOf("84", kTag, 1)};
  const auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 1u);
  EXPECT_EQ(result.jobs[0].ref.index, 1);
  ASSERT_EQ(result.missing.size(), 1u);
  EXPECT_EQ(result.missing[0].tag, "cigri.12.g1.0000");
}

TEST_F(OarTest, AForgottenJobIsReadFromItsOwnRecord) {
  auto config = ConfigOf("oar2", server_.port());
  config.options["records"] = true;
  oar_ = MakeCluster(config);
  server_.On("GET", "ids=", Fixture("oar/jobs_empty"));
  server_.On("GET", "/media/~/.cigri/records/cigri.12.g1.abcd/0/1",
             {200, "cigri1 1792 1000 1005 node7 85 1 end\n", "application/octet-stream"});
  PollRequest request;
  request.jobs = {RefOf("84", kTag, 0), RefOf("85", kTag, 1)};
  const auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 1u);
  EXPECT_EQ(result.jobs[0].wait_status, 7 << 8);
  EXPECT_EQ(result.jobs[0].node, "node7");
  EXPECT_EQ(result.missing.size(), 1u);
}

TEST_F(OarTest, WhatJobsMeasuredIsReadWithOneCallForAllThatEndedTogether) {
  auto config = ConfigOf("oar2", server_.port());
  config.options["records"] = true;
  oar_ = MakeCluster(config);
  server_.On("GET", "ids=", List({Item(84, "Terminated"), Item(85, "Terminated")}));
  server_.On("GET", "/jobs/84.json", Fixture("oar/job_terminated"));
  server_.On("GET", "/jobs/85.json", Fixture("oar/job_terminated"));
  const std::string file = "/media/~/.cigri/records/cigri.12.g1.abcd/0/measured";
  server_.On("GET", file,
             {200, "cigri1 used 1 0.5 2048 0 1024\ncigri1 used 7 9 9 9 9\n", "x/y"});
  PollRequest request;
  request.jobs = {RefOf("84", kTag, 0), RefOf("85", kTag, 1)};
  request.jobs[1].job_id = 2;
  auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[0].measured.cpu_s, 0.5);
  EXPECT_EQ(result.jobs[0].measured.peak_mb, 2.0);
  EXPECT_EQ(result.jobs[0].measured.written_mb, 1.0);
  EXPECT_FALSE(result.jobs[1].measured.cpu_s) << "its line is not there";
  EXPECT_EQ(server_.Asked("GET", "/media/").size(), 1u);
  server_.On("GET", file, Says({{"code", 500}}, 500));
  result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 2u) << "an end does not wait for its measurements";
  EXPECT_EQ(result.jobs[0].state, RemoteState::kEnded);
}

TEST_F(OarTest, ACheckpointIsAskedOfOarAndAFailureRightAfterItIsNoFailure) {
  auto batch = BatchOf({"true"});
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 90}};
  server_.On("POST", "/jobs.json", Fixture("oar/post_single_201"));
  oar_->Submit(batch);
  const auto body = nlohmann::json::parse(server_.requests().at(0).body);
  EXPECT_EQ(body["checkpoint"], 90);
  EXPECT_EQ(body["signal"], 10);
  const struct {
    const char* who;
    int code;
    EndCause cause;
  } cases[] = {{"metasched", 3 << 8, EndCause::kPreempted},
               {"sarko", 3 << 8, EndCause::kWalltime},
               {"metasched", 0, EndCause::kExited},
               {"alice", 3 << 8, EndCause::kExited}};  // her own `oardel -c`
  for (const auto& c : cases) {
    RemoteJob job;
    FillFromOarJob(&job, {{"state", "Terminated"},
                          {"exit_code", c.code},
                          {"events", {{{"type", "CHECKPOINT"},
                                       {"description", "User oar (" + std::string(c.who) +
                                                           ") requested a checkpoint"}}}}});
    EXPECT_EQ(job.cause, c.cause) << c.who << c.code;
    EXPECT_EQ(job.wait_status, c.code);
  }
}

class OarGroupTest : public OarTest {
 protected:
  void SetUp() override {
    OarTest::SetUp();
    auto config = ConfigOf("oar2", server_.port());
    config.options["records"] = true;
    oar_ = MakeCluster(config);
    for (int i = 0; i < 4; ++i) {
      auto ref = RefOf(i < 2 ? "84" : "85", kTag, i);
      ref.job_id = 100 + i;
      ref.tasks_per_job = 2;
      request_.jobs.push_back(ref);
    }
  }
  PollRequest request_;
};

TEST_F(OarGroupTest, EachEndIsSeenWhileTheJobRuns) {
  server_.On("GET", "ids=", List({Item(84, "Running"), Item(85, "Waiting")}));
  server_.On("GET", "/media/~/.cigri/records/cigri.12.g1.abcd/0/0.group",
             {200,
              "cigri1 begins 100 1000\ncigri1 used 100 0.5 2048 0 0\n"
              "cigri1 768 1000 1005 node7 84 100 end\ncigri1 begins 101 1005\n",
              "x/y"});
  const auto result = oar_->Poll(request_);
  ASSERT_EQ(result.jobs.size(), 4u);
  std::map<std::int64_t, RemoteJob> jobs;
  for (const auto& job : result.jobs) jobs[job.ref.job_id] = job;
  EXPECT_EQ(jobs[100].wait_status, 3 << 8);
  EXPECT_EQ(jobs[100].measured.peak_mb, 2.0);
  EXPECT_EQ(jobs[101].state, RemoteState::kRunning);
  EXPECT_EQ(jobs[101].started_at, 1005);
  EXPECT_EQ(jobs[102].state, RemoteState::kWaiting);
  EXPECT_EQ(server_.Asked("GET", "/media/").size(), 1u) << "only jobs that run have a log";
}

TEST_F(OarGroupTest, WhatCannotBeReadIsNoNewsAndWhatIsNotThereIsNoSuccess) {
  server_.On("GET", "ids=", List(nlohmann::json::array({Item(84, "Terminated")})));
  server_.On("GET", "/jobs/84.json", Fixture("oar/job_terminated"));
  server_.On("GET", "/media/", Says({{"code", 500}}, 500));
  request_.jobs.resize(2);
  EXPECT_TRUE(oar_->Poll(request_).jobs.empty());
  server_.On("GET", "/media/", Says({{"code", 404}}, 404));
  const auto result = oar_->Poll(request_);
  ASSERT_EQ(result.jobs.size(), 2u);
  for (const auto& job : result.jobs) EXPECT_EQ(job.cause, EndCause::kUnknown);
}

// The frontend may remember for a minute that a file on NFS was not there: all of the job would run
// again.
TEST_F(OarGroupTest, WhatIsNotThereRightAfterTheEndMayBeThereLater) {
  server_.On("GET", "ids=", List(nlohmann::json::array({Item(84, "Terminated")})));
  auto ended = FixtureJson("oar/job_terminated");
  ended["stop_time"] = std::time(nullptr) - 5;
  server_.On("GET", "/jobs/84.json", Says(ended));
  server_.On("GET", "/media/", Says({{"code", 404}}, 404));
  request_.jobs.resize(2);
  EXPECT_TRUE(oar_->Poll(request_).jobs.empty());
  server_.On("GET", "/media/",
             {200,
              "cigri1 begins 100 1000\ncigri1 0 1000 1005 node7 84 100 end\n"
              "cigri1 begins 101 1005\ncigri1 0 1005 1006 node7 84 101 end\n",
              "x/y"});
  const auto result = oar_->Poll(request_);
  ASSERT_EQ(result.jobs.size(), 2u);
  for (const auto& job : result.jobs) EXPECT_EQ(job.wait_status, 0);
}

// An API with a ceiling on calls, that is far away.
struct FewCalls : CallLimiter {
  void Before(Clock::time_point) override {}
  void After(bool, const std::string&) override {}
  double WaitFor(int) override { return 0; }
  int ceiling() override { return 4; }
};

TEST_F(OarGroupTest, WhereCallsAreRareEachPollGoesOnWithOtherJobs) {
  auto config = ConfigOf("oar2", server_.port());
  config.limiter = std::make_shared<FewCalls>();
  oar_ = MakeCluster(config);
  server_.On("GET", "ids=", List({Item(84, "Running"), Item(85, "Running")}));
  server_.On("GET", "/media/", {200, "cigri1 begins 100 1000\n", "x/y"});
  oar_->Poll(request_);
  EXPECT_EQ(server_.Asked("GET", "/media/").size(), 1u);
  oar_->Poll(request_);
  std::set<std::string> read;
  for (const auto& request : server_.Asked("GET", "/media/")) read.insert(request.target);
  EXPECT_EQ(read.size(), 2u);
}

TEST_F(OarGroupTest, OneCallKillsTheJobOfAllItsElements) {
  server_.On("GET", "ids=", List(nlohmann::json::array({Item(84, "Running")})));
  server_.On("DELETE", "/jobs/84.json", Says({{"status", "Delete request registered"}}, 202));
  request_.jobs.resize(2);
  const auto result = oar_->Kill(request_.jobs);
  EXPECT_EQ(result.asked.size(), 2u);
  EXPECT_EQ(server_.Asked("DELETE", "/jobs/84").size(), 1u);
}

// A server that dies leaves what it was launching in this state, indefinitely.
TEST_F(OarTest, WhatIsBeingLaunchedHasGivenNoSignYet) {
  server_.On("GET", "ids=",
             List({Item(84, "toLaunch"), Item(85, "Launching"), Item(86, "Running"),
                   Item(87, "Waiting")}));
  PollRequest request;
  for (int i = 0; i < 4; ++i) request.jobs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  const auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 4u);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(result.jobs[static_cast<std::size_t>(i)].unresponsive, i < 2) << i;
  // That they are as they were is the very news of them.
  for (auto& ref : request.jobs) ref.known = RemoteState::kWaiting;
  const auto again = oar_->Poll(request);
  ASSERT_EQ(again.jobs.size(), 3u) << "but the one that waits";
  EXPECT_TRUE(again.jobs[0].unresponsive);
  EXPECT_TRUE(again.jobs[1].unresponsive);
}

TEST_F(OarTest, AJobThatOarStruckOffWithoutItsNodeIsAskedForItsOwnRecord) {
  auto config = ConfigOf("oar2", server_.port());
  config.options["records"] = true;
  oar_ = MakeCluster(config);
  server_.On("GET", "ids=", List({Item(84, "Error"), Item(85, "Error")}));
  auto job = FixtureJson("oar/job_deleted_running");
  server_.On("GET", "/jobs/85.json", Says(job));
  job["events"].push_back(
      {{"type", "EXTERMINATE_JOB"}, {"description", "[Leon] I exterminate the job 84"}});
  server_.On("GET", "/jobs/84.json", Says(job));
  const std::string record = "/media/~/.cigri/records/cigri.12.g1.abcd/0/0";
  server_.On("GET", record,
             {200, "cigri1 began 990 node7 84 4711\ncigri1 0 1000 1005 node7 84 1 end\n", "x/y"});
  PollRequest request;
  request.jobs = {RefOf("84", kTag, 0), RefOf("85", kTag, 1)};
  auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[0].cause, EndCause::kExited) << "it ran after all";
  EXPECT_EQ(result.jobs[0].wait_status, 0);
  EXPECT_EQ(result.jobs[1].cause, EndCause::kDeleted);
  EXPECT_TRUE(server_.Asked("GET", "abcd/0/1").empty()) << "a node that has answered is believed";
  server_.On("GET", record, Says({{"code", 404}}, 404));
  result = oar_->Poll(request);
  EXPECT_EQ(result.jobs.at(0).state, RemoteState::kEnded);
  EXPECT_EQ(result.jobs[0].cause, EndCause::kDeleted) << "it never began";
  server_.Hang("GET", record);
  config.call_timeout = std::chrono::milliseconds(300);
  result = MakeCluster(config)->Poll(request);
  EXPECT_EQ(result.jobs.at(0).state, RemoteState::kRunning) << "nobody knows: asked again";
}

TEST_F(OarTest, ListsAreCutBeforeTheWebServersLimitOfUrls) {
  server_.On("GET", "ids=", Fixture("oar/jobs_empty"));
  PollRequest request;
  for (int i = 0; i < 2500; ++i) request.jobs.push_back(RefOf(std::to_string(1234567 + i), kTag));
  const auto result = oar_->Poll(request);
  EXPECT_EQ(result.calls, 3);
  EXPECT_EQ(result.missing.size(), 2500u);
  for (const auto& r : server_.requests()) EXPECT_LT(r.target.size(), 8000u);
}

// A poll after a long outage: thousands of ends at once must not hold it up for minutes.
TEST_F(OarTest, DetailsOfTheEndedAreBoundedPerPoll) {
  nlohmann::json items = nlohmann::json::array();
  PollRequest request;
  for (int i = 0; i < 400; ++i) {
    items.push_back(Item(1000 + i, "Terminated"));
    request.jobs.push_back(RefOf(std::to_string(1000 + i), kTag, i));
  }
  server_.On("GET", "ids=", List(items));
  server_.On("GET", "/jobs/1", Fixture("oar/job_terminated"));
  const auto result = oar_->Poll(request);
  int ended = 0;
  for (const auto& job : result.jobs) ended += job.state == RemoteState::kEnded ? 1 : 0;
  EXPECT_EQ(result.jobs.size(), 400u);
  EXPECT_EQ(ended, 250);
}

TEST_F(OarTest, AForeignNameWithInvalidBytesDoesNotStopAList) {
  auto body = List({Item(84, "Running"), Item(85, "Running", "BAD")}).body;
  server_.On("GET", "ids=", {200, ReplaceAll(body, "BAD", "caf\xE9")});
  PollRequest request;
  request.jobs = {RefOf("84", kTag)};
  EXPECT_EQ(oar_->Poll(request).jobs.size(), 1u);
}

TEST_F(OarTest, ADoubtfulBatchIsFoundWithTheIndexThatEachJobKnows) {
  server_.On("GET", "from=", List({Item(85, "Running"), Item(90, "Running", "cigri.12")}));
  server_.On("GET", "/jobs.json?limit=0&user=alice",
             List({Item(84, "Running"), Item(85, "Waiting"), Item(86, "Waiting"),
                   Item(87, "Waiting", "cigri.12")}));
  server_.On("GET", "/jobs/84.json", Says(Job(84, 0)));
  server_.On("GET", "/jobs/86.json", Says(Job(86, 2)));
  const auto found = oar_->Find(kTag, "alice", 1e9, false);
  EXPECT_TRUE(found.complete);
  ASSERT_EQ(found.jobs.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(found.jobs[static_cast<std::size_t>(i)].ref.index, i);
    EXPECT_EQ(found.jobs[static_cast<std::size_t>(i)].ref.remote_id, std::to_string(84 + i));
  }
  EXPECT_EQ(found.jobs[1].state, RemoteState::kRunning) << "the later answer counts";
}

TEST_F(OarTest, ACopyThatOarMadeKeepsItsIndexUnderANewId) {
  server_.On("GET", "/jobs.json",
             List({Item(84, "Running"), Item(85, "Waiting"), Item(86, "Waiting")}));
  server_.On("GET", "/jobs/84.json", Says(Job(84, 0)));
  server_.On("GET", "/jobs/85.json", Says(Job(85, 1)));
  server_.On("GET", "/jobs/86.json", Says(Job(86, 0)));  // resubmitted 84
  const auto found = oar_->Find(kTag, "alice", 1e9, false);
  ASSERT_EQ(found.jobs.size(), 3u);
  EXPECT_EQ(found.jobs[0].ref.index, 0);
  EXPECT_EQ(found.jobs[1].ref.index, 1);
  EXPECT_EQ(found.jobs[2].ref.index, 0);
}

TEST_F(OarTest, TheListingSeesOnlyWhatCarriesThePrefixAndOurCommand) {
  server_.On("GET", "/jobs.json?limit=0",
             List({Item(84, "Running"), Item(90, "Running", "cigri.12"),
                   Item(91, "Running", "cigri.12.g1.fake")}));
  server_.On("GET", "/jobs/84.json", Says(Job(84, 5)));
  server_.On("GET", "/jobs/91.json", Says({{"id", 91}, {"command", "sleep 5"}}));
  const auto jobs = oar_->ListTagged("cigri.12.", {});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ref.index, 5);
  EXPECT_EQ(jobs[0].ref.cluster_user, "alice");
}

// What a restored database asks.
TEST_F(OarTest, TagsSinceATimeAreThoseOfLiveAndEndedJobsOfEverybody) {
  server_.On("GET", "from=", List({Item(80, "Terminated", "cigri.12.g1.old"),
                                   Item(81, "Terminated", "cigri.12"), Item(84, "Running")}));
  server_.On("GET", "/jobs.json?limit=0", List({Item(84, "Running"), Item(85, "Waiting")}));
  EXPECT_EQ(oar_->TagsSince("cigri.", 1e9),
            (std::vector<std::string>{"cigri.12.g1.abcd", "cigri.12.g1.old"}));
}

TEST_F(OarTest, AnswersToADeletionAreReadByTheirText) {
  const struct {
    const char* fixture;
    const char* want;
  } cases[] = {{"delete_running_202", "asked"},
               {"delete_terminated_202", "asked"},
               {"delete_twice_400", "asked"},
               {"delete_unknown_400", "failed"},
               {"server_down_delete_400", "failed"}};
  server_.On("GET", "ids=84", List(nlohmann::json::array({Item(84, "Running")})));
  for (const auto& c : cases) {
    server_.On("DELETE", "/jobs/84.json", Fixture(std::string("oar/") + c.fixture));
    const auto result = oar_->Kill({RefOf("84", kTag)});
    EXPECT_EQ(result.asked.size(), std::string(c.want) == "asked" ? 1u : 0u) << c.fixture;
    EXPECT_EQ(result.failed.size(), std::string(c.want) == "failed" ? 1u : 0u) << c.fixture;
  }
}

TEST_F(OarTest, AnArrayIsDeletedWholeOnlyWhenAllThatLivesOfItIsMeant) {
  server_.On("GET", "array=84",
             List({Item(84, "Terminated"), Item(85, "Running"), Item(86, "Waiting"),
                   Item(87, "Waiting"), Item(88, "Waiting")}));
  server_.On("POST", "/jobs/array/84/deletions/new.json", Fixture("oar/array_deletions_202"));
  server_.On("DELETE", "/jobs/", Fixture("oar/delete_running_202"));
  std::vector<RemoteRef> refs;
  for (int i = 1; i < 5; ++i) refs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  EXPECT_EQ(oar_->Kill(refs).asked.size(), 4u);
  EXPECT_EQ(server_.Asked("DELETE", "").size(), 0u);
  server_.On("GET", "array=84",
             List({Item(84, "Running"), Item(85, "Running"), Item(86, "Waiting"),
                   Item(87, "Waiting"), Item(88, "Waiting")}));
  server_.On("GET", "ids=", List({Item(85, "Running"), Item(86, "Waiting", "cigri.12.g1.other")}));
  const auto result = oar_->Kill(refs);
  EXPECT_EQ(result.asked.size(), 3u) << "what the list leaves out is asked to end, too";
  ASSERT_EQ(result.gone.size(), 1u);
  EXPECT_EQ(result.gone[0].remote_id, "86") << "an id that was issued again";
  EXPECT_EQ(server_.Asked("DELETE", "").size(), 3u);
}

TEST_F(OarTest, ResourcesAreCountedByUnitAndProperties) {
  nlohmann::json items = nlohmann::json::array();
  for (int i = 1; i <= 8; ++i)
    items.push_back({{"id", i},
                     {"core", i},
                     {"host", "h" + std::to_string((i + 1) / 2)},
                     {"cluster", i <= 6 ? "luke" : "leia"},
                     {"drain", "NO"},
                     {"state", i == 1 ? "Suspected" : "Alive"}});
  server_.On("GET", "/resources/full.json", Says({{"items", items}, {"total", 8}}));
  const auto busy = [](const char* unit, const std::string& value) {
    const nlohmann::json used{{unit, value}, {"jobs", nlohmann::json::array({83})}};
    const nlohmann::json idle{{unit, "h3"}, {"jobs", nlohmann::json::array()}};
    return Says({{"items", nlohmann::json::array({used, idle})}});
  };
  server_.On("GET", "/resources/host/jobs.json", busy("host", "h2"));
  server_.On("GET", "/resources/resource_id/jobs.json", busy("resource_id", "3"));
  server_.On("GET", "/stress_factor.json", Says({{"GLOBAL_STRESS", "0.85"}}));
  auto config = ConfigOf("oar2", server_.port());
  config.properties = "cluster='luke'";
  auto r = MakeCluster(config)->GetResources({});
  EXPECT_EQ(std::tuple(r.max, r.used, r.unavailable), std::tuple(6, 1, 1));
  EXPECT_DOUBLE_EQ(r.stress, 0.85);
  config.resource_unit = "host";
  r = MakeCluster(config)->GetResources({});
  EXPECT_EQ(std::tuple(r.max, r.used, r.unavailable), std::tuple(3, 1, 1));
  EXPECT_EQ(r.note, "1 of 3 hosts are not available");
}

TEST_F(OarTest, ResourcesThatAreTakenAwayOrFixedAreSeenInTheNextPoll) {
  const auto resources = [&](const std::vector<std::pair<int, const char*>>& cores) {
    nlohmann::json items = nlohmann::json::array();
    for (const auto& [id, state] : cores)
      items.push_back({{"id", id}, {"state", state}, {"drain", "NO"}});
    server_.On("GET", "/resources/full.json", Says({{"items", items}, {"total", items.size()}}));
    const auto r = oar_->GetResources({});
    return std::tuple(r.max, r.used, r.unavailable);
  };
  const nlohmann::json used{{"resource_id", "1"}, {"jobs", {83}}};
  server_.On("GET", "/resources/resource_id/jobs.json", Says({{"items", {used}}}));
  server_.On("GET", "/stress_factor.json", Says({{"GLOBAL_STRESS", "0"}}));
  EXPECT_EQ(resources({{1, "Alive"}, {2, "Suspected"}, {3, "Alive"}}), std::tuple(3, 1, 1));
  EXPECT_EQ(resources({{1, "Alive"}, {2, "Alive"}, {3, "Alive"}}), std::tuple(3, 1, 0));
  EXPECT_EQ(resources({{2, "Alive"}, {3, "Absent"}}), std::tuple(2, 0, 1));
}

ResourceClass OarClass(Cluster& oar, const std::string& properties, const std::string& resources,
                       int slots = 1, int gpus = 0) {
  auto batch = BatchOf({"true"});
  batch.properties = properties;
  batch.resources = resources;
  batch.slots = slots;
  if (gpus > 0) batch.options["gpus"] = gpus;
  return oar.ResourceClassOf(batch);
}

TEST_F(OarTest, TheClassOfABatchIsWhatItsJobsCanUse) {
  const struct {
    const char *properties, *resources;
    int slots, gpus;
    const char* request;
    int units;
  } cases[] = {
      {"", "/resource_id=1", 1, 0, "", 1},
      {"", "/nodes=1/core=4", 4, 0, "", 1},
      {"mem >= 64", "/core=4", 4, 0, R"({"properties":"mem >= 64"})", 4},
      {"", "/resource_id=1", 1, 2, R"({"unit":"gpu"})", 2},
      {"", "/host=2/gpu=3/core=4", 24, 0, R"({"unit":"gpu"})", 6},
      {"gpu_model='A100'", "/gpu=1", 1, 0,
       R"({"properties":"gpu_model='A100'","unit":"gpu"})", 1},
      {"", "{gpu='YES'}/nodes=1/{mem > 1}core=2", 2, 0,
       R"j({"properties":"((gpu='YES')) AND (mem > 1)"})j", 2},
      {"host LIKE 'a%'", "/core=1", 1, 0, "", 1},  // more than we read
      {"", "{a=1}/core=1+{b=2}/core=2", 3, 0, "", 1},
  };
  for (const auto& c : cases) {
    const auto got = OarClass(*oar_, c.properties, c.resources, c.slots, c.gpus);
    EXPECT_EQ(got.request, c.request) << c.properties << c.resources;
    EXPECT_EQ(got.units, c.units) << c.properties << c.resources;
  }
}

TEST_F(OarTest, GpusAndSlotsWithPropertiesAreCountedOnTheirOwn) {
  nlohmann::json items = nlohmann::json::array();
  for (int i = 1; i <= 8; ++i)  // two cores a GPU, on the first three hosts of four
    items.push_back({{"id", i},
                     {"host", "h" + std::to_string((i + 1) / 2)},
                     {"gpu", i <= 6 ? nlohmann::json((i + 1) / 2) : nlohmann::json(0)},
                     {"mem", i <= 4 ? "64000" : "32000"},
                     {"drain", "NO"},
                     {"state", i == 1 ? "Suspected" : "Alive"}});
  server_.On("GET", "/resources/full.json", Says({{"items", items}, {"total", 8}}));
  const auto busy = [](const char* unit, const std::string& value) {
    const nlohmann::json used{{unit, value}, {"jobs", nlohmann::json::array({83})}};
    return Says({{"items", nlohmann::json::array({used})}});
  };
  server_.On("GET", "/resources/resource_id/jobs.json", busy("resource_id", "3"));
  server_.On("GET", "/resources/gpu/jobs.json", busy("gpu", "2"));
  server_.On("GET", "/stress_factor.json", Says({{"GLOBAL_STRESS", "0"}}));
  const auto gpus = OarClass(*oar_, "", "/gpu=1").request;
  const auto much = OarClass(*oar_, "MEM >= 64000", "/core=1").request;
  const auto large_gpus = OarClass(*oar_, "mem >= 64000", "/gpu=1").request;
  const auto unknown = OarClass(*oar_, "colour = 'red'", "/core=1").request;
  const auto r = oar_->GetResources({gpus, much, large_gpus, unknown, "of Slurm"});
  EXPECT_EQ(std::tuple(r.max, r.used, r.unavailable), std::tuple(8, 1, 1));
  ASSERT_EQ(r.classes.size(), 3u) << "the list shows no colour, so nothing is known of it";
  const auto count = [&](const std::string& request) {
    const auto& c = r.classes.at(request);
    return std::tuple(c.name, c.total, c.free);
  };
  EXPECT_EQ(count(gpus), std::tuple("GPUs", 3, 1)) << "one is down, one is in use";
  EXPECT_EQ(count(much), std::tuple("slots with MEM >= 64000", 4, 2));
  EXPECT_EQ(count(large_gpus), std::tuple("GPUs with mem >= 64000", 2, 0));
}

// Of a real OAR 2.5: a host with a GPU on which job 1 runs, and one without.
TEST_F(OarTest, TheGpusOfARealOneAreCounted) {
  server_.On("GET", "/resources/full.json", Fixture("oar/resources_gpu"));
  server_.On("GET", "/resources/gpu/jobs.json", Fixture("oar/resources_gpu_jobs"));
  server_.On("GET", "/resources/resource_id/jobs.json", Says({{"items", nlohmann::json::array()}}));
  server_.On("GET", "/stress_factor.json", Says({{"GLOBAL_STRESS", "0"}}));
  const auto gpus = OarClass(*oar_, "", "/gpu=1").request;
  const auto model = OarClass(*oar_, "GPU_MODEL = 'A100'", "/core=1").request;
  const auto r = oar_->GetResources({gpus, model});
  const auto count = [&](const std::string& request) {
    return std::tuple(r.classes.at(request).total, r.classes.at(request).free);
  };
  EXPECT_EQ(count(gpus), std::tuple(1, 0));
  EXPECT_EQ(count(model), std::tuple(2, 2));
}

TEST_F(OarTest, OutputIsReadFromItsEndOrFromAnOffset) {
  server_.On("GET", "/media/~/.cigri/output/12.g1/abcd.0/3.err", {200, "one\ntwo\nthree\n", "x/y"});
  const auto ref = RefOf("84", kTag, 3);
  EXPECT_EQ(oar_->ReadOutput(ref, Stream::kStderr, -6, 6).bytes, "three\n");
  EXPECT_EQ(oar_->ReadOutput(ref, Stream::kStderr, 4, 3).bytes, "two");
  server_.On("GET", "/media/", Says({{"code", 404}}, 404));
  EXPECT_FALSE(oar_->ReadOutput(RefOf("84", kTag, 4), Stream::kStdout, 0, 10).exists);
}

TEST(OarEscapeTest, IsUndoneByTheShellOfTheApisHost) {
  auto batch = BatchOf({"true"});
  for (const std::string text :
       {"$HOME", "`id`", "a\\$b", "\\\\`x`", "plain\\n", "\\", "a'b\"c#d"}) {
    batch.project = text;
    test::RecordedServer server;
    server.On("POST", "/jobs.json", Fixture("oar/post_single_201"));
    const auto oar = MakeCluster(ConfigOf("oar2", server.port()));
    if (text.back() == '\\') {
      EXPECT_THROW(oar->Submit(batch), SubmitRefused);
      continue;
    }
    oar->Submit(batch);
    const std::string sent = nlohmann::json::parse(server.requests().at(0).body)["project"];
    // What OAR does: the value inside double quotes, a quote in it escaped.
    const auto command = "printf %s \"" + ReplaceAll(sent, "\"", "\\\"") + "\"";
    FILE* shell = popen(("sh -c " + ShellQuote(command)).c_str(), "r");
    char buffer[100] = "";
    const auto n = fread(buffer, 1, sizeof buffer, shell);
    pclose(shell);
    EXPECT_EQ(std::string(buffer, n), text) << sent;
  }
}

}  // namespace
}  // namespace cigri::cluster
