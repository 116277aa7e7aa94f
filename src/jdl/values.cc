#include "jdl/values.h"

#include <cmath>
#include <ctime>
#include <regex>

#include "core/text.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

// "a text", "a number", for messages.
std::string Kind(const json& v) {
  if (v.is_string()) return "\"" + Shown(v.get_ref<const std::string&>()).substr(0, 60) + "\"";
  if (v.is_object()) return "an object";
  if (v.is_array()) return "an array";
  return v.dump();
}

std::optional<std::int64_t> Whole(const json& v) {
  constexpr double kMost = 9e15;
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost))
    return std::nullopt;
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float()) {  // what a rule in Lua has touched comes back as 3600.0
    const double d = v.get<double>();
    if (std::trunc(d) != d || std::abs(d) > kMost) return std::nullopt;
    return static_cast<std::int64_t>(d);
  }
  if (!v.is_string()) return std::nullopt;
  const auto& text = v.get_ref<const std::string&>();
  if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != text.npos)
    return std::nullopt;
  return std::stoll(text);
}

std::optional<std::int64_t> Digits(std::string_view s, std::size_t most) {
  if (s.empty() || s.size() > most || s.find_first_not_of("0123456789") != s.npos)
    return std::nullopt;
  return std::stoll(std::string(s));
}

