#include "tests/support/for_others.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace cigri {
namespace {

namespace fs = std::filesystem;

class ForOthersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cigri-closed-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
    fs::create_directories(top_ / "clone/bin");
    std::ofstream(top_ / "clone/bin/tool") << "#!/bin/sh\n";
    fs::permissions(top_ / "clone/bin/tool", fs::perms(0755));
  }
  void TearDown() override { fs::remove_all(top_); }
  fs::path top_;
};

TEST_F(ForOthersTest, AFolderThatEverybodyCanEnterIsUsedAsItIs) {
  fs::permissions(top_, fs::perms(0755));
  EXPECT_EQ(test::ForOthers(top_ / "clone/bin"), top_ / "clone/bin");
}

TEST_F(ForOthersTest, BelowAFolderOfMode700TheProgramsAreCopiedToOneThatEverybodyCanEnter) {
  fs::permissions(top_, fs::perms(0700));
  fs::permissions(top_ / "clone/bin/tool", fs::perms(0700));  // built with a umask of 077
  const fs::path copy = test::ForOthers(top_ / "clone/bin");
  EXPECT_NE(copy, top_ / "clone/bin");
  struct stat status {};
  ASSERT_EQ(stat((copy / "tool").c_str(), &status), 0);
  EXPECT_TRUE(status.st_mode & S_IXOTH);
  EXPECT_TRUE(status.st_mode & S_IROTH);
  ASSERT_EQ(stat(copy.c_str(), &status), 0);
  EXPECT_TRUE(status.st_mode & S_IXOTH);
}

}  // namespace
}  // namespace cigri
