// Policies and modifiers on a whole grid, changed by rows while it runs.
#include <algorithm>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class PolicyTest : public SystemTest {
 protected:
  static void SetUpTestSuite() { GivenGrid("alpha=2"); }
  static json OnAlpha(int jobs, const json& more = json::object()) {
    json out{{"nb_jobs", jobs}, {"clusters", {{"alpha", json::object()}}}};
    out.update(more);
    return out;
  }
};

// TECH-08, GRID-28, GRID-33, GRID-36
TEST_F(PolicyTest, AScavengersJobsAreCancelledForOthersAndAreRetriedUncharged) {
  grid().Ok({"gridadmin", "policy", "set", "scavenger.preempt=true"});
  grid().Script("linger", "#!/bin/sh\necho start >> out\n[ -e free ] || exec sleep 300\n");
  const int scavenger =
      grid().Submit(Jdl(grid(), "fills", "./linger", OnAlpha(2, {{"class", "scavenger"}})));
  ASSERT_TRUE(Await([&] { return grid().Lines("out").size() == 2; }));
  const int usual = grid().Submit(Jdl(grid(), "usual", "touch free #", OnAlpha(4)));
  EXPECT_TRUE(grid().AwaitOver(usual)) << grid().Log();
  EXPECT_TRUE(grid().AwaitOver(scavenger)) << grid().Log();
  const json progress = grid().Progress(scavenger);
  EXPECT_EQ(progress.value("done", 0), 2) << progress;
  EXPECT_EQ(progress.value("failed", -1), 0) << progress;
  EXPECT_GE(grid().Lines("out").size(), 3u) << "what was cancelled has run again";
  grid().Ok({"gridadmin", "policy", "set", "scavenger.preempt=false"});
}

// start_rate of the JDL: ten seconds' worth at once, then by the clock.
TEST_F(PolicyTest, AStartRateIsKept) {
  grid().Script("stamp", "#!/bin/sh\ndate +%s.%N >> out\n");
  const int id = grid().Submit(Jdl(grid(), "slow", "./stamp",
                                   OnAlpha(14, {{"clusters", {{"alpha", {{"start_rate", 60}}}}}})));
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Log();
  std::vector<double> starts;
  for (const auto& line : grid().Lines("out")) starts.push_back(std::stod(line));
  std::sort(starts.begin(), starts.end());
  ASSERT_EQ(starts.size(), 14u);
  for (std::size_t i = 10; i < starts.size(); ++i)
    EXPECT_GE(starts[i] - starts[0], static_cast<double>(i) - 10.5) << i;
}

// It waits in the grid, not in the queue that the others fill: it waited until all had gone.
TEST_F(PolicyTest, AWideCampaignTakesItsTurnAmongNarrowJobsOfItsUser) {
  const int narrow =
      grid().Submit(Jdl(grid(), "narrow", "sleep 0.3; echo n >> out #", OnAlpha(600)));
  ASSERT_TRUE(Await([&] { return grid().Lines("out").size() > 4; }));
  const int wide =
      grid().Submit(Jdl(grid(), "wide", "echo w >> out #",
                        OnAlpha(2, {{"clusters", {{"alpha", {{"resources", "core=2"}}}}}})));
  ASSERT_TRUE(grid().AwaitOver(wide)) << grid().Log();
  EXPECT_LT(grid().Progress(narrow).value("done", 600), 600);
  grid().Ok({"griddel", std::to_string(narrow)});
  EXPECT_TRUE(grid().AwaitOver(narrow)) << grid().Log();
}

// GRID-07, TECH-18: a policy is chosen while the grid runs, and counts for what is sent from then
// on.
TEST_F(PolicyTest, OneCampaignOfAUserAtATimeWhenTheOperatorSaysSo) {
  grid().Ok({"gridadmin", "policy", "set", "parallel_campaigns=1"});
  const int first = grid().Submit(Jdl(grid(), "first", "echo a >> out #", OnAlpha(30)));
  const int second = grid().Submit(Jdl(grid(), "second", "echo b >> out #", OnAlpha(30)));
  ASSERT_TRUE(grid().AwaitOver(first)) << grid().Log();
  ASSERT_TRUE(grid().AwaitOver(second)) << grid().Log();
  ASSERT_EQ(grid().Lines("out").size(), 60u);
  // Ids of jobs rise in the order in which they are claimed.
  const auto ids = [&](int campaign) {
    std::vector<std::int64_t> all;
    const json page =
        grid().Get("/campaigns/" + std::to_string(campaign) + "/jobs/finished?limit=100");
    for (const auto& job : page.at("items")) all.push_back(job.at("id"));
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto of_first = ids(first), of_second = ids(second);
  ASSERT_EQ(of_first.size(), 30u);
  // What the first cannot take at the moment goes to the next one: a place in a queue, at most.
  const auto begins = of_second.begin();
  EXPECT_LE(std::upper_bound(begins, of_second.end(), of_first.back()) - begins, 2)
      << "the second begins when the first has sent all";
  grid().Ok({"gridadmin", "policy", "set", "parallel_campaigns=0"});
}

}  // namespace
}  // namespace cigri::test
