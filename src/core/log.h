// Logging: lines on stderr, "LEVEL program[subject]: message", which `cigri` or systemd collect.
#pragma once
#include <spdlog/spdlog.h>

#include <string>

namespace cigri::log {

/// Names the process in its log lines; the level comes from $CIGRI_LOG_LEVEL (debug, info, warn,
/// error), else `level`. Call once at start.
void Init(const std::string& program, const std::string& level = "info");

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

}  // namespace cigri::log
