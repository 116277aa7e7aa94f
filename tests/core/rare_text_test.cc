#include "core/rare_text.h"

#include <gtest/gtest.h>

namespace cigri {
namespace {

TEST(RareTextTest, IsATextOfItsOwnInTheRoomOfAPointer) {
  static_assert(sizeof(RareText) == sizeof(void*));
  RareText a = "BLACKLIST", b = a, none;
  b = std::string("HELD");
  EXPECT_EQ(a.str(), "BLACKLIST");
  EXPECT_EQ(b, RareText("HELD"));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.str(), "");
  none = a;
  a.clear();
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(none.str(), "BLACKLIST");
  EXPECT_TRUE(RareText("").empty());
}

}  // namespace
}  // namespace cigri
