// A grid of its own for tests of faults: by the jobs' own record every task runs once.
#pragma once
#include <cstdlib>

#include "tests/system/grid.h"

namespace cigri::test {

/// Whether suites of faults run in their short form, as in CI: the same faults, fewer times.
inline bool Short() { return std::getenv("CIGRI_FAULTS_SHORT") != nullptr; }

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsSkipped() && !HasFatalFailure()) grid.Up();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    if (HasFailure()) std::fprintf(stderr, "%s\n", grid.Log().c_str());
    grid.Down();
  }
  int GivenCampaign(int n, const std::string& command) {
    grid.Script("job", "#!/bin/sh\n" + command + "\necho $1 >> out\n");
    return grid.Submit(Jdl(grid, "faults", "./job", {{"nb_jobs", n}}));
  }
  bool Started() { return !grid.Lines("out").empty(); }
  void ExpectEachTaskOnce(int id, int n) {
    ASSERT_TRUE(grid.AwaitOver(id, Seconds(240))) << grid.Progress(id);
    EXPECT_EQ(grid.Progress(id).value("done", 0), n) << grid.Progress(id);
    EXPECT_EQ(Doubled(), Arguments{});
    EXPECT_EQ(grid.Lines("out").size(), static_cast<std::size_t>(n));
    Result check;
    EXPECT_TRUE(Await(
        [&] {
          return (check = grid.Run({"gridadmin", "check"})).code == 0;
        },
        Seconds(20)))
        << check.code << check.out << check.err;
  }
  Arguments Doubled() {
    Arguments doubled;
    const Arguments lines = grid.SortedLines("out");
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (lines[i] == lines[i - 1]) doubled.push_back(lines[i]);
    return doubled;
  }

  Grid grid{"alpha=1,beta=1"};
};

}  // namespace cigri::test
