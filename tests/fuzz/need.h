// What a fuzz target asserts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace cigri::fuzz {

/// A false one is a finding: libFuzzer keeps the bytes.
inline void Need(bool truth) {
  if (!truth) std::abort();
}

inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace cigri::fuzz

/// A fuzz target: `void Try(std::string_view text)` stands before it.
#define CIGRI_FUZZ_TARGET(Try)                                                       \
  extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) { \
    Try(cigri::fuzz::TextOf(data, size));                                            \
    return 0;                                                                        \
  }
