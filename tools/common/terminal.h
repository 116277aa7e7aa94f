// What tools print for messages: colours, widths, one progress line.
#pragma once
#include <string>
#include <string_view>

namespace cigri::tools {

/// --color=auto|always|never, for the stream `fd`: auto is a terminal without $NO_COLOR, and not
/// TERM=dumb. A colour never says anything that the text does not.
bool UseColour(const std::string& mode, int fd);

enum class Tint { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue };
/// `text` in that colour, or as it is when `colour` is false.
std::string Paint(Tint tint, const std::string& text, bool colour);

bool IsTerminal(int fd);
/// Columns of the terminal at `fd`, 80 when it is none.
int TerminalWidth(int fd);
/// Columns that `text` (UTF-8, without escapes) takes; what cannot be printed takes none.
int DisplayWidth(std::string_view text);
/// `text` cut to at most `width` columns, with "..." at its end when something was cut.
std::string CutTo(std::string_view text, int width);
/// `text` with control characters as "?": what others wrote must not steer a terminal.
std::string Printable(std::string_view text);

/// One line on a terminal that is written over and over; nothing at all elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(int fd) : fd_(fd), on_(IsTerminal(fd)) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  bool on() const { return on_; }
  /// Shows `text`, cut to the width of the terminal.
  void Show(const std::string& text);
  /// Takes the line away, so that something lasting can be printed.
  void Clear();

 private:
  int fd_;
  bool on_;
  std::string shown_;
};

}  // namespace cigri::tools
