#include "tools/common/follow.h"

#include <cstdio>

#include "core/pluralize.h"

namespace cigri::tools {
namespace {

ResultStream::Options OptionsOf(const ResultWishes& wishes) {
  const bool output = wishes.print || !wishes.folder.empty();
  return {output, output, wishes.in_order};
}

}  // namespace

ResultFollower::ResultFollower(Api& api, std::int64_t campaign, const ResultWishes& wishes,
                               ProgressLine& line)
    : wanted_(wishes.any()), stream_(api, campaign, OptionsOf(wishes)) {
  if (wishes.print)
    sinks_.Add(std::make_unique<ResultPrinter>(wishes.tag, [&line] { line.Clear(); }));
  if (!wishes.folder.empty()) sinks_.Add(std::make_unique<ResultFiles>(wishes.folder));
  if (!wishes.table.empty()) sinks_.Add(std::make_unique<ResultTable>(wishes.table));
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

std::string WhereOutputIs(std::int64_t campaign, const ResultWishes& wishes) {
  if (!wishes.folder.empty()) return "output: " + wishes.folder;
  return wishes.print ? "" : "output: gridstat " + std::to_string(campaign) + " -O";
}

}  // namespace cigri::tools
