#include "tools/gridsub/parallel_form.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"

namespace cigri::gridsub {
namespace {

// The rows of a command line, as "a 1;a 2".
std::string Rows(const std::vector<std::string>& words) {
  std::vector<std::string> rows;
  ForEachRow(ReadParallelForm(words).sources,
             [&](const std::vector<std::string>& row) { rows.push_back(Join(row, " ")); });
  return Join(rows, ";");
}

// The wants are what parallel 20221122 prints with -k echo.
TEST(ParallelFormTest, SourcesCombineInTheOrderOfGnuParallel) {
  EXPECT_EQ(Rows({"p", ":::", "a", "b", ":::", "1", "2"}), "a 1;a 2;b 1;b 2");
  EXPECT_EQ(Rows({"p", ":::", "a", "b", "c", ":::+", "1", "2", ":::", "x", "y"}),
            "a 1 x;a 1 y;b 2 x;b 2 y");
  EXPECT_EQ(Rows({"p", ":::", "a", ":::"}), "");
  EXPECT_EQ(Rows({"p", ":::", "a b", ""}), "a b;");
}

TEST(ParallelFormTest, ArgumentsReachTheProgramAsTyped) {
  EXPECT_EQ(ExecFileOf({"wc", "-c", "{}"}, {}), "wc -c {}");
  EXPECT_EQ(ExecFileOf({"grep", "a b", "x{1}y", "{2.}"}, {}), "grep 'a b' 'x{1}y' {2.}");
  EXPECT_EQ(ExecFileOf({"sim", "{k}", "$HOME", "~"}, {"k"}), "sim {k} '$HOME' '~'");
  EXPECT_EQ(ExecFileOf({"awk", "{print}"}, {}), "awk '{print}'");
}

TEST(ParallelFormTest, OneWordWithBlanksIsALineForTheShell) {
  EXPECT_EQ(ExecFileOf({"sort {} | head -1"}, {}), "sort {} | head -1");
}

TEST(ParallelFormTest, WhatWeLackIsRefusedNotPassedOn) {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {":::", "a"},
                                                                 {"p", "{%}", ":::", "a"},
                                                                 {"p", "{= s/a/b/ =}"},
                                                                 {"p {-1}", ":::", "a"},
                                                                 {"p", "x{-2/.}", ":::", "a"},
                                                                 {"p", ":::+", "a"}})
    EXPECT_THROW(ReadParallelForm(words), Fatal);
}

}  // namespace
}  // namespace cigri::gridsub
