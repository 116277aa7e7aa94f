#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "core/text.h"
#include "process/run.h"
#include "rules/evaluate.h"
#include "rules/rules.h"

namespace cigri::rules {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMostAnswer = 256u << 20;

std::string Label(const Rule& rule) {
  return "rule " + std::to_string(rule.id) + " (" + rule.name + ")";
}

// Tests live in build/tests, programs in build/bin, packages may keep helpers apart.
std::string ProgramOf(const Limits& limits) {
  if (!limits.program.empty()) return limits.program;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"gridadmit", "../bin/gridadmit", "../lib/cigri/gridadmit"})
    if (access((here / place).c_str(), X_OK) == 0) return here / place;
  return here / "gridadmit";
}

std::vector<Rule> InOrder(std::vector<Rule> rules) {
  std::erase_if(rules, [](const Rule& r) { return r.mode == Mode::kOff; });
  std::stable_sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
    return std::pair(a.priority, a.id) < std::pair(b.priority, b.id);
  });
  return rules;
}

std::string Request(const std::vector<Rule>& rules, const json& campaign, const json& user,
                    const json& grid, const Limits& limits) {
  json list = json::array();
  for (const Rule& r : rules)
    list.push_back({{"id", r.id}, {"name", r.name}, {"code", r.code}, {"mode", ToString(r.mode)}});
  return json{{"rules", list},
              {"campaign", campaign},
              {"user", user},
              {"grid", grid},
              {"limits", ToJson(limits)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

void Break(Verdict* verdict, const Rule& rule, const std::string& why) {
  verdict->outcome = Outcome::kBroken;
  verdict->rule_id = rule.id;
  verdict->message = Label(rule) + " failed: " + why + "; an operator must fix it";
}

// What the child said of one rule, into the verdict.
void Apply(const json& line, const Rule& rule, Verdict* verdict) {
  const std::string label = Label(rule);
  const bool enforced = rule.mode == Mode::kEnforce;
  verdict->runs.push_back({rule.id, rule.name, line.at("ms")});
  for (const json& note : line.at("notes"))
    verdict->notes.push_back(label + ": " + note.get<std::string>());
  for (const json& change : line.at("changes")) {
    const auto text = change.get<std::string>();
    if (enforced)
      verdict->changes.push_back("rule " + rule.name + " changed " + text);
    else
      verdict->notes.push_back(label + " would change " + text);
  }
  if (line.contains("rejected")) {
    const auto why = line["rejected"].get<std::string>();
    if (!enforced) return verdict->notes.push_back(label + " would refuse: " + why);
    verdict->outcome = Outcome::kRefused;
    verdict->rule_id = rule.id;
    verdict->message = label + ": " + why;
  } else if (line.contains("fault")) {
    const auto why = line["fault"].get<std::string>();
    if (!enforced) return verdict->notes.push_back(label + " failed: " + why);
    Break(verdict, rule, why);
  }
}

// Without environment or descriptors of ours but standard error, which goes to our log.
process::Command ChildOf(const Limits& limits, const std::string& request) {
  process::Command command{.argv = {ProgramOf(limits)}, .input = request};
  command.environment = process::Environment{};
  command.time_limit = limits.deadline;
  command.output_limit = kMostAnswer;
  command.errors = process::Errors::kOurs;
  command.own_session = true;  // which it makes as nice as it is: not as the API
  return command;
}

std::string WhyNoVerdict(const process::Command& command, const process::Result& child) {
  const bool signalled = child.outcome == process::Outcome::kSignalled;
  if (signalled && (child.code == SIGPROF || child.code == SIGXCPU))
    return "it exceeded its limit of time";
  return process::HowItEnded(command, child);
}

// Reads the child's lines. Returns the rule it died in, -1 when it came to a verdict, and -2 when
// it died outside of all rules.
int Read(const process::Result& child, const std::vector<Rule>& rules, Verdict* verdict) {
  int running = -2;
  for (const std::string& text : Split(child.out, '\n')) {
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object()) continue;
    if (line.contains("rule")) running = line["rule"];
    if (line.contains("ran")) {
      running = -2;
      Apply(line, rules.at(line["ran"]), verdict);
      if (!verdict->ok()) return -1;
    }
    if (line.contains("campaign")) {
      verdict->campaign = line["campaign"];
      return -1;
    }
  }
  return running;
}

Verdict AdmitOrThrow(std::vector<Rule> rules, const json& campaign, const json& user,
                     const json& grid, const Limits& limits) {
  std::vector<std::string> trial_notes;
  for (;;) {
    Verdict verdict;
    verdict.campaign = campaign;
    verdict.notes = trial_notes;
    if (rules.empty()) return verdict;
    const auto command = ChildOf(limits, Request(rules, campaign, user, grid, limits));
    const auto child = process::Run(command);
    if (child.outcome == process::Outcome::kNotStarted) throw std::runtime_error(child.why);
    const int died_in = Read(child, rules, &verdict);
    if (died_in == -1) return verdict;
    if (died_in == -2) throw std::runtime_error("gridadmit: " + WhyNoVerdict(command, child));
    const Rule& rule = rules.at(static_cast<std::size_t>(died_in));
    if (rule.mode == Mode::kEnforce) {
      Break(&verdict, rule, WhyNoVerdict(command, child));
      return verdict;
    }
    // A rule on trial must not refuse anybody, whatever it does: once more without it.
    trial_notes.push_back(Label(rule) + " failed: " + WhyNoVerdict(command, child));
    rules.erase(rules.begin() + died_in);
  }
}

}  // namespace

Verdict Admit(const std::vector<Rule>& rules, const json& campaign, const json& user,
              const json& grid, const Limits& limits) {
  try {
    return AdmitOrThrow(InOrder(rules), campaign, user, grid, limits);
  } catch (const std::exception& e) {
    // Fails closed: a grid whose rules cannot run takes no campaigns.
    Verdict verdict;
    verdict.outcome = Outcome::kBroken;
    verdict.message = std::string("the admission rules cannot be run: ") + e.what();
    verdict.campaign = campaign;
    return verdict;
  }
}

}  // namespace cigri::rules
