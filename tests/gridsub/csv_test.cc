#include "tools/gridsub/csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace cigri::gridsub {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows Read(const std::string& text) {
  std::istringstream in(text);
  CsvReader reader(in, "f.csv");
  Rows rows;
  for (std::vector<std::string> row; reader.Next(row);) rows.push_back(row);
  return rows;
}

std::string Columns(const std::string& text) {
  std::istringstream in(text);
  return Join(CsvReader(in, "f.csv").columns(), ",");
}

std::string Refusal(const std::string& text) {
  try {
    Read(text);
  } catch (const Fatal& e) {
    return e.what();
  }
  return "";
}

TEST(CsvTest, AHeaderInAnotherCodeIsRefusedWhereItIs) {
  EXPECT_EQ(Refusal("id,n\xE4me\n1,\xE4\n"),
            "f.csv:1: the name of a column is not UTF-8: n\xEF\xBF\xBDme");
  EXPECT_EQ(Read("id\n\xE4\n"), (Rows{{"\xE4"}}));
}

TEST(CsvTest, QuotesCommasNewlinesAndEmptyValuesAreKept) {
  EXPECT_EQ(Read("a,b\n1,2\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\n\n , z\n"),
            (Rows{{"1", "2"}, {"x, y", "say \"hi\""}, {"two\nlines", ""}, {" ", " z"}}));
}

TEST(CsvTest, WhatWindowsWritesIsReadToo) {
  EXPECT_EQ(Read("\xEF\xBB\xBF"
                 "a,b\r\n1,\"2\"\r\n3,4"),
            (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(Columns("\xEF\xBB\xBF\"a\",\"b\"\r\n\"1\",\"2\"\r\n"), "a,b") << "Excel quotes them";
  EXPECT_EQ(Columns("\xEF\xBC\xA1,b\n1,2\n"), "\xEF\xBC\xA1,b") << "a wide A";
  EXPECT_EQ(Read("a\r\n\"1\r\"\r\n\"2\r\"\n"), (Rows{{"1\r"}, {"2\r"}})) << "quotes keep all";
}

TEST(CsvTest, WrongRowsAreRefusedWithTheirLine) {
  EXPECT_EQ(Refusal("a,b\n1,2\n\"x\ny\",2\n3\n"), "f.csv:5: 1 value, the header has 2 columns");
  EXPECT_EQ(Refusal("a\n\"x\n"), "f.csv:2: a quote has no end");
  EXPECT_EQ(Refusal("a\n\"x\"y\n"), "f.csv:2: text behind a closing quote");
  EXPECT_EQ(Refusal(""), "f.csv:1: there is no header");
  EXPECT_EQ(Refusal("a,a\n"), "f.csv:1: column \"a\" is there twice");
}

}  // namespace
}  // namespace cigri::gridsub
