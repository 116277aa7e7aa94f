// How soon campaigns end within the share of their user.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
using test::Outcome;

json Campaign(const std::string& name, const std::string& user, int tasks, double at = 0) {
  return {{"name", name}, {"user", user}, {"tasks", tasks}, {"duration", 60}, {"at", at}};
}

std::string Grid(const json& campaigns) {
  return json({{"clusters", {{{"slots", 10}, {"max_waiting", 0}}}}, {"campaigns", campaigns}})
      .dump();
}

double Over(const Outcome& run, const std::string& name) {
  for (const auto& c : run.report.campaigns)
    if (c.name == name) return c.over;
  return -1;
}

TEST(ResponseTest, OfTwoEqualCampaignsOfAUserOneEndsInHalfTheTime) {
  const Outcome run(Grid({Campaign("first", "alice", 200), Campaign("second", "alice", 200),
                          Campaign("other", "bob", 400)}));
  EXPECT_NEAR(Over(run, "first"), 2400, 240);
  EXPECT_NEAR(Over(run, "second"), 4800, 120);
  EXPECT_NEAR(Over(run, "other"), 4800, 120) << "the other user's share is his own";
  EXPECT_LT(run.report.share_error, 0.02);
}

TEST(ResponseTest, ASmallCampaignDoesNotWaitForALargeOneOfItsUser) {
  const Outcome run(
      Grid({Campaign("large", "alice", 2000), Campaign("small", "alice", 50, 1800)}));
  EXPECT_LT(Over(run, "small") - 1800, 2 * 300) << "alone it takes 300 s";
}

// For as long as it is in the grid small ones take all that its user gets.
TEST(ResponseTest, ALargeCampaignDoesNotStarve) {
  json campaigns = {Campaign("large", "alice", 1000)};
  for (int i = 0; i < 1500; ++i)
    campaigns.push_back(Campaign("small" + std::to_string(i), "alice", 10, i * 60.0));
  const Outcome run(Grid(campaigns));
  EXPECT_GT(Over(run, "large"), 0);
  EXPECT_LT(Over(run, "large"), 12 * 6000) << "it has a tenth of the slots";
}

// Wide jobs wait in the grid, narrow ones in the queue, which is never empty.
json Wide(int tasks, double seconds, double at) {
  json wide = Campaign("wide", "alice", tasks, at);
  wide["slots"] = 8, wide["duration"] = seconds, wide["walltime"] = 60;
  return wide;
}

json Narrow(const std::string& name, const std::string& user, int tasks, double at = 0) {
  json narrow = Campaign(name, user, tasks, at);
  narrow["duration"] = 4, narrow["walltime"] = 60;
  return narrow;
}

Outcome OnClusters(int n, const json& campaigns) {
  json clusters = json::array();
  for (int i = 0; i < n; ++i)
    clusters.push_back(
        {{"name", "c" + std::to_string(i)}, {"slots", 16}, {"submit", 1}, {"see", 1}});
  return Outcome(json({{"policy", {{"preset", "site-default"}}},
                       {"clusters", clusters},
                       {"campaigns", campaigns}})
                     .dump());
}

// It waited until the last of them had gone, with another user as without.
TEST(ResponseTest, AWideCampaignDoesNotWaitForALargeNarrowOneOfItsUser) {
  const auto alone = OnClusters(1, {Narrow("narrow", "alice", 5000), Wide(3, 2, 60)});
  EXPECT_LT(Over(alone, "wide") - 60, Over(alone, "narrow") / 20);
  const auto shared = OnClusters(
      1, {Narrow("narrow", "alice", 5000), Narrow("other", "bob", 5000), Wide(3, 2, 60)});
  EXPECT_LT(Over(shared, "wide") - 60, Over(shared, "narrow") / 20);
  EXPECT_LT(shared.report.share_error, 0.02) << "the queue's time is not dealt out by wide jobs";
  EXPECT_TRUE(shared.Had("narrow", "OWN_FIRST"));
  json wide = Wide(3, 2, 60);
  wide["clusters"] = {"c0"};
  const auto there = OnClusters(
      2, {Narrow("narrow", "alice", 5000), Narrow("other", "bob", 5000), std::move(wide)});
  EXPECT_LT(Over(there, "wide") - 60, Over(there, "narrow") / 20)
      << "nor for what takes its user's slots elsewhere";
}

TEST(ResponseTest, SmallNarrowCampaignsDoNotWaitForALargeWideOneOfTheirUser) {
  json campaigns = {Wide(1000, 60, 0)};
  for (int i = 0; i < 100; ++i)
    campaigns.push_back(Narrow("small" + std::to_string(i), "alice", 100, 20 + i * 30.0));
  const auto run = OnClusters(1, campaigns);
  double mean = 0;
  for (int i = 0; i < 100; ++i)
    mean += (Over(run, "small" + std::to_string(i)) - (20 + i * 30.0)) / 100;
  EXPECT_LT(mean, 10 * 100 * 4 / 16) << "alone it takes 25 s";
}

TEST(ResponseTest, AWideCampaignDoesNotStarve) {
  json campaigns = {Wide(10, 60, 100)};
  for (int i = 0; i < 200; ++i)  // 20 slots' work on 16
    campaigns.push_back(Narrow("small" + std::to_string(i), "alice", 100, i * 20.0));
  const auto run = OnClusters(1, campaigns);
  EXPECT_LT(Over(run, "wide") - 100, 12 * 10 * 60 * 8 / 16) << "it has a tenth of the slots";
}

// The first jobs of new campaigns took all of the slots: of 240 that ten can end, 43 ended; and of
// two slots one: 25 of 48.
TEST(ResponseTest, CampaignsEndThatComeFasterThanTheirUserIsServed) {
  json campaigns;
  for (int i = 0; i < 480; ++i)
    campaigns.push_back(Campaign("small" + std::to_string(i), "alice", 20, i * 60.0));
  for (const int slots : {2, 10}) {
    const Outcome run(json({{"clusters", {{{"slots", slots}}}}, {"campaigns", campaigns}}).dump(),
                      {}, 8 * 3600);
    int over = 0;
    for (const auto& c : run.report.campaigns) over += c.over >= 0 && c.over <= 8 * 3600;
    EXPECT_GT(over, 0.75 * 24 * slots) << slots << " slots";
  }
}

}  // namespace
}  // namespace cigri::sim
