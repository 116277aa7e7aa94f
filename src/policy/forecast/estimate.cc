#include "policy/forecast/estimate.h"

#include <algorithm>
#include <cmath>

#include "core/histogram.h"
#include "policy/forecast/flow.h"
#include "policy/forecast/job_ratio.h"

namespace cigri::predictor {
namespace {

constexpr std::int64_t kKnownEnds = 3;
constexpr double kMostEnded = 1000, kMostRunning = 100;  // sample points of one placement

std::optional<double> Known(double x) { return std::isfinite(x) ? std::optional(x) : std::nullopt; }

void Spread(const PlacementStats& f, Forecast& out) {
  if (f.n_ok == 0) return;
  const double n = static_cast<double>(f.n_ok), mean = f.sum_s / n;
  out.average_s = mean;
  out.stddev_s = std::sqrt(std::max(0.0, f.sum_sq / n - mean * mean));
  out.p50_s = Known(HistogramQuantile(f.hist, 0.5));
  out.p90_s = Known(HistogramQuantile(f.hist, 0.9));
  out.p99_s = Known(HistogramQuantile(f.hist, 0.99));
}

// A bucket is 19 % wide; the mean is known exactly.
void MatchMean(const PlacementStats& f, std::vector<double>& values, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < values.size(); ++i) sum += values[i];
  if (sum <= 0 || f.n_ok == 0 || f.sum_s <= 0) return;
  const double scale =
      f.sum_s / static_cast<double>(f.n_ok) * static_cast<double>(values.size() - first) / sum;
  for (std::size_t i = first; i < values.size(); ++i) values[i] *= scale;
}

// Ends per second of this campaign if it had the whole cluster, or what they are; 0: not yet known.
// What other campaigns run there says nothing of it.
double PossibleRate(const PlacementStats& f, double rate, int tasks_per_job) {
  const auto here = KnownMean(f.n_ok, f.sum_s);
  const auto mean = here ? here : f.campaign_mean_s;
  if (!mean) return 0;
  const double each = std::max(*mean, f.resolution_s) * f.slots;
  return std::max(rate, each > 0 ? f.max_resources / each : 0) / tasks_per_job;
}

// Jobs that polls have shown.
std::int64_t Seen(const PlacementStats& f) {
  return f.waiting + f.running + (f.groups ? f.jobs : f.ended);
}

}  // namespace

int TasksPerJob(const PlacementStats& f, std::optional<double> cost_s) {
  // Each end is seen when it happens, but a task that waits within a job can go nowhere else.
  constexpr double kMost = 100, kLongest = 600, kShortest = 0.05;
  constexpr double kOverhead = 0.1;  // of a job's time, that is accepted
  if (!f.groups) return 1;
  if (f.tasks_per_job) return *f.tasks_per_job;
  const auto mean = KnownMean(f.n_ok, f.sum_s);
  if (!mean || !cost_s) return 1;
  const double each = std::max(*mean, kShortest);
  if (*cost_s <= each) return 1;
  double most = std::min({kMost, kLongest / each, f.walltime_s / (4 * each)});
  if (f.lifetime_s) most = std::min(most, *f.lifetime_s / (2 * each));
  return std::max(1, static_cast<int>(std::min(most, *cost_s / (kOverhead * each))));
}

std::optional<int> AutoWalltime(const PlacementStats& f) {
  constexpr std::int64_t kEnough = 10;
  constexpr double kMost = 0.99, kMargin = 1.5;
  constexpr double kStep = 30;  // clusters reckon in whole minutes or so, and starting takes time
  if (!f.auto_walltime || f.n_ok < kEnough) return std::nullopt;
  auto durations = DurationsOf({f});
  // Jobs that are over seem to run until a poll sees their ends.
  for (double& age : durations.running) age = std::max(0.0, age - kStep / kMargin);
  const auto longest = policy::Quantile(durations, kMost);
  if (!longest) return std::nullopt;
  const double need = std::max({kStep, *longest * kMargin, 2.0 * f.grace_s});
  return static_cast<int>(std::min<double>(f.walltime_s, std::ceil(need / kStep - 1e-6) * kStep));
}

// What jobs in flight could have used of the cluster, less what their tasks lasted, is what they
// cost; of some jobs at a time. While none is in flight nothing is learnt.
void PlacementEstimate::MeasureCost(const PlacementStats& f, double now) {
  constexpr std::int64_t kJobs = 5;
  constexpr double kMostPause = 30, kNew = 0.5;
  const auto in_flight = static_cast<double>(f.submitted + f.waiting + f.running);
  const double possible = f.max_resources / std::max(1.0, static_cast<double>(f.slots));
  if (cost_at_ > 0)
    offered_s_ += std::min(in_flight, possible) * std::clamp(now - cost_at_, 0.0, kMostPause);
  const bool first = cost_at_ == 0;
  cost_at_ = now;
  if (!first && f.jobs - jobs_ < kJobs) return;
  if (!first) {
    const double cost =
        std::max(0.0, offered_s_ - (f.sum_s - worked_s_)) / static_cast<double>(f.jobs - jobs_);
    cost_s_ = cost_s_ ? *cost_s_ + kNew * (cost - *cost_s_) : cost;
  }
  jobs_ = f.jobs;
  worked_s_ = f.sum_s;
  offered_s_ = 0;
}

