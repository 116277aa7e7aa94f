// gridclusters --check on each fault that a site may have: the item that fails, its words, and what
// to do. (The healthy answers are a real OAR's and a real slurmrestd's; tests/real runs the whole.)
#include "cluster/check.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::Fixture;
using test::FixtureJson;
using test::Says;
using Json = nlohmann::json;
using Verdict = CheckItem::Verdict;

class CheckTest : public testing::Test {
 protected:
  explicit CheckTest(const std::string& kind) : config_(test::ConfigOf(kind, server_.port())) {
    config_.call_timeout = std::chrono::milliseconds(500);
  }
  std::map<std::string, CheckItem> Check(bool submit = false) {
    std::map<std::string, CheckItem> items;
    for (const auto& item : MakeCluster(config_, tokens_)->Check("alice", submit))
      items[item.what] = item;
    return items;
  }
  // The item `what` is not well, and its text has all of `words`.
  void Fails(const std::string& what, const std::vector<std::string>& words,
             Verdict verdict = Verdict::kFail, bool submit = false) {
    const auto items = Check(submit);
    ASSERT_TRUE(items.count(what)) << what;
    EXPECT_EQ(items.at(what).verdict, verdict) << what << ": " << items.at(what).detail;
    for (const auto& word : words)
      EXPECT_NE(items.at(what).detail.find(word), std::string::npos)
          << what << ": " << items.at(what).detail << "\n  lacks: " << word;
  }
  test::RecordedServer server_;
  ClusterConfig config_;
  TokenSource tokens_;
};

class OarCheckTest : public CheckTest {
 protected:
  OarCheckTest() : CheckTest("oar2") {
    server_.On("GET", "/version", Fixture("oar/version"));
    server_.On("GET", "/whoami", Says({{"authenticated_user", "alice"}}));
    server_.On("GET", "/resources/full", Fixture("oar/resources_full"));
    server_.On("GET", "/resources/resource_id/jobs", Says({{"items", Json::array()}}));
    server_.On("GET", "/stress_factor", Fixture("oar/stress_factor"));
  }
};

TEST_F(OarCheckTest, AllIsWell) {
  for (const auto& [what, item] : Check())
    EXPECT_TRUE(item.verdict == Verdict::kOk || what == "clock") << what << ": " << item.detail;
  EXPECT_EQ(Check().at("version").detail, "OAR 2.5.9 (Canicule)");
}

TEST_F(OarCheckTest, AnApiThatIsAwaySilentOrNone) {
  server_.On("GET", "/version", Fixture("oar/err_noauth_post_401"));
  Fails("reachable", {"froggy", "401", "check auth_type, user and password"});
  server_.On("GET", "/version", Fixture("oar/api_down_503"));
  Fails("reachable", {"froggy", "503", "look into the log of the cluster's API"});
  server_.On("GET", "/version", {200, "<h1>It works!</h1>", "text/html"});
  Fails("reachable", {"froggy", "is api_url the API of this kind of cluster"});
  server_.Hang("GET", "/version");
  Fails("reachable", {"froggy", "stuck?"});
  config_.api_url = "http://127.0.0.1:1/oarapi";
  Fails("reachable", {"froggy", "check api_url, the network, the certificate"});
}

TEST_F(OarCheckTest, AnApiThatTakesUsForAnother) {
  server_.On("GET", "/whoami", Says({{"authenticated_user", "oar"}}));
  Fails("authorised", {"\"oar\", not for \"alice\"", "trust this host's identity header"});
  server_.On("GET", "/whoami", Says({{"authenticated_user", ""}}));
  Fails("authorised", {"takes us for nobody"});
  server_.On("GET", "/whoami", Fixture("oar/err_unknown_user_401"));
  Fails("authorised", {"froggy", "user alice", "gridadmin mapping"});
}

TEST_F(OarCheckTest, ResourcesThatAreNoneOrCannotBeRead) {
  config_.properties = "cluster='nosuch'";
  Fails("resources", {"no resource matches properties \"cluster='nosuch'\""});
  config_.properties = "cluster =";
  Fails("resources", {"bad properties of this cluster"});
  config_.properties = "";
  server_.On("GET", "/resources/full", Fixture("oar/db_down_resources"));
  Fails("resources", {"froggy"});
}

TEST_F(OarCheckTest, ATestJobThatIsRefusedOrInDoubt) {
  server_.On("POST", "/jobs", Fixture("oar/err_unknown_queue_500"));
  Fails("test job", {"froggy"}, Verdict::kFail, true);
  server_.On("POST", "/jobs", Fixture("oar/jobs_500_html_spurious"));
  Fails("test job", {"froggy", "it may have been taken"}, Verdict::kFail, true);
}

TEST_F(OarCheckTest, ATestJobThatDoesNotStartIsDeleted) {
  server_.On("POST", "/jobs", Fixture("oar/post_single_201"));
  server_.On("DELETE", "/jobs", Fixture("oar/delete_running_202"));
  server_.On("GET", "ids=", Fixture("oar/jobs_empty"));
  const auto oar = MakeCluster(config_);
  const auto item = CheckTestJob(oar.get(), config_, "alice", std::chrono::seconds(0));
  EXPECT_EQ(item.verdict, Verdict::kWarn);
  EXPECT_NE(item.detail.find("was deleted: the cluster may be full"), std::string::npos)
      << item.detail;
  EXPECT_EQ(server_.Asked("DELETE", "/jobs").size(), 1u);
}

