// Times as operators type them.
#pragma once
#include <ctime>
#include <optional>
#include <string>

namespace cigri::gridadmin {

/// "30m", "2h", "3d" from `now`; "18:00" (the next one, local time); "2026-12-24 18:00" or
/// "2026-12-24" (local time). Nothing for anything else, or what is not after `now`.
std::optional<std::time_t> ParseWhen(const std::string& text, std::time_t now);
/// "2026-12-24T17:00:00Z", as the API takes it.
std::string UtcText(std::time_t t);

}  // namespace cigri::gridadmin
