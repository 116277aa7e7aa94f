#include "almighty/decide.h"

#include <algorithm>

namespace cigri::almighty {

Cycles::Cycles(std::vector<Stage> stages, Pace pace)
    : stages_(std::move(stages)), states_(stages_.size()), pace_(pace), at_(stages_.size()) {}

void Cycles::Wake(Time at) {
  if (!wanted_ || at < *wanted_) wanted_ = at;
}

void Cycles::Up(std::size_t stage) {
  states_[stage] = {true, !stages_[stage].awaited, std::nullopt, 0};
}
void Cycles::Down(std::size_t stage) { states_[stage] = {}; }

void Cycles::Done(std::size_t stage, Time now) {
  auto& state = states_[stage];
  state.busy_since.reset();
  // The cycle continued without what this module has just written: the others must see it.
  const bool late = stages_[stage].awaited && (!running() || at_ != stage || state.sent != number_);
  if (late) Wake(now);
}

void Cycles::Begin(Time now) {
  wanted_.reset();
  began_ = now;
  paced_ = std::max(paced_, now) + pace_.min_gap;
  ++number_;
  at_ = 0;
}

void Cycles::Give(std::size_t stage, Time now, std::vector<Send>& out) {
  auto& state = states_[stage];
  state.missed = state.busy_since.has_value();
  if (state.missed) return;
  state.busy_since = now;
  state.sent = number_;
  out.push_back({stage, number_});
}

// True when the cycle has gone one stage further.
bool Cycles::Advance(Time now, std::vector<Send>& out) {
  auto& state = states_[at_];
  if (state.up && state.sent != number_ && !state.missed) Give(at_, now, out);
  const bool waits = state.up && stages_[at_].awaited && state.busy_since &&
                     state.sent == number_ && now < *state.busy_since + pace_.budget;
  if (!waits) ++at_;
  return !waits;
}

std::vector<Cycles::Send> Cycles::Step(Time now) {
  std::vector<Send> out;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    auto& state = states_[i];
    if (!state.up || !state.missed || state.busy_since || stages_[i].awaited) continue;
    Give(i, now, out);
    if (running() && at_ <= i) state.sent = 0;  // this cycle has not yet come to it
  }
  if (!running() && wanted_ && *wanted_ <= now && now >= MayBegin()) {
    for (auto& state : states_) state.missed = state.missed && state.busy_since.has_value();
    Begin(now);
  }
  while (running() && Advance(now, out)) {
  }
  return out;
}

std::optional<Time> Cycles::NextDeadline() const {
  std::optional<Time> next;
  const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
  if (running() && states_[at_].busy_since) consider(*states_[at_].busy_since + pace_.budget);
  if (!running() && wanted_) consider(std::max(*wanted_, MayBegin()));
  for (const auto& state : states_)
    if (state.busy_since) consider(*state.busy_since + pace_.stuck);
  return next;
}

std::vector<std::size_t> Cycles::Stuck(Time now) const {
  std::vector<std::size_t> stuck;
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].busy_since && now >= *states_[i].busy_since + pace_.stuck) stuck.push_back(i);
  return stuck;
}

}  // namespace cigri::almighty
