#include "tests/simulation/faults.h"

#include <algorithm>
#include <cstdio>

#include "core/text.h"
#include "tests/simulation/scheduler.h"

namespace cigri::test {
namespace {

constexpr int kMostElsewhere = 5, kMostAtFocus = 5, kMostLeads = 6;
// Per mille.
constexpr unsigned kAnywhere = 2, kAtStep = 25, kAtRare = 200, kAtFocus = 600, kLead = 700;

// A step that is taken only after a fault at another one.
struct Lead {
  std::string at;
  Fault fault;
};
const std::map<std::string, Lead>& Leads() {
  static const std::map<std::string, Lead> leads{
      {"submit: in doubt", {"submit: send", Fault::kAnswer}},
      {"submit: look up", {"submit: send", Fault::kLost}},
      {"submit: adopt", {"submit: send", Fault::kAnswer}},
      {"submit: abandon", {"submit: send", Fault::kLost}},
      {"kill: answer", {"kill: send", Fault::kLost}},
      {"election: expire", {"election: renew", Fault::kOutlived}},
      {"election: take over", {"election: renew", Fault::kOutlived}},
      {"election: raise epoch", {"election: renew", Fault::kKilled}}};
  return leads;
}

// Of those that a run takes once or twice.
const std::vector<std::string>& Rare() {
  static const std::vector<std::string> rare{
      "submit: intend", "submit: record",  "submit: in doubt",   "submit: look up",
      "submit: adopt",  "submit: abandon", "kill: ask",          "kill: answer",
      "kill: confirm",  "status: requeue", "status: acknowledge"};
  return rare;
}

const char* const kNames[] = {"", "lost", "answer lost", "killed", "paused", "outlived"};

}  // namespace

Faults& Faults::OfProcess() {
  static Faults faults;
  return faults;
}

const std::vector<std::string>& Faults::Steps() {
  static const std::vector<std::string> steps{
      "submit: intend",      "submit: send",          "submit: record",
      "submit: in doubt",    "submit: look up",       "submit: adopt",
      "submit: abandon",     "submit: release",       "kill: ask",
      "kill: send",          "kill: answer",          "kill: confirm",
      "status: poll",        "status: apply",         "status: requeue",
      "status: acknowledge", "election: try lock",    "election: expire",
      "election: take over", "election: raise epoch", "election: lease",
      "election: renew",     "runner: take cluster",  "runner: renew",
      "predict: write",      "plan: write",           "user: ask",
      "user: submit"};
  return steps;
}

void Faults::BeginRun(unsigned seed) {
  calm_ = false;
  left_ = kMostElsewhere;
  leads_left_ = kMostLeads;
  // Only every second seed has users: each step is for one that has and for one that has none.
  focus_ = {{Steps()[seed / 2 % Steps().size()], kMostAtFocus},
            {Rare()[seed % Rare().size()], kMostAtFocus}};
}

bool Faults::Aims(const std::string& prefix) const {
  return !calm_ && std::any_of(focus_.begin(), focus_.end(),
                               [&](const auto& step) { return StartsWith(step.first, prefix); });
}

Fault Faults::At(const std::vector<std::string>& steps) {
  for (const auto& step : steps) ++counts_[step].taken;
  if (calm_) return Fault::kNone;
  const auto hit = [&](Fault fault) {
    for (const auto& step : steps) ++counts_[step].faults[kNames[static_cast<int>(fault)]];
    return fault;
  };
  for (const auto& [step, left] : focus_) {
    const auto lead = Leads().find(step);
    if (lead == Leads().end() || leads_left_ == 0 ||
        std::find(steps.begin(), steps.end(), lead->second.at) == steps.end() ||
        world::Random(1000) >= kLead)
      continue;
    --leads_left_;
    return hit(lead->second.fault);
  }
  int* at_focus = nullptr;
  for (const auto& step : steps)
    if (const auto it = focus_.find(step); it != focus_.end()) at_focus = &it->second;
  const bool rare = std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return std::find(Rare().begin(), Rare().end(), step) != Rare().end();
  });
  int& left = at_focus != nullptr ? *at_focus : left_;
  if (left == 0) return Fault::kNone;
  const unsigned chance = at_focus != nullptr ? kAtFocus
                          : rare              ? kAtRare
                          : steps.empty()     ? kAnywhere
                                              : kAtStep;
  if (world::Random(1000) >= chance) return Fault::kNone;
  const unsigned dice = world::Random(12);
  const Fault fault = dice < 3   ? Fault::kLost
                      : dice < 6 ? Fault::kAnswer
                      : dice < 8 ? Fault::kKilled
                      : dice < 9 ? Fault::kPaused
                                 : Fault::kOutlived;
  --left;
  return hit(fault);
}

bool Faults::Happens(const std::string& step, const std::string& fault, unsigned percent) {
  if (calm_ || !world::Chance(percent)) return false;
  ++counts_[step].faults[fault];
  world::Trace(step + ": " + fault);
  return true;
}

int Faults::Hits(const std::string& step) const {
  const auto count = counts_.find(step);
  int hits = 0;
  if (count != counts_.end())
    for (const auto& [fault, n] : count->second.faults) hits += n;
  return hits;
}

void Faults::Print() const {
  for (const auto& step : Steps()) {
    const auto count = counts_.find(step);
    std::printf("%-22s taken %7d  hit %6d ", step.c_str(),
                count == counts_.end() ? 0 : count->second.taken, Hits(step));
    if (count != counts_.end())
      for (const auto& [fault, n] : count->second.faults) std::printf("  %s %d", fault.c_str(), n);
    std::printf("\n");
  }
}

}  // namespace cigri::test
