#include "jdl/command.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/pluralize.h"
#include "core/text.h"
#include "jdl/shell_text.h"

namespace cigri::jdl {
namespace {

constexpr int kAll = -1;    // {}
constexpr int kIndex = -2;  // {#}

// A placeholder at the begin of some text.
struct Placeholder {
  std::size_t length = 0;
  int column = kAll;      // from 0, or kAll, kIndex
  std::string_view part;  // "", ".", "/", "//", "/."
};

// The places of columns by their names: a text has as many words in braces as there may be columns.
class ColumnNames {
 public:
  explicit ColumnNames(const std::vector<std::string>& columns) {
    for (const auto& column : columns)
      sorted_.emplace_back(column, static_cast<int>(sorted_.size()));
    std::sort(sorted_.begin(), sorted_.end());
  }
  std::optional<int> Find(std::string_view name) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(name, 0));
    if (at == sorted_.end() || at->first != name) return std::nullopt;
    return at->second;
  }

 private:
  std::vector<std::pair<std::string_view, int>> sorted_;
};

std::optional<int> ColumnOf(std::string_view name, const ColumnNames& columns) {
  if (name.empty()) return kAll;
  if (const auto named = columns.Find(name)) return named;
  if (name == "#") return kIndex;
  const auto number = ParseWalltime(name);  // a positive whole number
  if (!number || name.find(':') != name.npos || *number > 1000) return std::nullopt;
  return *number - 1;
}

std::optional<Placeholder> PlaceholderAt(std::string_view text, const ColumnNames& columns) {
  if (text.empty() || text[0] != '{') return std::nullopt;
  // Up to the next brace: no name has one, and a text of opening ones is read once, not once for
  // each.
  const auto end = text.find_first_of("{}", 1);
  if (end == text.npos || text[end] == '{') return std::nullopt;
  const auto name = text.substr(1, end - 1);
  if (const auto column = ColumnOf(name, columns)) return Placeholder{end + 1, *column, ""};
  for (std::string_view part : {"//", "/.", "/", "."}) {
    if (name.size() < part.size() || name.substr(name.size() - part.size()) != part) continue;
    const auto column = ColumnOf(name.substr(0, name.size() - part.size()), columns);
    if (!column || *column == kIndex) return std::nullopt;
    return Placeholder{end + 1, *column, part};
  }
  return std::nullopt;
}

std::string WithoutExtension(const std::string& value) {
  const auto dot = value.rfind('.');
  const auto slash = value.rfind('/');
  const bool in_name = dot != value.npos && (slash == value.npos || dot > slash);
  return in_name ? value.substr(0, dot) : value;
}

// As dirname(1) and GNU parallel: a slash at the end is no part of it.
std::string DirectoryOf(const std::string& value) {
  const auto name_ends = value.find_last_not_of('/');
  if (name_ends == value.npos) return value.empty() ? "." : "/";
  const auto slash = value.rfind('/', name_ends);
  if (slash == value.npos) return ".";
  const auto ends = value.find_last_not_of('/', slash);
  return ends == value.npos ? "/" : value.substr(0, ends + 1);
}

std::string PartOf(const std::string& value, std::string_view part) {
  const auto slash = value.rfind('/');
  if (part == ".") return WithoutExtension(value);
  if (part == "/") return slash == value.npos ? value : value.substr(slash + 1);
  if (part == "/.") return WithoutExtension(PartOf(value, "/"));
  if (part == "//") return DirectoryOf(value);
  return value;
}

// {}: one argument for each value. Within quotes the blank between them is part of the text.
std::string AllValues(ShellPlace place, const std::vector<std::string>& values,
                      std::string_view part) {
  std::string out;
  for (const auto& value : values) {
    if (!out.empty()) out += ' ';
    out += QuoteAt(place, PartOf(value, part));
  }
  return out;
}

std::string Filled(const Placeholder& p, ShellPlace place, const std::vector<std::string>& values,
                   std::int64_t index) {
  if (p.column == kIndex) return QuoteAt(place, std::to_string(index + 1));
  if (p.column == kAll) return AllValues(place, values, p.part);
  const auto column = static_cast<std::size_t>(p.column);
  // A row that is too short is refused when it is uploaded; the empty value here is the last guard.
  return QuoteAt(place, column < values.size() ? PartOf(values[column], p.part) : "");
}

// JSON holds text alone. A row with other bytes is read and written with each byte as the character
// of the same number; other characters, which only \uXXXX can say there, stay what they are.
std::string CodePoints(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xc0 | byte >> 6);
    out += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3f) : byte);
  }
  return out;
}

