#include "almighty/rounds.h"

#include <algorithm>

namespace cigri::almighty {

Rounds::Rounds(std::vector<Seat> seats, Pace pace)
    : seats_(std::move(seats)), states_(seats_.size()), pace_(pace), at_(seats_.size()) {}

void Rounds::Wake(Time at) {
  if (!wanted_ || at < *wanted_) wanted_ = at;
}

void Rounds::Up(std::size_t seat) { states_[seat] = {true, false, std::nullopt, 0}; }
void Rounds::Down(std::size_t seat) { states_[seat] = {}; }

void Rounds::Done(std::size_t seat, Time now) {
  auto& state = states_[seat];
  state.busy_since.reset();
  // The round continued without what this module has just written: the others must see it.
  const bool late = seats_[seat].awaited && (!running() || at_ != seat || state.sent != number_);
  if (late) Wake(now);
}

void Rounds::Begin(Time now) {
  wanted_.reset();
  began_ = now;
  ++number_;
  at_ = 0;
}

void Rounds::Give(std::size_t seat, Time now, std::vector<Send>& out) {
  auto& state = states_[seat];
  state.missed = state.busy_since.has_value();
  if (state.missed) return;
  state.busy_since = now;
  state.sent = number_;
  out.push_back({seat, number_});
}

// True when the round has gone one seat further.
bool Rounds::Advance(Time now, std::vector<Send>& out) {
  auto& state = states_[at_];
  if (state.up && state.sent != number_ && !state.missed) Give(at_, now, out);
  const bool waits = state.up && seats_[at_].awaited && state.busy_since && state.sent == number_ &&
                     now < *state.busy_since + pace_.budget;
  if (!waits) ++at_;
  return !waits;
}

std::vector<Rounds::Send> Rounds::Step(Time now) {
  std::vector<Send> out;
  for (std::size_t i = 0; i < seats_.size(); ++i)
    if (states_[i].up && states_[i].missed && !states_[i].busy_since && !seats_[i].awaited)
      Give(i, now, out);
  if (!running() && wanted_ && *wanted_ <= now && now >= began_ + pace_.min_gap) {
    for (auto& state : states_) state.missed = state.missed && state.busy_since.has_value();
    Begin(now);
  }
  while (running() && Advance(now, out)) {
  }
  return out;
}

std::optional<Time> Rounds::NextLook() const {
  std::optional<Time> next;
  const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
  if (running() && states_[at_].busy_since) consider(*states_[at_].busy_since + pace_.budget);
  if (!running() && wanted_) consider(std::max(*wanted_, began_ + pace_.min_gap));
  for (const auto& state : states_)
    if (state.busy_since) consider(*state.busy_since + pace_.stuck);
  return next;
}

std::vector<std::size_t> Rounds::Stuck(Time now) const {
  std::vector<std::size_t> stuck;
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].busy_since && now >= *states_[i].busy_since + pace_.stuck) stuck.push_back(i);
  return stuck;
}

}  // namespace cigri::almighty
