// A batch scheduler that its site upgrades while campaigns run.
#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "tests/realgrid/five_clusters.h"

namespace cigri::test {
namespace {

// Slurm 24.11 cannot read the state of 22.05: the new one knows no job of the old, and gives out
// the same ids. Keys, ports and tokens stay.
class RealUpgradeTest : public ::testing::Test {
 protected:
  static constexpr char kFolder[] = "/var/lib/slurm-clusters/epsilon";
  void SetUp() override {
    if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it installs and starts Slurm";
    Forget();
  }
  void TearDown() override {
    if (Allowed()) Forget();
  }
  static void Forget() {
    if (std::filesystem::exists(kFolder)) RunScript("slurm-down", "--wipe epsilon");
    std::filesystem::remove_all(std::string(kFolder) + ".old");
  }
  static std::string Up(const std::string& release) {
    const std::string key = "SLURM_REST_TOKEN=";
    for (const auto& line :
         Split(RunScript("slurm-up", release + "epsilon 7217", "SLURM_UP_DBD=0"), '\n'))
      if (StartsWith(line, key)) return line.substr(key.size());
    return "";
  }
  static void Upgrade() {
    RunScript("slurm-down", "epsilon");
    Shell(
        std::string("cd /var/lib/slurm-clusters && mv epsilon epsilon.old && mkdir -p "
                    "epsilon/etc && cp -p epsilon.old/etc/*.key epsilon/etc/"));
    Up("--release trixie ");
  }
};

TEST_F(RealUpgradeTest, ASlurmThatIsUpgradedUnderACampaignLosesAndDoublesNothing) {
  const auto token = Up("");
  Grid grid("local=1");
  grid.Up();
  std::filesystem::permissions(grid.work(), std::filesystem::perms(0777));
  grid.Ok({"gridadmin", "cluster", "add", "slurm", "--no-check", "--kind", "slurm", "--auth", "jwt",
           "--user", "grid", "--url", "http://127.0.0.1:7220", "--set", "option.partition=normal",
           "--set", "option.best_effort_partition=besteffort", "--set",
           "option.shared_folder=/home/%u/.cigri"});
  grid.Ok({"gridadmin", "mapping", "set", "root", "slurm", "grid"});
  grid.Ok({"gridtoken", "-i", "slurm", "-t", "-"}, token + "\n");
  grid.Ok({"gridadmin", "cluster", "unlimited", "slurm"});
  const std::string out = grid.work() + "/upgraded.out";
  { std::ofstream make(out); }
  std::filesystem::permissions(out, std::filesystem::perms(0666));
  // The first 40 are done then, up to 16 run, and the others wait on Slurm.
  constexpr int kTasks = 200, kDone = 40;
  grid.Script("upgraded", "#!/bin/sh\nset -e\n[ $1 -lt " + std::to_string(kDone) +
                              " ] || while [ ! -e go ]; do sleep 0.2; done\n"
                              "echo $1 >> upgraded.out\n");
  const int id = grid.Submit({{"name", "upgraded"},
                              {"exec_file", "./upgraded"},
                              {"exec_directory", grid.work()},
                              {"nb_jobs", kTasks},
                              {"walltime", 300},
                              {"clusters", {{"slurm", json::object()}}}});
  ASSERT_TRUE(Await(
      [&] {
        const auto now = grid.Progress(id);
        return now.value("done", 0) == kDone && now.value("running", 0) > 0 &&
               now.value("remote_waiting", 0) >= kTasks / 2;
      },
      Seconds(180)))
      << grid.Progress(id);
  Upgrade();
  EXPECT_EQ(grid.Lines("upgraded.out").size(), static_cast<std::size_t>(kDone));
  grid.Script("go", "");
  EXPECT_TRUE(grid.AwaitOver(id, Seconds(400))) << grid.Progress(id) << grid.Log();
  EXPECT_EQ(grid.Progress(id).value("done", 0), kTasks) << grid.Progress(id);
  EXPECT_EQ(grid.SortedLines("upgraded.out"), Indexes(kTasks));
  const auto check = grid.Run({"gridclusters", "--check", "slurm"}, "", Seconds(60));
  EXPECT_NE(check.out.find("API v0.0.42"), std::string::npos) << check.out << check.err;
  grid.Down();
}

}  // namespace
}  // namespace cigri::test
