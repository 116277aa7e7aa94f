#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>

namespace cigri::log {

void Init(const std::string& program, const std::string& level) {
  auto logger =
      std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n: %v");
  const char* wanted = std::getenv("CIGRI_LOG_LEVEL");
  logger->set_level(spdlog::level::from_str(wanted != nullptr && *wanted != '\0' ? wanted : level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace cigri::log
