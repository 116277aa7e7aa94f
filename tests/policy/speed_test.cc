#include "policy/forecast/speed.h"

#include <gtest/gtest.h>

namespace cigri::policy {
namespace {

std::vector<Cluster> Clusters(std::vector<double> speeds) {
  std::vector<Cluster> clusters;
  for (const double speed : speeds)
    clusters.push_back({.id = static_cast<std::int64_t>(clusters.size()) + 1, .speed = speed});
  return clusters;
}

TEST(MeasuredSpeedTest, WhereJobsEndSoonerIsFaster) {  // TECH-20
  auto clusters = Clusters({1, 1, 1});
  MeasureSpeeds({{7, 1, 1000, 300}, {7, 2, 1000, 100}}, clusters);
  EXPECT_NEAR(clusters[1].speed / clusters[0].speed, 3, 0.7);
  EXPECT_EQ(clusters[2].speed, 1) << "of which nothing is known stays as declared";
}

TEST(MeasuredSpeedTest, WhatWasDeclaredRightStays) {
  auto clusters = Clusters({1, 3});
  MeasureSpeeds({{7, 1, 50, 300}, {7, 2, 50, 101}}, clusters);
  EXPECT_EQ(clusters[0].speed, 1);
  EXPECT_EQ(clusters[1].speed, 3);
}

TEST(MeasuredSpeedTest, ManyCampaignsOutweighOne) {
  auto clusters = Clusters({1, 1});
  std::vector<MeasuredPlacement> placements = {{1, 1, 20, 100}, {1, 2, 20, 200}};
  for (int c = 2; c < 8; ++c) {
    placements.push_back({c, 1, 20, 200});
    placements.push_back({c, 2, 20, 100});
  }
  MeasureSpeeds(placements, clusters);
  EXPECT_GT(clusters[1].speed, clusters[0].speed);
}

TEST(MeasuredSpeedTest, NothingFollowsFromOneClusterFewJobsOrNoTimes) {
  const std::vector<MeasuredPlacement> cases[] = {
      {{7, 1, 1000, 300}},                    // one cluster: the jobs may be long
      {{7, 1, 1000, 300}, {7, 2, 4, 1}},      // chance
      {{7, 1, 1000, 300}, {7, 2, 1000, 0}},   // no time
      {{7, 1, 1000, 300}, {7, 99, 1000, 1}},  // no such cluster
      {{7, 1, 1000, 300}, {8, 2, 1000, 1}},   // other jobs
  };
  for (const auto& placements : cases) {
    auto clusters = Clusters({2, 1});
    MeasureSpeeds(placements, clusters);
    EXPECT_EQ(clusters[0].speed, 2);
    EXPECT_EQ(clusters[1].speed, 1);
  }
  auto none = Clusters({0, 1});
  MeasureSpeeds({{7, 1, 100, 300}, {7, 2, 100, 100}}, none);
  EXPECT_EQ(none[0].speed, 0);
}

}  // namespace
}  // namespace cigri::policy
