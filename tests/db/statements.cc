#include "tests/db/statements.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include "core/text.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

// "n int64?" -> name n, type int64, nullable.
ReturnedColumn ColumnOf(const std::string& text) {
  const auto words = Split(Trim(text), ' ');
  std::string type = std::string(Trim(words.back()));
  const bool nullable = type.back() == '?';
  if (nullable) type.pop_back();
  return {std::string(Trim(words.front())), type, nullable};
}

std::string WithoutCommentsAndTexts(const std::string& sql) {
  static const std::regex kComment("--[^\n]*"), kText("'[^']*'");
  return std::regex_replace(std::regex_replace(sql, kComment, ""), kText, "''");
}

std::vector<std::string> WordsOf(const std::string& text) {
  static const std::regex kWord(R"(\w+|\S)");
  std::vector<std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), kWord), end; it != end; ++it)
    words.push_back(it->str());
  return words;
}

bool EndsTheList(const std::string& word) {
  return word == "WHERE" || word == "FROM" || word == "RETURNING" || word == ";";
}

// What "a = x, (b, c) = (y, z) WHERE ..." assigns: a, b, c.
std::vector<std::string> AssignedIn(const std::string& text) {
  std::vector<std::string> columns;
  int depth = 0;
  bool left_side = true;
  for (const auto& word : WordsOf(text)) {
    if (word == "(") {
      ++depth;
    } else if (word == ")") {
      if (--depth < 0) break;
    } else if (depth == 0 && EndsTheList(word)) {
      break;
    } else if (depth == 0 && (word == "," || word == "=")) {
      left_side = word == ",";
    } else if (left_side && word != ",") {
      columns.push_back(word);
    }
  }
  return columns;
}

std::vector<std::string> ListedIn(const std::string& text) {
  std::vector<std::string> columns;
  for (const auto& word : WordsOf(text))
    if (word != ",") columns.push_back(word);
  return columns;
}

}  // namespace

std::vector<Statement> Statements() {
  std::vector<Statement> out;
  for (const auto& entry : fs::directory_iterator(fs::path(CIGRI_SOURCE_DIR) / "sql/queries")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (StartsWith(line, "-- name: ")) {
        out.push_back({entry.path().filename(), std::string(Trim(line.substr(9))), "", {}});
      } else if (StartsWith(line, "-- returns: ")) {
        for (const auto& column : Split(line.substr(12), ','))
          if (!Trim(column).empty()) out.back().columns.push_back(ColumnOf(std::string(column)));
      } else if (!out.empty()) {
        out.back().sql += line + "\n";
      }
    }
  }
  return out;
}

std::vector<Write> WritesOf(const std::string& sql) {
  static const std::regex kWrite(
      R"(INSERT INTO (\w+)(?: AS \w+)?\s*\(([\w\s,]*)\)|DELETE FROM (\w+)|)"
      R"(\bDO UPDATE\s+SET\b|\bUPDATE (\w+)(?: AS \w+)?\s+SET\b)");
  const std::string text = WithoutCommentsAndTexts(sql);
  std::vector<Write> writes;
  for (std::sregex_iterator it(text.begin(), text.end(), kWrite), end; it != end; ++it) {
    const std::smatch& match = *it;
    if (match[1].matched)
      writes.push_back({match[1], ListedIn(match[2])});
    else if (match[3].matched)
      writes.push_back({match[3], {}});
    else  // DO UPDATE belongs to the INSERT before it
      writes.push_back(
          {match[4].matched ? match[4].str() : writes.back().table, AssignedIn(match.suffix())});
  }
  return writes;
}

}  // namespace cigri::test
