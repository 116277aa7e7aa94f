// Seeds of faults: the passes of the modules as they run, on a real PostgreSQL whose sessions are
// cut, against clusters that lose requests and answers (docs/testing.md).
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include "core/error.h"
#include "core/text.h"
#include "metascheduler/metascheduler.h"
#include "nikita/nikita.h"
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
  return given != nullptr ? std::atoi(given) : 8;
}

class SeedsPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    GivenClusters(kClusters);
    Sql("UPDATE clusters SET min_cycle_s = 0, change_feed = false");
  }
  void TearDown() override {
    modules_.clear();
    RowsTest::TearDown();
  }
  // A module as a process has it: its object and its session go together with a restart.
  struct Module {
    std::string name;
    std::function<std::function<void(module::Step&)>()> make;
    std::function<void(module::Step&)> pass{};
    std::unique_ptr<db::Connection> db{};
    bool fresh = true;
    void Restart() {
      pass = nullptr;
      pass = make();
      fresh = true;
    }
  };
  template <typename T, typename... Args>
  static std::function<void(module::Step&)> PassOf(Args&&... args) {
    auto object = std::make_shared<T>(std::forward<Args>(args)...);
    return [object](module::Step& step) { object->Pass(step); };
  }
  void Start(test::SimulatedSite& site) {
    const auto driver = [&](const clusterdb::ClusterRow& row) { return site.MakeDriver(row); };
    modules_.push_back({"updator", [=] { return PassOf<updator::Updator>(driver); }});
    modules_.push_back({"metascheduler", [] { return PassOf<metascheduler::Metascheduler>(); }});
    modules_.push_back({"runner", [=] { return PassOf<runner::Runner>(driver); }});
    modules_.push_back({"nikita", [=] { return PassOf<nikita::Nikita>(driver); }});
    for (auto& module : modules_) module.Restart();
  }
  // One pass, as module::Run makes it: a lost session is replaced, and the next pass is fresh.
  void Pass(Module& module) {
    try {
      if (!module.db || !module.db->alive()) {
        module.db = Connect("cigri " + module.name);
        module.fresh = true;
      }
      module::Step step{*module.db, config_, 0, ++number_, module.fresh, waker_, conninfo()};
      module.pass(step);
      module.fresh = false;
    } catch (const db::Error&) {
      module.fresh = module.fresh || !module.db->alive();
    } catch (const Fatal&) {
      module.db.reset();
    }
  }
  void PassAll() {
    for (auto& module : modules_) Pass(module);
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
        "('cigri runner', 'cigri updator', 'cigri metascheduler', 'cigri nikita')");
  }
  // As when an operator empties a cluster: nikita is to end them, and their tasks run again.
  void KillSome() {
    faults_["jobs killed"] += static_cast<int>(
        Sql("INSERT INTO kills (job_id, reason) SELECT job_id, 'drain' FROM live WHERE state = "
            "'running' ORDER BY job_id LIMIT 2 ON CONFLICT DO NOTHING RETURNING job_id")
            .size());
  }
  bool Over() { return Count("done WHERE counted") == kTasks; }

  // A task runs until it succeeds, and then never again.
  void Run(unsigned seed) {
    SCOPED_TRACE("CIGRI_SEED=" + std::to_string(seed));
    test::SimulatedSite site(seed);
    std::mt19937 random(seed + 1);
    const auto campaign =
        GivenCampaign({.ntasks = kTasks, .max_tries = 1000, .clusters = kClusters});
    Start(site);
    for (int step = 0; step < kStepsOfFaults && !Over(); ++step) {
      const int wakes = waker_.wakes;
      PassAll();
      // Their threads have a moment for their clusters.
      test::Await([&] { return waker_.wakes != wakes; }, std::chrono::milliseconds(20));
      const auto dice = random() % 100;
      if (dice < 10) CutSessions(), ++faults_["sessions cut"];
      if (dice >= 10 && dice < 40) {
        Module& module = modules_[dice % modules_.size()];
        module.Restart();
        ++faults_[module.name + " restarted"];
      }
      if (dice >= 40 && dice < 50) KillSome();
      if (dice % 3 == 0) LetTimePass();
    }
    site.Calm();
    for (auto& module : modules_) module.Restart();  // their pauses after failures are over
    EXPECT_TRUE(test::Await([&] {
      LetTimePass();
      PassAll();
      return Over();
    })) << "it does not end";
    EXPECT_EQ(Join(site.Violations(), "; "), "");
    for (const auto& [task, n] : site.Successes()) EXPECT_EQ(n, 1) << "task " << task;
    EXPECT_EQ(site.Successes().size(), static_cast<std::size_t>(kTasks));
    ExpectConservation(campaign);
    for (const auto& [fault, n] : site.Faults()) faults_[fault] += n;
    modules_.clear();
    Sql("TRUNCATE campaigns, campaign_cursor, segments, campaign_clusters, placements, grants, "
        "batches, live, retry, tries, needs_attention, done, counters, usage, events CASCADE");
  }

  std::vector<Module> modules_;
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
