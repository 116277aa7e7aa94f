// Numbers by chance that depend on what they are for and on nothing else: a task takes as long
// under every policy, and a job more or less elsewhere changes no other.
#pragma once
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace cigri::sim {

/// What a number is drawn for: part of its key.
enum class Variate : std::uint64_t {
  kDuration = 1,
  kFailure,
  kLife,
  kLocal,
  kNode,
  kArrival,
  kDecide,
  kSlow,
  kLocalSlots,
  kBoot,
  kInput,
  kOutput,
  kTransfer
};

inline std::uint64_t Mixed(std::uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
inline std::uint64_t Key(std::uint64_t seed, Variate what, std::uint64_t a, std::uint64_t b = 0,
                         std::uint64_t c = 0) {
  std::uint64_t key = seed;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(what), a, b, c})
    key = Mixed(key ^ Mixed(part));
  return key;
}
/// In [0, 1). `n` numbers the draws of one key.
inline double Uniform(std::uint64_t key, std::uint64_t n = 0) {
  return static_cast<double>(Mixed(key + n * 0x632be59bd9b4e019ULL) >> 11) * 0x1p-53;
}
/// Of mean 0 and deviation 1.
inline double Normal(std::uint64_t key) {
  const double u = 1 - Uniform(key, 1), v = Uniform(key, 2);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace cigri::sim
