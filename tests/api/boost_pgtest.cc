// Tasks that their user has sent before the others of their campaign (FBS-13).
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class BoostPgTest : public ApiTest {
 protected:
  std::string Path(std::int64_t id, const std::string& rest = "") {
    return "/campaigns/" + std::to_string(id) + rest;
  }
};

TEST_F(BoostPgTest, BoostedTasksWaitBeforeAllOthers) {
  const auto id = Submit({{"nb_jobs", 10}});
  const auto boost = [&](const json& tasks) {
    return Ask("alice", "POST", Path(id, "/boost"), json{{"tasks", tasks}});
  };
  const auto cursor = [&] {
    return One(
        "SELECT concat_ws(' ', waiting, next_idx, boosted, next_boosted) FROM campaign_cursor");
  };
  auto a = boost({7, 3, 7, 4});
  EXPECT_EQ(a.status, 202) << a.body;
  EXPECT_EQ(a.body["message"], "3 tasks to be sent before the others");
  EXPECT_EQ(cursor(), "7 0 3 3");
  EXPECT_EQ(One("SELECT string_agg(idx || ' ' || rank, ', ' ORDER BY idx) FROM retry"),
            "3 -1, 4 -1, 7 -1");
  EXPECT_EQ(boost({7}).status, 409) << "it is first already";
  EXPECT_EQ(boost({0, 1}).body["tasks"], 2);
  EXPECT_EQ(cursor(), "5 2 3 3") << "the cursor does not stay at what is boosted";
  EXPECT_EQ(boost({2}).body["tasks"], 1);
  EXPECT_EQ(cursor(), "4 5 1 7");
  Sql("UPDATE retry SET rank = 1 WHERE idx = 2");
  EXPECT_EQ(boost({2}).body["tasks"], 1) << "one that is to be retried after the others";
  EXPECT_EQ(One("SELECT count(*) FROM retry WHERE rank < 0"), "6");
  EXPECT_EQ(Ask("alice", "GET", Path(id)).body["waiting_jobs"], 10);
  const auto why = [&](const std::string& task) {
    const auto text = Ask("alice", "GET", Path(id, "/tasks/" + task + "/why")).body["message"];
    return text.get<std::string>().substr(0, text.get<std::string>().find(';'));
  };
  EXPECT_EQ(why("4"), "it waits its turn, 1 task before it: its user has boosted it");
  EXPECT_EQ(why("8"), "it waits its turn, 8 tasks before it");
  ExpectConservation(id);
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'BOOSTED'"), "4");
  const auto jobs = Ask("alice", "GET", Path(id, "/jobs?state=waiting")).body["items"];
  ASSERT_EQ(jobs.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(jobs[i]["index"], i);
}

TEST_F(BoostPgTest, WhatCannotBeBoostedIsNamed) {
  const auto id = Submit({{"nb_jobs", 3}});
  const auto boost = [&](const json& body, const std::string& user = "alice") {
    const auto a = Ask(user, "POST", Path(id, "/boost"), body);
    return std::to_string(a.status) + " " + a.body["message"].get<std::string>();
  };
  const std::string how = "400 say which tasks go first: {\"tasks\": [4, 10]}";
  EXPECT_EQ(boost(json::array()), how);
  EXPECT_EQ(boost({{"tasks", json::array()}}), how);
  EXPECT_EQ(boost({{"tasks", {0, -1}}}), "400 \"tasks\" has -1, which is no number of a task");
  EXPECT_EQ(boost({{"tasks", {18446744073709551615u}}}),
            "400 \"tasks\" has 18446744073709551615, which is no number of a task");
  EXPECT_EQ(boost({{"tasks", {"0"}}}), "400 \"tasks\" has \"0\", which is no number of a task");
  EXPECT_EQ(boost({{"tasks", {0, 3}}}).substr(0, 3), "404");
  EXPECT_EQ(boost({{"tasks", std::vector(10001, 0)}}),
            "400 10001 tasks are too many to be boosted at once");
  EXPECT_EQ(boost({{"tasks", {0}}}, "bob").substr(0, 3), "403");
  EXPECT_EQ(One("SELECT count(*) FROM retry"), "0");
  Sql("UPDATE campaign_cursor SET next_idx = ntasks");
  EXPECT_EQ(boost({{"tasks", {0}}}), "409 none of these tasks waits to be sent");
}

}  // namespace
}  // namespace cigri::test
