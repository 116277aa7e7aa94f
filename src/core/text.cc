#include "core/text.h"

#include <sys/random.h>
#include <utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <stdexcept>

namespace cigri {

std::string ShellQuote(std::string_view s) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!s.empty() && s.find_first_not_of(kPlain) == s.npos) return std::string(s);
  std::string out = "'";
  for (char c : s) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string_view Trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> Split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const auto at = s.find(separator, from);
    parts.emplace_back(s.substr(from, at == s.npos ? at : at - from));
    if (at == s.npos) return parts;
    from = at + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string Lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string ReplaceAll(std::string s, std::string_view from, std::string_view to) {
  for (auto at = s.find(from); at != s.npos; at = s.find(from, at + to.size()))
    s.replace(at, from.size(), to);
  return s;
}

bool StartsWith(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

namespace {
// Levenshtein, where two neighbours exchanged count as one slip.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}
}  // namespace

std::optional<std::string> DidYouMean(std::string_view word,
                                      const std::vector<std::string>& candidates) {
  if (word.size() > 64) return std::nullopt;
  const std::string low = Lower(word);
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3);
  for (const auto& candidate : candidates) {
    if (candidate.size() > 64) continue;
    const auto distance = EditDistance(low, Lower(candidate));
    if (distance < best_distance || (distance == best_distance && !best)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool IsValidUtf8(std::string_view s) { return utf8::is_valid(s.begin(), s.end()); }

std::string ValidUtf8(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  utf8::replace_invalid(s.begin(), s.end(), std::back_inserter(out));
  return out;
}

std::size_t WholeCharacters(std::string_view s, std::size_t most) {
  if (s.size() <= most) return s.size();
  std::size_t end = most;
  while (most - end < 4 && (s[end] & 0xC0) == 0x80) --end;
  return most - end < 4 ? end : most;  // no UTF-8 at all
}

bool IsMailAddress(std::string_view s) {
  const auto at = s.find('@');
  return at != s.npos && at > 0 && at + 1 < s.size() && s[0] != '-' &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) {
           return c > 32 && c < 127 && std::strchr("<>()[],;:\\\"", c) == nullptr;
         });
}

std::string NameProblem(std::string_view s, std::size_t most) {
  if (s.size() > most) return "is longer than " + std::to_string(most) + " bytes";
  if (!IsValidUtf8(s)) return "is not UTF-8";
  for (auto at = s.begin(); at != s.end();) {
    const auto c = utf8::next(at, s.end());
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (control || turns) return "contains a control character";
  }
  return "";
}

namespace {
std::optional<std::int64_t> Digits(std::string_view s, std::size_t most) {
  if (s.empty() || s.size() > most) return std::nullopt;
  std::int64_t value = 0;
  for (char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}
}  // namespace

std::optional<int> ParseWalltime(std::string_view s) {
  std::int64_t seconds = 0;
  const auto parts = Split(s, ':');
  if (parts.size() == 1) {
    const auto n = Digits(parts[0], 10);
    if (!n) return std::nullopt;
    seconds = *n;
  } else if (parts.size() == 3) {
    const auto h = Digits(parts[0], 6), m = Digits(parts[1], 2), sec = Digits(parts[2], 2);
    if (!h || !m || !sec || *m > 59 || *sec > 59) return std::nullopt;
    seconds = *h * 3600 + *m * 60 + *sec;
  } else {
    return std::nullopt;
  }
  if (seconds <= 0 || seconds > 2147483647) return std::nullopt;
  return static_cast<int>(seconds);
}

std::string FormatWalltime(std::int64_t seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  return text;
}

std::string HumanDuration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  char text[64];
  if (seconds < 0) seconds = 0;
  if (seconds < 9.95) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
    return text;
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  static constexpr std::array<std::pair<long long, const char*>, 4> kUnits{
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (whole < kUnits[i].first) continue;
    const long long rest =
        i + 1 < kUnits.size() ? whole % kUnits[i].first / kUnits[i + 1].first : 0;
    if (rest == 0)
      std::snprintf(text, sizeof text, "%lld %s", whole / kUnits[i].first, kUnits[i].second);
    else
      std::snprintf(text, sizeof text, "%lld %s %lld %s", whole / kUnits[i].first, kUnits[i].second,
                    rest, kUnits[i + 1].second);
    return text;
  }
  return "0 s";
}

std::string ClockTime(double epoch_s) {
  const auto day_s = static_cast<long long>(epoch_s) % 86400;
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d UTC", static_cast<int>(day_s / 3600),
                static_cast<int>(day_s / 60 % 60));
  return text;
}

std::string RandomHex(int n) {
  std::string bytes(static_cast<std::size_t>(n), '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != n) throw std::runtime_error("getrandom failed");
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned char c : bytes) {
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return out;
}

}  // namespace cigri
