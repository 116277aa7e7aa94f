#include "secrets/base64.h"

#include <gtest/gtest.h>

namespace cigri {
namespace {

TEST(Base64Test, BothAlphabets) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xfb\xff"), "+/8=");
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
}

TEST(Base64Test, WhatIsWrittenIsReadAndNothingElse) {
  const std::string bytes("\0\xff\x80 text", 8);
  EXPECT_EQ(FromBase64Url(Base64Url(bytes)), bytes);
  EXPECT_EQ(FromBase64Url(""), "");
  for (const char* text : {"Zg==", "+/8", "Zm 9v", "Z"})
    EXPECT_FALSE(FromBase64Url(text).has_value()) << text;
}

}  // namespace
}  // namespace cigri
