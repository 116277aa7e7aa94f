// The examples of the manual: every command of a ```console block runs, in the order of its page,
// on a grid of the page's own, and prints what the page shows.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "tests/docs/page.h"
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = CIGRI_SOURCE_DIR;

/// Pages with console examples, as paths below the checkout.
Arguments PagesWithExamples() {
  Arguments names;
  for (const auto& page : Pages())
    if (!ConsoleExamplesOf(ReadPage(page)).empty())
      names.push_back(fs::relative(page, kRoot).string());
  return names;
}

class DocsExamplesTest : public ::testing::TestWithParam<std::string> {
 protected:
  DocsExamplesTest() {
    // What a reader finds in a checkout; the examples write next to it, so each page has a copy.
    for (const char* file : {"README.md", "CHANGELOG.md"})
      fs::copy_file(kRoot / file, fs::path(grid_.work()) / file);
    for (const char* folder : {"examples", "python"})
      fs::copy(kRoot / folder, fs::path(grid_.work()) / folder, fs::copy_options::recursive);
  }

  /// As a reader types it: both outputs in one terminal; a command that fails ends the example. No
  /// configuration of this machine may lead it to another grid.
  Result Type(const std::string& command) {
    const std::string none = grid_.work() + "/.cigri.conf";
    if (!fs::exists(none)) std::ofstream(none).close();
    return grid_.Run(
        {"/bin/bash", "-c", "exec 2>&1\nexport CIGRICONFFILE=" + ShellQuote(none) + "\n" + command},
        "", Seconds(120));
  }

  Grid grid_;
};

Arguments LinesOfOutput(const std::string& text) {
  Arguments lines = Split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  // Of Type(); a reader has none.
  std::erase_if(lines, [](const auto& line) { return StartsWith(line, "configuration: "); });
  return lines;
}

TEST_P(DocsExamplesTest, PrintWhatThePageShows) {
  const auto examples = ConsoleExamplesOf(ReadPage(kRoot / GetParam()));
  // A page that begins with `cigri up` makes the grid itself.
  if (!StartsWith(examples.front().command, "cigri up")) grid_.Up();
  for (const auto& example : examples) {
    const auto result = Type(example.command);
    ASSERT_EQ(result.code, 0) << GetParam() << ":" << example.line << ": " << example.command
                              << "\n"
                              << result.out << grid_.Log();
    ASSERT_TRUE(IsAsShown(example.output, LinesOfOutput(result.out)))
        << GetParam() << ":" << example.line << ": " << example.command << "\nprints\n"
        << result.out << "and the page shows\n"
        << Join(example.output, "\n");
  }
  grid_.Down();
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsExamplesTest, ::testing::ValuesIn(PagesWithExamples()),
                         [](const auto& page) {
                           std::string name = page.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace cigri::test
