// gridsim: what a grid would do, without one.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "sim/report.h"
#include "tools/common/options.h"
int main(int argc, char** argv) {
  std::ifstream in(argv[1]); std::ostringstream t; t << in.rdbuf();
  const auto r = cigri::sim::ReadScenario(t.str(), "");
  for (const auto& f : r.faults) std::fprintf(stderr, "%s\n", cigri::jdl::Text(f, argv[1]).c_str());
  if (!r.faults.empty() || argc < 2) return 65;
  cigri::sim::Collector c(r.scenario);
  cigri::sim::Engine e(r.scenario, {&c});
  const auto totals = e.Run();
  std::puts(ToText(c.Finish(totals, ToString(r.scenario.policy.policy))).c_str());
}