std::string BytesOf(std::string_view points) {
  std::string out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto lead = static_cast<unsigned char>(points[i]);
    const bool byte = (lead == 0xc2 || lead == 0xc3) && i + 1 < points.size();
    out += byte ? static_cast<char>((lead & 3) << 6 | (points[++i] & 0x3f)) : points[i];
  }
  return out;
}

using Visit = std::function<std::string(const Placeholder&, ShellPlace, std::string_view)>;

// Copies exec_file with every placeholder replaced by what `visit` says.
std::string Replace(std::string_view exec_file, const std::vector<std::string>& columns,
                    const Visit& visit) {
  std::string out;
  const ColumnNames names(columns);
  ShellWalk walk(exec_file);
  while (!walk.AtEnd()) {
    const auto rest = exec_file.substr(walk.at());
    const auto found =
        walk.place() == ShellPlace::kComment ? std::nullopt : PlaceholderAt(rest, names);
    if (found) {
      out += visit(*found, walk.place(), rest.substr(0, found->length));
      walk.Skip(found->length);
    } else {
      out += walk.Next();
    }
  }
  return out;
}

}  // namespace

std::string EncodeValues(const std::vector<std::string>& values) {
  const auto text = [](const auto& value) { return IsValidUtf8(value); };
  if (std::all_of(values.begin(), values.end(), text)) return nlohmann::json(values).dump();
  std::vector<std::string> points;
  for (const auto& value : values) points.push_back(CodePoints(value));
  return BytesOf(nlohmann::json(points).dump());
}

