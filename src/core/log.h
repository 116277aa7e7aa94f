// Logging: lines on stderr, "LEVEL program[subject]: message", which `cigri` or systemd collect.
// Texts are those of fmt: log::info("{} slots on {}", slots, socket).
#pragma once
#include <fmt/core.h>

#include <string>

namespace cigri::log {

enum class Level { kDebug, kInfo, kWarn, kError };

/// Names the process in its log lines; the level comes from $CIGRI_LOG_LEVEL (debug, info, warn,
/// error), else `level`. Call once at start.
void Init(const std::string& program, const std::string& level = "info");

/// Writes one line, with control characters as \x0a, if lines of this level are written.
void Write(Level level, fmt::string_view format, fmt::format_args values);

template <typename... Values>
void debug(fmt::format_string<Values...> format, Values&&... values) {
  Write(Level::kDebug, format, fmt::make_format_args(values...));
}
template <typename... Values>
void info(fmt::format_string<Values...> format, Values&&... values) {
  Write(Level::kInfo, format, fmt::make_format_args(values...));
}
template <typename... Values>
void warn(fmt::format_string<Values...> format, Values&&... values) {
  Write(Level::kWarn, format, fmt::make_format_args(values...));
}
template <typename... Values>
void error(fmt::format_string<Values...> format, Values&&... values) {
  Write(Level::kError, format, fmt::make_format_args(values...));
}

}  // namespace cigri::log
