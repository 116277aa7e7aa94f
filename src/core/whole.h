// Numbers that others wrote, as whole numbers.
#pragma once
#include <limits>

namespace cigri {

/// `number` without what stands behind its point; beyond the range of Int its end, and 0 for what
/// is no number. A cast alone is undefined there.
template <typename Int>
constexpr Int Whole(double number) {
  using Limits = std::numeric_limits<Int>;
  if (number >= static_cast<double>(Limits::max())) return Limits::max();
  if (number <= static_cast<double>(Limits::min())) return Limits::min();
  return number == number ? static_cast<Int>(number) : Int{0};
}

}  // namespace cigri
