#include "jdl/blocks.h"

#include <algorithm>
#include <optional>

#include "core/pluralize.h"
#include "core/text.h"

namespace cigri::jdl {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

// The byte of "xHH" at the begin of `text`, nothing when that is none that needs an escape.
std::optional<char> HexByte(std::string_view text) {
  if (text.size() < 3 || text[0] != 'x') return std::nullopt;
  const auto high = std::string_view(kHex).find(text[1]), low = std::string_view(kHex).find(text[2]);
  if (high == std::string_view::npos || low == std::string_view::npos || high < 8)
    return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

std::string Decode(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      out += line[i];
    } else if (const auto byte = HexByte(line.substr(++i))) {
      out += *byte;
      i += 2;
    } else {
      out += line[i] == 'n' ? '\n' : line[i];
    }
  }
  return out;
}

bool GoodEscapes(std::string_view line) {
  for (std::size_t i = line.find('\\'); i < line.size(); i = line.find('\\', i + 2))
    if (i + 1 >= line.size() ||
        (line[i + 1] != '\\' && line[i + 1] != 'n' && !HexByte(line.substr(i + 1))))
      return false;
  return true;
}

void AppendEscaped(std::string& block, char c) {
  if (c == '\\')
    block += "\\\\";
  else if (c == '\n')
    block += "\\n";
  else
    block += c;
}

// Every byte that is not ASCII, for a line that is not UTF-8.
void AppendBytes(std::string& block, std::string_view line) {
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80)
      (block += "\\x") += {kHex[byte >> 4], kHex[byte & 15]};
    else
      AppendEscaped(block, c);
  }
}

}  // namespace

void AppendLine(std::string& block, std::string_view line) {
  if (IsValidUtf8(line))
    for (const char c : line) AppendEscaped(block, c);
  else
    AppendBytes(block, line);
  block += '\n';
}

std::string EncodeBlock(const std::vector<std::string>& lines) {
  std::string block;
  for (const auto& line : lines) AppendLine(block, line);
  return block;
}

std::vector<std::string> NthLines(std::string_view text, std::int64_t from, std::int64_t n) {
  std::vector<std::string> lines;
  for (std::int64_t at = 0; !text.empty() && at < from + n; ++at) {
    const auto end = std::min(text.find('\n'), text.size());
    if (at >= from) lines.push_back(Decode(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> DecodeBlock(std::string_view text) {
  return NthLines(text, 0, CountLines(text) + 1);
}

std::int64_t CountLines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

std::size_t LongestLine(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

std::string LineProblem(std::string_view line) {
  if (line.size() > kLineBytes)
    return "it has " + std::to_string(line.size()) + " bytes, the limit is " +
           std::to_string(kLineBytes);
  if (line.find('\0') != line.npos) return "it contains a NUL byte, which no program can be given";
  return "";
}

std::string BlockProblem(std::string_view text, std::int64_t n) {
  const auto lines = CountLines(text);
  if (text.empty() || text.back() != '\n') return "a block ends with a newline";
  if (lines != n) return "the block has " + Pluralize(lines, "line") + ", not " + std::to_string(n);
  if (lines > kBlockLines)
    return "a block has at most " + std::to_string(kBlockLines) + " lines, not " +
           std::to_string(lines);
  for (std::int64_t i = 1; !text.empty(); ++i) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    const auto problem = !IsValidUtf8(line)         ? std::string("it is not UTF-8")
                         : !GoodEscapes(line)       ? std::string("it has a lone \\")
                         : line.size() > kLineBytes ? LineProblem(Decode(line))
                                                    : LineProblem(line);
    if (!problem.empty()) return "line " + std::to_string(i) + " of the block: " + problem;
    text.remove_prefix(end + 1);
  }
  return "";
}

void Lines::Add(std::string_view line) {
  // Escapes double a line, but for one of many bytes that are no text.
  if (blocks_.empty() || in_last_ == kBlockLines ||
      blocks_.back().size() + 2 * line.size() > kBlockBytes) {
    blocks_.emplace_back();
    in_last_ = 0;
  }
  AppendLine(blocks_.back(), line);
  ++in_last_;
  ++size_;
}

std::vector<std::string> Lines::First(std::int64_t n) const {
  std::vector<std::string> lines;
  for (const auto& block : blocks_) {
    if (static_cast<std::int64_t>(lines.size()) >= n) break;
    for (auto& line : NthLines(block, 0, n - static_cast<std::int64_t>(lines.size())))
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace cigri::jdl
