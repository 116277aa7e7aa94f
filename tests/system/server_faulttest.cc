// What operators and machines do to the database of a running grid: statements and sessions ended,
// no session left, a full disk. By the jobs' own record every task runs once.
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "core/text.h"
#include "db/native.h"
#include "tests/system/faults.h"

namespace cigri::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class ServerFaultTest : public FaultTest {
 protected:
  std::string Conninfo() const {
    return std::string(Trim(Slurp(grid.home() + "/conninfo"))) + " application_name=operator";
  }
  bool LogSays(const std::string& text) {
    return Slurp(grid.home() + "/log/grid.log").find(text) != std::string::npos ||
           Slurp(grid.home() + "/log/postgresql.log").find(text) != std::string::npos;
  }
};

// Ends what an operator could: 1 when something was ended.
int End(db::Connection& operator_, const char* how, const char* which) {
  db::Tx tx(operator_);
  const auto ended = db::Native(tx).exec(
      "SELECT " + std::string(how) +
      "(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client "
      "backend' AND " + which + " ORDER BY random() LIMIT 1");
  return static_cast<int>(ended.size());
}

TEST_F(ServerFaultTest, StatementsAndSessionsThatAnOperatorEndsLoseAndDoubleNothing) {
  const int n = Short() ? 500 : 1500;
  const int id = GivenCampaign(n, "");
  ASSERT_TRUE(Await([&] { return Started(); }));
  db::Connection operator_(Conninfo(), "operator");
  int statements = 0, sessions = 0;
  auto next = steady_clock::now();
  EXPECT_TRUE(Await(
      [&] {
        statements += End(operator_, "pg_cancel_backend", "state <> 'idle'");
        if (steady_clock::now() >= next) {
          sessions += End(operator_, "pg_terminate_backend", "true");
          next = steady_clock::now() + milliseconds(500);
        }
        return grid.Progress(id).value("over", false);
      },
      Seconds(200), milliseconds(20)))  // modules that start, or make a pass, need some luck
      << grid.Progress(id);
  std::printf("ended: %d statements, %d sessions\n", statements, sessions);
  EXPECT_GT(statements, 0);
  EXPECT_GT(sessions, 0);
  ExpectEachTaskOnce(id, n);
}

TEST_F(ServerFaultTest, WithoutASessionForAnyNewcomerTheGridWaitsAndGoesOn) {
  const int n = 400;
  const int id = GivenCampaign(n, "sleep 0.05");
  ASSERT_TRUE(Await([&] { return Started(); }));
  std::vector<std::unique_ptr<db::Connection>> all;
  const auto take = [&] {
    try {
      for (;;) all.push_back(std::make_unique<db::Connection>(Conninfo(), "operator"));
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitUnavailable) << e.what();
      EXPECT_NE(std::string(e.what()).find("too many clients"), std::string::npos) << e.what();
    }
  };
  take();
  // Modules that were killed come back, and find no session.
  for (const auto& part : PartsOf(grid.home()))
    if (part.name == "runner" || part.name == "updator") kill(part.pid, SIGKILL);
  EXPECT_TRUE(Await(
      [&] {
        take();
        return LogSays("too many clients");
      },
      Seconds(30)));
  const Result shown = grid.Run({"gridstat"});
  EXPECT_NE(shown.code, kLate) << "it says what is wrong, or shows the grid";
  all.clear();
  ExpectEachTaskOnce(id, n);
}

// Everything of the grid is on one small disk; what jobs write is elsewhere.
class SmallDiskFaultTest : public ServerFaultTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a small disk";
    ASSERT_EQ(mount("none", grid.home().c_str(), "tmpfs", 0, "size=300m,mode=0755"), 0);
    ServerFaultTest::SetUp();
  }
  void TearDown() override {
    ServerFaultTest::TearDown();
    umount2(grid.home().c_str(), MNT_DETACH);
  }
  void Fill() {
    std::ofstream out(grid.home() + "/filler", std::ios::app);
    const std::string block(4096, 'x');
    while (out << block << std::flush) {
    }
  }
};

TEST_F(SmallDiskFaultTest, AFullDiskLosesAndDoublesNothingOnceThereIsRoom) {
  const int n = 10'000;
  const int id = GivenCampaign(n, "");
  ASSERT_TRUE(Await([&] { return grid.Lines("out").size() > 100; }));
  Fill();
  EXPECT_TRUE(Await(
      [&] {
        Fill();  // what is removed meanwhile is taken, too
        return LogSays("No space left on device");
      },
      Seconds(60)));
  const auto filled = steady_clock::now();
  Await([&] { return steady_clock::now() > filled + std::chrono::seconds(5); }, Seconds(10));
  EXPECT_LT(grid.Lines("out").size(), static_cast<std::size_t>(n)) << "it was full in time";
  ASSERT_EQ(unlink((grid.home() + "/filler").c_str()), 0);
  ExpectEachTaskOnce(id, n);
}

}  // namespace
}  // namespace cigri::test
