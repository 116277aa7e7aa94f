#include "policy/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cigri::policy {

// Who wants less than its part at the present level gets it all, which raises the level for those
// left: a few turns, in place of a sort of all. Only wants made for it would need many turns;
// sorted by want a weight, one is enough.
std::vector<double> WaterFill(double total, const std::vector<double>& weights,
                              const std::vector<double>& caps) {
  constexpr int kTurns = 16;
  std::vector<double> ideal(weights.size(), 0);
  std::vector<std::size_t> left;  // without weight nothing is due
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) left.push_back(i);
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto filled = [&](std::size_t i) {
    if (sum <= 0 || caps[i] * sum > total * weights[i]) return false;
    ideal[i] = caps[i];
    total = std::max(0.0, total - caps[i]);
    sum -= weights[i];
    return true;
  };
  for (int turn = 1; std::erase_if(left, filled) > 0; ++turn)
    if (turn == kTurns)
      std::sort(left.begin(), left.end(),
                [&](auto a, auto b) { return caps[a] * weights[b] < caps[b] * weights[a]; });
  for (const auto i : left) ideal[i] = sum > 0 ? total * weights[i] / sum : 0;
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
