#include "jdl/resources.h"

#include <cstdint>
#include <optional>

#include "core/text.h"

namespace cigri::jdl {
namespace {

Slots Bad(const std::string& problem, const std::string& hint = "like /nodes=1/core=4") {
  Slots slots;
  slots.problem = problem;
  slots.hint = hint;
  return slots;
}

// Takes the {property filter} at the begin of `text`, if there is one. False when it has no end.
bool DropFilter(std::string_view& text) {
  if (text.empty() || text[0] != '{') return true;
  const auto end = text.find('}');
  if (end == text.npos) return false;
  text = Trim(text.substr(end + 1));
  return true;
}

bool IsName(std::string_view s) {
  for (char c : s)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return !s.empty();
}

std::optional<int> Positive(std::string_view s) {
  if (s.find(':') != s.npos) return std::nullopt;
  return ParseWalltime(s);  // digits, 1 .. 2^31-1
}

struct Level {
  std::string name;
  int n = 0;
};

// One "name=n"; problem in `slots` when it is none.
std::optional<Level> ReadLevel(std::string_view text, Slots& slots) {
  const auto equals = text.find('=');
  const std::string shown(text);
  if (equals == text.npos || !IsName(Trim(text.substr(0, equals)))) {
    slots = Bad("\"" + shown + "\" is no name=number of a resource hierarchy");
    return std::nullopt;
  }
  const std::string name(Trim(text.substr(0, equals)));
  const auto count = Trim(text.substr(equals + 1));
  if (name == "walltime") {
    slots = Bad("a walltime within resources", "give it as the key \"walltime\"");
    return std::nullopt;
  }
  const auto n = Positive(count);
  if (!n) {
    slots = Bad("\"" + shown + "\" is not a number of resources that can be counted",
                "give a whole number of at least 1");
    return std::nullopt;
  }
  return Level{name, *n};
}

// One hierarchy, without "+".
Slots Hierarchy(std::string_view text, std::string_view unit) {
  if (!DropFilter(text)) return Bad("a { without its }");
  if (StartsWith(text, "/")) text.remove_prefix(1);
  Slots slots;
  std::int64_t product = 1;
  std::string last;
  for (const auto& part : Split(text, '/')) {
    auto rest = Trim(part);
    if (!DropFilter(rest)) return Bad("a { without its }");
    const auto level = ReadLevel(rest, slots);
    if (!level) return slots;
    // What stands below the unit that a cluster counts takes no further units.
    if (last != unit) product *= level->n;
    if (last != unit) last = level->name;
    if (product > 1'000'000) return Bad("more than a million resources for one job");
  }
  slots.n = static_cast<int>(product);
  slots.exact = last == unit || last == "resource_id";
  return slots;
}

}  // namespace

Slots ParseResources(std::string_view text, std::string_view resource_unit) {
  text = Trim(text);
  if (text.empty()) return Bad("resources are empty");
  if (text.find(",walltime") != text.npos)
    return Bad("a walltime within resources", "give it as the key \"walltime\"");
  if (text.size() > 1000) return Bad("resources are longer than 1000 characters");
  Slots sum;
  for (const auto& part : Split(text, '+')) {
    Slots one = Hierarchy(Trim(part), resource_unit);
    if (!one.problem.empty()) return one;
    sum.n += one.n;
    sum.exact = sum.exact && one.exact;
  }
  if (sum.n > 1'000'000) return Bad("more than a million resources for one job");
  return sum;
}

}  // namespace cigri::jdl
