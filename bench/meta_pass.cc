// The metascheduler's whole pass (load, decide, write) on a real PostgreSQL, as ratios of passes in
// one run: by the number of waiting tasks, and by the number of jobs in flight.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "core/text.h"
#include "metascheduler/metascheduler.h"
#include "tests/support/pg.h"

namespace cigri::metascheduler {
namespace {

constexpr int kCampaigns = 1000, kClusters = 10, kSlots = 5000, kTurns = 7;

struct NoWaker : module::Waker {
  void Wake() override {}
  void WakeIn(std::chrono::milliseconds) override {}
};

/// A schema of its own with kCampaigns campaigns of `tasks` tasks each on kClusters clusters with
/// kSlots idle slots in all, and `running` jobs of theirs that run.
class Grid {
 public:
  Grid(std::int64_t tasks, int running) : schema_("b_" + RandomHex(6)) {
    db::Connection admin(test::TestServer(), "bench");
    db::Tx tx(admin);
    tx.Raw("CREATE SCHEMA " + schema_);
    tx.Commit();
    conninfo_ = test::TestServer() + " options=-csearch_path=" + schema_;
    db_ = std::make_unique<db::Connection>(conninfo_, "bench");
    db::Migrate(*db_);
    Fill(tasks, running);
  }
  ~Grid() {
    db_.reset();
    db::Connection admin(test::TestServer(), "bench");
    db::Tx tx(admin);
    tx.Raw("DROP SCHEMA " + schema_ + " CASCADE");
    tx.Commit();
  }

