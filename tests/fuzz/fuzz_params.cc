// Any bytes as a CSV of parameters, and as the lines of a block of parameters.
#include <sstream>

#include "core/error.h"
#include "fuzz/need.h"
#include "jdl/blocks.h"
#include "jdl/command.h"
#include "tools/gridsub/csv.h"

namespace {

using namespace cigri;
using fuzz::Need;

std::string Quoted(const std::vector<std::string>& row) {
  std::string line;
  for (const auto& field : row) {
    std::string text = "\"";
    for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
    line += (line.empty() ? "" : ",") + text + "\"";
  }
  return line + "\n";
}

// The columns and rows of `text`; false when it is refused.
bool ReadAll(const std::string& text, std::vector<std::vector<std::string>>* rows) {
  std::istringstream in(text);
  try {
    gridsub::CsvReader csv(in, "x.csv");
    rows->push_back(csv.columns());
    for (std::vector<std::string> row; csv.Next(row);) {
      Need(row.size() == csv.columns().size());
      rows->push_back(row);
    }
    return true;
  } catch (const Fatal& e) {
    Need(std::string_view(e.what()).find("x.csv:") != std::string_view::npos);
    return false;
  }
}

void TryCsv(std::string_view text) {
  std::vector<std::vector<std::string>> rows, again;
  if (!ReadAll(std::string(text), &rows)) return;
  if (rows[0][0].find("\xEF\xBB\xBF") == 0) return;  // a mark of order in quotes is one, too
  // Written with all its quotes it says the same.
  std::string written;
  for (const auto& row : rows) written += Quoted(row);
  Need(ReadAll(written, &again) && again == rows);
}

void TryBlock(std::string_view text) {
  const auto n = jdl::CountLines(text);
  if (jdl::BlockProblem(text, n).empty()) {
    const auto lines = jdl::DecodeBlock(text);
    Need(static_cast<std::int64_t>(lines.size()) == n && n <= jdl::kBlockLines);
    Need(jdl::EncodeBlock(jdl::DecodeBlock(jdl::EncodeBlock(lines))) == jdl::EncodeBlock(lines));
    Need(jdl::NthLines(text, 0, n) == lines);
    for (const auto& line : lines) Need(jdl::LineProblem(line).empty());
  }
  const auto values = jdl::DecodeValues(text);
  if (jdl::ValuesProblem(text, 0).empty())
    Need(jdl::DecodeValues(jdl::EncodeValues(values)) == values);
}

void Try(std::string_view text) {
  TryCsv(text);
  TryBlock(text);
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
