#include "tools/gridsub/csv.h"

#include "core/error.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "jdl/command.h"

namespace cigri::gridsub {

char DelimiterOf(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  const bool odd = text.size() == 1 && text.find_first_of("\"\n\r") != text.npos;
  if (text.size() != 1 || odd)
    throw Fatal(kExitUsage, "--delimiter \"" + text + "\" is no single character",
                "like --delimiter ';' or --delimiter tab");
  return text[0];
}

CsvReader::CsvReader(std::istream& in, std::string file, char delimiter)
    : in_(in), file_(std::move(file)), delimiter_(delimiter == 0 ? ',' : delimiter) {
  const std::string begun = SkipMark();
  if (!ReadRow(columns_)) Bad("there is no header");
  auto& first = columns_.front();
  first = begun + first;
  if (delimiter == 0 && columns_.size() == 1)
    for (const auto& [other, option] : {std::pair{';', "';'"}, {'\t', "tab"}})
      if (first.find(other) != first.npos)
        throw Fatal(kExitBadInput,
                    file_ + ":1: the header has no comma, it is one column: " + first,
                    std::string("if its columns are separated otherwise: --delimiter ") + option);
  for (auto& name : columns_) {
    name = std::string(Trim(name));
    if (!IsValidUtf8(name))
      throw Fatal(kExitBadInput,
                  file_ + ":1: the name of a column is not UTF-8: " + ValidUtf8(name),
                  "values may be any bytes, names not: iconv -f latin1 -t utf-8 FILE > NEW");
  }
  const auto problem = jdl::ColumnsProblem(columns_);
  if (!problem.empty()) Bad(problem);
}

// The byte order mark that Windows writes; what only began like one is the beginning of a name.
std::string CsvReader::SkipMark() {
  const std::string mark = "\xEF\xBB\xBF";
  std::string begun;
  while (begun.size() < mark.size() &&
         in_.peek() == std::istream::traits_type::to_int_type(mark[begun.size()]))
    begun += static_cast<char>(in_.get());
  return begun == mark ? "" : begun;
}

bool CsvReader::Next(std::vector<std::string>& row) {
  if (!ReadRow(row)) return false;
  if (row.size() != columns_.size())
    Bad(Pluralize(row.size(), "value") + ", the header has " +
        Pluralize(columns_.size(), "column"));
  return true;
}

bool CsvReader::ReadRow(std::vector<std::string>& row) {
  while (in_.peek() == '\n' || in_.peek() == '\r') {
    if (in_.get() == '\n') ++at_line_;
  }
  if (in_.peek() == std::istream::traits_type::eof()) return false;
  line_ = at_line_;
  row.clear();
  for (bool last = false; !last;) row.push_back(ReadField(last));
  return true;
}

std::string CsvReader::ReadField(bool& last) {
  std::string field;
  if (in_.peek() == '"') field = ReadQuoted();
  const auto quoted = field.size();
  for (int c = in_.get();; c = in_.get()) {
    if (c == delimiter_) return field;
    if (c == '\n' || c == std::istream::traits_type::eof()) {
      if (c == '\n') ++at_line_;
      last = true;
      if (field.size() > quoted && field.back() == '\r') field.pop_back();
      return field;
    }
    field += static_cast<char>(c);
  }
}

std::string CsvReader::ReadQuoted() {
  std::string field;
  in_.get();
  for (int c = in_.get();; c = in_.get()) {
    if (c == std::istream::traits_type::eof()) Bad("a quote has no end");
    if (c == '\n') ++at_line_;
    if (c != '"') {
      field += static_cast<char>(c);
    } else if (in_.peek() == '"') {
      field += static_cast<char>(in_.get());
    } else {
      const int next = in_.peek();
      const bool ends = next == delimiter_ || next == '\n' || next == '\r' ||
                        next == std::istream::traits_type::eof();
      if (!ends) Bad("text behind a closing quote");
      return field;
    }
  }
}

void CsvReader::Bad(const std::string& why) const {
  throw Fatal(kExitBadInput, file_ + ":" + std::to_string(std::max(line_, 1)) + ": " + why,
              "the first line names the columns, every row has as many values");
}

}  // namespace cigri::gridsub
