#include "policy/forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/histogram.h"

namespace cigri::policy {
namespace {

constexpr double kNineInTen = 1.645;  // standard deviations

double Deviation(const std::vector<double>& values, double mean) {
  if (values.size() < 2)
    return mean;  // one job says little: as much as an exponential distribution
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// What the jobs that run still need: they have run for a while, so less than a whole one.
double Residual(const Durations& durations, double mean) {
  double sum = 0;
  for (const double age : durations.running) sum += std::max(mean - age, mean * 0.1);
  return sum;
}

}  // namespace

std::optional<double> Quantile(const Durations& durations, double q) {
  std::vector<std::pair<double, bool>> all;  // duration, still runs
  for (const double d : durations.ended) all.emplace_back(d, false);
  for (const double d : durations.running) all.emplace_back(d, true);
  std::sort(all.begin(), all.end());
  double alive = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].second) continue;
    const double at_risk = static_cast<double>(all.size() - i);
    alive *= (at_risk - 1) / at_risk;
    if (1 - alive >= q - 1e-12) return all[i].first;
  }
  return std::nullopt;
}

std::optional<double> Mean(const Durations& durations) {
  if (durations.ended.empty()) return std::nullopt;
  double sum = std::accumulate(durations.ended.begin(), durations.ended.end(), 0.0);
  double n = static_cast<double>(durations.ended.size());
  const double plain = sum / n;
  for (const double age : durations.running)
    if (age > plain) sum += age, n += 1;
  return sum / n;
}

// Jobs that still run do not count: overdue ones must not raise their own limit.
std::optional<double> StragglerThreshold(const std::vector<std::int64_t>& hist, int least) {
  constexpr double kLeastS = 10;  // nobody waits for a copy of a job that ends before it starts
  if (std::accumulate(hist.begin(), hist.end(), std::int64_t{0}) < std::max(1, least))
    return std::nullopt;
  return std::max({kLeastS, 2 * HistogramQuantile(hist, 0.5), 1.5 * HistogramQuantile(hist, 0.95)});
}

std::optional<double> MedianSurvival(const std::vector<std::int64_t>& killed,
                                     const std::vector<std::int64_t>& ended) {
  const auto at = [](const std::vector<std::int64_t>& hist, std::size_t i) {
    return i < hist.size() ? static_cast<double>(hist[i]) : 0;
  };
  const std::size_t buckets = std::max(killed.size(), ended.size());
  double at_risk = 0, alive = 1;
  for (std::size_t i = 0; i < buckets; ++i) at_risk += at(killed, i) + at(ended, i);
  for (std::size_t i = 0; i < buckets; ++i) {
    if (at(killed, i) > 0) alive *= 1 - at(killed, i) / at_risk;
    if (alive <= 0.5 + 1e-12) return BucketSeconds(static_cast<int>(i));
    at_risk -= at(killed, i) + at(ended, i);
  }
  return std::nullopt;
}

double MeanLife(const std::vector<std::int64_t>& killed, const std::vector<std::int64_t>& ended) {
  double ran = 0, kills = 0;
  for (const auto* hist : {&killed, &ended})
    for (std::size_t i = 0; i < hist->size(); ++i)
      ran += static_cast<double>((*hist)[i]) * BucketSeconds(static_cast<int>(i));
  for (const auto n : killed) kills += static_cast<double>(n);
  return kills > 0 ? ran / kills : 0;
}

double Throughput(const Work& work) {
  return work.window_s > 0 ? work.done_in_window / work.window_s : 0;
}

std::optional<Interval> TimeLeft(const Work& work) {
  const auto mean = Mean(work.durations);
  const double n = static_cast<double>(work.durations.ended.size());
  const double left = static_cast<double>(work.waiting + work.durations.running.size());
  if (left == 0) return Interval{};
  // By what ends: counts of ends scatter like a Poisson distribution.
  const double ends = work.done_in_window;
  if (work.window_s > 0 && ends >= 10) {
    const double rate = ends / work.window_s, scatter = kNineInTen * std::sqrt(ends);
    const double tail = mean.value_or(0);
    return Interval{left / ((ends + scatter) / work.window_s), left / rate,
                    left / ((ends - scatter) / work.window_s) + tail};
  }
  // By what a job takes: the mean is known to its standard error, the last job to the spread.
  if (!mean || work.at_once <= 0) return std::nullopt;
  const double at_once = static_cast<double>(work.at_once);
  const double spread = Deviation(work.durations.ended, *mean);
  const double error = std::min(1.0, kNineInTen * spread / (*mean * std::sqrt(std::max(1.0, n))));
  const double work_left =
      static_cast<double>(work.waiting) * *mean + Residual(work.durations, *mean);
  const double likely = work_left / at_once;
  const double tail = at_once > 1 ? kNineInTen * spread : 0;
  return Interval{likely * (1 - error), likely, likely * (1 + error) + tail};
}

}  // namespace cigri::policy
