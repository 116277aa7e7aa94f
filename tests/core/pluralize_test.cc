#include "core/pluralize.h"

#include <gtest/gtest.h>

namespace cigri {
namespace {

TEST(PluralizeTest, OneIsSingularWithItsVerbAndAllElseIsPlural) {
  EXPECT_EQ(Pluralize(1, "task"), "1 task");
  EXPECT_EQ(Pluralize(0, "task"), "0 tasks");
  EXPECT_EQ(Pluralize(1, "task waits", "tasks wait"), "1 task waits");
  EXPECT_EQ(Pluralize(2, "task waits", "tasks wait"), "2 tasks wait");
}

}  // namespace
}  // namespace cigri