std::string ValuesProblem(std::string_view line, std::size_t columns) {
  if (!IsValidUtf8(line)) return ValuesProblem(CodePoints(line), columns);
  if (line.empty() || line[0] != '[') return "it is no JSON array";
  const auto values = nlohmann::json::parse(line, nullptr, false);
  if (!values.is_array()) return "it is no JSON array";
  for (const auto& value : values) {
    if (!value.is_string()) return "its values are not all texts in quotes";
    if (value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return "it contains a NUL byte, which no program can be given";
  }
  if (columns != 0 && values.size() != columns)
    return "it has " + Pluralize(values.size(), "value") + " for " + Pluralize(columns, "column");
  return "";
}

std::vector<std::string> DecodeValues(std::string_view line) {
  if (!ValuesProblem(line, 0).empty()) return {std::string(line)};
  if (!IsValidUtf8(line)) {
    auto values = DecodeValues(CodePoints(line));
    for (auto& value : values) value = BytesOf(value);
    return values;
  }
  return nlohmann::json::parse(line).get<std::vector<std::string>>();
}

std::string CommandLine(std::string_view exec_file, std::string_view format,
                        const std::vector<std::string>& columns, std::string_view line,
                        std::int64_t index) {
  if (format != kFormatValues) return std::string(exec_file) + " " + std::string(line);
  const auto values = DecodeValues(line);
  bool any = false;
  std::string out = Replace(exec_file, columns, [&](const Placeholder& p, ShellPlace place, auto) {
    any = true;
    return Filled(p, place, values, index);
  });
  if (!any) out += " " + AllValues(ShellPlace::kPlain, values, "");
  return out;
}

CommandSize::CommandSize(std::string_view exec_file, std::string_view format,
                         const std::vector<std::string>& columns)
    : format_(format), columns_(columns), fixed_(exec_file.size()) {
  if (format_ != kFormatValues) return;
  fixed_ = Replace(exec_file, columns, [&](const Placeholder&, ShellPlace place, auto text) {
             ++uses_[{place, std::string(text)}];
             ++placeholders_;
             return std::string();
           }).size();
  if (placeholders_ > 0) return;
  uses_[{ShellPlace::kPlain, "{}"}] = placeholders_ = 1;
  ++fixed_;  // the blank before them
}

std::size_t CommandSize::Of(std::string_view line, std::int64_t index) const {
  if (format_ != kFormatValues) return fixed_ + 1 + line.size();
  const auto values = DecodeValues(line);
  const ColumnNames names(columns_);
  std::size_t bytes = fixed_;
  for (const auto& [use, n] : uses_)
    bytes += n * Filled(*PlaceholderAt(use.second, names), use.first, values, index).size();
  return bytes;
}

std::size_t CommandSize::AtMost(std::size_t bytes) const {
  if (format_ != kFormatValues) return fixed_ + 1 + bytes;
  // A quote of one byte becomes four; a value of none, three bytes of the line, becomes five.
  return fixed_ + placeholders_ * (5 * bytes + 16);
}

std::string FillText(std::string_view text, const std::vector<std::string>& columns,
                     const std::vector<std::string>& values) {
  std::string out;
  const ColumnNames names(columns);
  while (!text.empty()) {
    const auto found = PlaceholderAt(text, names);
    if (!found || found->column == kIndex) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto column = static_cast<std::size_t>(found->column);
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (found->column == kAll || i == column) parts.push_back(PartOf(values[i], found->part));
    out += Join(parts, " ");
    text.remove_prefix(found->length);
  }
  return out;
}

std::vector<std::string> Placeholders(std::string_view exec_file,
                                      const std::vector<std::string>& columns) {
  std::vector<std::string> found;
  Replace(exec_file, columns, [&](const Placeholder&, ShellPlace, std::string_view text) {
    found.emplace_back(text);
    return std::string();
  });
  return found;
}

namespace {

// Where no quotes around a value are safe, and what is; "" for all other places.
std::string Unquotable(ShellPlace place) {
  switch (place) {
    case ShellPlace::kBackquote:
      return "within backquotes, where no quoting is safe: use $( )";
    case ShellPlace::kHereDocument:
      return "in a here-document, where no quoting is safe: pass it to a program as an argument";
    case ShellPlace::kArithmetic:
      return "within $(( )) or another place of numbers, where no quoting is safe: give it to a "
             "variable first, x={}";
    case ShellPlace::kParameter:
      return "within \"${ }\", where no quoting is safe: give it to a variable first, x={}";
    case ShellPlace::kUnclear:
      return "behind a case within \"$( )\", a $'\\'', $[, [ ]= or ((, which shells read in "
             "several "
             "ways: put it before that, x={}";
    default:
      return "";
  }
}

// Why no value can be appended.
std::string EndProblem(std::string_view exec_file) {
  ShellWalk walk(exec_file);
  while (!walk.AtEnd()) walk.Next();
  const ShellPlace place = walk.place();
  if (place == ShellPlace::kSingle || place == ShellPlace::kDouble)
    return "ends within quotes that nothing closes";
  if (place == ShellPlace::kComment)
    return "ends in a comment, where no program gets the values: write {} where they belong";
  const std::string where = Unquotable(place);
  return where.empty() ? "" : "has no placeholder, and its end, where values go, is " + where;
}

// ${name} is the shell's, and nothing there: the placeholder was meant.
std::string VariableProblem(std::string_view exec_file, const std::vector<std::string>& columns) {
  const ColumnNames names(columns);
  for (ShellWalk walk(exec_file); !walk.AtEnd(); walk.Next()) {
    const auto rest = exec_file.substr(walk.at());
    if (walk.place() == ShellPlace::kSingle || walk.place() == ShellPlace::kComment) continue;
    if (rest[0] != '$') continue;
    const auto found = PlaceholderAt(rest.substr(1), names);
    if (found && found->column != kIndex)
      return std::string(rest.substr(0, found->length + 1)) +
             " is a variable of the shell: the placeholder is " +
             std::string(rest.substr(1, found->length));
  }
  return "";
}

}  // namespace

std::string TemplateProblem(std::string_view exec_file, const std::vector<std::string>& columns) {
  std::string problem = VariableProblem(exec_file, columns);
  int placeholders = 0;
  Replace(exec_file, columns, [&](const Placeholder& p, ShellPlace place, std::string_view text) {
    if (const std::string where = Unquotable(place); !where.empty())
      problem = std::string(text) + " stands " + where;
    const auto count = static_cast<int>(columns.size());
    if (count > 0 && p.column >= count)
      problem = std::string(text) + " asks for more than the " + std::to_string(count) +
                " columns there are";
    ++placeholders;
    return std::string();
  });
  if (placeholders == 0 && problem.empty()) problem = EndProblem(exec_file);
  if (placeholders > kMaxPlaceholders)
    problem = "has " + Pluralize(placeholders, "placeholder") + ", the limit is " +
              std::to_string(kMaxPlaceholders);
  return problem;
}

std::string ColumnsProblem(const std::vector<std::string>& columns) {
  std::set<std::string> seen;
  for (const auto& name : columns) {
    if (name.empty()) return "a column has no name";
    if (name.find_first_of("{},\n") != name.npos || name == "#")
      return "\"" + name + "\" cannot be the name of a column";
    if (name == "HOME" || name == "CAMPAIGN_ID" || name == "OAR_JOB_ID")
      return "{" + name + "} is a macro and cannot be a column";
    if (!seen.insert(name).second) return "column \"" + name + "\" is there twice";
  }
  return "";
}

}  // namespace cigri::jdl
