#include "core/command_line.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace cigri {
namespace {

std::string WhyRefused(std::vector<const char*> words) {
  std::string slots;
  int limit = 0;
  CommandLine line("prog", "tries words");
  line.Add({{"--slots", &slots, "clusters"}, {"--limit", &limit, "at most so many"}});
  words.insert(words.begin(), "prog");
  try {
    line.ReadOrThrow(static_cast<int>(words.size()), words.data());
  } catch (const Fatal& e) {
    EXPECT_EQ(e.code(), kExitUsage);
    return e.what();
  }
  return "";
}

TEST(CommandLineTest, WhatIsWrongWithAnOptionIsSaidInOurWords) {
  EXPECT_EQ(WhyRefused({"--slots", "a=2", "--limit", "3"}), "");
  EXPECT_EQ(WhyRefused({"--slots", "a=2", "--slots", "b=2"}),
            "--slots is given 2 times; it takes one value");
  EXPECT_EQ(WhyRefused({"--limit", "many"}), "--limit is a number, not \"many\"");
}

}  // namespace
}  // namespace cigri
