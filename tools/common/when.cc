#include "tools/common/when.h"

#include <cstdlib>

#include "core/error.h"

namespace cigri::tools {
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

// A day, with or without an hour of it.
std::optional<std::time_t> Date(const std::string& text) {
  std::tm day{};
  for (const char* format : {"%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    day = {};
    day.tm_isdst = -1;
    if (Matches(text, format, &day)) return LocalTime(day);
  }
  return std::nullopt;
}

// "18:00" of the day that is `days` after that of `now`.
std::optional<std::time_t> Hour(const std::string& text, std::time_t now, int days) {
  std::tm day{};
  localtime_r(&now, &day);
  day.tm_sec = 0;
  day.tm_isdst = -1;
  if (!Matches(text, "%H:%M", &day)) return std::nullopt;
  day.tm_mday += days;  // mktime carries it into the next month
  return std::mktime(&day);
}

}  // namespace

std::optional<std::time_t> LocalTime(const std::tm& day) {
  std::tm made = day;
  const std::time_t time = std::mktime(&made);
  return made.tm_mday == day.tm_mday ? std::optional(time) : std::nullopt;
}

std::optional<std::time_t> ParseWhen(const std::string& text, std::time_t now) {
  if (const std::time_t duration = Duration(text); duration != 0) return now + duration;
  if (const auto date = Date(text)) return *date > now ? date : std::nullopt;
  const auto today = Hour(text, now, 0);
  return today && *today <= now ? Hour(text, now, 1) : today;
}

std::optional<std::time_t> ParseSince(const std::string& text, std::time_t now) {
  if (const std::time_t duration = Duration(text); duration != 0) return now - duration;
  if (const auto date = Date(text)) return date;
  const auto today = Hour(text, now, 0);
  return today && *today > now ? Hour(text, now, -1) : today;
}

std::string SinceQuery(const std::string& name, const std::string& text) {
  if (text.empty()) return "";
  const auto at = ParseSince(text, std::time(nullptr));
  if (!at)
    throw Fatal(kExitUsage, "--" + name + " is no time: \"" + text + "\"",
                "write 30m, 2h, 3d (before now), 18:00, 2026-12-24 or \"2026-12-24 18:00\"");
  return "&" + name + "=" + std::to_string(*at);
}

std::string UtcText(std::time_t t) {
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace cigri::tools
