// The arithmetic of proportional policies: ideals, tickets, usage, factors. Pure numbers.
#pragma once
#include <vector>

namespace cigri::policy {

/// Divides `total` in proportion to `weights`, nobody getting more than its cap; what a cap leaves
/// goes to the others (GRID-17). REQUIRES: equal sizes, weights > 0.
std::vector<double> WaterFill(double total, const std::vector<double>& weights,
                              const std::vector<double>& caps);

/// `parts` moved towards `shares` until half of all deviations is at most `most`. REQUIRES: equal
/// sizes, both sum to 1.
void BoundDeviation(const std::vector<double>& shares, double most, std::vector<double>& parts);

/// GRID-16: rounded up, so that nobody's ideal is 0; a hair above a whole number is that number.
double RoundUp(double ideal);

/// TECH-23: sum of all ranks / own rank. REQUIRES: ranks > 0.
std::vector<double> Tickets(const std::vector<double>& ranks);

/// FAIR-15: u0 + D u1 + D^2 u2 ..., of `days` days at most (today first), without the share.
double DecayedUse(const std::vector<double>& daily, double decay, int days);

/// FAIR-20: 2^(-usage / share), both normalised among siblings: holds shares under steady load.
double FairFactor(double share, double usage);

}  // namespace cigri::policy
