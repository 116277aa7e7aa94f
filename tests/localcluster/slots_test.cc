// The pure parts: slots, victims, records, ids.
#include "localcluster/slots.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "localcluster/plain_command.h"
#include "localcluster/records.h"

namespace cigri::localcluster {
namespace {

using Places = std::vector<int>;
using Chosen = std::vector<std::size_t>;

TEST(SlotsTest, AreDividedOverTheNodes) {
  Slots slots("a", 5, 2);
  EXPECT_EQ(slots.Lines({0, 2, 3, 4}), (std::vector<std::string>{"a-1", "a-1", "a-2", "a-2"}));
}

TEST(SlotsTest, AJobStaysOnTheFullestNodeThatHasRoomForAllOfIt) {
  Slots slots("a", 8, 2);
  EXPECT_EQ(slots.Take(1), (Places{0}));
  EXPECT_EQ(slots.Take(2), (Places{1, 2})) << "the large hole on a-2 stays whole";
  EXPECT_EQ(slots.Take(4), (Places{4, 5, 6, 7}));
  slots.Give({1, 5, 6});
  EXPECT_EQ(slots.Take(4), (Places{1, 3, 5, 6})) << "on several nodes where none has room";
  EXPECT_EQ(slots.free(), 0);
}

TEST(SlotsTest, AdoptedPlacesBeyondASmallerClusterAreLeftOut) {
  Slots slots("a", 2, 1);
  slots.Retake({1, 5});
  EXPECT_EQ(slots.free(), 1);
  slots.Give({1, 5});
  EXPECT_EQ(slots.free(), 2);
}

TEST(ChooseVictimsTest, TakesTheYoungestAndNoMoreThanNeeded) {
  const struct {
    const char* when;
    std::vector<Victim> running;
    int needed;
    Chosen want;
  } cases[] = {
      {"one slot", {{1, false}, {1, false}}, 1, {1}},
      {"two slots", {{1, false}, {1, false}, {1, false}}, 2, {2, 1}},
      {"a multi-slot one is enough", {{1, false}, {4, false}}, 2, {1}},
      {"one ends already", {{1, false}, {1, true}}, 1, {}},
      {"one ends, one more is needed", {{1, false}, {1, true}, {1, false}}, 2, {2}},
      {"all would not do: nobody dies in vain", {{1, false}}, 2, {}},
      {"nothing needed", {{1, false}}, 0, {}},
  };
  for (const auto& c : cases) EXPECT_EQ(ChooseVictims(c.running, c.needed), c.want) << c.when;
}

TEST(ParseRecordTest, ReadsWhatCigriJobWrites) {
  Record r;
  ASSERT_TRUE(ParseRecord("S 12_3 456 1700000000000001 0 5", &r));
  EXPECT_EQ(r.kind, Record::Kind::kStart);
  EXPECT_EQ(r.seq, 12);
  EXPECT_EQ(r.index, 3);
  EXPECT_EQ(r.pid, 456);
  EXPECT_EQ(r.places, (Places{0, 5}));
  Record e;
  const std::string end = "E 12_3 768 x 1700000000000000 1700000000500000 ";
  ASSERT_TRUE(ParseRecord(end + "u1500,2048,4096,1,250 u1,2,3,4,5 x", &e));
  EXPECT_EQ(e.message, "u1,2,3,4,5 x");
  EXPECT_EQ(e.measured.cpu_s, 1.5);
  EXPECT_EQ(e.measured.peak_mb, 2);
  EXPECT_EQ(e.measured.read_mb, 2);
  EXPECT_EQ(e.measured.transfer_s, 0.25);
  e = {};
  ASSERT_TRUE(ParseRecord(end + "a\\nb\\\\c", &e));
  EXPECT_EQ(e.measured.cpu_s, -1) << "an older cigri-job measures nothing";
  EXPECT_EQ(e.status, 768);
  EXPECT_EQ(e.cause, Cause::kExited);
  EXPECT_DOUBLE_EQ(e.ended_at, 1700000000.5);
  EXPECT_EQ(e.message, "a\nb\\c");
}

TEST(ParseRecordTest, RefusesWhatAFullDiskHasCut) {
  Record r;
  for (const char* line :
       {"", "S", "S 12_3", "S 12_3 45", "E 12_3 7", "E 12_3 7 x", "E 12_3 7 x 1700000000000000 ",
        "E 12_3 7 q 1 2 ", "X 12_3 1 2", "S 12 1 2", "S 12_3 1 2 x"})
    EXPECT_FALSE(ParseRecord(line, &r)) << line;
  EXPECT_FALSE(ParseRecord(std::string("E 12_3 7 \0 1 2 ", 15), &r)) << "no cause";
}

TEST(PlainWordsTest, AreThoseThatAShellWouldPassOn) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(PlainWords("wc -c in/1.txt\n"), (Words{"wc", "-c", "in/1.txt"}));
  EXPECT_EQ(PlainWords("\n ./prog\t--x=1,2 '' a'b c'd '\n' 'it'\\''s'"),
            (Words{"./prog", "--x=1,2", "", "ab cd", "\n", "it's"}));
  EXPECT_EQ(PlainWords("exec prog -c 'it'\"'\"'s' \"\" \"a 'b' *\""),
            (Words{"exec", "prog", "-c", "it's", "", "a 'b' *"}));
  const std::string odd = "a'b\"c\\$d `e` *\n\xe9";
  EXPECT_EQ(PlainWords("prog " + ShellQuote(odd)), (Words{"prog", odd}));
}

TEST(PlainWordsTest, WhateverMeansMoreToAShellIsLeftToIt) {
  for (const char* command :
       {"", "\n", "a\nb", "a; b", "a && b", "a | b", "a &", "a > b", "a < b", "a $x", "a \"$b\"",
        "a \"`b`\"", "a \"b\\n\"", "a \"b", "exec", "exec -a b c", "exec echo", "exec '' a",
        "a `b`", "a *", "a ?", "a [b]", "a ~", "a {b,c}", "a #b", "! a", "(a)", "a 'b",
        "a \\b", "a \\",
        "X=1 a", "'' a", "echo a", "cd /", "'test' a", "if a", "[ a", ". a", "a \xc3\xa9",
        "a\rb", "a ^b", "-- \x01"})
    EXPECT_FALSE(PlainWords(command)) << command;
}

TEST(PlainExportsTest, AreOnlyThat) {
  using Exports = std::vector<std::string>;
  EXPECT_EQ(PlainExports(""), Exports());
  EXPECT_EQ(PlainExports("export A=1\n\nexport B='x y' C=\n"), (Exports{"A=1", "B=x y", "C="}));
  for (const char* setup : {"A=1", "export A", "export", "export A=$B", "export -n A=1",
                            "export 1=2",
                            "export =2", "module load x", "export A=~/b", "export A=1; cd /"})
    EXPECT_FALSE(PlainExports(setup)) << setup;
}

TEST(ParseIdTest, TakesOnlyWholeIds) {
  std::int64_t seq = 0;
  int index = 0;
  EXPECT_TRUE(ParseId("27946725894_17", &seq, &index));
  EXPECT_EQ(IdOf(seq, index), "27946725894_17");
  for (const char* id :
       {"", "_", "1", "1_", "_1", "-1_1", "1_-1", "1_1x", "99999999999999999999_1"})
    EXPECT_FALSE(ParseId(id, &seq, &index)) << id;
}

}  // namespace
}  // namespace cigri::localcluster
