// Numbers in messages.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cigri {

/// "1 task", "3 tasks"; with `many`, "1 task waits", "3 tasks wait": the noun and its verb, for one
/// and for any other number.
inline std::string Pluralize(std::int64_t n, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(n) + " ";
  if (n == 1 || many.empty())
    text += one;
  else
    text += many;
  if (n != 1 && many.empty()) text += "s";
  return text;
}

}  // namespace cigri
