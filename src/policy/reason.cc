#include "policy/reason.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace cigri::policy {
namespace {

// {0} {1} {2}: the numbers; {s0}...: the same as a span of time; {c}: the cluster; {o}: the other
// campaign; {d}: the detail.
struct Row {
  Code code;
  const char* word;
  std::array<std::string_view, 3> numbers;
  const char* text;
  const char* action;
};

using C = Code;
constexpr Row kRows[] = {
    {C::kNone, "NONE", {}, "nothing holds it back", ""},
    {C::kSuspended,
     "SUSPENDED",
     {"priority"},
     "its priority is {0}: nothing is sent",
     "raise the priority of the campaign (gridmod -p)"},
    {C::kNoTask, "NO_TASK", {"waiting"}, "no task of it waits", ""},
    {C::kNoCluster,
     "NO_CLUSTER",
     {},
     "none of its clusters exists in the grid",
     "choose clusters that gridclusters lists"},
    {C::kTestDone,
     "TEST_DONE",
     {"waiting"},
     "a test campaign makes one job per cluster; {0} parameters are not run",
     ""},
    {C::kBehindOwn,
     "BEHIND_OWN",
     {"campaigns at once"},
     "campaign {o} of the same user goes first ({0} of a user run at once)",
     "give it a higher priority than campaign {o}"},
    {C::kAfter,
     "AFTER",
     {},
     "campaign {o} has to end first (after)",
     "wait for campaign {o}, or cancel it if it is not needed"},
    {C::kTooWide,
     "TOO_WIDE",
     {"slots of a job", "slots of the cluster"},
     "one job needs {0} slots and {c} has {1}",
     "ask for fewer resources, or for another cluster"},
    {C::kHeld,
     "HELD",
     {"in flight"},
     "held on {c} by {d}",
     "look at its events (gridevents) and close what is repaired"},
    {C::kSink,
     "SINK",
     {"jobs in a row", "longest, s", "held until"},
     "its last {0} jobs on {c} ended within {s1}, too fast to be true: held there",
     "check what the program does on that cluster"},
    {C::kPrologueRuns, "PROLOGUE", {"in flight"}, "its prologue on {c} has to end first", ""},
    {C::kPrologueFailed,
     "PROLOGUE_FAILED",
     {},
     "its prologue on {c} failed",
     "mend the prologue and close the event"},
    {C::kTooShortLives,
     "TOO_SHORT_LIVES",
     {"needs, s", "median life, s", "kills"},
     "a job needs {s0}, the median life on {c} is {s1}, and {2} were killed",
     "make the jobs shorter, or choose other clusters"},
    {C::kAffinityWait,
     "AFFINITY_WAIT",
     {"waited, s", "waits for, s"},
     "waits {s1} for a cluster that has its data before it takes {c}",
     ""},
    {C::kAvoided, "AVOIDED", {"tasks"}, "its {0} waiting tasks have failed on {c} before", ""},
    {C::kMaxJobs,
     "MAX_JOBS",
     {"limit", "in flight"},
     "its own max_jobs allows {0} on {c}, {1} are in flight",
     "raise max_jobs"},
    {C::kFirstTen,
     "FIRST_TEN",
     {"limit", "in flight"},
     "until one of its jobs has succeeded on {c}, {0} are tried ({1} in flight)",
     ""},
    {C::kBadGroup,
     "BAD_GROUP",
     {},
     "its group \"{d}\" is none of sla.groups",
     "ask your operator for a group"},
    {C::kDisabled, "CLUSTER_DISABLED", {}, "{c} is switched off: {d}", ""},
    {C::kStale, "CLUSTER_STALE", {}, "{c} does not answer: {d}", ""},
    {C::kDrained, "CLUSTER_DRAINED", {}, "{c} is drained: {d}", ""},
    {C::kHours, "CLUSTER_HOURS", {}, "{c} is closed at this hour: {d}", ""},
    {C::kBreaker, "CLUSTER_BREAKER", {}, "{c} failed too often and rests: {d}", ""},
    {C::kStress, "CLUSTER_STRESS", {}, "{c} is overloaded: {d}", ""},
    {C::kObserved, "CLUSTER_OBSERVED", {}, "{c} is only observed: nothing is sent", ""},
    {C::kLimited, "CLUSTER_LIMITED", {"limit"}, "{c} is limited to {0} jobs of the grid", ""},
    {C::kMaxRunning,
     "CLUSTER_MAX_RUNNING",
     {"limit"},
     "{c} takes jobs of the grid on at most {0} slots",
     ""},
    {C::kFull,
     "FULL",
     {"free slots", "slots of a job", "waiting there"},
     "no room on {c}: {0} slots free, a job takes {1}, {2} jobs wait there already",
     ""},
    {C::kServedBefore,
     "SERVED_BEFORE",
     {"free slots left", "slots of a job", "given to the other"},
     "campaign {o} was served first on {c} ({2} jobs), {0} slots were left and a job takes {1}",
     ""},
    {C::kGapHold,
     "GAP_HOLD",
     {"idle slots", "slots it needs"},
     "campaign {o} was passed by too often on {c}: its {1} slots are kept free for it ({0} so far)",
     "a declared walltime short enough lets a job go before it"},
    {C::kQuota, "QUOTA", {"limit", "left"}, "the quota of {d} is {0}, {1} left", ""},
    {C::kLicence, "LICENCE", {"pool", "left"}, "licence {d}: {1} of {0} left", ""},
    {C::kRate, "START_RATE", {"per minute"}, "at most {0} starts a minute for {d}", ""},
    {C::kReserve,
     "RESERVE",
     {"slots for others", "left"},
     "the rest of {c} is reserved for class {d}",
     ""},
};

const Row& RowOf(Code code) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.code == code; });
  return row == std::end(kRows) ? kRows[0] : *row;
}

