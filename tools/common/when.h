// Times as users type them.
#pragma once
#include <ctime>
#include <optional>
#include <string>

namespace cigri::tools {

/// A time of the user's time zone; none on a day that no month has: mktime makes 2 March of
/// 30 February.
std::optional<std::time_t> LocalTime(const std::tm& day);

/// "30m", "2h", "3d" from `now`; "18:00" (the next one, local time); "2026-12-24 18:00" or
/// "2026-12-24" (local time). Nothing for anything else, or what is not after `now`.
std::optional<std::time_t> ParseWhen(const std::string& text, std::time_t now);
/// "30m", "2h", "3d" before `now`; "18:00" (the last one, local time); or a date as above.
std::optional<std::time_t> ParseSince(const std::string& text, std::time_t now);
/// "&since=1790000000" of an option; "" when it was not given. Throws Fatal(kExitUsage).
std::string SinceQuery(const std::string& name, const std::string& text);
/// "2026-12-24T17:00:00Z", as the API takes it.
std::string UtcText(std::time_t t);

}  // namespace cigri::tools
