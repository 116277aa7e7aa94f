#include "tools/gridsub/value_rows.h"

#include "core/error.h"
#include "core/text.h"
#include "jdl/blocks.h"
#include "jdl/command.h"
#include "tools/common/terminal.h"
#include "tools/gridsub/inputs.h"

namespace cigri::gridsub {

ValueRows::ValueRows(LineSink& sink, const RowRules& rules) : sink_(sink), rules_(rules) {
  const auto& colsep = rules_.colsep;
  if (colsep == "\\t" || colsep == "tab") {
    separator_ = "\t";
  } else if (colsep.size() == 1) {
    separator_ = colsep;
  } else if (!colsep.empty()) {
    try {
      // The other engine of the library calls itself for each byte of a match: 60,000 blanks end
      // it.
      regex_ = std::make_unique<std::regex>(
          colsep, std::regex::ECMAScript | std::regex_constants::__polynomial);
    } catch (const std::regex_error&) {
      throw Fatal(kExitUsage, "--colsep \"" + colsep + "\" is no regular expression",
                  "a single character stands for itself: --colsep ,");
    }
  }
}

std::vector<std::string> ValueRows::Split(const std::string& value) const {
  if (!separator_.empty()) return cigri::Split(value, separator_[0]);
  if (!regex_) return {value};
  return {std::sregex_token_iterator(value.begin(), value.end(), *regex_, -1),
          std::sregex_token_iterator()};
}

void ValueRows::Add(const std::string& value, std::int64_t at) {
  if (const auto problem = jdl::LineProblem(value); !problem.empty()) {
    const bool nul = value.find('\0') != std::string::npos;
    throw Fatal(kExitBadInput,
                sink_.PlaceOf(at) + ": this parameter cannot be used: " + problem + ": \"" +
                    tools::CutTo(tools::Printable(value), 60) + "\"",
                nul ? "values that end with NUL, as find -print0 writes them: -0" : "");
  }
  for (auto& part : Split(value))  // as in parallel, where --colsep implies --trim rl
    row_.push_back(rules_.colsep.empty() ? std::move(part) : std::string(Trim(part)));
  if (values_++ == 0) row_at_ = at;
  if (values_ == rules_.group) Finish();
}

void ValueRows::AddAll(Input& input) {
  std::string value;
  for (std::int64_t at = 1; std::getline(input.stream(), value, rules_.end); ++at) Add(value, at);
}

void ValueRows::Finish() {
  if (values_ == 0) return;
  sink_.Add(jdl::EncodeValues(row_), row_at_);
  row_.clear();
  values_ = 0;
}

}  // namespace cigri::gridsub
