#include "core/counted.h"

#include <gtest/gtest.h>

namespace cigri {
namespace {

TEST(CountedTest, OneIsSingularWithItsVerbAndAllElseIsPlural) {
  EXPECT_EQ(Counted(1, "task"), "1 task");
  EXPECT_EQ(Counted(0, "task"), "0 tasks");
  EXPECT_EQ(Counted(1, "task waits", "tasks wait"), "1 task waits");
  EXPECT_EQ(Counted(2, "task waits", "tasks wait"), "2 tasks wait");
}

}  // namespace
}  // namespace cigri
