#include "sim/local.h"

#include <algorithm>
#include <cmath>

#include "sim/random.h"

namespace cigri::sim {
namespace {

constexpr double kLeastGap = 1e-3;

double FactorAt(const LocalLoad& load, double at) {
  const auto hour = static_cast<std::int64_t>(at / 3600);
  return (load.hours.empty() ? 1 : load.hours[static_cast<std::size_t>(hour % 24)]) *
         (load.weekdays.empty() ? 1 : load.weekdays[static_cast<std::size_t>(hour / 24 % 7)]);
}

// When `gap` seconds of an hour with factor 1 have passed: time goes faster in busy hours.
double After(const LocalLoad& load, double at, double gap) {
  if (load.hours.empty() && load.weekdays.empty()) return at + gap;
  for (int hours = 0; hours < 24 * 366; ++hours) {
    const double factor = FactorAt(load, at), turn = (std::floor(at / 3600) + 1) * 3600;
    if (factor * (turn - at) >= gap) return at + gap / factor;
    gap -= factor * (turn - at);
    at = turn;
  }
  return at;
}

}  // namespace

LocalStream::LocalStream(const LocalLoad& load, std::uint64_t seed, int cluster, int n, int slots)
    : load_(&load),
      seed_(seed),
      who_(static_cast<std::uint64_t>(cluster) << 16 | static_cast<std::uint64_t>(n)),
      most_slots_(slots),
      at_(load.from) {}

std::optional<LocalJob> LocalStream::Next() {
  if (!load_->jobs.empty()) {
    if (listed_ == load_->jobs.size()) return std::nullopt;
    return load_->jobs[listed_++];
  }
  const auto before = Key(seed_, Variate::kLocal, who_, draw_);
  const double mean = load_->every.a;
  const double gap = load_->every.kind == Distribution::Kind::kConstant
                         ? -mean * std::log(1 - Uniform(before, 3))
                         : load_->every.At(Mixed(before), static_cast<std::int64_t>(draw_));
  at_ = After(*load_, at_, std::max(gap, kLeastGap));
  if (load_->until > 0 && at_ >= load_->until) return std::nullopt;
  const auto n = static_cast<std::int64_t>(draw_++);
  const auto most = static_cast<double>(most_slots_);
  const auto slots = load_->slots.At(Key(seed_, Variate::kLocalSlots, who_, draw_), n);
  return LocalJob{at_, load_->duration.At(Key(seed_, Variate::kLocal, who_, draw_), n),
                  static_cast<int>(std::clamp(std::round(slots), 1.0, most)), load_->needs};
}

LocalFuture::LocalFuture(const ClusterSpec& spec, std::uint64_t seed, int cluster) : spec_(spec) {
  for (std::size_t n = 0; n < spec.local.size(); ++n) {
    streams_.emplace_back(spec.local[n], seed, cluster, static_cast<int>(n), spec.slots);
    next_.push_back(streams_.back().Next());
  }
  for (const auto& window : spec.down)
    for (const double at : {window.from, window.until})
      if (std::isfinite(at)) turns_.push_back(at);
  std::sort(turns_.begin(), turns_.end());
  steps_.push_back({0, spec.slots});
}

void LocalFuture::StartWaiting(double at) {
  while (!down_ && !waiting_.empty() && used_ + waiting_.front().slots <= spec_.slots) {
    used_ += waiting_.front().slots;
    running_.emplace(at + waiting_.front().duration, waiting_.front().slots);
    waiting_.pop();
  }
  const int left = down_ ? 0 : spec_.slots - used_;
  if (left == steps_.back().left) return;
  if (steps_.back().at == at)
    steps_.back().left = left;
  else
    steps_.push_back({at, left});
}

void LocalFuture::Turn(double at) {
  ++turned_;
  down_ = std::any_of(spec_.down.begin(), spec_.down.end(),
                      [&](const Window& w) { return at >= w.from && at < w.until; });
  if (!down_) return;
  running_ = {};
  used_ = 0;
}

const std::vector<LocalFuture::Step>& LocalFuture::Steps(double until) {
  while (known_until_ < until) {
    double at = until;
    std::size_t arrives = streams_.size();
    for (std::size_t n = 0; n < next_.size(); ++n)
      if (next_[n] && next_[n]->at < at) at = next_[n]->at, arrives = n;
    const bool ends = !running_.empty() && running_.top().first <= at;
    if (ends) at = running_.top().first;
    const bool turns = turned_ < turns_.size() && turns_[turned_] <= at;
    if (turns) at = turns_[turned_];
    if (turns) {
      Turn(at);
    } else if (ends) {
      used_ -= running_.top().second;
      running_.pop();
    } else if (arrives < streams_.size()) {
      waiting_.push(*next_[arrives]);
      next_[arrives] = streams_[arrives].Next();
    }
    known_until_ = std::max(known_until_, at);
    StartWaiting(at);
  }
  return steps_;
}

}  // namespace cigri::sim
