// Who may read, write and open what a grid has below $CIGRI_HOME.
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

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

// What lies below $CIGRI_HOME, sorted, each number as N. PostgreSQL's own folder is closed.
constexpr char kOfRoot[] = R"(
. 755 root:root
.pg.lock 600 root:root
.up.lock 600 root:root
clusters 755 root:root
clusters/alpha 755 root:root
clusters/alpha/birth.lock 600 root:root
clusters/alpha/lock 600 root:root
clusters/alpha/nodes 755 root:root
clusters/alpha/nodes/NxN 644 root:root
clusters/alpha/output 755 root:root
clusters/alpha/output/N 755 root:root
clusters/alpha/output/N/N 755 root:root
clusters/alpha/output/N/N/N.N.err 600 root:root
clusters/alpha/output/N/N/N.N.out 600 root:root
clusters/alpha/output/local-root 755 root:root
clusters/alpha/output/local-root/N 755 root:root
clusters/alpha/output/local-root/N/job-N_N.out 600 root:root
clusters/alpha/records.N 600 root:root
clusters/alpha/state.db 600 root:root
clusters/alpha/state.db-shm 600 root:root
clusters/alpha/state.db-wal 600 root:root
conninfo 644 root:root
grid.json 600 root:root
log 750 root:postgres
log/grid.log 640 root:root
log/postgresql.log 640 postgres:postgres
pg 700 postgres:postgres
pgrun 700 postgres:postgres
pgrun/.s.PGSQL.N 700 postgres:postgres
pgrun/.s.PGSQL.N.lock 600 postgres:postgres
run 755 root:root
run/almighty.N.lock 600 root:root
run/alpha.grid 600 root:root
run/alpha.sock 666 root:root
run/api.sock 666 root:root
run/logs.lock 600 root:root
run/services.lock 600 root:root
services 644 root:root
)";
constexpr char kOfNobody[] = R"(
. 755 nobody:nogroup
.pg.lock 600 nobody:nogroup
.up.lock 600 nobody:nogroup
clusters 755 nobody:nogroup
clusters/alpha 755 nobody:nogroup
clusters/alpha/birth.lock 600 nobody:nogroup
clusters/alpha/lock 600 nobody:nogroup
clusters/alpha/nodes 755 nobody:nogroup
clusters/alpha/nodes/NxN 644 nobody:nogroup
clusters/alpha/output 755 nobody:nogroup
clusters/alpha/output/N 755 nobody:nogroup
clusters/alpha/output/N/N 755 nobody:nogroup
clusters/alpha/output/N/N/N.N.err 600 nobody:nogroup
clusters/alpha/output/N/N/N.N.out 600 nobody:nogroup
clusters/alpha/output/local-nobody 755 nobody:nogroup
clusters/alpha/output/local-nobody/N 755 nobody:nogroup
clusters/alpha/output/local-nobody/N/job-N_N.out 600 nobody:nogroup
clusters/alpha/records.N 600 nobody:nogroup
clusters/alpha/state.db 600 nobody:nogroup
clusters/alpha/state.db-shm 600 nobody:nogroup
clusters/alpha/state.db-wal 600 nobody:nogroup
conninfo 644 nobody:nogroup
grid.json 600 nobody:nogroup
log 750 nobody:nogroup
log/grid.log 640 nobody:nogroup
log/postgresql.log 640 nobody:nogroup
pg 700 nobody:nogroup
pgrun 700 nobody:nogroup
pgrun/.s.PGSQL.N 700 nobody:nogroup
pgrun/.s.PGSQL.N.lock 600 nobody:nogroup
run 755 nobody:nogroup
run/almighty.N.lock 600 nobody:nogroup
run/alpha.grid 600 nobody:nogroup
run/alpha.sock 600 nobody:nogroup
run/api.sock 600 nobody:nogroup
run/logs.lock 600 nobody:nogroup
run/services.lock 600 nobody:nogroup
services 644 nobody:nogroup
)";

std::string NameOf(uid_t uid) {
  const passwd* pw = getpwuid(uid);
  return pw != nullptr ? pw->pw_name : std::to_string(uid);
}
std::string GroupOf(gid_t gid) {
  const group* gr = getgrgid(gid);
  return gr != nullptr ? gr->gr_name : std::to_string(gid);
}

// "PATH MODE USER:GROUP" of `path` and everything below it.
std::string Listing(const fs::path& home) {
  std::set<std::string> lines;
  const auto add = [&](const fs::path& path) {
    struct stat s {};
    if (lstat(path.c_str(), &s) != 0) return;
    const std::string name = path == home ? "." : path.lexically_relative(home).string();
    std::ostringstream line;
    line << std::regex_replace(name, std::regex("[0-9]+"), "N") << " " << std::oct
         << (s.st_mode & 07777) << " " << NameOf(s.st_uid) << ":" << GroupOf(s.st_gid) << "\n";
    lines.insert(line.str());
  };
  add(home);
  for (fs::recursive_directory_iterator it(home), end; it != end; ++it) {
    add(it->path());
    if (it->path() == home / "pg") it.disable_recursion_pending();
  }
  std::string text = "\n";
  for (const auto& line : lines) text += line;
  return text;
}

// Hole 26: log/ and postgresql.log were open to all: statements that failed, with their values.
TEST_F(FilesTest, EachFileOfAGridHasTheModeAndOwnerThatItShouldHave) {
  for (const std::string user : {"", "nobody"}) {
    Grid grid("alpha=1", user);
    grid.Up();
    grid.Ok({"gridsub", "--wait", "--", "sh", "-c", "echo out; echo err >&2; echo {}", ":::", "1"});
    grid.Ok({"localsub", "-c", "alpha", "--wait", "--", "echo", "local"});
    EXPECT_EQ(Listing(grid.home()), user.empty() ? kOfRoot : kOfNobody);
    EXPECT_NE(AsStranger("ls " + grid.home() + "/log"), 0);
    EXPECT_NE(AsStranger("cat " + grid.home() + "/log/postgresql.log"), 0);
  }
}

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
