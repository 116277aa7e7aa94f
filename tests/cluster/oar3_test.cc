// The OAR 3 driver against a recorded server of the documented shape: pages, whole jobs in lists,
// a JWT, and an answer to a submission that names the array only.
#include <gtest/gtest.h>

#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::BatchOf;
using test::RefOf;
using test::Says;
using Json = nlohmann::json;

constexpr char kTag[] = "cigri.12.g1.abcd";

Json Job(int id, const std::string& state, int index = 0) {
  Json job{{"id", id},
           {"name", kTag},
           {"owner", "alice"},
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
  const auto r = oar_->GetResources();
  EXPECT_EQ(std::tuple(r.max, r.used, r.free()), std::tuple(5, 2, 3));
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
}

}  // namespace
}  // namespace cigri::cluster
