#include "tools/gridadmin/when.h"

#include <cstdlib>

namespace cigri::gridadmin {
namespace {

// A duration like "2h"; 0 when it is none.
std::time_t Duration(const std::string& text) {
  char* end = nullptr;
  const long n = std::strtol(text.c_str(), &end, 10);
  if (n <= 0 || n > 100'000 || *end == '\0' || end[1] != '\0') return 0;
  switch (*end) {
    case 'm':
      return n * 60;
    case 'h':
      return n * 3600;
    case 'd':
      return n * 86400;
    default:
      return 0;
  }
}

bool Matches(const std::string& text, const char* format, std::tm* tm) {
  const char* end = strptime(text.c_str(), format, tm);
  return end != nullptr && *end == '\0';
}

}  // namespace

std::optional<std::time_t> ParseWhen(const std::string& text, std::time_t now) {
  if (const std::time_t duration = Duration(text); duration != 0) return now + duration;
  std::tm day{};
  for (const char* format : {"%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    day = {};
    day.tm_isdst = -1;
    if (!Matches(text, format, &day)) continue;
    const std::time_t t = std::mktime(&day);
    return t > now ? std::optional(t) : std::nullopt;
  }
  localtime_r(&now, &day);
  day.tm_sec = 0;
  day.tm_isdst = -1;
  if (!Matches(text, "%H:%M", &day)) return std::nullopt;
  std::tm next = day;
  ++next.tm_mday;  // mktime carries it into the next month
  const std::time_t today = std::mktime(&day);
  return today > now ? today : std::mktime(&next);
}

std::string UtcText(std::time_t t) {
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace cigri::gridadmin
