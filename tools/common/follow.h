// What is done with results as tasks end: -O, -k, --tag, --results, --results-csv.
#pragma once
#include <memory>
#include <string>

#include "tools/common/result_sinks.h"
#include "tools/common/terminal.h"

namespace cigri::tools {

/// What the user wants of the results.
struct ResultRequest {
  bool print = false, in_order = false, tag = false;
  std::string folder, table;
  bool log = false;    ///< who waits has a job log to write in the end
  bool quiet = false;  ///< no summary at the end: the exit code tells
  const EarlierRun* earlier = nullptr;  ///< nothing: none of the work was done before
  bool any() const { return print || !folder.empty() || !table.empty(); }
};

/// Fetches the results of a campaign while it runs, and hands them to what was asked for.
class ResultFollower {
 public:
  /// `line` is taken away before something is printed. Throws Fatal for a folder or table that
  /// cannot be written.
  ResultFollower(Api& api, std::int64_t campaign, const ResultRequest& request, ProgressLine& line);
  /// What has ended by now. REQUIRES of `last`: the campaign is over.
  void Fetch(bool last);
  /// False when nothing is left to be done for them: they were to be printed, and the reader has
  /// gone.
  bool WantsMore() const { return !wanted_ || keeps_on_ || sinks_.WantsMore(); }
  /// Whether all output could be read; says on stderr what could not.
  bool Complete() const;

 private:
  const bool wanted_, keeps_on_;
  ResultFanout sinks_;
  ResultStream stream_;
};

/// The line that says where the output of a campaign is: "output: gridstat 7 -O"; "" when it was
/// printed.
std::string WhereOutputIs(std::int64_t campaign, const ResultRequest& request);

}  // namespace cigri::tools
