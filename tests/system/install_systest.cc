// `cmake --install`: the installed programs find each other wherever the tree is.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {
namespace fs = std::filesystem;

class InstallTest : public ::testing::Test {
 protected:
  // Installed as a user does it, then moved: no program may know the first place.
  void SetUp() override {
    const std::string first = base_ + "/first";
    const auto installed = grid_.Run(
        {"/usr/bin/cmake", "--install", CIGRI_BIN_DIR "/..", "--strip", "--prefix", first});
    ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
    fs::rename(first, tree_);
    setenv("CIGRI_BIN", (tree_ + "/bin").c_str(), 1);
  }
  void TearDown() override {
    grid_.Down();
    unsetenv("CIGRI_BIN");
    fs::remove_all(base_);
  }

  Grid grid_;

  const std::string base_ = fs::temp_directory_path() / ("cigri-install-" + std::to_string(getpid()));
  const std::string tree_ = base_ + "/second";
};

TEST_F(InstallTest, AnInstalledGridRunsItsFirstCampaign) {
  grid_.Up();
  const auto ran = grid_.Run({"gridsub", "--wait", "-O", "--", "echo {}", ":::", "first"});
  EXPECT_EQ(ran.code, 0) << ran.err << grid_.Log();
  EXPECT_EQ(ran.out, "first\n");
  EXPECT_NE(grid_.Ok({"cigri", "doctor"}).find("all in " + tree_), std::string::npos);
}

TEST_F(InstallTest, GridsubStartsAGridWhereNoneIs) {
  const auto ran = grid_.Run({"gridsub", "--wait", "-O", "--", "echo {}", ":::", "first"});
  EXPECT_EQ(ran.code, 0) << ran.err << grid_.Log();
  EXPECT_EQ(ran.out, "first\n");
  EXPECT_NE(ran.err.find("starting one on this machine\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("`cigri down` ends it\n"), std::string::npos) << ran.err;
  const auto again = grid_.Run({"gridsub", "--wait", "--", "true", ":::", "second"});
  EXPECT_EQ(again.err.find("starting"), std::string::npos) << again.err;
  const auto named = grid_.Run({"gridsub", "--api", "unix:/nowhere", "--", "true", ":::", "x"});
  EXPECT_EQ(named.code, 69) << "a grid that is named is not replaced: " << named.err;
}

TEST_F(InstallTest, WhatUsersDoNotTypeIsNotOnTheirPath) {
  EXPECT_FALSE(fs::exists(tree_ + "/bin/api"));
  EXPECT_TRUE(fs::exists(tree_ + "/libexec/cigri/api"));
  for (const char* file : {"share/cigri/clusters/oar-up", "share/cigri/python/cigri.py",
                           "share/bash-completion/completions/gridstat"})
    EXPECT_TRUE(fs::exists(tree_ + "/" + file)) << file;
}

TEST_F(InstallTest, TheInstalledApiServesTheInstalledPage) {
  const std::string web = tree_ + "/share/cigri/web";
  EXPECT_EQ(fs::exists(web), fs::exists(CIGRI_BIN_DIR "/../web")) << "what was bundled is installed";
  fs::create_directories(web);
  std::ofstream(web + "/index.html") << "<p>the page</p>";
  grid_.Up();
  const auto got = grid_.Run({"/usr/bin/curl", "-s", "--unix-socket", grid_.home() + "/run/api.sock",
                              "-H", "Accept: text/html", "http://localhost/"});
  EXPECT_EQ(got.out, "<p>the page</p>") << grid_.Log();
}

TEST_F(InstallTest, EachUnitIsExposedAtMostThree) {
  int units = 0;
  for (const auto& unit : fs::directory_iterator(tree_ + "/lib/systemd/system")) {
    const auto rated = grid_.Run({"/usr/bin/systemd-analyze", "security", "--offline=true",
                                  "--no-pager", "--threshold=30", unit.path()});
    EXPECT_EQ(rated.code, 0) << unit.path() << "\n" << rated.out << rated.err;
    EXPECT_EQ(rated.err, "") << "systemd ignores something in it";
    ++units;
  }
  EXPECT_EQ(units, 3);
}

}  // namespace
}  // namespace cigri::test