TEST_F(OarCheckTest, ATestJobThatEndsBadlyIsReportedWithItsEnd) {
  server_.On("POST", "/jobs", Fixture("oar/post_single_201"));
  const auto id = FixtureJson("oar/post_single_201").at("id").dump();
  server_.OnEach("GET", "ids=" + id, [&](const test::RecordedServer::Request&) {
    const auto sent = Json::parse(server_.Asked("POST", "/jobs").back().body);
    const Json item{{"id", std::stoi(id)}, {"name", sent.at("name")}, {"state", "Error"}};
    return Says({{"items", {item}}, {"total", 1}});
  });
  server_.On("GET", "/jobs/" + id, Fixture("oar/job_bad_directory"));
  Fails("test job", {"job " + id + " did not end well", "look at it with the cluster's own tools"},
        Verdict::kFail, true);
}

TEST_F(OarCheckTest, AClockThatIsWrong) {
  const test::RawServer late(
      "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2020 10:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}");
  config_.api_url = "http://127.0.0.1:" + std::to_string(late.port());
  Fails("clock", {"behind", "NTP"}, Verdict::kWarn);
}

TEST(AnyKindCheckTest, WhatIsNoApiOfThisKind) {
  for (const auto* kind : {"oar2", "oar3", "slurm"}) {
    test::RecordedServer empty;  // 404 as text
    auto config = test::ConfigOf(kind, empty.port());
    config.options.erase("api_version");
    const auto items = MakeCluster(config)->Check("alice", true);
    ASSERT_EQ(items.size(), 1u) << kind;
    EXPECT_EQ(items[0].what, "reachable");
    EXPECT_EQ(items[0].verdict, Verdict::kFail);
    EXPECT_NE(items[0].detail.find("froggy"), std::string::npos) << items[0].detail;
  }
}

class SlurmCheckTest : public CheckTest {
 protected:
  SlurmCheckTest() : CheckTest("slurm") {
    config_.options["best_effort_partition"] = "besteffort";
    server_.On("GET", "/ping", Fixture("slurm/ping"));
    server_.On("GET", "/partitions", Fixture("slurm/partitions"));
    server_.On("GET", "/nodes", Fixture("slurm/nodes"));
    Time(0);
  }
  void Time(int ahead_s) {
    auto diag = FixtureJson("slurm/diag");
    diag["statistics"]["req_time"] = std::chrono::duration_cast<std::chrono::seconds>(
                                         std::chrono::system_clock::now().time_since_epoch())
                                         .count() +
                                     ahead_s;
    server_.On("GET", "/diag", Says(diag));
  }
};

TEST_F(SlurmCheckTest, AllIsWellButTheFolderThatNobodyNamed) {
  for (const auto& [what, item] : Check())
    EXPECT_EQ(item.verdict, what == "output" ? Verdict::kWarn : Verdict::kOk)
        << what << ": " << item.detail;
  Fails("output", {"no shared_folder"}, Verdict::kWarn);
}

TEST_F(SlurmCheckTest, TokensThatAreNoneExpiredOrRefused) {
  config_.auth_type = "jwt";
  tokens_ = [](const std::string&) { return ""; };
  Fails("authorised", {"alice", "froggy", "gridtoken"});
  tokens_ = [](const std::string&) {  // {"exp":1000000000,"sun":"alice"}
    return "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDAsInN1biI6ImFsaWNlIn0.sig";
  };
  Fails("authorised", {"the token of user alice for cluster froggy expired"});
  tokens_ = [](const std::string&) { return "bad"; };
  server_.On("GET", "/ping", Fixture("slurm/err-bad-token-get"));
  Fails("authorised", {"alice", "scontrol token username=alice"});
}

TEST_F(SlurmCheckTest, AClockThatIsWrong) {
  Time(3630);
  Fails("clock", {"its clock is 1 h", "ahead", "NTP"}, Verdict::kWarn);
  Time(-90);
  Fails("clock", {"its clock is 1 min", "behind", "NTP"}, Verdict::kWarn);
}

TEST_F(SlurmCheckTest, APartitionThatIsNoneOrNotPreemptible) {
  config_.options["best_effort_partition"] = "nosuch";
  Fails("best-effort", {"there is no partition nosuch of cluster froggy"});
  Fails("resources", {"no node"});
  config_.options["best_effort_partition"] = "normal";
  Fails("best-effort", {"partition normal of cluster froggy are not preempted",
                        "best_effort_partition", "--not-preemptible"});
  config_.options["not_preemptible"] = true;
  Fails("best-effort", {"not preemptible"}, Verdict::kWarn);
}

TEST_F(SlurmCheckTest, AControllerThatIsDown) {
  for (const char* path : {"/partitions", "/nodes", "/diag"}) server_.Hang("GET", path);
  const auto items = Check();
  for (const char* what : {"clock", "best-effort", "resources"}) {
    const auto& item = items.at(what);
    EXPECT_EQ(item.verdict, Verdict::kFail) << what;
    EXPECT_NE(item.detail.find("froggy"), std::string::npos) << item.detail;
    EXPECT_NE(item.detail.find("is the scheduler or its database stuck?"), std::string::npos)
        << item.detail;
  }
}

TEST_F(SlurmCheckTest, ATestJobThatIsRefusedOrCanNeverRun) {
  server_.On("POST", "/job/submit", Fixture("slurm/err-comment-too-long"));
  Fails("test job", {"froggy"}, Verdict::kFail, true);
  server_.On("POST", "/job/submit", Fixture("slurm/submit-impossible-accepted"));
  server_.On("DELETE", "/job/5", Fixture("slurm/delete-already-done"));
  Fails("test job", {"froggy", "not available now"}, Verdict::kFail, true);
  server_.On("POST", "/job/submit", Fixture("slurm/err-controller-down-submit"));
  Fails("test job", {"froggy"}, Verdict::kFail, true);
}

}  // namespace
}  // namespace cigri::cluster
