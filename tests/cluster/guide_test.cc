// docs/develop/write-a-driver.md shows the fake driver: what it shows is what is compiled.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cluster/drivers.h"

namespace cigri::cluster {
namespace {

std::string Read(const std::string& name) {
  std::ifstream in(CIGRI_SOURCE_DIR "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(GuideTest, TheFunctionsItShowsAreThoseOfTheFake) {
  const auto page = Read("docs/develop/write-a-driver.md");
  const auto source = Read("tests/cluster/fake_cluster.cc");
  const std::string begin = "```cpp\n", end = "```";
  int shown = 0;
  for (auto at = page.find(begin); at != page.npos; at = page.find(begin, at + 1)) {
    const auto from = at + begin.size();
    const auto block = page.substr(from, page.find(end, from) - from);
    if (block.find("FakeCluster::") == block.npos) continue;
    ++shown;
    EXPECT_NE(source.find(block), source.npos) << block;
  }
  EXPECT_EQ(shown, 2);
}

TEST(DriversTest, EachKindIsMadeAndCanDoWhatItsLineSays) {
  for (const auto& driver : Drivers()) {
    ClusterConfig config;
    config.name = "froggy";
    config.kind = driver.kind;
    config.api_url = "http://127.0.0.1:1";
    config.options["shared_folder"] = "/home/%u/.cigri";
    const auto c = MakeCluster(config)->capabilities();
    const auto& line = driver.capabilities;
    EXPECT_EQ(
        std::tuple(c.feed, c.exact_walltime, c.dedicated, c.groups, c.time_resolution_s),
        std::tuple(line.feed, line.exact_walltime, line.dedicated, line.groups,
                   line.time_resolution_s))
        << driver.kind;
    EXPECT_FALSE(driver.description.empty()) << driver.kind;
    EXPECT_EQ(FindDriver(driver.kind), &driver);
  }
  EXPECT_EQ(FindDriver("nosuch"), nullptr);
}

}  // namespace
}  // namespace cigri::cluster
