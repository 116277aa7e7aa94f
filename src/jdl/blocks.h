// Parameter lines on their way: blocks of at most 1000, as they are uploaded and stored.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cigri::jdl {

inline constexpr int kBlockLines = 1000;               ///< most lines of one block
inline constexpr std::size_t kBlockBytes = 1 << 20;    ///< a block is full beyond this
inline constexpr std::size_t kLineBytes = 100'000;     ///< most bytes of one parameter line
inline constexpr std::int64_t kMaxLines = 10'000'000;  ///< most parameters given as lines

/// The text of a block: every line ended by a newline, with \ as \\ and a newline within it as \n.
/// n lines have exactly n newlines, so an empty line is a line. A block is UTF-8, as JSON and the
/// database need it; of a line that is not, each byte above 7F is written as \xHH.
std::string EncodeBlock(const std::vector<std::string>& lines);
/// Appends one line to an encoded block.
void AppendLine(std::string& block, std::string_view line);
std::vector<std::string> DecodeBlock(std::string_view text);
/// Lines `from` .. `from + n - 1` of a block, fewer when it ends before.
std::vector<std::string> NthLines(std::string_view text, std::int64_t from, std::int64_t n);
std::int64_t CountLines(std::string_view text);
/// Bytes of the longest line of a block, as it is encoded.
std::size_t LongestLine(std::string_view text);

/// Why `line` cannot be a parameter ("" when it can): NUL, too long.
std::string LineProblem(std::string_view line);
/// Why `text` cannot be stored as a block of `n` lines ("" when it can). For the server, which
/// believes no client: counts, escapes, limits.
std::string BlockProblem(std::string_view text, std::int64_t n);

/// Lines held as encoded blocks: as much memory as their text, not a string for each.
class Lines {
 public:
  void Add(std::string_view line);
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<std::string>& blocks() const { return blocks_; }
  /// The first `n` lines, for previews.
  std::vector<std::string> First(std::int64_t n) const;

 private:
  std::vector<std::string> blocks_;
  std::int64_t size_ = 0;
  int in_last_ = 0;
};

}  // namespace cigri::jdl
