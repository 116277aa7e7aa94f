#include "policy/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cigri::policy {

std::vector<double> WaterFill(double total, const std::vector<double>& weights,
                              const std::vector<double>& caps) {
  std::vector<std::size_t> order;  // without weight nothing is due, and 0 / 0 has no place in it
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return caps[a] * weights[b] < caps[b] * weights[a] ||
           (caps[a] * weights[b] == caps[b] * weights[a] && a < b);
  });
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> ideal(weights.size(), 0);
  for (const auto i : order) {
    ideal[i] = sum > 0 ? std::min(caps[i], total * weights[i] / sum) : 0;
    total = std::max(0.0, total - ideal[i]);
    sum -= weights[i];
  }
  return ideal;
}

void BoundDeviation(const std::vector<double>& shares, double most, std::vector<double>& parts) {
  double moved = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) moved += std::abs(parts[i] - shares[i]) / 2;
  if (moved <= most) return;
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = shares[i] + (parts[i] - shares[i]) * most / moved;
}

double RoundUp(double ideal) { return std::ceil(ideal - 1e-9); }

std::vector<double> Tickets(const std::vector<double>& ranks) {
  const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0);
  std::vector<double> tickets;
  for (const double rank : ranks) tickets.push_back(sum / rank);
  return tickets;
}

double DecayedUse(const std::vector<double>& daily, double decay, int days) {
  double sum = 0, factor = 1;
  const std::size_t n = std::min<std::size_t>(daily.size(), std::max(0, days));
  for (std::size_t d = 0; d < n; ++d, factor *= decay) sum += factor * daily[d];
  return sum;
}

double FairFactor(double share, double usage) { return share > 0 ? std::exp2(-usage / share) : 0; }

}  // namespace cigri::policy
