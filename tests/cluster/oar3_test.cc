// The OAR 3 driver against answers that a real OAR 3 gave: pages, whole jobs in lists, a JWT, and
// an answer to a submission that names the array only.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cluster/job_script.h"
#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::BatchOf;
using test::Fixture;
using test::FixtureJson;
using test::RefOf;
using test::Says;
using Json = nlohmann::json;

constexpr char kTag[] = "cigri.12.g1.abcd";

Json Job(int id, const std::string& state, int index = 0) {
  Json job{{"id", id},
           {"name", kTag},
           {"user", "alice"},
           {"launching_directory", "/srv/alice"},
           {"submission_time", 900},
           {"state", state},
           {"start_time", 1000},
           {"stop_time", 1005},
           {"resources", Json::array({{{"id", 1}}, {{"id", 2}}})},
           {"command",
            "exec /bin/sh -c 'eval \"x\"' cigri " + std::to_string(index) + " 100 0 1 b QQ=="}};
  if (state == "Terminated") job["exit_code"] = 256;
  return job;
}

class Oar3Test : public testing::Test {
 protected:
  Oar3Test() {
    auto config = test::ConfigOf("oar3", server_.port());
    config.auth_type = "jwt";
    config.options["page"] = 2;
    oar_ = MakeCluster(config, [](const std::string& user) { return "token-of-" + user; });
  }
  // Serves `items` in pages of two.
  void Pages(const std::string& part, const Json& items) {
    for (std::size_t from = items.size() / 2 * 2 + 2; from >= 2; from -= 2) {
      const std::size_t offset = from - 2;
      Json page = Json::array();
      for (std::size_t i = offset; i < std::min(offset + 2, items.size()); ++i)
        page.push_back(items[i]);
      const Json body{{"items", page}, {"total", items.size()}, {"offset", offset}};
      server_.On("GET", part + (offset == 0 ? "" : "&limit=2&offset=" + std::to_string(offset)),
                 Says(body));
    }
  }
  test::RecordedServer server_;
  std::unique_ptr<Cluster> oar_;
};

TEST_F(Oar3Test, PagesAreFollowedAndNothingIsLookedUpOneByOne) {
  Pages("/jobs?details=1&job_ids=84&job_ids=85&job_ids=86",
        Json::array({Job(84, "Running"), Job(85, "Terminated", 1), Job(86, "Error", 2)}));
  PollRequest request;
  for (int i = 0; i < 3; ++i) request.jobs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  const auto result = oar_->Poll(request);
  ASSERT_EQ(result.jobs.size(), 3u);
  EXPECT_EQ(result.calls, 2);
  EXPECT_EQ(result.jobs[0].state, RemoteState::kRunning);
  EXPECT_EQ(result.jobs[1].wait_status, 256);
  // An Error without events, which OAR 3 then leaves out altogether.
  EXPECT_EQ(result.jobs[2].state, RemoteState::kEnded);
  EXPECT_NE(result.jobs[2].cause, EndCause::kExited);
  EXPECT_EQ(server_.requests().at(0).Header("Authorization"), "Bearer token-of-alice");
}

TEST_F(Oar3Test, ASubmissionThatNamesTheArrayOnlyIsListed) {
  server_.On("POST", "/jobs", Says({{"id", 84}}, 201));
  Pages("/jobs?details=1&array=84",
        Json::array({Job(86, "Waiting"), Job(84, "Waiting"), Job(85, "Waiting")}));
  EXPECT_EQ(Join(oar_->Submit(BatchOf({"a", "b", "c"})), " "), "84 85 86");
  const auto body = Json::parse(server_.requests().at(0).body);
  EXPECT_EQ(body["resource"], Json::array({"/resource_id=1,walltime=1:00:00"}));
  EXPECT_EQ(body["type"], Json::array({"besteffort"}));
  EXPECT_EQ(body["command"].get<std::string>().find('\\'), std::string::npos)
      << "no shell takes a backslash away";
  const auto lines = Split(body["param_file"].get<std::string>(), '\n');
  EXPECT_EQ(lines.size(), 3u) << "a newline at the end would be one more job";
  EXPECT_NE(lines.back(), "");
}

