#include "jdl/blocks.h"

#include <gtest/gtest.h>

#include "core/text.h"

namespace cigri::jdl {
namespace {

TEST(BlocksTest, LinesComeBackByteForByte) {
  const std::vector<std::string> lines = {"a", "", "b\\n", "two\nlines", "\\", "é $HOME 'x' #",
                                          "\r"};
  const auto text = EncodeBlock(lines);
  EXPECT_EQ(DecodeBlock(text), lines);
  EXPECT_EQ(CountLines(text), 7);
  EXPECT_EQ(LongestLine(text), 14u) << "é has two bytes";
  EXPECT_EQ(LongestLine("a\n\n"), 1u);
  EXPECT_EQ(LongestLine(""), 0u);
  EXPECT_EQ(BlockProblem(text, 7), "");
  EXPECT_EQ(text, "a\n\nb\\\\n\ntwo\\nlines\n\\\\\né $HOME 'x' #\n\r\n");
}

TEST(BlocksTest, AnEmptyLineIsALine) {
  EXPECT_EQ(EncodeBlock({""}), "\n");
  EXPECT_EQ(DecodeBlock("\n"), std::vector<std::string>{""});
  EXPECT_TRUE(DecodeBlock("").empty());
}

// File names are bytes; the database and JSON hold text.
TEST(BlocksTest, BytesThatAreNoTextComeBackOutOfABlockThatIsText) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::vector<std::string> lines = {"caf\xE9", "\xC3\xA9\xFF", all, "\\xE9", "é", "\xED\xA0\x80"};
  const auto text = EncodeBlock(lines);
  EXPECT_TRUE(IsValidUtf8(text));
  EXPECT_EQ(BlockProblem(text, 6), "");
  EXPECT_EQ(DecodeBlock(text), lines);
  EXPECT_EQ(EncodeBlock({"caf\xE9"}), "caf\\xE9\n");
  EXPECT_EQ(LineProblem("caf\xE9"), "");
}

TEST(BlocksTest, AFewLinesAreTakenFromTheMiddle) {
  const auto text = EncodeBlock({"0", "1", "2", "3"});
  EXPECT_EQ(NthLines(text, 1, 2), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(NthLines(text, 3, 9), (std::vector<std::string>{"3"}));
  EXPECT_TRUE(NthLines(text, 4, 1).empty());
}

TEST(BlocksTest, AServerRefusesWhatIsNoBlock) {
  EXPECT_NE(BlockProblem("a", 1), "");
  EXPECT_NE(BlockProblem("", 0), "");
  EXPECT_NE(BlockProblem("a\nb\n", 1), "");
  EXPECT_NE(BlockProblem("a\\x\n", 1), "");
  EXPECT_NE(BlockProblem("a\\\n", 1), "");
  EXPECT_NE(BlockProblem(std::string("a\0b\n", 4), 1), "");
  EXPECT_NE(BlockProblem("\xFF\n", 1), "");
  EXPECT_NE(BlockProblem("\\x7F\n", 1), "") << "ASCII needs no escape";
  EXPECT_NE(BlockProblem("\\xF\n", 1), "");
  EXPECT_NE(BlockProblem(std::string(kLineBytes + 1, 'x') + "\n", 1), "");
  EXPECT_NE(BlockProblem(std::string(1001, '\n'), 1001), "");
  EXPECT_EQ(BlockProblem(std::string(1000, '\n'), 1000), "");
}

TEST(LinesTest, ABlockIsFullAtAThousandLinesOrSoManyBytes) {
  Lines lines;
  for (int i = 0; i < 2500; ++i) lines.Add(std::to_string(i));
  ASSERT_EQ(lines.blocks().size(), 3u);
  EXPECT_EQ(CountLines(lines.blocks()[0]), 1000);
  EXPECT_EQ(DecodeBlock(lines.blocks()[2])[499], "2499");
  EXPECT_EQ(lines.First(2), (std::vector<std::string>{"0", "1"}));

  Lines wide;
  for (int i = 0; i < 100; ++i) wide.Add(std::string(kLineBytes, '\\'));
  EXPECT_EQ(wide.size(), 100);
  for (const auto& block : wide.blocks()) EXPECT_LE(block.size(), kBlockBytes + 1000);
}

}  // namespace
}  // namespace cigri::jdl
