#include "policy/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace cigri::policy {
namespace {

// {0} {1} {2}: the numbers; {s0}...: the same as a duration; {0|slot is|slots are}: a number
// with its words, for one and for any other; {c}: the cluster; {o}: the other campaign; {n}: its
// own; {d}: the detail; {:d}: the detail behind a colon, when there is one.
struct Row {
  Code code;
  const char* word;
  std::array<std::string_view, 3> numbers;
  const char* text;
  const char* action;               // of its user
  const char* operators = nullptr;  // of an operator, when that is another
};

using C = Code;
constexpr Row kRows[] = {
    {C::kNone, "NONE", {}, "nothing holds it back", ""},
    {C::kSuspended,
     "SUSPENDED",
     {"priority"},
     "its priority is {0}: nothing is sent",
     "gridmod -c {n} -p normal lets it go on"},
    {C::kNoTask, "NO_TASK", {"waiting"}, "no task of it waits", ""},
    {C::kNoCluster,
     "NO_CLUSTER",
     {},
     "none of its clusters exists in the grid",
     "choose clusters that gridclusters lists: gridsub -c {n} --set clusters=NAME,NAME"},
    {C::kTestDone,
     "TEST_DONE",
     {"waiting"},
     "a test campaign makes one job per cluster; {0|parameter is|parameters are} not run",
     ""},
    {C::kBehindOwn,
     "BEHIND_OWN",
     {"campaigns at once"},
     "campaign {o} of the same user goes first ({0} of a user at once)",
     "gridmod -c {o} -p low lets this one go before it"},
    {C::kAfter,
     "AFTER",
     {},
     "campaign {o} has to end first (after)",
     "wait for campaign {o}, or cancel it if it is not needed"},
    {C::kAfterFailed,
     "AFTER_FAILED",
     {"failed tasks"},
     "campaign {o} has to succeed first (after), and {d}",
     "gridsub -c {n} --set after=[] goes on without it; griddel {n} gives up"},
    {C::kNotBefore,
     "NOT_BEFORE",
     {"starts"},
     "its not_before is {d}",
     "gridsub -c {n} --set not_before=0 lets it start now"},
    {C::kMaxJobsTotal,
     "MAX_JOBS_TOTAL",
     {"limit", "left"},
     "its own max_jobs_total allows {0} on all clusters together, {1} left",
     "raise it: gridsub -c {n} --set max_jobs_total=..."},
    {C::kTooManySlots,
     "TOO_MANY_SLOTS",
     {"slots of a job", "slots of the cluster"},
     "one job needs {0|slot|slots} and {c} has {1}",
     "ask for fewer resources (gridsub -c {n} --set resources=...), or for another cluster"},
    {C::kHeld,
     "HELD",
     {"in flight"},
     "held on {c} by {d}",
     "gridevents -c {n} shows why; when it is repaired: gridevents -c {n} -f"},
    {C::kBlackHole,
     "BLACK_HOLE",
     {"jobs in a row", "longest, s", "held until"},
     "its last {0|job|jobs} on {c} ended within {s1}, too fast to be true: held there",
     "check what the program does on that cluster"},
    {C::kPrologueRuns, "PROLOGUE", {"in flight"}, "its prologue on {c} has to end first", ""},
    {C::kPrologueFailed,
     "PROLOGUE_FAILED",
     {},
     "its prologue on {c} failed",
     "fix the prologue, then gridevents -c {n} -f"},
    {C::kShortSurvival,
     "SHORT_SURVIVAL",
     {"needs, s", "median survival, s", "next probe"},
     "a job needs {s0}, the median survival on {c} is {s1}{:d}",
     "make the jobs shorter, or choose other clusters (gridsub -c {n} --set clusters=...)"},
    {C::kUnsafeSlots,
     "UNSAFE_SLOTS",
     {"needs, s", "killed, %", "next try"},
     "a job needs {s0}, and {1} % of such jobs are killed before on {c}: it waits for safer "
     "slots{:d}",
     "make the jobs shorter, or choose other clusters (gridsub -c {n} --set clusters=...)"},
    {C::kStragglers,
     "STRAGGLERS",
     {"long ones, %", "their length, s", "the others end in, s"},
     "{0} % of the jobs on {c} would last {s1}, and all others of it end in {s2}: they go "
     "elsewhere",
     ""},
    {C::kAffinityWait,
     "AFFINITY_WAIT",
     {"waited, s", "waits for, s"},
     "waits {s1} for a cluster that has its data before it takes {c}",
     ""},
    {C::kAvoided,
     "AVOIDED",
     {"tasks"},
     "its {0|waiting task has|waiting tasks have} failed on {c} before",
     "gridstat -c {n} -e shows how they failed"},
    {C::kScheduler,
     "CAMPAIGN_SCHEDULER",
     {"given"},
     "its campaign scheduler {d} takes no more than {0} on {c} now",
     "select another one in the JDL: scheduler"},
    {C::kMaxJobs,
     "MAX_JOBS",
     {"limit", "in flight"},
     "its own max_jobs allows {0} on {c}, {1|is|are} in flight",
     "raise it: gridsub -c {n} --set max_jobs=..."},
    {C::kCanary,
     "CANARY",
     {"limit", "in flight", "ended"},
     "until one of its jobs has succeeded on {c}, {0|is|are} tried ({1} in flight, {2} ended)",
     ""},
    {C::kBadGroup,
     "BAD_GROUP",
     {},
     "its group \"{d}\" is none of sla.groups",
     "ask your operator for a group, then gridsub -c {n} --set sla_group=...",
     "gridadmin policy set sla.groups=..."},
    {C::kDisabled,
     "CLUSTER_DISABLED",
     {},
     "{c} is switched off{:d}",
     "",
     "gridadmin cluster enable {c}"},
    {C::kStale, "CLUSTER_STALE", {}, "{c} does not answer{:d}", "", "gridclusters --check {c}"},
    {C::kDrained, "CLUSTER_DRAINED", {}, "{c} is drained{:d}", "", "gridadmin resume {c}"},
    {C::kHours,
     "CLUSTER_HOURS",
     {},
     "{c} is closed at this hour{:d}",
     "",
     "gridadmin cluster set {c} hours=..."},
    {C::kBreaker,
     "CLUSTER_BREAKER",
     {},
     "{c} failed too often, its circuit breaker is open{:d}",
     "",
     "gridclusters --check {c}"},
    {C::kStress,
     "CLUSTER_STRESS",
     {},
     "{c} is overloaded{:d}",
     "",
     "gridadmin cluster set {c} stress_limit=..."},
    {C::kObserved,
     "CLUSTER_OBSERVED",
     {},
     "{c} is only observed: nothing is sent",
     "",
     "gridadmin cluster unlimited {c}"},
    {C::kLimited,
     "CLUSTER_LIMITED",
     {"limit", "left"},
     "{c} is limited to {0|job|jobs} of the grid",
     "",
     "gridadmin cluster limited {c} N"},
    {C::kMaxRunning,
     "CLUSTER_MAX_RUNNING",
     {"limit", "left"},
     "{c} takes jobs of the grid on at most {0|slot|slots}",
     "",
     "gridadmin cluster set {c} max_running=..."},
    {C::kFull,
     "FULL",
     {"free slots", "slots of a job", "waiting there"},
     "no room on {c}: {0|slot|slots} free, a job takes {1}, {2|job waits|jobs wait} there already",
     ""},
    {C::kClassFull,
     "CLASS_FULL",
     {"free", "of", "a job takes"},
     "{0} of {1} {d} of {c} are free, a job takes {2}",
     "ask for less, or for other properties (gridsub -c {n} --set ...)"},
    {C::kServedBefore,
     "SERVED_BEFORE",
     {"free slots left", "slots of a job", "given to the other"},
     "campaign {o} was served first on {c} ({2|job|jobs}), {0|slot was|slots were} left and a job "
     "takes {1}",
     "",
     "gridmod -c {n} -p LEVEL gives it another priority"},
    {C::kOwnFirst,
     "OWN_FIRST",
     {"its work left, s", "work left, s"},
     "campaign {o} of the same user takes his next free slot on {c}{:d}",
     "gridmod -c {n} -p high lets this one go first"},
    {C::kRecalled,
     "RECALLED",
     {"taken back", "waiting there"},
     "slots are free on {d}: of {1|job that waits|jobs that wait} on {c}, {0|is|are} taken back",
     ""},
    {C::kMultiSlotReservation,
     "MULTI_SLOT_RESERVATION",
     {"idle slots", "slots it needs"},
     "{1|slot|slots} of {c} are kept free for a job of campaign {o}, {0} so far",
     "a walltime that is short enough lets a job go before it: gridsub -c {n} --set walltime=...",
     "gridadmin policy set multi_slot.hold=..."},
    {C::kSlotsKept,
     "SLOTS_KEPT",
     {"kept", "slots of a job"},
     "slots of {c} are kept for its next job: {0} of {1} so far",
     ""},
    {C::kBypassed,
     "BYPASSED",
     {"narrower starts", "more until slots are kept", "slots of a job"},
     "{0|narrower job has|narrower jobs have} started before its job of {2} slots on {c}: after "
     "{1} "
     "more, slots are kept for it",
     "",
     "gridadmin policy set multi_slot.age=..."},
    {C::kQuota,
     "QUOTA",
     {"limit", "left"},
     "the quota of {d} is {0}, {1} left",
     "",
     "gridadmin policy set quotas=..."},
    {C::kLicence,
     "LICENCE",
     {"pool", "left", "a job takes"},
     "licence {d}: {1} of {0} left, a job takes {2}",
     "",
     "gridadmin policy set licences=..."},
    {C::kRate,
     "START_RATE",
     {"per minute"},
     "at most {0|start|starts} a minute for {d}",
     "",
     "gridadmin policy set start_rates=..."},
    {C::kReserve,
     "RESERVE",
     {"slots for others", "left"},
     "the rest of {c} is reserved for class {d}",
     "",
     "gridadmin policy set reserves=..."},
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

// {i|one|many} with the number and the words that go with it.
std::string WithNouns(std::string text, const std::string& i, const std::string& number) {
  const std::string open = fmt::format("{{{}|", i);
  for (auto at = text.find(open); at != text.npos; at = text.find(open, at)) {
    const auto end = text.find('}', at), bar = text.find('|', at + open.size());
    const auto words = number == "1" ? text.substr(at + open.size(), bar - at - open.size())
                                     : text.substr(bar + 1, end - bar - 1);
    text.replace(at, end + 1 - at, fmt::format("{} {}", number, words));
  }
  return text;
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
  text = ReplaceAll(text, "{n}", std::to_string(reason.campaign));
  text = ReplaceAll(text, "{:d}", reason.detail.empty() ? "" : ": {d}");
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), number = Number(reason.numbers[i]);
    text = WithNouns(ReplaceAll(text, fmt::format("{{{}}}", n), number), n, number);
    text = ReplaceAll(text, fmt::format("{{s{}}}", n), HumanDuration(reason.numbers[i]));
  }
  return ReplaceAll(text, "{d}", reason.detail);  // last: a name may hold braces
}

std::string ReasonTexts::Text(const Reason& reason) const {
  return Fill(RowOf(reason.code).text, reason);
}

std::string ReasonTexts::Action(const Reason& reason, Reader reader) const {
  const Row& row = RowOf(reason.code);
  // One that was cancelled cannot be repaired.
  if (reason.code == Code::kAfterFailed && reason.numbers[0] > 0)
    return Fill(std::string("gridsub --retry-failed {o} repairs it; ") + row.action, reason);
  const bool other = reader == Reader::kOperator && row.operators != nullptr;
  return Fill(other ? row.operators : row.action, reason);
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
