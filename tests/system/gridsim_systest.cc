// gridsim against a real grid: its stored decisions are taken again, and its past is a scenario.
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class GridsimTest : public SystemTest {
 protected:
  // A campaign that is there for longer than the ten seconds between two stored snapshots.
  void RunLong(const std::string& name) {
    const int id = grid().Submit(Jdl(grid(), name, "sleep 0.2 #", {{"nb_jobs", 250}}));
    ASSERT_TRUE(Await([&] {
      for (const auto& item : grid().Get("/admin/plans/history")["items"])
        for (const auto& c : item["snapshot"]["campaigns"])
          if (c["id"] == id) return true;
      return false;
    }));
    ASSERT_TRUE(grid().AwaitOver(id));
  }
};

TEST_F(GridsimTest, StoredDecisionsOfARealGridAreTakenAgainTheSame) {
  RunLong("history");
  const auto replay = grid().Run({"gridsim", "--from-history", "--replay", "--json"});
  EXPECT_EQ(replay.code, 0) << replay.out << replay.err;
  const auto answer = json::parse(replay.out, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << replay.out;
  EXPECT_GE(answer["decisions"], 1);
  EXPECT_EQ(answer["decisions"], answer["same"]);
}

TEST_F(GridsimTest, ItsPastIsAScenarioThatCanBeComparedAndChanged) {
  RunLong("past");
  const std::string saved = grid().work() + "/past.json";
  const auto one = grid().Run({"gridsim", "--from-history", "--save", saved, "--json"});
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  EXPECT_GT(json::parse(one.out)["done"], 0);
  EXPECT_NE(one.err.find("note: jobs that were in flight begin again"), std::string::npos);
  const auto without = grid().Run(
      {"gridsim", "--from-history", "--without", "beta", "--compare", "fifo,site-default"});
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_NE(without.out.find("site-default"), std::string::npos) << without.out;
  EXPECT_EQ(grid().Run({"gridsim", saved}).code, 0);
}

}  // namespace
}  // namespace cigri::test
