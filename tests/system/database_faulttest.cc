// A grid on three PostgreSQL servers under Patroni that fail over while a campaign runs: by the
// jobs' own record every task runs once, and the grid goes on soon after the database does.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/text.h"
#include "tests/system/servers.h"

namespace cigri::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSlowest = 1e9;

double SecondsSince(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// What was measured while something was broken.
struct Broken {
  double away = 0;      // no new session could commit
  double gap = 0;       // no job ended
  double lead = 0;      // from the break to the next leader
  double gridstat = 0;  // the longest that one took, whatever it said
};

class DatabaseFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = Servers::Missing(); !missing.empty()) GTEST_SKIP() << missing;
    servers_ = std::make_unique<Servers>();
    grid_ = std::make_unique<Grid>("alpha=3,beta=3");
    grid_->set_database(servers_->Up());
    if (!HasFailure()) grid_->Up();
  }
  void TearDown() override {
    if (grid_ == nullptr) return;
    if (HasFailure()) std::fprintf(stderr, "%s\n", grid_->Log().c_str());
    grid_->Down();
  }
  // When jobs ended, by their own record.
  std::vector<double> Ends() {
    std::vector<double> ends;
    for (const auto& line : grid_->Lines("out")) {
      const auto words = Split(line, ' ');
      if (words.size() == 2) ends.push_back(std::atof(words[1].c_str()));
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }
  // The longest time without the end of a job since `from`.
  double LongestGap(double from) {
    double longest = 0, last = from;
    for (const double end : Ends()) {
      if (end < from) continue;
      longest = std::max(longest, end - last);
      last = end;
    }
    return longest;
  }
  bool AwaitMore(std::size_t n) {
    const auto before = grid_->Lines("out").size();
    return Await([&] { return grid_->Lines("out").size() >= before + n; }, Seconds(60));
  }
  double GridstatTakes() {
    const auto began = Clock::now();
    grid_->Run({"gridstat"});
    return SecondsSince(began);
  }
  // The epoch of whoever leads; 0 while nobody does, or no API can tell.
  std::int64_t Epoch() {
    const json health = grid_->Get("/health");
    return health.value("led", false) ? health.value("epoch", std::int64_t{0}) : 0;
  }
  // Does `what`, which returns when the database takes writes; measures until 30 more jobs ended.
  Broken While(const std::function<double()>& what, bool new_leader) {
    const auto epoch = Epoch();
    const auto began = Clock::now();
    const double from = Ends().back();
    Broken measured;
    std::atomic<bool> over{false};
    std::thread reader([&] {
      while (!over) measured.gridstat = std::max(measured.gridstat, GridstatTakes());
    });
    std::thread watcher([&] {
      measured.lead = Await([&] { return Epoch() > epoch; }, Seconds(new_leader ? 60 : 0))
                          ? SecondsSince(began)
                          : kSlowest;
    });
    measured.away = what();
    watcher.join();
    EXPECT_TRUE(AwaitMore(30)) << "the grid goes on";
    over = true;
    reader.join();
    measured.gap = LongestGap(from);
    return measured;
  }
  Arguments Ran() {
    Arguments ran;
    for (const auto& line : grid_->Lines("out")) ran.push_back(Split(line, ' ')[0]);
    std::sort(ran.begin(), ran.end());
    return ran;
  }
  // What the events about the database say it was away, in ms, the first one first.
  std::vector<double> Failovers() {
    std::vector<double> away;
    for (const auto& event : grid_->Get("/events?all=1").value("items", json::array()))
      if (event.value("code", "") == "DATABASE_FAILOVER")
        away.push_back(event["sample"].value("unavailable_ms", 0.0) / 1000);
    return away;
  }
  void StopLeader(int signal) {
    if (stopped_.empty()) {
      // Of the two almighties, the one whose children the modules are, and two of them.
      for (const auto& part : PartsOf(grid_->home())) {
        if (part.name == "updator") stopped_.insert(stopped_.end(), {part.pid, ParentOf(part.pid)});
        if (part.name == "metascheduler") stopped_.push_back(part.pid);
      }
    }
    for (const pid_t pid : stopped_) kill(pid, signal);
  }

  std::unique_ptr<Servers> servers_;
  std::unique_ptr<Grid> grid_;
  std::vector<pid_t> stopped_;
};

TEST_F(DatabaseFaultTest, KillFreezeWakeAndSwitchoverLoseAndDoubleNothingAndStopNobodyForLong) {
  const int n = 1200;
  grid_->Script("job", "#!/bin/sh\nsleep 0.5\necho $1 $(date +%s.%N) >> out\n");
  const int id = grid_->Submit(Jdl(*grid_, "fail-over", "./job", {{"nb_jobs", n}}));
  ASSERT_TRUE(AwaitMore(60));
  const double quiet = LongestGap(Ends()[10]);
  const struct {
    const char* what;
    bool away;  // the database takes no writes for a while
  } breaks[] = {{"kill", true}, {"freeze", true}, {"wake", false}, {"switchover", true}};
  std::printf("quiet: no job ended for %.1f s\n", quiet);
  std::size_t failovers = 0;
  for (const auto& b : breaks) {
    SCOPED_TRACE(b.what);
    if (b.away) servers_->Settle();
    const Broken m = While([&] { return servers_->Break(b.what); }, b.away);
    const auto events = Failovers();
    std::printf(
        "%s: no write for %.1f s, no job ended for %.1f s, the next leader after %.1f s, "
        "gridstat took %.1f s at most, %zu events\n",
        b.what, m.away, m.gap, b.away ? m.lead : 0, m.gridstat, events.size());
    EXPECT_LE(m.gridstat, 5);
    EXPECT_LE(m.gap, (b.away ? m.away : 0) + 3 + quiet);
    if (!b.away) continue;
    EXPECT_LE(m.lead, m.away + 10);
    EXPECT_EQ(events.size(), ++failovers) << "one event for each";
    // A server that stands still is noticed at the next renewal of the lease, after 2 s at most.
    EXPECT_NEAR(events.empty() ? 0 : events.back(), m.lead, 4) << "it says how long";
  }
  // The leader itself, with a database that answers.
  const Broken m = While(
      [&] {
        StopLeader(SIGSTOP);
        return 0.0;
      },
      true);
  std::printf("leader stopped: no job ended for %.1f s, the next leader after %.1f s\n", m.gap,
              m.lead);
  EXPECT_LE(m.lead, 10);
  EXPECT_LE(m.gap, m.lead + 3 + quiet);
  StopLeader(SIGCONT);

  ASSERT_TRUE(grid_->AwaitOver(id, Seconds(150))) << grid_->Progress(id);
  EXPECT_EQ(Ran(), Indexes(n)) << "each task once, by the jobs' own record";
  const auto check = grid_->Run({"gridadmin", "check"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace cigri::test
