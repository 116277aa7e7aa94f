// A grid whose processes are killed, stopped and cut off ends its campaigns all the same: by the
// jobs' own record every task has run exactly once, and every task is in exactly one place.
#include <signal.h>

#include <random>

#include "tests/support/cutting_proxy.h"
#include "tests/system/faults.h"

namespace cigri::test {
namespace {

using std::chrono::steady_clock;

// Kills one part of the grid, each kind as likely as the others; its name.
std::string KillOne(Grid& grid, std::mt19937& random) {
  std::map<std::string, std::vector<pid_t>> kinds;
  for (const auto& part : PartsOf(grid.home())) kinds[part.name].push_back(part.pid);
  if (kinds.empty()) return "nothing";
  const auto& [name, pids] = *std::next(kinds.begin(), random() % kinds.size());
  kill(pids[random() % pids.size()], SIGKILL);
  return name;
}

TEST_F(FaultTest, AnyOneProcessKilledEverySecondLosesAndDoublesNothing) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  const int tasks = Short() ? 1000 : 3000;
  const int id = GivenCampaign(tasks, "");
  ASSERT_TRUE(Await([&] { return Started(); }));
  std::map<std::string, int> killed;
  auto next = steady_clock::now();
  EXPECT_TRUE(Await(
      [&] {
        if (steady_clock::now() >= next) {
          ++killed[KillOne(grid, random)];
          next = steady_clock::now() + std::chrono::seconds(1);
        }
        return grid.Progress(id).value("over", false);
      },
      Seconds(300)))
      << grid.Progress(id);
  std::string score;
  for (const auto& [name, n] : killed) score += name + " " + std::to_string(n) + "  ";
  std::printf("seed %u killed: %s\n", seed, score.c_str());
  ExpectEachTaskOnce(id, tasks);
}

TEST_F(FaultTest, ARunnerThatIsStoppedInMidCampaignIsReplaced) {
  const int id = GivenCampaign(400, "sleep 0.02");
  ASSERT_TRUE(Await([&] { return Started(); }));
  pid_t runner = 0;
  for (const auto& part : PartsOf(grid.home()))
    if (part.name == "runner") runner = part.pid;
  ASSERT_NE(runner, 0);
  kill(runner, SIGSTOP);
  EXPECT_TRUE(Await([&] { return kill(runner, 0) != 0; })) << "it was never killed";
  ExpectEachTaskOnce(id, 400);
}

// Nobody looked after the runner, the API and the local clusters of a home, whose almighty stood
// still while the other one led.
TEST_F(FaultTest, ARunnerThatIsStoppedWithItsAlmightyIsReplaced) {
  const int id = GivenCampaign(400, "sleep 0.02");
  ASSERT_TRUE(Await([&] { return Started(); }));
  std::vector<pid_t> stopped;
  for (const auto& part : PartsOf(grid.home()))
    if (part.name == "runner") stopped = {part.pid, ParentOf(part.pid)};
  ASSERT_EQ(stopped.size(), 2u);
  for (const pid_t pid : stopped) kill(pid, SIGSTOP);
  for (const pid_t pid : stopped)
    EXPECT_TRUE(Await([&] { return kill(pid, 0) != 0; })) << "it was never killed";
  ExpectEachTaskOnce(id, 400);
}

TEST_F(FaultTest, AnswersToSubmissionsThatAreCutLoseAndDoubleNothing) {
  const std::string socket = grid.home() + "/run/proxy.sock";
  {
    CuttingProxy proxy(socket, grid.home() + "/run/alpha.grid");
    proxy.CutEachSecond("POST /batches");
    grid.Ok({"gridadmin", "cluster", "set", "alpha", "api_url=unix:" + socket});
    const int id = GivenCampaign(300, "sleep 0.02");
    ExpectEachTaskOnce(id, 300);
    EXPECT_GT(proxy.cuts(), 0);
  }
}

TEST_F(FaultTest, AfterAPowerCutTheNextUpGoesOn) {
  const int id = GivenCampaign(600, "sleep 0.01");
  ASSERT_TRUE(Await([&] { return grid.Lines("out").size() > 50; }));
  // All at once; the jobs, being the machine's and not the grid's, go on.
  for (int cycle = 0; cycle < 3; ++cycle)
    for (const auto& part : PartsOf(grid.home())) kill(part.pid, SIGKILL);
  grid.Up();
  ExpectEachTaskOnce(id, 600);
}

}  // namespace
}  // namespace cigri::test
