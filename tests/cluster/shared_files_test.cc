#include "cluster/shared_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cigri::cluster {
namespace {

namespace fs = std::filesystem;

class SharedFilesTest : public testing::Test {
 protected:
  SharedFilesTest() : me_(getpwuid(getuid())->pw_name) {
    char name[] = "/tmp/cigri-shared-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directory(root_ / me_);
    std::ofstream(root_ / me_ / "out") << "one two three";
  }
  ~SharedFilesTest() override { fs::remove_all(root_); }
  SharedFiles Files() const { return SharedFiles((root_ / "%u").string()); }
  std::string me_;
  fs::path root_;
};

TEST_F(SharedFilesTest, APartIsReadFromTheStartOrTheEnd) {
  EXPECT_EQ(Files().Read(me_, "out", 0, 3).bytes, "one");
  EXPECT_EQ(Files().Read(me_, "out", -5, 100).bytes, "three");
  EXPECT_EQ(Files().Read(me_, "out", 100, 5).bytes, "");
  EXPECT_EQ(Files().Read(me_, "out", 0, 3).size, 13);
  EXPECT_FALSE(Files().Read(me_, "nosuch", 0, 3).exists);
}

TEST_F(SharedFilesTest, NothingThatBelongsToAnotherIsGivenOut) {
  // A user's link to somebody else's file, while the reader may be root.
  fs::create_symlink("/etc/passwd", root_ / me_ / "link");
  EXPECT_THROW(Files().Read(me_, "link", 0, 10), std::runtime_error);
  fs::create_directory(root_ / "nobody");
  std::ofstream(root_ / "nobody" / "out") << "not of nobody";
  EXPECT_THROW(Files().Read("nobody", "out", 0, 10), std::runtime_error);
  fs::create_directory_symlink("/etc", root_ / "nobody" / "etc");
  EXPECT_THROW(Files().Read("nobody", "etc/passwd", 0, 10), std::runtime_error);
}

TEST_F(SharedFilesTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((root_ / me_ / "fifo").c_str(), 0600), 0);
  EXPECT_THROW(Files().Read(me_, "fifo", 0, 10), std::runtime_error);
  EXPECT_THROW(Files().Read(me_, ".", 0, 10), std::runtime_error);
  EXPECT_THROW(Files().Read("no such user", "out", 0, 10), std::runtime_error);
  EXPECT_THROW(Files().Read("../" + me_, "out", 0, 10), std::runtime_error);
}

}  // namespace
}  // namespace cigri::cluster
