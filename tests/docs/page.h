// The pages of the manual as tests read them: their lines, their examples, their links.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace cigri::test {

/// One command of a ```console block and the output that the page shows for it.
struct ConsoleExample {
  int line = 0;         ///< of the page, from 1
  std::string command;  ///< for bash; several lines when the page continues it with "> "
  std::vector<std::string> output;
};

/// A line of a page and whether it belongs to a code block (fenced, or indented by four blanks).
struct PageLine {
  std::string text;
  bool code = false;
};

/// The whole file; "" when it cannot be read.
std::string ReadPage(const std::filesystem::path& path);
/// README.md, examples/README.md and every page below docs/, as absolute paths, sorted.
std::vector<std::filesystem::path> Pages();
/// The lines of a page, without their ends. A line of three backquotes belongs to its block.
std::vector<PageLine> LinesOf(const std::string& page);
/// The commands of all ```console blocks of a page, in order. In such a block "$ " begins a
/// command,
/// "> " directly below continues it, and all else is the output of the command above it.
std::vector<ConsoleExample> ConsoleExamplesOf(const std::string& page);
/// Whether `output` is what the page shows. In `shown` a line "..." stands for any number of lines,
/// "..." within a line for any text. Blanks at the end of a line do not count.
bool IsAsShown(const std::vector<std::string>& shown, const std::vector<std::string>& output);

}  // namespace cigri::test
