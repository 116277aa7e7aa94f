#include "updator/node_watch.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

class NodeWatchTest : public ::testing::Test {
 protected:
  std::vector<BlackHoleNode> Fail(const std::string& node, std::int64_t campaign, double at,
                                  double lasted = 1) {
    return watch.Add({{.node = {1, node},
                       .campaign_id = campaign,
                       .idx = static_cast<std::int64_t>(at),
                       .charged = true,
                       .lasted_s = lasted,
                       .ended = at}});
  }
  void Succeed(const std::string& node, double at) {
    EXPECT_TRUE(watch.Add({{.node = {1, node}, .success = true, .lasted_s = 60, .ended = at}})
                    .empty());
  }
  NodeWatch watch;
};

TEST_F(NodeWatchTest, SeveralCampaignsThatFailAtOnceMakeABlackHole) {
  Succeed("n2", 90);
  EXPECT_TRUE(Fail("n1", 7, 100).empty());
  EXPECT_TRUE(Fail("n1", 8, 101).empty());
  EXPECT_TRUE(Fail("n1", 7, 102).empty());
  const auto found = Fail("n1", 7, 103);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, NodeKey(1, "n1"));
  EXPECT_EQ(found[0].campaigns.size(), 2u);
  EXPECT_EQ(found[0].jobs, 4);
  EXPECT_EQ(found[0].charged.size(), 4u);
  EXPECT_TRUE(found[0].others_work);
  EXPECT_TRUE(Fail("n1", 8, 104).empty()) << "it is reported once";
}

TEST_F(NodeWatchTest, OneCampaignThatFailsIsNoFaultOfTheNode) {
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Fail("n1", 7, 100 + i * 0.1).empty());
}

TEST_F(NodeWatchTest, FailuresThatAreFarApartOrLongAreNoBlackHole) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Fail("n1", i % 2, 100 + i * 11).empty());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Fail("n2", i % 2, 500 + i, 11).empty());
}

TEST_F(NodeWatchTest, ASuccessOnTheNodeBetweenClearsIt) {
  for (int i = 0; i < 3; ++i) Fail("n1", i, 100 + i);
  Succeed("n1", 103);
  EXPECT_TRUE(Fail("n1", 9, 104).empty());
}

TEST_F(NodeWatchTest, TheLastNodeThatWorksIsKnownAsSuch) {
  for (int i = 0; i < 3; ++i) Fail("n1", i, 100 + i);
  EXPECT_FALSE(Fail("n1", 9, 104).at(0).others_work);
  Succeed("n2", 200);
  for (int i = 0; i < 3; ++i) Fail("n1", i, 1200 + i);
  EXPECT_FALSE(Fail("n1", 9, 1204).at(0).others_work) << "that was long ago";
}

TEST_F(NodeWatchTest, WhatIsNoNameOfOneNodeIsLeftAlone) {
  for (const char* node : {"", "n[1-4]", "n1,n2", "x' OR '1'='1"})
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(Fail(node, i, 100 + i).empty()) << node;
}

}  // namespace
}  // namespace cigri::updator
