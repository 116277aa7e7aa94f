// A grid in tables: a campaign, a cluster whose API is ours, jobs in flight.
#pragma once
#include <atomic>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/text.h"
#include "http/server.h"
#include "module/module.h"
#include "tests/support/pg.h"

namespace cigri::test {

/// A local cluster's API as far as killing goes: it remembers which ids it was asked to end.
class KillServer {
 public:
  KillServer() : socket_("/tmp/cigri-kill-" + RandomHex(6)) {
    server_.Post("/kills", [this](const httplib::Request& request, httplib::Response& response) {
      std::lock_guard lock(mutex_);
      ++calls_;
      if (broken_) {
        response.status = 503;
        return;
      }
      const auto body = nlohmann::json::parse(request.body);
      nlohmann::json answer;
      for (const char* list : {"asked", "begun", "foreign"}) answer[list] = nlohmann::json::array();
      for (const auto& name : body) {
        const bool goes_on = begun_.count(name["id"]) != 0 && name["only_waiting"];
        if (goes_on) answer["begun"].push_back(name["id"]);
        if (!goes_on) asked_ += name["id"].dump();
        if (!name["only_waiting"]) unconditional_ += name["id"].dump();
      }
      response.set_content(answer.dump(), "application/json");
    });
    std::string why;
    if (!server_.BindUnix(socket_, 0600, &why)) throw std::runtime_error(why);
    thread_ = std::thread([this] { server_.Serve(); });
  }
  ~KillServer() {
    server_.Stop();
    thread_.join();
    std::filesystem::remove(socket_);
  }
  std::string url() const { return "unix:" + socket_; }
  bool Asked(const std::string& remote_id) {
    std::lock_guard lock(mutex_);
    return asked_.find('"' + remote_id + '"') != std::string::npos;
  }
  bool AskedBefore(const std::string& one, const std::string& other) {
    std::lock_guard lock(mutex_);
    return asked_.find('"' + one + '"') < asked_.find('"' + other + '"');
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  /// Also when it runs.
  bool AskedInAnyCase(const std::string& remote_id) {
    std::lock_guard lock(mutex_);
    return unconditional_.find('"' + remote_id + '"') != std::string::npos;
  }
  /// The job runs there, whatever the tables say.
  void Begin(const std::string& remote_id) {
    std::lock_guard lock(mutex_);
    begun_.insert(remote_id);
  }
  void Break(bool broken) {
    std::lock_guard lock(mutex_);
    broken_ = broken;
  }

 private:
  std::string socket_, asked_, unconditional_;
  std::set<std::string> begun_;
  http::GuardServer server_;
  std::mutex mutex_;
  int calls_ = 0;
  bool broken_ = false;
  std::thread thread_;
};

/// Remembers that a cycle was asked for.
class TestWaker : public module::Waker {
 public:
  void Wake() override { ++wakes; }
  void WakeIn(std::chrono::milliseconds) override { ++delayed; }
  std::atomic<int> wakes{0}, delayed{0};
};

/// Passes of a module in this process.
class PassTest : public PgTest {
 protected:
  module::Step StepOf(db::Connection& db) {
    return {db,        config,       Sql("SELECT epoch FROM grid")[0][0].as<std::int64_t>(),
            ++number_, number_ == 1, waker,
            conninfo()};
  }
  void GivenCluster(int id, const std::string& url, const std::string& kind = "local") {
    Sql("INSERT INTO clusters (id, name, kind, api_url, mode) VALUES (" + std::to_string(id) +
        ", 'c" + std::to_string(id) + "', '" + kind + "', '" + url + "', 'unlimited')");
    if (kind == "local")
      Sql("UPDATE clusters SET change_feed = true, exact_walltime = true, dedicated = true, "
          "time_resolution_s = 0 WHERE id = " +
          std::to_string(id));
    Sql("INSERT INTO cluster_status (cluster_id, polled_at, answered_at, polls) VALUES (" +
        std::to_string(id) + ", now(), now(), 1)");
  }
  void GivenCampaign(int id, int ntasks, const std::string& clusters = "{1}") {
    const std::string n = std::to_string(id);
    Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) VALUES (" + n +
        ", 'ann', 'c', " + std::to_string(ntasks) +
        ", 1, '{}'); INSERT INTO campaign_cursor VALUES (" + n + ", " + std::to_string(ntasks) +
        ", 0); INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, "
        "walltime_s, cluster_login) SELECT " +
        n + ", c, 'true', '/resource_id=1', 3600, 'ann' FROM unnest('" + clusters +
        "'::int[]) AS c");
  }
  /// Jobs first .. first + n - 1 of a campaign, submitted `age_s` ago, as one batch.
  void GivenJobs(int first, int n, int campaign, int cluster, const std::string& state,
                 int age_s = 0, const std::string& kind = "task") {
    const std::string f = std::to_string(first), c = std::to_string(campaign),
                      k = std::to_string(cluster);
    Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, slots, tag, "
        "state, epoch, send_by) VALUES (" +
        f + ", " + f + ", '" + kind + "', " + c + ", " + k + ", " + std::to_string(n) +
        ", 1, 'cigri." + c + ".grid." + f +
        "', 'recorded', 0, now()); INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, "
        "element, cluster_id, remote_id, "
        "attempt, slots, state, submitted_at, started_at) SELECT " +
        f + " + i, " + c + ", " + (kind == "epilogue" || kind == "prologue" ? "-1" : f + " + i") +
        ", '" + kind + "', " + f + ", i, " + k + ", 'R' || (" + f + " + i), 1, 1, '" + state +
        "', now() - " + std::to_string(age_s) + " * interval '1 second', CASE WHEN '" + state +
        "' = 'running' THEN now() - " + std::to_string(age_s) +
        " * interval '1 second' END FROM generate_series(0, " + std::to_string(n) + " - 1) AS i");
  }
  std::int64_t Number(const std::string& sql) { return Sql(sql)[0][0].as<std::int64_t>(); }

  Config config;
  TestWaker waker;

 private:
  std::int64_t number_ = 0;
};

}  // namespace cigri::test
