// Admission rules: rows in Lua 5.4 that may change, warn about or refuse a campaign when it is
// submitted or gets more tasks (docs/admission-rules.md; CIG-52).
#pragma once
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cigri::rules {

/// How far a rule goes. kWarn tries a rule out: what it would refuse or change is only reported.
enum class Mode { kEnforce, kWarn, kOff };
std::string_view ToString(Mode mode);
/// Nothing for a word that is no mode.
std::optional<Mode> ModeFromString(std::string_view word);

/// A row of `admission_rules`. Rules run by rising priority, then id.
struct Rule {
  std::int64_t id = 0;
  std::string name;
  std::string code;
  int priority = 100;
  Mode mode = Mode::kEnforce;
};

/// What one run of rules may cost; over it, the rule is broken and the campaign refused.
/// Instructions, memory and time count per rule; the address space and `deadline` for all.
struct Limits {
  std::int64_t instructions = 5'000'000;
  std::size_t memory_bytes = 16u << 20;  ///< Lua's own; the child's address space is capped too
  int cpu_ms = 500;                      ///< of a rule, in CPU time: a busy host refuses nobody
  std::size_t address_space_bytes = 256u << 20;  ///< of the child; 0 = no limit (sanitizers)
  std::chrono::milliseconds deadline{10'000};    ///< of the whole child, on the wall clock
  std::string program;                           ///< gridadmit; "" = next to the running program
};

enum class Outcome {
  kOk,       ///< admitted; `campaign` is what to store
  kRefused,  ///< a rule said reject()
  kBroken    ///< a rule failed, or could not be run at all: refused, the operators must know
};

struct RuleRun {
  std::int64_t id = 0;
  std::string name;
  double ms = 0;
};

/// The answer of all rules. Texts are lines for readers.
struct Verdict {
  Outcome outcome = Outcome::kOk;
  bool ok() const { return outcome == Outcome::kOk; }
  std::string message;               ///< why not: "rule 3 (quota): you already have 3 campaigns"
  std::int64_t rule_id = 0;          ///< which rule `message` is about, 0 when none is to blame
  nlohmann::json campaign;           ///< as the rules left it; as given unless ok()
  std::vector<std::string> notes;    ///< warn(), and what rules in warn mode would have done
  std::vector<std::string> changes;  ///< "rule cap changed /clusters/c1/walltime 7200 -> 3600"
  std::vector<RuleRun> runs;
};

/// Runs the rules that are not off on `campaign` in a child of its own (`gridadmit`): no
/// environment, no descriptor but its pipes, limits of CPU, memory and time. A rule that fails,
/// runs over a limit or takes the child with it refuses the campaign, by name; in warn mode it
/// becomes a note. `campaign` has name, type, jobs, project, priority, clusters{name->{...}}; its
/// keys id, user and jobs cannot be changed. Never throws; thread-safe.
Verdict Admit(const std::vector<Rule>& rules, const nlohmann::json& campaign,
              const nlohmann::json& user, const nlohmann::json& grid, const Limits& limits = {});

/// Why `code` is no rule, with its line ("line 3: unexpected symbol near '>'"); nothing when it
/// compiles. Does not run it.
std::optional<std::string> CompileFault(const std::string& code);

/// A rule of sql/seed/admission_rules, for the rows of a new grid. Its first comment lines are
/// "-- title: ...", "-- priority: N", "-- mode: enforce|warn|off".
struct ShippedRule : Rule {
  std::string title;
};
std::vector<ShippedRule> ShippedRules();

}  // namespace cigri::rules
