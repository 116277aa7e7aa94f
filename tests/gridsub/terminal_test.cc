#include "tools/common/terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

namespace cigri::tools {
namespace {

TEST(TerminalTest, WidthsAreColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\xC3\xA9t\xC3\xA9"), 3);
  EXPECT_EQ(DisplayWidth("\xE6\x97\xA5\xE6\x9C\xAC"), 4);
  EXPECT_EQ(CutTo("abcdef", 5), "ab...");
  EXPECT_EQ(CutTo("\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", 5), "\xE6\x97\xA5...");
  EXPECT_EQ(CutTo("abc", 3), "abc");
  EXPECT_EQ(CutTo("abc", 0), "");
}

TEST(TerminalTest, TextOfOthersCannotSteerTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[31m\tb\x7f\xC2\x9B"
                      "c\xFF"),
            "a?[31m?b??c\xEF\xBF\xBD");
  EXPECT_EQ(Printable("\xC3\xA9"), "\xC3\xA9");
}

TEST(TerminalTest, NoColourWhereNobodySeesIt) {
  EXPECT_FALSE(UseColour("auto", -1));
  EXPECT_TRUE(UseColour("always", -1));
  EXPECT_EQ(Paint(Tint::kRed, "x", false), "x");
  EXPECT_EQ(Paint(Tint::kRed, "x", true), "\x1b[31mx\x1b[0m");
}

TEST(ProgressLineTest, IsOneLineOnATerminalAndNothingElsewhere) {
  int terminal = -1, program = -1;
  const winsize size{24, 12, 0, 0};
  ASSERT_EQ(openpty(&terminal, &program, nullptr, nullptr, &size), 0);
  {
    ProgressLine line(program);
    EXPECT_TRUE(line.on());
    line.Show("0123456789abcdef");
  }
  // The kernel hands it over in as many parts as it likes.
  const std::string expected = "\r01234567...\x1b[K\r\x1b[K";
  std::string text;
  char part[64];
  for (pollfd ready{terminal, POLLIN, 0}; text.size() < expected.size() && poll(&ready, 1, 5000) > 0;)
    if (const auto n = read(terminal, part, sizeof part); n > 0)
      text.append(part, static_cast<std::size_t>(n));
    else
      break;
  EXPECT_EQ(text, expected);
  close(terminal);
  close(program);
  EXPECT_FALSE(ProgressLine(-1).on());
}

}  // namespace
}  // namespace cigri::tools
