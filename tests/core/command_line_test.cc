#include "core/command_line.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace cigri {
namespace {

std::string WhyRefused(std::vector<const char*> words, bool with_hint = false) {
  std::string slots;
  int limit = 0, jobs = 0;
  bool output = false;
  CommandLine line("prog", "tries words");
  line.Add({{"--slots", &slots, "clusters"},
            {"--limit", &limit, "at most so many"},
            {"--max-jobs", &jobs, "at once", {.positive = true}},
            {"--output", &output, "print it"}});
  words.insert(words.begin(), "prog");
  try {
    line.ReadOrThrow(static_cast<int>(words.size()), words.data());
  } catch (const Fatal& e) {
    EXPECT_EQ(e.code(), kExitUsage);
    return with_hint ? e.hint() : e.what();
  }
  return "";
}

TEST(CommandLineTest, WhatIsWrongWithAnOptionIsSaidInOurWords) {
  EXPECT_EQ(WhyRefused({"--slots", "a=2", "--limit", "3"}), "");
  EXPECT_EQ(WhyRefused({"--slots", "a=2", "--slots", "b=2"}),
            "--slots is given 2 times; it takes one value (clusters)");
  EXPECT_EQ(WhyRefused({"--limit", "many"}), "--limit is a number, not \"many\"");
  EXPECT_EQ(WhyRefused({"--max-jobs", "3"}), "");
  EXPECT_EQ(WhyRefused({"--max-jobs", "0"}), "--max-jobs: a whole number from 1 on, not \"0\"");
  EXPECT_EQ(WhyRefused({"--max-jobs", "2x"}), "--max-jobs: a whole number from 1 on, not \"2x\"");
  EXPECT_EQ(WhyRefused({"--output=log"}), "--output takes no value");
  EXPECT_EQ(WhyRefused({"--slots", "--output"}),
            "--slots: needs a value, and --output is an option");
}

TEST(CommandLineTest, ABeginningIsTakenForTheWholeName) {
  EXPECT_EQ(WhyRefused({"--slot", "2"}, true),
            "did you mean --slots? `prog --help` lists the options");
  EXPECT_EQ(WhyRefused({"--max", "2"}, true),
            "did you mean --max-jobs? `prog --help` lists the options");
  EXPECT_EQ(WhyRefused({"--limti", "2"}, true),
            "did you mean --limit? `prog --help` lists the options");
}

TEST(CommandLineTest, ACommandBelowAnotherIsNamedWithIt) {
  const auto why = [](std::vector<const char*> words) {
    CommandLine line("prog", "tries words");
    line.AddCommand("rule", "rules");
    CommandLine& cluster = line.AddCommand("cluster", "clusters");
    cluster.AddCommand("add", "a new one");
    cluster.AddCommand("set", "change one");
    words.insert(words.begin(), "prog");
    try {
      line.ReadOrThrow(static_cast<int>(words.size()), words.data());
    } catch (const Fatal& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(why({"bogus"}), "there is no \"bogus\"; there are rule, cluster");
  EXPECT_EQ(why({}), "say what to do; there are rule, cluster");
  EXPECT_EQ(why({"cluster", "bogus"}), "there is no \"cluster bogus\"; there are add, set");
  EXPECT_EQ(why({"cluster"}), "say what to do with cluster; there are add, set");
}

}  // namespace
}  // namespace cigri
