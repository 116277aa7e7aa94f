// Any bytes as a scenario of gridsim. Files that it names are looked for where there are none.
#include "fuzz/need.h"
#include "sim/scenario.h"

namespace {

using namespace cigri::sim;
using cigri::fuzz::Need;

void CheckAccepted(const Scenario& s) {
  Need(s.cycle_s >= 0 && s.tick_s > 0 && s.until >= 0);
  for (const auto& c : s.clusters) {
    Need(!c.name.empty() && c.slots >= 0 && c.nodes >= 1 && c.speed > 0);
    for (const auto& w : c.down) Need(w.from <= w.until);
  }
  for (std::size_t i = 0; i < s.campaigns.size(); ++i) {
    const auto& c = s.campaigns[i];
    Need(c.tasks >= 0 && c.slots >= 1 && c.at >= 0);
    Need(c.duration.At(1, 0) >= 0 && c.duration.Mean() >= 0);
    for (const int after : c.after) Need(after >= 0 && after < static_cast<int>(i));
  }
}

void Try(std::string_view text) {
  const auto read = ReadScenario(text, "/nonexistent", {});
  for (const auto& fault : read.faults) Need(!fault.message.empty());
  if (read.faults.empty()) CheckAccepted(read.scenario);
  // Edits of the command line meet the same text.
  ReadScenario(text, "/nonexistent", {{"luke"}, {{"policy.survival.kills", "0"}}, "usage"});
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
