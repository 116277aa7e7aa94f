#include "tools/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cwchar>

#include "core/text.h"

namespace cigri::tools {
namespace {

const char* Escape(Tint tint) {
  switch (tint) {
    case Tint::kBold:
      return "\x1b[1m";
    case Tint::kDim:
      return "\x1b[2m";
    case Tint::kRed:
      return "\x1b[31m";
    case Tint::kGreen:
      return "\x1b[32m";
    case Tint::kYellow:
      return "\x1b[33m";
    case Tint::kBlue:
      return "\x1b[34m";
    default:
      return "";
  }
}

void Write(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) return;  // a terminal that went away is no reason to fail
    done += static_cast<std::size_t>(n);
  }
}

// wcwidth knows widths only in a UTF-8 locale.
void NeedUtf8() {
  static const bool done = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  (void)done;
}

// The bytes of the first character of `s` and its columns; one byte and none when it is not one.
struct Glyph {
  std::size_t bytes;
  int columns;
};
Glyph First(std::string_view s) {
  wchar_t wide = 0;
  std::mbstate_t state{};
  const std::size_t n = std::mbrtowc(&wide, s.data(), s.size(), &state);
  if (n == 0 || n > s.size()) return {1, 0};
  return {n, std::max(0, wcwidth(wide))};
}

}  // namespace

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool UseColour(const std::string& mode, int fd) {
  if (mode == "always") return true;
  if (mode == "never" || !IsTerminal(fd)) return false;
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no == nullptr || *no == '\0') && (term == nullptr || std::string_view(term) != "dumb");
}

std::string Paint(Tint tint, const std::string& text, bool colour) {
  if (!colour || tint == Tint::kPlain) return text;
  return Escape(tint) + text + "\x1b[0m";
}

int TerminalWidth(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int DisplayWidth(std::string_view text) {
  NeedUtf8();
  int columns = 0;
  while (!text.empty()) {
    const Glyph glyph = First(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string CutTo(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string dots(static_cast<std::size_t>(std::max(0, std::min(3, width))), '.');
  int left = width - static_cast<int>(dots.size());
  std::size_t end = 0;
  while (end < text.size()) {
    const Glyph glyph = First(text.substr(end));
    if (glyph.columns > left) break;
    left -= glyph.columns;
    end += glyph.bytes;
  }
  return std::string(text.substr(0, end)) + dots;
}

std::string Printable(std::string_view text) {
  std::string out = ValidUtf8(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if (c < 0x20 || c == 0x7f) out[i] = '?';
    // U+0080..U+009F are control characters too: C2 80..9F.
    if (c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0)
      out.replace(i, 2, "?");
  }
  return out;
}

void ProgressLine::Show(const std::string& text) {
  if (!on_) return;
  const std::string cut = CutTo(Printable(text), TerminalWidth(fd_) - 1);
  if (cut == shown_) return;
  Write(fd_, "\r" + cut + "\x1b[K");
  shown_ = cut;
}

void ProgressLine::Clear() {
  if (shown_.empty()) return;
  Write(fd_, "\r\x1b[K");
  shown_.clear();
}

}  // namespace cigri::tools
