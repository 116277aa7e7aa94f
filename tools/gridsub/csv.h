// CSV with a header (RFC 4180): quotes, doubled quotes, newlines within quotes, CRLF.
#pragma once
#include <istream>
#include <string>
#include <vector>

namespace cigri::gridsub {

/// ';' of "--delimiter ;"; "tab" and "\t" are TAB. Throws Fatal(kExitUsage) for what is no
/// character.
char DelimiterOf(const std::string& text);

/// Reads row after row, in the memory of one row.
class CsvReader {
 public:
  /// Reads the header. Throws Fatal(kExitBadInput, "FILE:1: ...") when it is no set of columns.
  /// `delimiter` of 0: a comma, and a header that has `;` or TAB in its place is refused.
  CsvReader(std::istream& in, std::string file, char delimiter = 0);
  const std::vector<std::string>& columns() const { return columns_; }
  /// The next row into `row`; false at the end. Throws Fatal(kExitBadInput, "FILE:LINE: ...") for a
  /// row of another length or a quote without its end. Empty lines are passed over.
  bool Next(std::vector<std::string>& row);
  /// The line on which the last row began.
  int line() const { return line_; }

 private:
  std::string SkipMark();
  bool ReadRow(std::vector<std::string>& row);
  std::string ReadField(bool& last);
  std::string ReadQuoted();
  [[noreturn]] void Bad(const std::string& why) const;

  std::istream& in_;
  std::string file_;
  const char delimiter_;
  std::vector<std::string> columns_;
  int line_ = 0, at_line_ = 1;
};

}  // namespace cigri::gridsub