void PlacementEstimate::Measure(const PlacementStats& f, double now, double window_s) {
  if (ends_.empty() || now - ends_.back().first >= window_s / 60 || ends_.size() == 1)
    ends_.emplace_back(now, f.ended);
  while (ends_.size() > 2 && ends_[1].first <= now - window_s) ends_.pop_front();
  window_ = now - ends_.front().first;
  ended_in_window_ = static_cast<double>(f.ended - ends_.front().second);
}

// Measured, or what was measured before this process began to look.
double PlacementEstimate::Rate(const PlacementStats& f) const {
  if (window_ >= 1 || !f.last_rate) return window_ > 0 ? ended_in_window_ / window_ : 0;
  return *f.last_rate;
}

// Only jobs that a poll has shown teach something: those recorded since wait for the next one.
void PlacementEstimate::Step(const PlacementStats& f, int allowed) {
  const std::int64_t seen = Seen(f);
  if (f.polls <= poll_ || seen <= seen_) return;
  policy::RatioSample sample;
  sample.ratio = ratio_;
  sample.free = free_;
  sample.submitted = static_cast<int>(std::min<std::int64_t>(seen - seen_, 1 << 30));
  sample.waiting = static_cast<int>(std::min<std::int64_t>(f.waiting, sample.submitted));
  sample.running = sample.submitted - sample.waiting;
  sample.allowed = allowed;
  sample.max_slots = std::max(1, f.max_resources);
  sample.slots = std::max(1, f.slots);
  ratio_ = policy::NextRatio(policy::RatioRuleFrom(f.rule).value_or(policy::RatioRule::kAdaptive),
                             sample);
  poll_ = f.polls;
  nsub_ = seen - seen_;
  seen_ = seen;
  free_ = f.free_resources;
}

std::optional<double> KnownMean(std::int64_t n_ok, double sum_s) {
  if (n_ok < kKnownEnds) return std::nullopt;
  return sum_s / static_cast<double>(n_ok);
}

Forecast PlacementEstimate::Update(const PlacementStats& f, double now, double window_s) {
  Forecast out;
  Measure(f, now, window_s);
  out.rate = Rate(f);
  Spread(f, out);
  MeasureCost(f, now);
  out.job_cost_s = cost_s_;
  out.tasks_per_job = TasksPerJob(f, cost_s_);
  out.walltime_s = AutoWalltime(f);
  const int allowed = policy::WaitingAllowed(std::max(1, f.max_waiting), f.queue_s,
                                             PossibleRate(f, out.rate, out.tasks_per_job));
  if (known_) {
    Step(f, allowed);
  } else {
    known_ = true;
    ratio_ =
        f.last_ratio.value_or(1.0 / std::max(1, f.slots));  // CIG-32, for the slots it asks for
    seen_ = f.last_ratio ? Seen(f) : 0;
    cost_s_ = f.last_cost_s;
    poll_ = f.polls;
    free_ = f.free_resources;
  }
  out.job_ratio = ratio_;
  out.poll = poll_;
  out.nsub = nsub_;
  out.waiting_allowed = allowed;
  return out;
}

PlacementStats Together(const std::vector<PlacementStats>& placements) {
  PlacementStats all;
  all.campaign_id = placements.front().campaign_id;
  for (const auto& f : placements) {
    all.submitted += f.submitted;
    all.waiting += f.waiting;
    all.running += f.running;
    all.ended += f.ended;
    all.free_resources += f.free_resources;
    all.n_ok += f.n_ok;
    all.sum_s += f.sum_s;
    all.sum_sq += f.sum_sq;
    all.hist.resize(std::max(all.hist.size(), f.hist.size()));
    for (std::size_t i = 0; i < f.hist.size(); ++i) all.hist[i] += f.hist[i];
  }
  return all;
}

Forecast WholeOf(const PlacementStats& all) {
  Forecast out;
  Spread(all, out);
  return out;
}

policy::Durations DurationsOf(const std::vector<PlacementStats>& placements) {
  policy::Durations out;
  for (const auto& f : placements) {
    const double share =
        std::min(1.0, kMostEnded / std::max<double>(1, static_cast<double>(f.n_ok)));
    const auto first = out.ended.size();
    for (std::size_t i = 0; i < f.hist.size(); ++i) {
      const auto n = static_cast<std::size_t>(std::ceil(static_cast<double>(f.hist[i]) * share));
      out.ended.insert(out.ended.end(), n, BucketSeconds(static_cast<int>(i)));
    }
    MatchMean(f, out.ended, first);
    const auto running =
        static_cast<std::size_t>(std::min<double>(kMostRunning, static_cast<double>(f.running)));
    out.running.insert(out.running.end(), running, std::max(0.0, f.mean_age_s));
  }
  return out;
}

}  // namespace cigri::predictor
