#include "core/text.h"

#include <gtest/gtest.h>

namespace cigri {
namespace {

TEST(ShellQuoteTest, PlainWordsStayAndOthersAreQuotedByteForByte) {
  EXPECT_EQ(ShellQuote("a.txt"), "a.txt");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellQuote("~"), "'~'");
}

TEST(WalltimeTest, SecondsOrHoursMinutesSecondsAndNothingElse) {
  const struct {
    const char* text;
    int want;  // 0: refused
  } cases[] = {{"90", 90},  {"01:00:00", 3600}, {"100:00:01", 360001},
               {"1:00", 0}, {"1h", 0},          {"0", 0},
               {"-5", 0},   {"1:60:00", 0},     {"", 0},
               {"1.5", 0},  {"00:00:00", 0},    {"2147483648", 0},
               {" 5", 0}};
  for (const auto& c : cases) EXPECT_EQ(ParseWalltime(c.text).value_or(0), c.want) << c.text;
}

TEST(DidYouMeanTest, NamesTheNearestOnly) {
  EXPECT_EQ(DidYouMean("frogy", {"froggy", "luke"}), "froggy");
  EXPECT_EQ(DidYouMean("exce_file", {"exec_file", "exec_directory"}), "exec_file");
  EXPECT_FALSE(DidYouMean("zzz", {"froggy", "luke"}).has_value());
}

TEST(Utf8Test, InvalidBytesAreReplacedAndTheRestIsKept) {
  EXPECT_TRUE(IsValidUtf8("caf\xC3\xA9"));
  EXPECT_FALSE(IsValidUtf8("caf\xE9"));
  EXPECT_EQ(ValidUtf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(ValidUtf8("caf\xC3\xA9\xF0\x9F\x98\x80"), "caf\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(ValidUtf8("a\xE2\x82"), "a\xEF\xBF\xBD") << "cut inside a character";
  EXPECT_EQ(ValidUtf8("\xE2\x82z"), "\xEF\xBF\xBDz");
  EXPECT_FALSE(IsValidUtf8("\xED\xA0\x80")) << "a surrogate";
  EXPECT_FALSE(IsValidUtf8("\xC0\xAF")) << "overlong";
  EXPECT_FALSE(IsValidUtf8("\xF4\x90\x80\x80")) << "above U+10FFFF";
}

TEST(HumanDurationTest, TwoUnitsAtMost) {
  EXPECT_EQ(HumanDuration(0.42), "0.4 s");
  EXPECT_EQ(HumanDuration(75), "1 min 15 s");
  EXPECT_EQ(HumanDuration(93784), "1 d 2 h");
  EXPECT_EQ(HumanDuration(3600), "1 h");
}

}  // namespace
}  // namespace cigri
