// Error classes: added passive, replayed over what has happened, then activated.
#include "tests/gridadmin/grid.h"

namespace cigri::test {
namespace {

class ErrorPgTest : public GridadminPgTest {
 protected:
  // A failed job of campaign 1 that ended `days` ago.
  void GivenFailure(int exit_code, const std::string& message, int days) {
    Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
        "state, exit_class, code, wait_status, slots, submitted_at, ended_at, remote_id, message) "
        "SELECT 1 + count(*), 1, count(*), 1, 1, 1, 'task', false, 'event', 'program', "
        "'EXIT_ERROR', " +
        std::to_string(exit_code << 8) + ", 1, now(), now() - interval '" + std::to_string(days) +
        " days', 'r', '" + message + "' FROM done");
  }
};

TEST_F(ErrorPgTest, AClassIsAddedPassiveReplayedAndActivated) {
  GivenCluster("c1");
  GivenFailure(9, "licence server: none left", 1);
  GivenFailure(9, "licence server: none left", 2);
  GivenFailure(9, "licence server: none left", 50);
  GivenFailure(9, "something else", 1);
  const Ran added = Admin(
      "error add licence code=9 pattern=\"licence.*none\" "
      "exit_class=infrastructure action=retry title=\"no licence\"");
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(added.out, "error class licence added, mode passive\n");
  const std::string replayed = Admin("--json error replay licence").out;
  const auto items = nlohmann::json::parse(replayed).at("items");
  ASSERT_EQ(items.size(), 1u) << replayed;
  EXPECT_EQ(items[0]["jobs"], 2);
  EXPECT_EQ(items[0]["was"], "program");
  EXPECT_EQ(items[0]["becomes"], "infrastructure");
  EXPECT_EQ(items[0]["clusters"], "c1");
  EXPECT_EQ(items[0]["first"], nullptr);
  const Ran active = Admin("error mode licence active");
  EXPECT_EQ(active.out,
            "in the last 30 days it would have matched 2 jobs of 1 campaign\n"
            "error class licence: mode active\n");
  // What another class of the same order takes first is not its own.
  ASSERT_EQ(Admin("error add a-nine code=9 action=stop").code, 0);
  const auto second = nlohmann::json::parse(Admin("--json error replay licence").out).at("items");
  EXPECT_EQ(second[0]["first"], nullptr) << "a-nine is passive";
  EXPECT_EQ(Admin("error mode a-nine active").code, 0);
  const auto third = nlohmann::json::parse(Admin("--json error replay licence").out).at("items");
  EXPECT_EQ(third[0]["first"], "a-nine");
  EXPECT_TRUE(Has(Admin("error list").out, "licence"));
  EXPECT_EQ(Admin("error set licence n=5").code, 0);
  EXPECT_EQ(One("SELECT n || code FROM error_classes WHERE name = 'licence'"), "59");
  EXPECT_EQ(Admin("error remove licence").code, 0);
  EXPECT_EQ(Admin("error remove licence").code, 1);
}

TEST_F(ErrorPgTest, WhatIsWrongIsRefusedAndChangesNothing) {
  const auto before = One("SELECT count(*) FROM error_classes");
  for (const char* words :
       {"add x action=explode", "add x action=stop pattern=\"(\"", "add x source=program",
        "add x action=stop cluster_fault=true exit_class=program", "add x action=stop colour=red",
        "add x action=stop mode=sometimes"})
    EXPECT_EQ(Admin(std::string("error ") + words).code, 65) << words;
  EXPECT_EQ(Admin("error mode nosuch active").code, 1);
  const Ran action = Admin("error add b-nine code=9 action=foo"),
            mode = Admin("error mode a-nine on");
  EXPECT_TRUE(Has(action.err, "action cannot be \"foo\"")) << action.err;
  EXPECT_TRUE(Has(mode.err, "mode cannot be \"on\"")) << mode.err;
  EXPECT_EQ(One("SELECT count(*) FROM error_classes"), before);
}

}  // namespace
}  // namespace cigri::test
