#include "tools/gridsim/options.h"

#include "core/text.h"

namespace cigri::gridsim {
namespace {

constexpr char kFooter[] = R"(
Examples:
  gridsim first.json                              what would happen: waits, shares, utilisation
  gridsim first.json --gantt first.svg            the same as a picture
  gridsim first.json --compare fifo,usage,fairshare --plot policies.svg
  gridsim first.json --without luke               what if that cluster goes
  gridsim first.json --set first_results=20 --set clusters.luke.slots=64
  gridsim first.json --why "2 h"                  why was that slot idle, who waited for what
  gridsim --from-history --compare fairshare,usage    the same questions to the grid as it is
  gridsim --from-history --replay                 are stored decisions taken again the same way

Exit codes: 0 done; 1 --replay found a difference; 64 wrong options; 65 bad scenario;
69 no API; 77 not an operator (--from-history).)";

void Together(const GridsimOptions& o) {
  const bool past = o.from_history || !o.history.empty();
  if (!o.history.empty() && (o.from_history || !(o.from + o.until).empty()))
    throw Fatal(kExitUsage, "--history reads a file, --from-history, --from and --until ask the API");
  if (o.scenario.empty() && !past)
    throw Fatal(kExitUsage, "no scenario", "gridsim SCENARIO, or gridsim --from-history");
  if (!o.scenario.empty() && past)
    throw Fatal(kExitUsage, "a scenario and --from-history do not go together");
  if (!past && (o.replay || o.coarse != 0 || !(o.from + o.until + o.save).empty()))
    throw Fatal(kExitUsage,
                "--replay, --from, --until, --coarse and --save are for --from-history");
  if (!o.plot.empty() && o.compare.empty())
    throw Fatal(kExitUsage, "--plot draws what --compare compares", "--compare fifo,usage");
  if (!o.compare.empty() && !(o.jobs + o.swf + o.gantt + o.why + o.policy).empty())
    throw Fatal(kExitUsage, "--compare has no --jobs, --swf, --gantt, --why or --policy",
                "run each policy on its own with --policy NAME");
}

}  // namespace

std::optional<int> Read(int argc, char** argv, GridsimOptions& o) {
  CommandLine line("gridsim", "Simulates a grid with the grid's own scheduler.");
  tools::AddCommonOptions(line, o.common);
  line.AddFooter(kFooter);
  line.Add(
      {{"SCENARIO", &o.scenario, "a scenario file (docs/gridsim.md), - for standard input"},
       {"--policy", &o.policy, "this policy or preset instead of the scenario's"},
       {"--compare",
        &o.compare,
        "policies or presets, one after the other: fifo,usage",
        {.one_value_each = true, .separator = ','}},
       {"--without",
        &o.without,
        "leave this cluster out (may be repeated)",
        {.one_value_each = true}},
       {"--set",
        &o.set,
        "KEY=VALUE: a key of the policy or the scenario, clusters.NAME.KEY, "
        "campaigns.NAME.KEY (may be repeated)",
        {.one_value_each = true}},
       {"--jobs", &o.jobs, "a row for each job: FILE.csv"},
       {"--swf", &o.swf, "the same in the Standard Workload Format: FILE.swf"},
       {"--gantt", &o.gantt, "who ran where and when: FILE.svg"},
       {"--plot", &o.plot, "with --compare: a picture of the numbers: FILE.svg"},
       {"--why", &o.why, "stop there and tell who waited, and why: \"2 h\""},
       {"--json", &o.json, "JSON"},
       {"--all", &o.all, "all users, campaigns and clusters, not the first 20"},
       {"--check", &o.check, "only check the scenario"},
       {"--from-history", &o.from_history, "operators: simulate the grid's own past"},
       {"--replay", &o.replay, "with --from-history: take stored decisions again"},
       {"--from", &o.from, "with --from-history: since then, 2026-01-31T12:00:00Z or epoch s"},
       {"--until", &o.until, "and until then"},
       {"--limit", &o.limit, "most snapshots to read (1000)", {.range = {{1, 1000}}}},
       {"--history", &o.history,
        "the same from an answer of its API: FILE.json, - for standard input"},
       {"--coarse", &o.coarse,
        "with these: at most so many tasks, of large campaigns fewer and longer ones",
        {.range = {{1, 1'000'000'000}}}},
       {"--save", &o.save, "with --from-history: write the scenario that was made: FILE.json"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  Together(o);
  EditsOf(o);  // a wrong --set is reported before any file is read
  return std::nullopt;
}

sim::Edits EditsOf(const GridsimOptions& o) {
  sim::Edits edits{.without = o.without, .set = {}, .policy = o.policy};
  for (const auto& text : o.set) {
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0)
      throw Fatal(kExitUsage, "--set " + text + " is no KEY=VALUE", "--set clusters.luke.slots=64");
    edits.set.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return edits;
}

}  // namespace cigri::gridsim