  /// Seconds of one pass. `whole`: of a process that has just started, so that all is written.
  double Pass(bool whole) {
    if (whole) process_ = Metascheduler();
    module::Step step{*db_, config_, 0, ++number_, whole, waker_, conninfo_};
    const auto began = std::chrono::steady_clock::now();
    process_.Pass(step);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  /// Slots that the plan gives in addition to what runs.
  std::int64_t Given() {
    return Sql("SELECT coalesce(sum(n), 0) FROM grants")[0][0].as<std::int64_t>() -
           Sql("SELECT count(*) FROM live WHERE EXISTS (SELECT FROM grants AS g WHERE "
               "g.campaign_id "
               "= live.campaign_id AND g.cluster_id = live.cluster_id)")[0][0]
               .as<std::int64_t>();
  }
  std::int64_t Waiting() {
    return Sql("SELECT sum(ntasks - next_idx) FROM campaign_cursor")[0][0].as<std::int64_t>();
  }

 private:
  pqxx::result Sql(const std::string& sql) {
    db::Tx tx(*db_);
    auto result = db::Native(tx).exec(sql);
    tx.Commit();
    return result;
  }
  void Fill(std::int64_t tasks, int running) {
    const std::string campaigns = std::to_string(kCampaigns), clusters = std::to_string(kClusters),
                      jobs = std::to_string(running),
                      max = std::to_string((kSlots + running) / kClusters);
    Sql("INSERT INTO clusters (id, name, kind, api_url, mode) SELECT k, 'c' || k, 'local', "
        "'unix:/nowhere', 'unlimited' FROM generate_series(1, " +
        clusters +
        ") AS k;INSERT INTO cluster_status (cluster_id, polled_at, answered_at, polls) SELECT id, "
        "now(), now() + interval '1 hour', 1 FROM clusters;INSERT INTO gridstatus (cluster_id, "
        "max_resources, free_resources, used_resources, unavailable_resources, used_by_cigri, "
        "jobs_running, jobs_waiting) SELECT id, " +
        max + ", " + max + ", 0, 0, 0, 0, 0 FROM clusters");
    Sql("INSERT INTO campaigns (grid_user, name, project, priority, nb_params, first_task_id, jdl, "
        "submission_time) SELECT 'user' || i % 97, 'c', 'project' || i % 13, 1 + i % 9, " +
        std::to_string(tasks) +
        ", 1, '{\"name\": \"c\", \"clusters\": {}}', now() - i * interval "
        "'1 second' FROM generate_series(1, " +
        campaigns +
        ") AS i;INSERT INTO campaign_cursor (campaign_id, ntasks) SELECT id, nb_params FROM "
        "campaigns;INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, "
        "walltime_s, cluster_login) SELECT c.id, k.id, './job.sh', '/resource_id=1', 3600, 'u' "
        "FROM campaigns AS c, clusters AS k;INSERT INTO placements (campaign_id, cluster_id, "
        "verified, n_ok, sum_s) SELECT campaign_id, cluster_id, true, 10, 3000 FROM "
        "campaign_clusters;INSERT INTO forecasts (campaign_id, cluster_id, job_ratio, p50_s, "
        "waiting_allowed) SELECT campaign_id, cluster_id, 1, 300, 1 FROM campaign_clusters;INSERT "
        "INTO counters (campaign_id, cluster_id, kind, state, writer, n) SELECT campaign_id, "
        "cluster_id, 'task', 'terminated', 'updator', 10 FROM campaign_clusters;INSERT INTO usage "
        "(bucket, campaign_id, cluster_id, grid_user, project, slot_s) SELECT date_trunc('minute', "
        "now()) - m * interval '1 minute', c.id, 1, c.grid_user, c.project, 300 FROM campaigns AS "
        "c, generate_series(0, 29) AS m");
    if (running > 0)
      Sql("INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
          "remote_id, "
          "attempt, slots, state, started_at) SELECT j, 1 + j % " +
          campaigns + ", 1000000 + j, 'task', 1, 0, 1 + (j / " + campaigns + ") % " + clusters +
          ", 'R' || j, 1, 1, 'running', now() - interval '100 seconds' "
          "FROM generate_series(0, " +
          jobs +
          " - 1) AS j;"
          "INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots, "
          "sum_start) SELECT "
          "campaign_id, cluster_id, 'task', 'running', 'updator', count(*), count(*), "
          "sum(extract(epoch FROM started_at)) FROM live GROUP BY 1, 2");
    Sql("ANALYZE");
  }

  std::string schema_, conninfo_;
  std::unique_ptr<db::Connection> db_;
  Metascheduler process_;
  Config config_;
  NoWaker waker_;
  std::int64_t number_ = 0;
};

struct Pair {
  double large = 0, small = 0;
};

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// In turns, so that what else the machine does meets both.
Pair Compare(Grid& large, Grid& small, bool whole) {
  std::vector<double> of_large, of_small;
  large.Pass(true);
  small.Pass(true);
  for (int i = 0; i < kTurns; ++i) {
    of_large.push_back(large.Pass(whole));
    of_small.push_back(small.Pass(whole));
  }
  return {MedianOf(of_large), MedianOf(of_small)};
}

bool Report(const char* name, const Pair& p, double most) {
  const double ratio = p.large / p.small;
  std::printf("%s: ours %.1f ms, other %.1f ms, ratio %.2f (asked: at most %.1f) %s\n", name,
              p.large * 1e3, p.small * 1e3, ratio, most, ratio <= most ? "ok" : "MISSED");
  return ratio <= most;
}

int Main() {
  Grid many(10'000, 0), few(10, 0), busy(10'000, 200'000), idle(10'000, 2'000);
  bool good = Report("pass_by_tasks", Compare(many, few, true), 3);
  std::printf("  %lld waiting tasks against %lld; slots given %lld and %lld\n",
              static_cast<long long>(many.Waiting()), static_cast<long long>(few.Waiting()),
              static_cast<long long>(many.Given()), static_cast<long long>(few.Given()));
  good = many.Given() == few.Given() && good;
  good = Report("pass_by_tasks_unchanged", Compare(many, few, false), 3) && good;
  good = Report("pass_by_jobs_in_flight", Compare(busy, idle, false), 2) && good;
  std::printf("  200000 running jobs against 2000; slots given %lld and %lld\n",
              static_cast<long long>(busy.Given()), static_cast<long long>(idle.Given()));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cigri::metascheduler

int main() { return cigri::metascheduler::Main(); }
