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

// systemd opens the logs as root, before it changes the user: whoever else rotates them cannot
// truncate them, and root rotates in no folder that others write.
TEST(PackagingTest, WhoOpensTheLogsRotatesThem) {
  EXPECT_FALSE(std::regex_search(Text("debian/cigri-server.logrotate"), std::regex("\\n *su ")));
  EXPECT_NE(Text("debian/cigri-server.postinst")
                .find("install -d -o root -g root -m 755 /var/log/cigri\n"),
            std::string::npos);
  for (const char* unit : {"almighty", "api"}) {
    const std::string text = Text(std::string("systemd/cigri-") + unit + ".service.in");
    EXPECT_NE(text.find("\nUser=cigri\n"), std::string::npos) << unit;
    EXPECT_EQ(text.find("LogsDirectory="), std::string::npos) << unit << ": it would be the user's";
  }
}

// systemd gives a service up that ends five times within ten seconds.
TEST(PackagingTest, AServiceThatIsStartedAgainIsNeverGivenUp) {
  for (const char* unit : {"almighty", "api", "localcluster@"}) {
    const std::string text = Text("systemd/cigri-" + std::string(unit) + ".service.in");
    ASSERT_NE(text.find("Restart=always"), std::string::npos) << unit;
    EXPECT_LT(text.find("StartLimitIntervalSec=0\n"), text.find("[Service]")) << unit;
  }
}

}  // namespace
}  // namespace cigri