// "1h30m": numbers with their units, the largest first, each once.
std::optional<std::int64_t> SecondsOfUnits(std::string_view s) {
  constexpr std::pair<char, std::int64_t> kUnits[] = {
      {'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
  std::int64_t seconds = 0;
  for (const auto& [unit, length] : kUnits) {
    const auto at = s.find(unit);
    if (at == s.npos) continue;
    const auto n = Digits(s.substr(0, at), 7);
    if (!n) return std::nullopt;
    seconds += *n * length;
    s.remove_prefix(at + 1);
  }
  return s.empty() ? std::optional(seconds) : std::nullopt;
}

// "1-12:00:00", "1-12:30", "1-12"
std::optional<std::int64_t> SecondsOfDays(std::string_view s) {
  const auto dash = s.find('-');
  const auto days = Digits(s.substr(0, dash), 5);
  if (dash == s.npos || !days) return std::nullopt;
  const auto parts = Split(s.substr(dash + 1), ':');
  std::int64_t seconds = *days * 86400, unit = 3600;
  for (const auto& part : parts) {
    const auto n = Digits(part, 2);
    if (!n || unit == 0 || *n > (unit == 3600 ? 23 : 59)) return std::nullopt;
    seconds += *n * unit;
    unit /= 60;
  }
  return seconds;
}

// A walltime as OAR reads it: "2" is two hours, "1:30" an hour and a half. Nothing for other forms.
std::optional<std::int64_t> SecondsForOar(std::string_view s) {
  const auto colon = s.find(':');
  const auto hours = Digits(s.substr(0, colon), 6);
  if (!hours) return std::nullopt;
  if (colon == s.npos) return *hours * 3600;
  const auto minutes = Digits(s.substr(colon + 1), 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return *hours * 3600 + *minutes * 60;
}

}  // namespace

std::optional<int> ParseDuration(std::string_view s) {
  if (const auto walltime = ParseWalltime(s)) return walltime;
  auto seconds = SecondsOfDays(s);
  if (!seconds) seconds = SecondsOfUnits(s);
  if (!seconds || *seconds <= 0 || *seconds > 2147483647) return std::nullopt;
  return static_cast<int>(*seconds);
}

Found Find(const json& object, const std::string& path, const std::string& key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null() || *at == false) return {};
  return {&*at, Join2(path, key)};
}

std::optional<std::string> ReadText(Document& doc, const Found& found) {
  if (!found) return std::nullopt;
  if (found.value->is_string()) return found.value->get<std::string>();
  doc.Fault(found.path, "must be a text, not " + Kind(*found.value), "write it in double quotes");
  return std::nullopt;
}

std::string ReadName(Document& doc, const Found& found, std::size_t most) {
  const auto text = ReadText(doc, found).value_or("");
  const auto problem = NameProblem(text, most);
  if (problem.empty()) return text;
  doc.Fault(found.path, problem);
  return "";
}

std::optional<std::int64_t> ReadWhole(Document& doc, const Found& found, std::int64_t least,
                                      std::int64_t most) {
  if (!found) return std::nullopt;
  const auto n = Whole(*found.value);
  if (n && *n >= least && *n <= most) return n;
  doc.Fault(found.path, "must be a whole number from " + std::to_string(least) + " to " +
                            std::to_string(most) + ", not " + Kind(*found.value));
  return std::nullopt;
}

std::optional<std::int64_t> ParseTime(std::string_view s) {
  static const std::regex kForm(
      "([1-9]\\d{3})-(\\d\\d)-(\\d\\d)[T ](\\d\\d):(\\d\\d)(:(\\d\\d))?"
      "(Z|([+-])(\\d\\d):?(\\d\\d))");
  std::match_results<std::string_view::const_iterator> m;
  if (s.size() > 40 || !std::regex_match(s.begin(), s.end(), m, kForm)) return std::nullopt;
  const auto number = [&](int i) { return m[i].matched ? std::stoi(m[i].str()) : 0; };
  std::tm tm{};
  tm.tm_year = number(1) - 1900, tm.tm_mon = number(2) - 1, tm.tm_mday = number(3);
  tm.tm_hour = number(4), tm.tm_min = number(5), tm.tm_sec = number(7);
  const std::tm asked = tm;
  const std::int64_t at = timegm(&tm);  // the 31st of February becomes a day of March
  if (tm.tm_mon != asked.tm_mon || tm.tm_mday != asked.tm_mday || tm.tm_hour != asked.tm_hour ||
      tm.tm_min != asked.tm_min || tm.tm_sec != asked.tm_sec)
    return std::nullopt;
  const std::int64_t offset = number(10) * 3600 + number(11) * 60;
  return at - (m[9].str() == "-" ? -offset : offset);
}

std::optional<int> ReadSeconds(Document& doc, const Found& found, int least) {
  if (!found) return std::nullopt;
  std::optional<std::int64_t> seconds = Whole(*found.value);
  if (!seconds && found.value->is_string())
    seconds = ParseDuration(found.value->get_ref<const std::string&>());
  if (seconds && *seconds >= least && *seconds <= 2147483647) return static_cast<int>(*seconds);
  doc.Fault(found.path, Kind(*found.value) + " is no duration" + (least > 0 ? " above 0" : ""),
            "write seconds (3600), \"h:mm:ss\" (\"1:00:00\") or \"90m\"");
  return std::nullopt;
}

std::optional<int> ReadWalltime(Document& doc, const Found& found) {
  if (!found || !doc.has_text) return ReadSeconds(doc, found);
  const json& value = *found.value;
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : "";
  const auto for_oar = SecondsForOar(text);
  std::optional<std::int64_t> seconds = for_oar;
  if (!seconds) seconds = ParseDuration(text);
  if (!seconds || *seconds < 1 || *seconds > 2147483647) {
    doc.Fault(found.path, Kind(value) + " is no walltime",
              "write \"h:mm:ss\" (\"1:00:00\"), \"90m\" or \"3600s\"");
    return std::nullopt;
  }
  if (for_oar) {
    const std::string meant = FormatWalltime(*seconds);
    const bool bare = text.find(':') == text.npos;
    doc.Warn(found.path,
             "\"" + text + "\" is read as " + meant + ", hours first, as OAR and CiGri 3 read it",
             "write \"" + meant + "\"" + (bare ? ", or \"" + text + "s\" for seconds" : ""));
  }
  return static_cast<int>(*seconds);
}

std::optional<std::int64_t> ReadTime(Document& doc, const Found& found) {
  if (!found) return std::nullopt;
  constexpr std::int64_t kMost = 253402300799;  // the last second of the year 9999
  if (const auto seconds = Whole(*found.value); seconds && *seconds >= 0 && *seconds <= kMost)
    return seconds;
  if (found.value->is_string())
    if (const auto at = ParseTime(found.value->get_ref<const std::string&>())) return at;
  doc.Fault(found.path, Kind(*found.value) + " is no time with its zone",
            "write \"2026-11-23T20:00Z\", \"2026-11-23T21:00+01:00\" or seconds since 1970; "
            "gridsub --not-before 20:00 means your local time");
  return std::nullopt;
}

std::optional<double> ReadPositive(Document& doc, const Found& found) {
  if (!found) return std::nullopt;
  if (found.value->is_number() && found.value->get<double>() > 0 &&
      found.value->get<double>() < 1e9)
    return found.value->get<double>();
  doc.Fault(found.path, "must be a number above 0, not " + Kind(*found.value));
  return std::nullopt;
}

std::vector<std::string> ReadTexts(Document& doc, const Found& found) {
  std::vector<std::string> texts;
  if (!found) return texts;
  if (!found.value->is_array()) {
    const bool text = found.value->is_string();
    doc.Fault(found.path, "must be an array of texts, not " + Kind(*found.value),
              text ? "write it as [" + Kind(*found.value) + "]" : "");
    return texts;
  }
  for (std::size_t i = 0; i < found.value->size(); ++i) {
    const auto& item = (*found.value)[i];
    const std::string path = found.path + "[" + std::to_string(i) + "]";
    if (item.is_string())
      texts.push_back(item.get<std::string>());
    else
      doc.Fault(path, "must be a text, not " + Kind(item), "write it in double quotes");
  }
  return texts;
}

bool ReadFlag(Document& doc, const Found& found) {
  if (!found) return false;
  if (found.value->is_boolean()) return found.value->get<bool>();
  if (*found.value == "true") return true;
  if (*found.value != "false" && *found.value != "")
    doc.Fault(found.path, "must be true or false, not " + Kind(*found.value));
  return false;
}

}  // namespace cigri::jdl