std::string Number(double x) {
  if (std::abs(x - std::round(x)) < 1e-9) return std::to_string(std::llround(x));
  std::string s = std::to_string(x);
  s.erase(s.find('.') + 3);
  return s;
}

}  // namespace

std::string_view ToString(Code code) { return RowOf(code).word; }

std::optional<Code> CodeFrom(std::string_view word) {
  for (const auto& row : kRows)
    if (word == row.word) return row.code;
  return std::nullopt;
}

const std::vector<Code>& AllCodes() {
  static const std::vector<Code> all = [] {
    std::vector<Code> codes;
    for (const auto& row : kRows) codes.push_back(row.code);
    return codes;
  }();
  return all;
}

std::array<std::string_view, 3> NumberNames(Code code) { return RowOf(code).numbers; }

ReasonTexts::ReasonTexts(const Snapshot& snapshot) {
  for (const auto& c : snapshot.clusters) clusters_[c.id] = c.name;
}

std::string ReasonTexts::Fill(std::string_view pattern, const Reason& reason) const {
  const auto it = clusters_.find(reason.cluster);
  std::string text(pattern);
  text = ReplaceAll(text, "{c}", it == clusters_.end() ? "every cluster" : it->second);
  text = ReplaceAll(text, "{o}", std::to_string(reason.other));
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    text = ReplaceAll(text, "{" + n + "}", Number(reason.numbers[i]));
    text = ReplaceAll(text, "{s" + n + "}", HumanSpan(reason.numbers[i]));
  }
  return ReplaceAll(text, "{d}", reason.detail);  // last: a name may hold braces
}

std::string ReasonTexts::Text(const Reason& reason) const {
  return Fill(RowOf(reason.code).text, reason);
}

std::string ReasonTexts::Action(const Reason& reason) const {
  return Fill(RowOf(reason.code).action, reason);
}

nlohmann::json ReasonTexts::Numbers(const Reason& reason) {
  nlohmann::json json = nlohmann::json::object();
  const auto names = NumberNames(reason.code);
  for (int i = 0; i < 3 && !names[i].empty(); ++i) json[std::string(names[i])] = reason.numbers[i];
  if (reason.other != 0) json["other"] = reason.other;
  if (!reason.detail.empty()) json["detail"] = reason.detail;
  return json;
}

}  // namespace cigri::policy