// As OAR runs it: the script itself must arrive whole. An empty one would succeed.
TEST_F(Oar3Test, AJobWhoseScriptCannotBeDecodedWholeHasNotSucceeded) {
  server_.On("POST", "/jobs", Says({{"id", 84}}, 201));
  Pages("/jobs?details=1&array=84", Json::array({Job(84, "Waiting")}));
  oar_->Submit(BatchOf({"exit 3"}));
  const auto body = Json::parse(server_.requests().at(0).body);
  char name[] = "/tmp/cigri-oar3-XXXXXX";
  const std::filesystem::path home = mkdtemp(name);
  std::filesystem::create_directory(home / "bin");
  const auto run = [&] {
    return std::system(("HOME=" + home.string() + " OAR_JOB_ID=84 OAR_NODE_FILE=/dev/null PATH=" +
                        (home / "bin").string() + ":$PATH; export PATH; " +
                        body["command"].get<std::string>() + " " +
                        body["param_file"].get<std::string>())
                           .c_str());
  };
  for (const char* decoder : {"exit 1", "kill $$", "exec head -c 10"})
    for (const char* tool : {"base64", "gzip"}) {
      std::ofstream(home / "bin" / tool) << "#!/bin/sh\n" << decoder << "\n";
      std::filesystem::permissions(home / "bin" / tool, std::filesystem::perms::owner_all);
      EXPECT_EQ(run(), kExitCommandLost << 8) << tool << ": " << decoder;
      std::filesystem::remove(home / "bin" / tool);
    }
  EXPECT_EQ(run(), 3 << 8);
  std::filesystem::remove_all(home);
}

// With `checkpoint` its meta-scheduler could not evict the job.
TEST_F(Oar3Test, ACheckpointIsAskedForByTheScriptAndNotByOar) {
  auto batch = BatchOf({"true"});
  batch.options["checkpoint"] = {{"signal", "USR1"}, {"grace", 90}};
  server_.On("POST", "/jobs", Says({{"id", 84}}, 201));
  Pages("/jobs?details=1&array=84", Json::array({Job(84, "Waiting")}));
  oar_->Submit(batch);
  const auto body = Json::parse(server_.requests().at(0).body);
  EXPECT_FALSE(body.contains("checkpoint"));
  EXPECT_FALSE(body.contains("signal"));
  ScriptSettings settings;
  EXPECT_NE(JobScript(batch, settings).find(" warned= "), std::string::npos);
  settings.oar_signals = false;
  EXPECT_NE(JobScript(batch, settings).find(" warned=2 "), std::string::npos);
}

TEST_F(Oar3Test, EveryRefusalMeansWhatItMeansForTheJobs) {
  const struct {
    const char* fixture;
    const char* want;
  } cases[] = {{"err_unknown_type", "batch"},     {"err_too_many", "batch"},
               {"err_unknown_property", "batch"}, {"err_resource_string", "batch"},
               {"err_name_quote", "batch"},       {"err_noauth_post", "token"},
               {"err_bad_token_post", "token"},   {"err_garbage_resource", "doubt"}};
  for (const auto& c : cases) {
    auto config = test::ConfigOf("oar3", server_.port());
    config.auth_type = "jwt";
    const auto oar =
        MakeCluster(config, [&](const std::string&) { return std::string(c.fixture); });
    server_.On("POST", "/jobs", Fixture(std::string("oar3/") + c.fixture));
    std::string outcome, words;
    try {
      oar->Submit(BatchOf({"true"}));
      outcome = "taken";
    } catch (const SubmitInDoubt&) {
      outcome = "doubt";
    } catch (const SubmitRefused& e) {
      words = e.what();
      outcome = e.why() == SubmitRefused::Why::kBatch   ? "batch"
                : e.why() == SubmitRefused::Why::kToken ? "token"
                                                        : "other";
    }
    EXPECT_EQ(outcome, c.want) << c.fixture << ": " << words;
    EXPECT_EQ(words.find('{'), words.npos) << words;
  }
  auto batch = BatchOf({"true"});
  batch.resources = "nonsense";
  EXPECT_NE(oar_->ExceedsLimit(batch).find("such as /nodes=1/core=4"), std::string::npos)
      << "found before OAR 3 ends in an error over it";
  batch.resources = "{gpu = 'YES' and a/b = 1}/nodes=2/core=ALL+/licence=1";
  EXPECT_EQ(oar_->ExceedsLimit(batch), "");
}

