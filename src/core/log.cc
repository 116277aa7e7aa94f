#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace cigri::log {
namespace {

spdlog::level::level_enum SpdlogLevel(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

// A text from outside in a message makes no line of its own and moves no cursor.
std::string OneLine(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out;
}

}  // namespace

void Init(const std::string& program, const std::string& level) {
  auto logger =
      std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n: %v");
  const char* wanted = std::getenv("CIGRI_LOG_LEVEL");
  logger->set_level(spdlog::level::from_str(wanted != nullptr && *wanted != '\0' ? wanted : level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void Write(Level level, fmt::string_view format, fmt::format_args values) {
  auto* logger = spdlog::default_logger_raw();
  const auto at = SpdlogLevel(level);
  if (logger->should_log(at)) logger->log(at, OneLine(fmt::vformat(format, values)));
}

}  // namespace cigri::log
