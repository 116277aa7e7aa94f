// Seeds of faults: the passes of runner and updator as they run, on a real PostgreSQL whose
// sessions are cut, against clusters that lose requests and answers (docs/testing.md).
#include <cstdlib>
#include <random>

#include "core/error.h"
#include "core/text.h"
#include "runner/runner.h"
#include "tests/seeds/simulated_site.h"
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"
#include "updator/updator.h"

namespace cigri {
namespace {

constexpr int kTasks = 12, kClusters = 2, kStepsOfFaults = 60;

int Seeds() {
  const char* given = std::getenv("CIGRI_SEEDS");
  return given != nullptr ? std::atoi(given) : 12;
}

class SeedsPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    GivenClusters(kClusters);
    Sql("UPDATE clusters SET min_cycle_s = 0, change_feed = false");
  }
  void TearDown() override {
    runner_.reset();
    updator_.reset();
    runner_db_.reset();
    updator_db_.reset();
    RowsTest::TearDown();
  }
  void Start(test::SimulatedSite& site) {
    runner_ = std::make_unique<runner::Runner>(
        [&](const clusterdb::ClusterRow& row) { return site.MakeDriver(row); });
    runner_fresh_ = true;
  }
  void StartUpdator(test::SimulatedSite& site) {
    updator_ = std::make_unique<updator::Updator>(
        [&](const clusterdb::ClusterRow& row, const std::string&) { return site.MakeDriver(row); });
    updator_fresh_ = true;
  }
  // One pass, as module::Run makes it: a lost session is replaced, and the next pass is fresh.
  template <typename Module>
  void Pass(Module& module, std::unique_ptr<db::Connection>& db, const std::string& name,
            bool& fresh) {
    try {
      if (!db || !db->alive()) {
        db = Connect("cigri " + name);
        fresh = true;
      }
      module::Step step{*db, config_, 0, ++number_, fresh, waker_, conninfo()};
      module.Pass(step);
      fresh = false;
    } catch (const db::Error&) {
      fresh = fresh || !db->alive();
    } catch (const Fatal&) {
      db.reset();
    }
  }
  void PassBoth() {
    Pass(*runner_, runner_db_, "runner", runner_fresh_);
    Pass(*updator_, updator_db_, "updator", updator_fresh_);
  }
  // Nobody waits for a time: the database's clock is as good as far ahead.
  void LetTimePass() {
    Sql("UPDATE batches SET next_lookup_at = now(), send_by = now() - interval '1 hour', "
        "doubtful_since = doubtful_since - interval '1 hour' WHERE state = 'in_doubt';"
        "UPDATE retry SET not_before = now(), since = since - interval '1 hour';"
        "UPDATE placements SET fault_until = NULL, black_hole_until = NULL");
  }
  void CutSessions() {
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name IN "
        "('cigri runner', 'cigri updator')");
  }
  bool Over() { return Count("done WHERE counted") == kTasks; }

  // A task runs until it succeeds, and then never again.
  void Run(unsigned seed) {
    SCOPED_TRACE("CIGRI_SEED=" + std::to_string(seed));
    test::SimulatedSite site(seed);
    std::mt19937 random(seed + 1);
    const auto campaign =
        GivenCampaign({.ntasks = kTasks, .max_tries = 1000, .clusters = kClusters});
    for (int k = 1; k <= kClusters; ++k) GivenGrant(campaign, k, 4);
    Start(site);
    StartUpdator(site);
    for (int step = 0; step < kStepsOfFaults && !Over(); ++step) {
      const int wakes = waker_.wakes;
      PassBoth();
      // The threads of both have a moment for their clusters.
      test::Await([&] { return waker_.wakes != wakes; }, std::chrono::milliseconds(20));
      const auto dice = random() % 100;
      if (dice < 10) CutSessions(), ++faults_["sessions cut"];
      if (dice >= 10 && dice < 20) Start(site), ++faults_["runner restarted"];
      if (dice >= 20 && dice < 30) StartUpdator(site), ++faults_["updator restarted"];
      if (dice % 3 == 0) LetTimePass();
    }
    site.Calm();
    Start(site);
    StartUpdator(site);  // their pauses after failures are over
    EXPECT_TRUE(test::Await([&] {
      LetTimePass();
      PassBoth();
      return Over();
    })) << "it does not end";
    EXPECT_EQ(Join(site.Violations(), "; "), "");
    for (const auto& [task, n] : site.Successes()) EXPECT_EQ(n, 1) << "task " << task;
    EXPECT_EQ(site.Successes().size(), static_cast<std::size_t>(kTasks));
    ExpectConservation(campaign);
    for (const auto& [fault, n] : site.Faults()) faults_[fault] += n;
    runner_.reset();
    updator_.reset();
    Sql("TRUNCATE campaigns, campaign_cursor, segments, campaign_clusters, placements, grants, "
        "batches, live, retry, tries, needs_attention, done, counters, usage, events CASCADE");
  }

  std::unique_ptr<runner::Runner> runner_;
  std::unique_ptr<updator::Updator> updator_;
  std::unique_ptr<db::Connection> runner_db_, updator_db_;
  bool runner_fresh_ = true, updator_fresh_ = true;
  std::int64_t number_ = 0;
  Config config_;
  test::TestWaker waker_;
  std::map<std::string, int> faults_;
};

TEST_F(SeedsPgTest, EveryTaskSucceedsOnceWhateverIsLostAndCut) {
  if (const char* one = std::getenv("CIGRI_SEED"))
    return Run(static_cast<unsigned>(std::atoi(one)));
  for (int seed = 1; seed <= Seeds() && !HasFailure(); ++seed) Run(static_cast<unsigned>(seed));
  for (const auto& [fault, n] : faults_) std::printf("%-26s %d\n", fault.c_str(), n);
}

}  // namespace
}  // namespace cigri