TEST_F(Oar3Test, ADeletionIs200WhateverHappenedAndReadByItsExitStatus) {
  const struct {
    const char* fixture;
    std::size_t asked, gone, failed;
  } cases[] = {{"delete_running", 1, 0, 0},
               {"delete_twice", 1, 0, 0},
               {"delete_unknown", 0, 1, 0},
               {"delete_other_users", 0, 0, 1}};
  Pages("/jobs?details=1&job_ids=84", Json::array({Job(84, "Running")}));
  for (const auto& c : cases) {
    server_.On("DELETE", "/jobs/84", Fixture(std::string("oar3/") + c.fixture));
    const auto r = oar_->Kill({RefOf("84", kTag)});
    EXPECT_EQ(r.asked.size(), c.asked) << c.fixture;
    EXPECT_EQ(r.gone.size(), c.gone) << c.fixture;
    ASSERT_EQ(r.failed.size(), c.failed) << c.fixture;
    if (c.failed > 0) {
      EXPECT_NE(r.failed[0].second.find("not the right user"), std::string::npos);
    }
  }
}

TEST_F(Oar3Test, AWholeArrayIsDeletedInOneCall) {
  Json jobs = Json::array();
  std::vector<RemoteRef> refs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(Job(84 + i, "Running", i));
    refs.push_back(RefOf(std::to_string(84 + i), kTag, i));
  }
  Pages("/jobs?details=1&array=84", jobs);
  server_.On("POST", "/jobs/84/deletions/new?array=true", Fixture("oar3/delete_array"));
  EXPECT_EQ(oar_->Kill(refs).asked.size(), 5u);
  EXPECT_TRUE(server_.Asked("DELETE", "").empty());
}

TEST_F(Oar3Test, APageThatBeginsAtTheEndIsTheEndOfTheList) {
  server_.On("GET", "/jobs?details=1&limit=2",
             Says({{"items", {Job(84, "Running"), Job(85, "Running", 1)}}, {"total", 3}}));
  server_.On("GET", "/jobs?details=1&limit=2&offset=2", Fixture("oar3/jobs_offset_beyond"));
  const auto jobs = oar_->ListTagged("cigri.", {});
  ASSERT_EQ(jobs.size(), 2u) << "the third has ended meanwhile";
  EXPECT_EQ(jobs[1].ref.cluster_user, "alice") << "OAR 3 calls the owner user";
  EXPECT_EQ(jobs[1].ref.index, 1);
  EXPECT_EQ(server_.Asked("GET", "/jobs/").size(), 0u) << "the index stands in the list";
}

TEST_F(Oar3Test, OutputIsReadByAnAbsolutePathInTheHomeThatOarShows) {
  server_.On("GET", "/jobs/84", Says(Job(84, "Running")));
  server_.On("GET", "/media?path_filename=/srv/alice/.cigri/output/", {200, "hello\n"});
  const auto part = oar_->ReadOutput(RefOf("84", kTag), Stream::kStdout, 0, 100);
  EXPECT_EQ(part.bytes, "hello\n");
  oar_->ReadOutput(RefOf("84", kTag), Stream::kStdout, 0, 100);
  EXPECT_EQ(server_.Asked("GET", "/jobs/84").size(), 1u) << "known from then on";
}

TEST_F(Oar3Test, EveryEndHasItsCauseAndNoTimeOfSubmissionIsInvented) {
  const struct {
    const char* fixture;
    EndCause cause;
  } cases[] = {{"job_terminated", EndCause::kExited},
               {"job_exit3", EndCause::kExited},
               {"job_killed_by_signal", EndCause::kExited},
               {"job_deleted_running", EndCause::kDeleted},
               {"job_deleted_waiting", EndCause::kDeleted},
               {"job_walltime_exceeded", EndCause::kWalltime},
               {"job_bad_directory", EndCause::kBadDirectory},
               {"job_bad_stdout", EndCause::kBadOutput}};
  for (const auto& c : cases) {
    auto job = FixtureJson(std::string("oar3/") + c.fixture);
    job["name"] = kTag;
    const auto id = std::to_string(job["id"].get<int>());
    Pages("/jobs?details=1&job_ids=" + id, Json::array({job}));
    PollRequest request;
    request.jobs = {RefOf(id, kTag)};
    const auto polled = oar_->Poll(request);
    ASSERT_EQ(polled.jobs.size(), 1u) << c.fixture;
    EXPECT_EQ(polled.jobs[0].cause, c.cause) << c.fixture << ": " << polled.jobs[0].message;
    EXPECT_EQ(polled.jobs[0].submitted_at, 0) << "OAR 3 gives the time of an earlier request";
  }
}

