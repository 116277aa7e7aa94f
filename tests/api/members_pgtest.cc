// Attacks on other users' shares by names that a JDL makes up or borrows: membership decides.
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class MembersPgTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Policy({{"projects", {{"physics", {{"share", 3}}}, {"biology", {{"share", 1}}}}},
            {"users", {{"carol", {{"parent", "physics"}}}}},
            {"sla.groups", {{"labs", 10}}},
            {"reserves", json::array({{{"class", "short"}, {"fraction", 0.5}}})},
            {"quotas", json::array({{{"scope", "class"}, {"name", "capped"}, {"slots", 1}}})},
            {"licences", {{"matlab", 4}}}});
  }
  void Policy(const json& settings) {
    const auto set = Ask("oscar", "PATCH", "/admin/policy", settings);
    ASSERT_EQ(set.status, 200) << set.body;
  }
  Answer Try(const std::string& user, const json& more) {
    json jdl{{"name", "x"},
             {"nb_jobs", 1},
             {"exec_file", "true"},
             {"clusters", {{"alpha", json::object()}}}};
    jdl.update(more);
    return Ask(user, "POST", "/campaigns", jdl);
  }
  void Member(const std::string& user, const std::string& kind, const std::string& name) {
    const auto put =
        Ask("oscar", "PUT", "/admin/members", json{{"user", user}, {"kind", kind}, {"name", name}});
    EXPECT_EQ(put.status, 200) << put.body;
  }
  std::string ProjectOf(const Answer& submitted) {
    return One("SELECT project FROM campaigns WHERE id = " + submitted.body["id"].dump());
  }
};

const struct {
  json key;
  const char *kind, *name;
} kNamed[] = {{{{"share_project", "physics"}}, "project", "physics"},
              {{{"class", "short"}}, "class", "short"},
              {{{"class", "capped"}}, "class", "capped"},
              {{{"sla_group", "labs"}}, "sla_group", "labs"},
              {{{"licences", {{"matlab", 1}}}}, "licence", "matlab"}};

TEST_F(MembersPgTest, WhatThePolicyNamesIsItsMembersAlone) {
  for (const auto& n : kNamed) {
    const auto refused = Try("bob", n.key);
    EXPECT_EQ(refused.status, 400) << n.key;
    const std::string message = refused.body.dump();
    EXPECT_NE(message.find(std::string("you are no member of ") + n.kind), message.npos) << message;
    EXPECT_NE(message.find(std::string("gridadmin member add bob ") + n.kind), message.npos)
        << message;
    Member("bob", n.kind, n.name);
    EXPECT_EQ(Try("bob", n.key).status, 201) << n.key;
    EXPECT_EQ(Try("dave", n.key).status, 400) << n.key;
    EXPECT_EQ(
        Ask("oscar", "DELETE", std::string("/admin/members/") + n.kind + "/" + n.name + "/bob")
            .status,
        200);
    EXPECT_EQ(Try("bob", n.key).status, 400) << n.key;
  }
  EXPECT_EQ(One("SELECT count(*) FROM members"), "0");
}

TEST_F(MembersPgTest, AnInventedNameIsRefusedWithThoseThatWouldBeRight) {
  Member("bob", "project", "biology");
  const auto project = Try("bob", {{"share_project", "bobs-own"}});
  EXPECT_EQ(project.status, 400);
  EXPECT_EQ(project.body["faults"][0]["message"], "there is no project \"bobs-own\"");
  EXPECT_EQ(project.body["hint"], "one of: biology");
  EXPECT_EQ(Try("bob", {{"class", "bobs-own"}}).body["hint"], "one of: scavenger");
  EXPECT_EQ(Try("bob", {{"class", "scavenger"}}).status, 201) << "it yields to all others";
  EXPECT_EQ(Try("bob", {{"sla_group", "bobs-own"}}).status, 400);
  EXPECT_EQ(Try("bob", {{"licences", {{"bobs-own", 1}}}}).status, 400);
  EXPECT_EQ(Try("oscar", {{"share_project", "bobs-own"}}).status, 400) << "a typing error";
  EXPECT_EQ(Try("oscar", {{"share_project", "physics"}}).status, 201) << "operators decide";
}

