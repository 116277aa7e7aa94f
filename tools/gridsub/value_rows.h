// Values on their way to tasks, as GNU parallel makes rows of them: --colsep, -N, -0.
#pragma once
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "tools/gridsub/upload.h"

namespace cigri::gridsub {

class Input;

struct RowRules {
  std::string colsep;  ///< splits a value: one character, \t, or a regular expression; "" = none
  int group = 1;       ///< -N: so many values make one task
  char end = '\n';     ///< what ends a value of a file: '\0' with -0
  bool any() const { return !colsep.empty() || group > 1; }
};

/// Makes a task of each value, or of several. Finish() takes the last ones, fewer than the others.
class ValueRows {
 public:
  /// Throws Fatal(kExitUsage) for a colsep that is no regular expression.
  ValueRows(LineSink& sink, const RowRules& rules);
  /// `at` is the line of the value, 0 = it is on none.
  void Add(const std::string& value, std::int64_t at);
  /// All values of a file.
  void AddAll(Input& input);
  void Finish();

 private:
  std::vector<std::string> Split(const std::string& value) const;
  LineSink& sink_;
  const RowRules rules_;
  std::string separator_;              ///< colsep as one character
  std::unique_ptr<std::regex> regex_;  ///< or as an expression
  std::vector<std::string> row_;
  int values_ = 0;
  std::int64_t row_at_ = 0;
};

}  // namespace cigri::gridsub
