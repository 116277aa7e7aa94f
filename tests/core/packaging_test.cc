// debian/ against the tree: what the packages are built with, and the names that they install.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace cigri {
namespace {

using Names = std::set<std::string>;

std::string Text(const std::string& file) {
  std::ifstream in(std::string(CIGRI_SOURCE_DIR "/") + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// packages.txt up to its first "part:".
Names BuiltWith() {
  Names names;
  std::istringstream lines(Text("packages.txt"));
  for (std::string line; std::getline(lines, line) && !line.ends_with(':');) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) names.insert(word);
  }
  return names;
}

Names BuildDepends() {
  std::smatch field;
  const std::string control = Text("debian/control");
  Names names;
  if (!std::regex_search(control, field, std::regex("Build-Depends:([^:]*(:any[^:]*)*)\n[A-Z]")))
    return names;
  const std::string list = field[1].str();
  const std::regex name("([a-z0-9][a-z0-9.+-]+)(:any)?( *\\([^)]*\\))?");
  for (std::sregex_iterator it(list.begin(), list.end(), name), end; it != end; ++it)
    names.insert((*it)[1].str());
  return names;
}

Names Without(Names names, const Names& others) {
  for (const auto& name : others) names.erase(name);
  return names;
}

TEST(PackagingTest, DebianBuildsWithWhatPackagesTxtNames) {
  // Debian's build-essential has g++, its python3 the parts of Python; ccache is for who builds twice.
  const Names here =
      Without(BuiltWith(), {"g++", "ccache", "python3-minimal", "libpython3-stdlib"});
  const Names debian = Without(BuildDepends(), {"debhelper-compat", "help2man", "python3"});
  ASSERT_GT(here.size(), 20u);
  EXPECT_EQ(Without(here, debian), Names{}) << "in packages.txt, not in debian/control";
  EXPECT_EQ(Without(debian, here), Names{}) << "in debian/control, not in packages.txt";
}

}  // namespace
}  // namespace cigri