// Ten equal users: the one who wrote "project" had 496 of 1,000 slots instead of 100.
TEST_F(MembersPgTest, TheProjectOfACiGri3JdlGoesToTheClustersAndIsNoBranchOfTheTree) {
  for (const char* name : {"invented", "physics"}) {
    const auto a = Try("bob", {{"project", name}});
    ASSERT_EQ(a.status, 201) << a.body;
    EXPECT_EQ(ProjectOf(a), "") << "what the share, quotas and usage go by";
    EXPECT_EQ(
        One("SELECT project FROM campaign_clusters WHERE campaign_id = " + a.body["id"].dump()),
        name);
    EXPECT_NE(a.body["notes"].dump().find("the campaign counts for no project"), std::string::npos)
        << a.body["notes"];
  }
  EXPECT_EQ(ProjectOf(Try("carol", {{"project", "invented"}})), "physics");
}

TEST_F(MembersPgTest, AMemberCountsForItsProjectWhateverTheJdlSays) {
  Member("bob", "project", "biology");
  EXPECT_EQ(ProjectOf(Try("bob", json::object())), "biology");
  EXPECT_EQ(ProjectOf(Try("bob", {{"project", "physics"}})), "biology")
      << "not in it and in none at the same time";
  Member("bob", "project", "physics");
  EXPECT_EQ(ProjectOf(Try("bob", {{"project", "physics"}})), "physics");
  EXPECT_EQ(ProjectOf(Try("bob", {{"project", "oar"}, {"share_project", "physics"}})), "physics");
  EXPECT_EQ(ProjectOf(Try("carol", json::object())), "physics") << "by users.parent";
}

TEST_F(MembersPgTest, WhatSubmissionRefusesNoChangeBringsIn) {
  const auto a = Try("bob", json::object());
  const std::string path = "/campaigns/" + a.body["id"].dump();
  for (const auto& n : kNamed)
    EXPECT_EQ(Ask("bob", "PATCH", path, json{{"set", n.key}}).status, 400) << n.key;
  EXPECT_EQ(Ask("bob", "PATCH", path, json{{"set", {{"share_project", "x"}}}}).status, 400);
  EXPECT_EQ(Ask("oscar", "PATCH", path, json{{"set", {{"class", "short"}}}}).status, 202);
  EXPECT_EQ(Ask("bob", "PATCH", path, json{{"set", {{"walltime", 60}}}}).status, 202)
      << "what an operator has given stays";
}

TEST_F(MembersPgTest, ARuleMayGiveAnyNameAndItStays) {
  Sql("INSERT INTO admission_rules (name, code) VALUES ('give', "
      "'campaign.class = \"short\" campaign.share_project = \"physics\"')");
  const auto a = Try("bob", json::object());
  ASSERT_EQ(a.status, 201) << a.body;
  EXPECT_EQ(ProjectOf(a), "physics");
  EXPECT_EQ(
      Ask("bob", "PATCH", "/campaigns/" + a.body["id"].dump(), json{{"set", {{"walltime", 60}}}})
          .status,
      202);
}

TEST_F(MembersPgTest, ANameMayBeOpenedToAllButNoProject) {
  Member("*", "class", "short");
  EXPECT_EQ(Try("bob", {{"class", "short"}}).status, 201);
  const auto all = Ask("oscar", "PUT", "/admin/members",
                       json{{"user", "*"}, {"kind", "project"}, {"name", "physics"}});
  EXPECT_EQ(all.status, 400);
  EXPECT_EQ(
      Ask("oscar", "PUT", "/admin/members", json{{"user", "bob"}, {"kind", "team"}, {"name", "a"}})
          .status,
      400);
  for (const char* method : {"GET", "PUT"})
    EXPECT_EQ(Ask("bob", method, "/admin/members").status, 403) << method;
}

}  // namespace
}  // namespace cigri::test
