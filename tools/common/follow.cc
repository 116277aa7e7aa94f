#include "tools/common/follow.h"

#include <cstdio>

#include "core/pluralize.h"

namespace cigri::tools {
namespace {

ResultStream::Options OptionsOf(const ResultRequest& request) {
  const bool output = request.print || !request.folder.empty();
  return {output, output, request.in_order};
}

}  // namespace

ResultFollower::ResultFollower(Api& api, std::int64_t campaign, const ResultRequest& request,
                               ProgressLine& line)
    : wanted_(request.any()), keeps_on_(request.log), stream_(api, campaign, OptionsOf(request)) {
  if (request.print)
    sinks_.Add(std::make_unique<ResultPrinter>(request.tag, [&line] { line.Clear(); }));
  if (!request.folder.empty())
    sinks_.Add(std::make_unique<ResultFiles>(request.folder, ResultFiles::Name(), request.earlier));
  if (!request.table.empty())
    sinks_.Add(std::make_unique<ResultTable>(request.table, request.earlier));
}

void ResultFollower::Fetch(bool last) {
  if (wanted_) stream_.Fetch(sinks_, last);
}

bool ResultFollower::Complete() const {
  if (sinks_.unread() == 0) return true;
  std::fprintf(stderr, "the output of %s cannot be read; %s\n",
               Pluralize(sinks_.unread(), "task").c_str(), Printable(sinks_.why_unread()).c_str());
  return false;
}

std::string WhereOutputIs(std::int64_t campaign, const ResultRequest& request) {
  if (!request.folder.empty()) return "output: " + request.folder;
  return request.print ? "" : "output: gridstat " + std::to_string(campaign) + " -O";
}

}  // namespace cigri::tools
