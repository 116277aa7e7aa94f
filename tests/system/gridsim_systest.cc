// gridsim against a real grid: its stored decisions are taken again, and its past is a scenario.
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class GridsimTest : public SystemTest {
 protected:
  void RunLong(const std::string& name) {
    const int id = grid().Submit(Jdl(grid(), name, "sleep 0.2 #", {{"nb_jobs", 20}}));
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

}  // namespace
}  // namespace cigri::test
