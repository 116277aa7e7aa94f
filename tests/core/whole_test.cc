#include "core/whole.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace cigri {
namespace {

TEST(WholeTest, IsTheNearestThatThereIs) {
  EXPECT_EQ(Whole<int>(2.9), 2);
  EXPECT_EQ(Whole<int>(-2.9), -2);
  EXPECT_EQ(Whole<int>(1e10), INT32_MAX);
  EXPECT_EQ(Whole<int>(-INFINITY), INT32_MIN);
  EXPECT_EQ(Whole<int>(NAN), 0);
  EXPECT_EQ(Whole<std::int64_t>(9223372036854775807.0), INT64_MAX);
  EXPECT_EQ(Whole<std::int64_t>(-1e300), INT64_MIN);
}

}  // namespace
}  // namespace cigri
