#include "core/hours.h"

#include <regex>

#include "core/text.h"

namespace cigri {
namespace {

int DayNumber(const std::string& word) {
  static const char* const kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
  for (int i = 0; i < 7; ++i)
    if (Lower(word) == kDays[i]) return i;
  return -1;
}

bool DayWithin(int day, int from, int to) {
  return from <= to ? from <= day && day <= to : day >= from || day <= to;
}

}  // namespace

bool WithinHours(const std::string& hours, std::time_t at, std::string* fault) {
  static const std::regex kItem(
      R"re(^(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))?)?\s*(?:(\d{1,2})-(\d{1,2}))?$)re");
  std::tm local{};
  localtime_r(&at, &local);
  const double hour = local.tm_hour + local.tm_min / 60.0;
  bool within = false;
  for (const auto& part : Split(hours, ',')) {
    const std::string item(Trim(part));
    std::smatch m;
    const bool shaped = !item.empty() && std::regex_match(item, m, kItem);
    const int from_day = shaped && m[1].matched ? DayNumber(m[1]) : 0;
    const int to_day = shaped && m[2].matched ? DayNumber(m[2]) : m[1].matched ? from_day : 6;
    const int from = shaped && m[3].matched ? std::stoi(m[3]) : 0;
    const int to = shaped && m[4].matched ? std::stoi(m[4]) : 24;
    if (!shaped || from_day < 0 || to_day < 0 || from > 24 || to > 24 || from == to) {
      if (fault != nullptr) *fault = "\"" + item + "\" is not like 20-8, Sat or Mon-Fri 20-8";
      return false;
    }
    if (from < to) {
      within |= DayWithin(local.tm_wday, from_day, to_day) && hour >= from && hour < to;
    } else {  // past midnight: the morning belongs to the evening before
      within |= DayWithin(local.tm_wday, from_day, to_day) && hour >= from;
      within |= DayWithin((local.tm_wday + 6) % 7, from_day, to_day) && hour < to;
    }
  }
  return within;
}

}  // namespace cigri
