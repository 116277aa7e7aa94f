// Who may read, write and open what a grid has below $CIGRI_HOME.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to be several users";
  }
  /// The exit code of `command` as user daemon, who has nothing to do with any grid.
  static int AsStranger(const std::string& command) {
    const std::string become = "setpriv --reuid=daemon --regid=daemon --clear-groups ";
    return WEXITSTATUS(std::system((become + command).c_str()));
  }
};

// Hole 20: everybody could submit to the grid of an ordinary user, and upload to his disk.
TEST_F(FilesTest, TheSocketsOfAUsersOwnGridAreForThatUserAlone) {
  Grid grid("alpha=1", "nobody");
  grid.Up();
  const std::string health = " -s -o /dev/null http://x/health --unix-socket " + grid.home();
  for (const std::string socket : {"/run/api.sock", "/run/alpha.sock", "/run/alpha.grid"}) {
    EXPECT_EQ(grid.Run({"/bin/sh", "-c", "curl" + health + socket}).code, 0) << socket;
    EXPECT_EQ(AsStranger("curl" + health + socket), 7) << socket;  // cannot connect
  }
}

}  // namespace
}  // namespace cigri::test
