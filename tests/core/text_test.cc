#include "core/text.h"

#include <gtest/gtest.h>

#include "core/pattern.h"

namespace cigri {
namespace {

TEST(ShellQuoteTest, PlainWordsStayAndOthersAreQuotedByteForByte) {
  EXPECT_EQ(ShellQuote("a.txt"), "a.txt");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellQuote("~"), "'~'");
}

TEST(PatternTest, FindsPartsOneAfterTheOtherAmongAnyBytes) {
  const Pattern pair("([a-z]+)=([0-9]+)?");
  const std::string text("a=1 \0 bc=", 10);
  const auto first = pair.Find(text);
  ASSERT_TRUE(first);
  EXPECT_EQ(first.Text(1) + "/" + first.Text(2), "a/1");
  const auto second = pair.Find(text, first.at + first.group[0].size());
  ASSERT_TRUE(second);
  EXPECT_EQ(second.at, 6u);
  EXPECT_FALSE(second.Has(2));
  EXPECT_FALSE(pair.Find(text, 9));
  EXPECT_TRUE(pair.MatchesAll("a=1"));
  EXPECT_FALSE(pair.MatchesAll("a=1 "));
  EXPECT_FALSE(pair.Find(std::string_view()));
  EXPECT_THROW(Pattern("a("), std::invalid_argument);
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

TEST(Utf8Test, ACutIsBetweenCharacters) {
  const std::string text = "abc\xC3\xA9\xF0\x9F\x98\x80";
  EXPECT_EQ(WholeCharacters(text, 100), text.size());
  EXPECT_EQ(WholeCharacters(text, 4), 3u);
  EXPECT_EQ(WholeCharacters(text, 5), 5u);
  for (const std::size_t most : {6, 7, 8}) EXPECT_EQ(WholeCharacters(text, most), 5u) << most;
  EXPECT_EQ(WholeCharacters(std::string(50, '\x80'), 20), 20u) << "not UTF-8: anywhere";
}

TEST(MailAddressTest, IsOneAddressAlone) {
  for (const char* good : {"a@b", "ann.o'neil+grid@site.org"}) EXPECT_TRUE(IsMailAddress(good));
  for (const char* bad : {"", "ann", "@b", "a@", "Ann <a@b>", "a@b,c@d", "-bp@site.org", "a@b c",
                          "a@b\n", "\xC3\xA9@b", "\"a\"@b"})
    EXPECT_FALSE(IsMailAddress(bad)) << bad;
}

TEST(HumanDurationTest, TwoUnitsAtMost) {
  EXPECT_EQ(HumanDuration(0.42), "0.4 s");
  EXPECT_EQ(HumanDuration(75), "1 min 15 s");
  EXPECT_EQ(HumanDuration(93784), "1 d 2 h");
  EXPECT_EQ(HumanDuration(3600), "1 h");
}

}  // namespace
}  // namespace cigri
