// The statements of sql/queries, as text.
#pragma once
#include <string>
#include <vector>

namespace cigri::test {

struct ReturnedColumn {
  std::string name, type;  ///< of its `-- returns:` line: n, int64
  bool nullable;           ///< declared with a question mark
};
struct Statement {
  std::string file, name, sql;
  std::vector<ReturnedColumn> columns;
};
std::vector<Statement> Statements();

/// The columns of one table that a part of a statement writes; none for a DELETE.
struct Write {
  std::string table;
  std::vector<std::string> columns;
};
/// Every INSERT, UPDATE and DELETE in a statement.
std::vector<Write> WritesOf(const std::string& sql);

}  // namespace cigri::test
