// Durations in buckets of a fourth of a power of two: 19 % wide each, from 8 ms to 24 days.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cigri {

constexpr int kDurationBuckets = 112;

/// Bucket of a duration in seconds: bucket i begins at 2^(i/4 - 7) s; the ends take what is beyond.
inline int DurationBucket(double seconds) {
  if (!(seconds > 0)) return 0;
  const double at = (std::log2(seconds) + 7) * 4;
  return static_cast<int>(std::clamp(at, 0.0, static_cast<double>(kDurationBuckets - 1)));
}
/// The middle (geometric) of bucket i, in seconds.
inline double BucketSeconds(int i) { return std::exp2((i + 0.5) / 4 - 7); }

/// The q-quantile (0..1) of a histogram, in seconds; NaN when it is empty.
inline double HistogramQuantile(const std::vector<std::int64_t>& hist, double q) {
  double total = 0;
  for (const auto n : hist) total += static_cast<double>(n);
  if (total <= 0) return std::nan("");
  double seen = 0;
  for (std::size_t i = 0; i < hist.size(); ++i) {
    seen += static_cast<double>(hist[i]);
    if (seen >= q * total && hist[i] > 0) return BucketSeconds(static_cast<int>(i));
  }
  return BucketSeconds(static_cast<int>(hist.size()) - 1);
}

}  // namespace cigri
