// The examples that each tool shows at the end of its --help, and its man page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <string>

#include "core/text.h"

namespace cigri {
namespace {

std::string Printed(const std::string& command) {
  FILE* pipe = popen(("PATH=" CIGRI_BIN_DIR ":$PATH; " + command).c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}

const char* const kTools[] = {"gridsub",    "gridstat",  "griddel",   "gridmod",
                              "gridevents", "gridclusters", "gridnotify", "gridtoken",
                              "gridadmin",  "gridsim",   "localsub",  "cigri"};
const char* const kWithCommands[] = {"gridadmin", "cigri"};

// The help of a tool and of all of its commands.
std::string WholeHelp(const std::string& tool) {
  const bool has_commands = std::find(std::begin(kWithCommands), std::end(kWithCommands), tool) !=
                            std::end(kWithCommands);
  return Printed(tool + (has_commands ? " --help-all" : " --help"));
}

TEST(ExamplesTest, EveryHelpHasExamplesWhoseOptionsExist) {
  static const std::regex kOption(R"((^|\s)(--[a-z][a-z-]*))");
  for (const std::string tool : kTools) {
    const std::string help = WholeHelp(tool);
    const auto at = Printed(tool + " --help").find("\nExamples:\n");
    ASSERT_NE(at, std::string::npos) << tool;
    const std::string examples = Printed(tool + " --help").substr(at);
    for (const std::string& line : Split(examples, '\n')) {
      if (!StartsWith(line, "  " + tool)) continue;
      const std::string ours = line.substr(0, line.find(" -- "));
      for (std::sregex_iterator it(ours.begin(), ours.end(), kOption), end; it != end; ++it)
        EXPECT_TRUE(std::regex_search(
            help, std::regex("(^|[\\s,])" + (*it)[2].str() + "($|[\\s,])",
                             std::regex::multiline)))
            << tool << " has no " << (*it)[2].str() << ": " << line;
    }
  }
}

TEST(ExamplesTest, ACommandShowsItsOwn) {
  EXPECT_NE(Printed("gridadmin drain --help").find("gridadmin drain alpha --reason"),
            std::string::npos);
  EXPECT_NE(Printed("gridadmin token add --help").find("gridadmin token add alice"),
            std::string::npos);
}

TEST(ExamplesTest, EveryOptionIsInTheManPage) {
  static const std::regex kOption(R"(^ +(?:-., ?)?(--[a-z][a-z_-]*))", std::regex::multiline);
  if (!std::filesystem::exists(CIGRI_BIN_DIR "/../man/gridstat.1"))
    GTEST_SKIP() << "help2man is not installed";
  for (const std::string tool : kTools) {
    const std::string page =
        Printed("MANWIDTH=100 MAN_KEEP_FORMATTING= man -l " CIGRI_BIN_DIR "/../man/" + tool + ".1");
    for (const char* heading : {"NAME", "EXAMPLES", "EXIT STATUS", "SEE ALSO"})
      EXPECT_NE(page.find(std::string("\n") + heading + "\n"), std::string::npos)
          << tool << ": " << heading;
    const std::string help = WholeHelp(tool);
    for (std::sregex_iterator it(help.begin(), help.end(), kOption), end; it != end; ++it)
      EXPECT_NE(page.find((*it)[1].str()), std::string::npos) << tool << ": " << (*it)[1].str();
  }
}

}  // namespace
}  // namespace cigri