TEST_F(Oar3Test, ACheckSaysWhoWeAreAndWhichVersionItWasNotTriedOn) {
  server_.On("GET", "/version", Fixture("oar3/version"));
  auto who = FixtureJson("oar3/whoami");
  who["authenticated_user"] = "alice";
  server_.On("GET", "/whoami", Says(who));
  std::map<std::string, CheckItem> items;
  for (const auto& item : oar_->Check("alice", false)) items[item.what] = item;
  EXPECT_EQ(items["version"].verdict, CheckItem::Verdict::kOk) << items["version"].detail;
  EXPECT_EQ(items["authorised"].detail, "as alice");
  auto version = FixtureJson("oar3/version");
  version["oar_version"] = "3.1.0";
  server_.On("GET", "/version", Says(version));
  for (const auto& item : oar_->Check("alice", false)) items[item.what] = item;
  EXPECT_EQ(items["version"].verdict, CheckItem::Verdict::kWarn);
  EXPECT_EQ(items["version"].detail, "OAR 3.1.0: spoken to as 3.0, not tried on a real one");
}

TEST_F(Oar3Test, AnArrayThatCannotBeListedIsInDoubtWithItsFirstJob) {
  server_.On("POST", "/jobs", Says({{"id", 84}}, 201));
  try {
    oar_->Submit(BatchOf({"a", "b"}));
    ADD_FAILURE() << "accepted";
  } catch (const SubmitInDoubt& e) {
    EXPECT_EQ(e.ids, std::vector<std::string>{"84"});
  }
}

TEST_F(Oar3Test, WhatIsInUseIsCountedFromTheJobsThatRun) {
  Json resources = Json::array();
  for (int i = 1; i <= 5; ++i) resources.push_back({{"id", i}, {"state", "Alive"}});
  Pages("/resources?detailed=true", resources);
  Pages("/jobs?details=1", Json::array({Job(84, "Running"), Job(85, "Waiting")}));
  server_.On("GET", "/stress_factor", Says({{"GLOBAL_STRESS", "0"}}));
  const auto r = oar_->GetResources({});
  EXPECT_EQ(std::tuple(r.max, r.used, r.free()), std::tuple(5, 2, 3));
}

TEST_F(Oar3Test, AClassIsFreeWhereNoJobThatRunsHoldsItsResources) {
  Json resources = Json::array();
  for (int i = 1; i <= 6; ++i)
    resources.push_back({{"id", i}, {"state", "Alive"}, {"gpu", (i + 1) / 2}});
  Pages("/resources?detailed=true", resources);
  Pages("/jobs?details=1", Json::array({Job(84, "Running"), Job(85, "Waiting")}));
  server_.On("GET", "/stress_factor", Says({{"GLOBAL_STRESS", "0"}}));
  auto batch = BatchOf({"true"});
  batch.options["gpus"] = 1;
  const auto gpus = oar_->ResourceClassOf(batch);
  const auto r = oar_->GetResources({gpus.request});
  EXPECT_EQ(std::tuple(r.max, r.used), std::tuple(6, 2));
  const auto& count = r.classes.at(gpus.request);
  EXPECT_EQ(std::tuple(count.total, count.free), std::tuple(3, 2));
}

TEST_F(Oar3Test, AUserWithoutATokenIsRefusedBeforeAnythingIsSent) {
  auto config = test::ConfigOf("oar3", server_.port());
  config.auth_type = "jwt";
  const auto oar = MakeCluster(config, [](const std::string&) { return ""; });
  try {
    oar->Submit(BatchOf({"true"}));
    ADD_FAILURE() << "accepted";
  } catch (const SubmitRefused& e) {
    EXPECT_EQ(e.why(), SubmitRefused::Why::kToken);
    EXPECT_NE(std::string(e.what()).find("gridtoken"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(server_.requests().empty());
  // OAR 3 takes who has a token for the user: the grid's own is no user's.
  config.auth_user = "grid";
  config.auth_password = "token-of-the-grid";
  const auto with_own = MakeCluster(config, [](const std::string&) { return ""; });
  EXPECT_THROW(with_own->Submit(BatchOf({"true"})), SubmitRefused);
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace cigri::cluster
