// A grid over five clusters: two real OAR, two real Slurm, one local; the tests share it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cutting_proxy.h"
#include "tests/system/grid.h"

namespace cigri::test {

/// Whether real clusters may be brought up here: CIGRI_REAL=1, and root.
bool Allowed();
/// `whole`, or `brief` with CIGRI_REAL_SHORT=1 (in CI).
int Sized(int whole, int brief);
/// The name that slurm-up knows slurm1 or slurm2 by.
std::string SlurmName(int which);
/// The shell command that runs `script` with the commands of slurm1 or slurm2: "squeue | wc -l".
std::string AtSlurm(int which, const std::string& script);
/// Runs a shell command; the test fails when it does. Its output.
std::string Shell(const std::string& command);
/// Runs a script of scripts/clusters: RunScript("slurm-down", "--only slurmctld alpha").
std::string RunScript(const std::string& script, const std::string& arguments = "",
                      const std::string& environment = "");

/// slurm1 and slurm2 are of Slurm 22.05, or with CIGRI_REAL_SLURM_API=v0.0.42 (41, 40) of 24.11,
/// which is spoken to in that version.
///
/// | name   | what                                                  | root is |
/// | oar1   | 8 cores                                               | alice   |
/// | oar2   | 4 cores, behind a proxy that can cut connections      | bob     |
/// | slurm1 | 16 CPUs, with accounting: SlurmName(1)                | grid    |
/// | slurm2 | 16 CPUs, no accounting, forgets after 5 s             | grid    |
/// | local  | 2 slots                                               | root    |
class FiveClusters : public ::testing::Test {
 public:
  static void StartOar();
  static void StartSlurm();

 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static Grid& grid() { return *grid_; }
  static CuttingProxy& proxy() { return *proxy_; }
  /// A campaign `name` of `n` tasks on `clusters` ("": all five): each runs `command` (a script's
  /// lines, the parameter is $1) and, as its last act, appends its index to the file `name`.out.
  int Submit(const std::string& name, int n, const std::string& command, const json& more = {},
             const std::vector<std::string>& clusters = {});
  /// What the grid has recorded of the jobs of a task, a line each.
  std::string Attempts(int campaign, int index);
  /// The campaign ends in time, and by the jobs' own record each task has run to its end once.
  void ExpectEachOnce(int id, const std::string& name, int n, Seconds limit);
  /// The conservation of tasks (docs/design.md).
  void ExpectConservation();
  /// Rows of a query on the grid's database.
  static std::vector<Arguments> Rows(const std::string& query);
  static int Number(const std::string& query);
  /// Records of the jobs, ended or not: how many lines `name`.out has.
  int Written(const std::string& name) {
    return static_cast<int>(grid().Lines(name + ".out").size());
  }

 private:
  static void AddClusters();
  static std::unique_ptr<Grid> grid_;
  static std::unique_ptr<CuttingProxy> proxy_;
};

}  // namespace cigri::test
