#include "core/hours.h"

#include "core/pattern.h"
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
  static const Pattern kItem(
      "^(([A-Za-z]{3})(-([A-Za-z]{3}))?)?[[:space:]]*(([0-9]{1,2})-([0-9]{1,2}))?$");
  std::tm local{};
  localtime_r(&at, &local);
  const double hour = local.tm_hour + local.tm_min / 60.0;
  bool within = false;
  for (const auto& part : Split(hours, ',')) {
    const std::string item(Trim(part));
    const auto m = kItem.Find(item);
    const bool shaped = m && !item.empty();
    const int from_day = shaped && m.Has(2) ? DayNumber(m.Text(2)) : 0;
    const int to_day = shaped && m.Has(4) ? DayNumber(m.Text(4))
                       : shaped && m.Has(2) ? from_day
                                            : 6;
    const int from = shaped && m.Has(6) ? std::stoi(m.Text(6)) : 0;
    const int to = shaped && m.Has(7) ? std::stoi(m.Text(7)) : 24;
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
