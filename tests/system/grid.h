// A whole grid of real programs for a test: its own $CIGRI_HOME, its tools, what its jobs wrote.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/await.h"
#include "tests/system/child.h"
#include "tests/system/guard.h"
#include "tests/system/processes.h"

namespace cigri::test {

using nlohmann::json;
using Seconds = std::chrono::seconds;
using Arguments = std::vector<std::string>;

/// One embedded grid. The programs are those of $CIGRI_BIN, else of this build.
class Grid {
 public:
  /// `user`: who has it, and runs its tools ("": ourselves).
  explicit Grid(std::string slots = "alpha=2,beta=2", std::string user = "");
  ~Grid();
  /// The grid uses the database that `conninfo` names, instead of one of its own. Before Up().
  void set_database(const std::string& conninfo) { conninfo_ = conninfo; }
  /// What is in front of every program of the grid: it runs on a host of its own. Before Up().
  void set_prefix(const Arguments& words) { prefix_ = words; }
  /// `cigri up`; fails the test when it does not come up.
  void Up();
  /// `cigri down`, and proves that nothing is left of it. Done by a guard when the test dies.
  void Down();

  /// Runs a tool to its end: {"gridstat", "-c", "1"}.
  Result Run(const Arguments& words, const std::string& input = "", Seconds limit = Seconds(60));
  std::unique_ptr<Child> Start(const Arguments& words, const std::string& input = "");
  /// Runs it and expects exit code 0; its stdout.
  std::string Ok(const Arguments& words, const std::string& input = "");
  /// Submits with gridsub and these words; the campaign's id, 0 (and a failed test) when refused.
  int Submit(const Arguments& words, const std::string& input = "");
  int Submit(const json& jdl, const Arguments& more = {});

  /// What GET `path` of the API answers, as JSON; an empty object when it does not.
  json Get(const std::string& path);
  json Progress(int campaign) {
    return Get("/campaigns/" + std::to_string(campaign) + "/progress");
  }
  /// Waits for the campaign to be over; false when it is not in time.
  bool AwaitOver(int campaign, Seconds limit = Seconds(60));

  const std::string& home() const { return home_; }
  /// A folder of the grid's user that outlives `down`: jobs write here, tools run here.
  const std::string& work() const { return work_; }
  void set_work(const std::string& name);
  /// Writes a file into work(), executable; its path.
  std::string Script(const std::string& name, const std::string& text);
  std::string Text(const std::string& name) const { return Slurp(work_ + "/" + name); }
  /// The lines of a file in work(), in order.
  Arguments Lines(const std::string& name) const;
  /// The same, sorted as text.
  Arguments SortedLines(const std::string& name) const;
  /// The end of the grid's log, for messages of failed tests.
  std::string Log() const;

 private:
  Arguments Environment() const;
  Arguments Argv(const Arguments& words) const;
  void Give(const std::string& path) const;

  std::string slots_, user_, base_, home_, work_, conninfo_;
  Arguments prefix_;
  std::atomic<int> children_ = 0;  ///< tools are started by several threads
  std::unique_ptr<Guard> guard_;
};

/// A JDL for clusters alpha and beta whose jobs run `exec_file` in the grid's work folder.
json Jdl(const Grid& grid, const std::string& name, const std::string& exec_file,
         const json& more = json::object());
/// "0", "1" ... "n-1", sorted as text.
Arguments Indexes(int n);

/// Tests that share one grid; each has a folder of its own, and what it leaves alive is cancelled.
class SystemTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { GivenGrid("alpha=2,beta=2"); }
  static void TearDownTestSuite();
  static void GivenGrid(const std::string& slots);
  void SetUp() override;
  void TearDown() override;
  Grid& grid() { return *grid_; }

 private:
  static std::unique_ptr<Grid> grid_;
};

}  // namespace cigri::test
