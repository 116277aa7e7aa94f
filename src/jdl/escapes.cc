#include "jdl/escapes.h"

#include <limits>

namespace cigri::jdl {
namespace {

// The first place behind the comment that begins at `at`; `at` when none does.
std::size_t BehindComment(std::string_view text, std::size_t at) {
  const auto two = text.substr(at, 2);
  if (two != "//" && two != "/*") return at;
  const auto end = two == "//" ? text.find('\n', at) : text.find("*/", at + 2);
  return end == text.npos ? text.size() : end + (two == "//" ? 1 : 2);
}

bool IsEscape(char c) { return std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos; }

// A control character within a string is a fault whatever stands before it.
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

}  // namespace

std::vector<std::size_t> LoneBackslashes(std::string_view text, std::size_t most) {
  std::vector<std::size_t> found;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && found.size() < most;) {
    if (!in_string) {
      const auto behind = BehindComment(text, i);
      if (behind == i)
        in_string = text[i++] == '"';
      else
        i = behind;
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      if (!IsEscape(text[i + 1]) && !IsControl(text[i + 1])) found.push_back(i);
      i += 2;
    } else {
      in_string = text[i++] != '"';
    }
  }
  return found;
}

std::string WithoutLoneBackslashes(std::string_view text) {
  std::string out;
  std::size_t from = 0;
  for (const auto at : LoneBackslashes(text, std::numeric_limits<std::size_t>::max())) {
    out += text.substr(from, at - from);
    from = at + 1;
  }
  return out += text.substr(from);
}

}  // namespace cigri::jdl
