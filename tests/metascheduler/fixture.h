// A grid in tables whose modules are the real ones: the metascheduler's pass, the runner's claim,
// the updates of the updator. Only the clusters are made up: rows of gridstatus.
#pragma once
#include <nlohmann/json.hpp>

#include "metascheduler/metascheduler.h"
#include "predictor/predictor.h"
#include "runner/store.h"
#include "tests/support/pg.h"
#include "updator/campaigns.h"
#include "updator/status_updates.h"

namespace cigri::metascheduler {

struct GivenCampaignRow {
  std::int64_t tasks = 1000;
  std::string user = "alice";
  std::vector<int> clusters = {1};
  int slots = 1;
  int priority = 4;
  std::string project{}, type = "default", sla_group{};
  int max_replicas = 0;
  int walltime_s = 3600;
  int age_s = 0;  ///< submitted so long ago
  nlohmann::json jdl = nlohmann::json::object();
  nlohmann::json options = nlohmann::json::object();  ///< of each cluster
  bool verified = true;                               ///< has succeeded on its clusters before
};

class GridTest : public test::PgTest {
 protected:
  using Jobs = std::vector<std::int64_t>;
  struct NoWaker : module::Waker {
    void Wake() override {}
    void WakeIn(std::chrono::milliseconds) override {}
  };

  void SetUp() override {
    PgTest::SetUp();
    db_ = Connect();
  }

  void Policy(const std::string& key, const nlohmann::json& value) {
    Sql("INSERT INTO policy_settings (key, value) VALUES ('" + key + "', '" + value.dump() +
        "') ON CONFLICT (key) DO UPDATE SET value = excluded.value");
  }
  /// An open cluster "c<id>" of `max` slots, all idle, that has just answered. One more job than
  /// fit may wait there (flow control): `places` counts slots and that one.
  void Cluster(int id, int places) {
    const std::string n = std::to_string(id);
    Sql("INSERT INTO clusters (id, name, kind, api_url, mode, change_feed, exact_walltime, "
        "dedicated, time_resolution_s) VALUES (" +
        n + ", 'c" + n + "', 'local', 'unix:/nowhere', 'unlimited', true, true, true, 0)");
    Sql("INSERT INTO cluster_status (cluster_id, polled_at, answered_at, polls) VALUES (" + n +
        ", now(), now(), 1); INSERT INTO cluster_leases (cluster_id) VALUES (" + n + ")");
    Resources(id, places - 1);
  }
  /// A snapshot of a cluster: `local` slots used by others.
  void Resources(int id, int max, int local = 0) {
    Sql("INSERT INTO gridstatus (cluster_id, at, max_resources, free_resources, used_resources, "
        "unavailable_resources, used_by_cigri, jobs_running, jobs_waiting) VALUES (" +
        std::to_string(id) + ", clock_timestamp(), " + std::to_string(max) + ", " +
        std::to_string(max - local) + ", " + std::to_string(local) + ", 0, 0, 0, 0)");
  }
  std::int64_t Campaign(const GivenCampaignRow& row);

  /// The metascheduler's pass, by one process that lives on.
  void Pass() { PassBy(metascheduler_); }
  void PassBy(Metascheduler& process) {
    ++number_;
    module::Step step{*db_, config_, 0, number_, &process != last_, waker_, conninfo()};
    last_ = &process;
    process.Pass(step);
  }
  void Predict() {
    module::Step step{*db_, config_, 0, ++number_, true, waker_, conninfo()};
    predictor::Predictor().Pass(step);
  }
  /// The runner's claims and records on every cluster; the jobs, by campaign and cluster.
  std::map<std::pair<std::int64_t, int>, Jobs> Claim();
  /// Pass and claim; how many jobs each campaign got.
  std::map<std::int64_t, int> Cycle() {
    Pass();
    std::map<std::int64_t, int> n;
    for (const auto& [key, jobs] : Claim()) n[key.first] += static_cast<int>(jobs.size());
    return n;
  }
  /// The updator applies status updates: jobs are seen running since `age_s`...
  void Run(const Jobs& jobs, double age_s = 1);
  /// ...and ended.
  void End(const Jobs& jobs, double lasted_s, int status = 0,
           cluster::EndCause cause = cluster::EndCause::kExited);
  void Update(const std::set<std::int64_t>& ended = {}) {
    db::Tx tx(*db_);
    updator::UpdateCampaigns(tx, ended, true, {});
    tx.Commit();
  }
  Jobs Live(std::int64_t campaign) {
    Jobs jobs;
    for (const auto& row : Sql("SELECT job_id FROM live WHERE campaign_id = " +
                               std::to_string(campaign) + " ORDER BY job_id"))
      jobs.push_back(row[0].as<std::int64_t>());
    return jobs;
  }

  /// Jobs that the plan lets a campaign have in flight, on one cluster or (0) on all.
  int Granted(std::int64_t campaign, int cluster = 0, const std::string& kind = "task") {
    return static_cast<int>(Number(
        "SELECT coalesce(sum(n), 0) FROM grants WHERE campaign_id = " + std::to_string(campaign) +
        " AND kind = '" + kind + "'" +
        (cluster == 0 ? "" : " AND cluster_id = " + std::to_string(cluster))));
  }
  /// The open reason of a campaign on a cluster; 0: its main one. "" = there is none.
  std::string Why(std::int64_t campaign, int cluster = 0) {
    const auto rows =
        Sql("SELECT code FROM reasons WHERE until IS NULL AND campaign_id = " +
            std::to_string(campaign) + " AND " +
            (cluster == 0 ? "numbers ? 'main'" : "cluster_id = " + std::to_string(cluster)));
    return rows.empty() ? "" : rows[0][0].c_str();
  }
  std::int64_t Number(const std::string& sql) { return Sql(sql)[0][0].as<std::int64_t>(); }
  std::string Text(const std::string& sql) {
    const auto rows = Sql(sql);
    return rows.empty() || rows[0][0].is_null() ? "" : rows[0][0].c_str();
  }
  /// Reasons are written once a second at most: let the next pass write them.
  void Fresh() { metascheduler_ = Metascheduler(), last_ = nullptr; }
  /// Everything carried happened `s` seconds earlier.
  void LetPass(double s);
  void ExpectConservation();

  Metascheduler metascheduler_;

 private:
  std::unique_ptr<db::Connection> db_;
  const Metascheduler* last_ = nullptr;
  Config config_;
  NoWaker waker_;
  std::int64_t number_ = 0;
};

}  // namespace cigri::metascheduler
