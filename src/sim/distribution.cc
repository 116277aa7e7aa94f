#include <algorithm>
#include <numeric>

#include "sim/random.h"
#include "sim/scenario.h"

namespace cigri::sim {

double Distribution::At(std::uint64_t key, std::int64_t n) const {
  switch (kind) {
    case Kind::kConstant:
      return a;
    case Kind::kUniform:
      return a + (b - a) * Uniform(key);
    case Kind::kExponential:
      return -a * std::log(1 - Uniform(key));
    case Kind::kLognormal:
      return a * std::exp(b * Normal(key));
    case Kind::kWeibull:
      return a * std::pow(-std::log(1 - Uniform(key)), 1 / b);
    case Kind::kList:
      return list.empty() ? 0 : list[static_cast<std::size_t>(n) % list.size()];
  }
  return a;
}

double Distribution::Mean() const {
  switch (kind) {
    case Kind::kUniform:
      return (a + b) / 2;
    case Kind::kLognormal:
      return a * std::exp(b * b / 2);
    case Kind::kWeibull:
      return a * std::tgamma(1 + 1 / b);
    case Kind::kList:
      return list.empty() ? 0
                          : std::accumulate(list.begin(), list.end(), 0.0) /
                                static_cast<double>(list.size());
    default:
      return a;
  }
}

}  // namespace cigri::sim
