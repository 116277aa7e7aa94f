#include "tests/docs/page.h"

#include <algorithm>
#include <fstream>

#include "core/text.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const std::string kAny = "...";

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string WithoutTrailingBlanks(const std::string& line) {
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

// The pieces of `shown` between its "..." must occur in `line` in their order: the first at the
// beginning, the last at the end.
bool LineIsAsShown(const std::string& shown, const std::string& line) {
  std::size_t at = 0, from = 0;
  for (std::size_t any; (any = shown.find(kAny, from)) != shown.npos; from = any + kAny.size()) {
    const std::string piece = shown.substr(from, any - from);
    const auto found = line.find(piece, at);
    if (found == line.npos || (from == 0 && found != 0)) return false;
    at = found + piece.size();
  }
  const std::string last = shown.substr(from);
  if (from == 0) return line == last;
  return line.size() >= at + last.size() && EndsWith(line, last);
}

using Position = Lines::const_iterator;

bool RestIsAsShown(Position shown, Position shown_end, Position line, Position end) {
  if (shown == shown_end) return line == end;
  if (WithoutTrailingBlanks(*shown) == kAny) {
    for (;; ++line) {
      if (RestIsAsShown(shown + 1, shown_end, line, end)) return true;
      if (line == end) return false;
    }
  }
  return line != end &&
         LineIsAsShown(WithoutTrailingBlanks(*shown), WithoutTrailingBlanks(*line)) &&
         RestIsAsShown(shown + 1, shown_end, line + 1, end);
}

}  // namespace

std::string ReadPage(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> Pages() {
  const fs::path root = CIGRI_SOURCE_DIR;
  std::vector<fs::path> pages{root / "README.md", root / "examples/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<PageLine> LinesOf(const std::string& page) {
  std::vector<PageLine> lines;
  bool fenced = false;
  for (const auto& line : Split(page, '\n')) {
    const bool fence = StartsWith(Trim(line), "```");
    lines.push_back({line, fenced || fence || StartsWith(line, "    ")});
    if (fence) fenced = !fenced;
  }
  return lines;
}

std::vector<ConsoleExample> ConsoleExamplesOf(const std::string& page) {
  std::vector<ConsoleExample> examples;
  bool console = false, continues = false;
  int number = 0;
  for (const auto& line : Split(page, '\n')) {
    ++number;
    if (StartsWith(line, "```")) {
      console = !console && line == "```console";
      continues = false;
    } else if (console && StartsWith(line, "$ ")) {
      examples.push_back({number, line.substr(2), {}});
      continues = true;
    } else if (console && continues && (line == ">" || StartsWith(line, "> "))) {
      examples.back().command += "\n" + line.substr(std::min<std::size_t>(2, line.size()));
    } else if (console && !examples.empty()) {
      examples.back().output.push_back(line);
      continues = false;
    }
  }
  return examples;
}

bool IsAsShown(const Lines& shown, const Lines& output) {
  return RestIsAsShown(shown.begin(), shown.end(), output.begin(), output.end());
}

}  // namespace cigri::test
