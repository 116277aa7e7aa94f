#include "tools/common/wait.h"

#include <gtest/gtest.h>

namespace cigri::tools {
namespace {

TEST(ProgressTextTest, OneLineSaysHowFarAndUntilWhen) {
  const auto progress = nlohmann::json::parse(R"({"total":16,"done":11,"failed":1,"running":2,
    "clusters":[{"name":"alpha","done":6,"running":1},{"name":"beta","done":5,"running":1},
                {"name":"gamma","done":0,"running":0}],
    "ends_in":[1.2,3.4],"state":"in_treatment"})");
  EXPECT_EQ(ProgressText(progress), "11/16 done  alpha 6  beta 5  1 failed  ends in 2-4 s");
}

TEST(ProgressTextTest, WhatIsMissingIsLeftOut) {
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":0,"state":"paused"})")),
            "0/4 done  paused");
}

TEST(ProgressTextTest, LongerDurationsAreWrittenForReaders) {
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":1,"ends_in":[50,3700]})")),
            "1/4 done  ends in 50 s to 1 h 1 min");
  EXPECT_EQ(ProgressText(nlohmann::json::parse(R"({"total":4,"done":1,"ends_in":[7201,7202]})")),
            "1/4 done  ends in 2 h");
}

TEST(SummaryTextTest, ReportsWhatBecameOfAll) {
  EXPECT_EQ(SummaryText(nlohmann::json::parse(
                R"({"total":16,"done":2,"not_run":14,"preempted":1,"state":"terminated"})")),
            "2 of 16 done, 14 not run, 1 preempted and run again");
}

}  // namespace
}  // namespace cigri::tools
