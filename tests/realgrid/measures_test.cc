#include "tests/realgrid/measures.h"

#include <gtest/gtest.h>

namespace cigri::test {
namespace {

TEST(MeasuresTest, AWaitCountsOnlyBeyondWhatIsExcused) {
  const auto pauses = Pauses({20, 0, 1, 12}, 2);
  ASSERT_EQ(pauses.size(), 2U);
  const std::vector<Span> away{{2, 9}, {11, 13}};
  EXPECT_DOUBLE_EQ(Covered(pauses[0], away), 8);
  const auto longest = LongestWithout(pauses, away);
  EXPECT_DOUBLE_EQ(longest.rest, 7);
  EXPECT_DOUBLE_EQ(longest.span.from, 12);
  EXPECT_DOUBLE_EQ(LongestWithout(pauses, {}).rest, 11);
}

TEST(MeasuresTest, AfterTheLastFaultOfAPauseTheClockStartsAnew) {
  const auto pauses = Pauses({0, 10, 14}, 0);
  EXPECT_DOUBLE_EQ(LongestAfter(pauses, {3, 7, 13}, {}).rest, 3);
  EXPECT_DOUBLE_EQ(LongestAfter(pauses, {3, 7, 13}, {{8, 10}}).rest, 1);
}

TEST(MeasuresTest, TimeThatIsExcusedTwiceCountsOnce) {
  const auto merged = Merged({{5, 8}, {0, 2}, {1, 3}, {6, 7}});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_DOUBLE_EQ(Covered({0, 10}, merged), 6);
}

}  // namespace
}  // namespace cigri::test
