#include "tests/metascheduler/fixture.h"

#include "policy/json.h"

namespace cigri::metascheduler {

std::int64_t GridTest::Campaign(const GivenCampaignRow& row) {
  const std::string n = std::to_string(row.tasks);
  const auto id = Number(
      "INSERT INTO campaigns (grid_user, name, type, project, priority, sla_group, nb_params, "
      "first_task_id, jdl, max_replicas, submission_time) VALUES ('" +
      row.user + "', 'test', '" + row.type + "', '" + row.project + "', " +
      std::to_string(row.priority) + ", nullif('" + row.sla_group + "', ''), " + n + ", 1, '" +
      row.jdl.dump() + "', " + std::to_string(row.max_replicas) + ", now() - " +
      std::to_string(row.age_s) + " * interval '1 second') RETURNING id");
  const std::string c = std::to_string(id);
  const auto tasks =
      row.type == "test" ? static_cast<std::int64_t>(row.clusters.size()) : row.tasks;
  Sql("INSERT INTO campaign_cursor (campaign_id, ntasks) VALUES (" + c + ", " +
      std::to_string(tasks) + "); INSERT INTO segments (campaign_id, first_idx, n) VALUES (" + c +
      ", 0, " + n + ")");
  for (const int k : row.clusters)
    Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, slots, "
        "walltime_s, cluster_login, options) VALUES (" +
        c + ", " + std::to_string(k) + ", './job.sh', '/resource_id=1', " +
        std::to_string(row.slots) + ", " + std::to_string(row.walltime_s) + ", 'alice', '" +
        row.options.dump() +
        "'); INSERT INTO placements (campaign_id, cluster_id, verified) VALUES (" + c + ", " +
        std::to_string(k) + ", " + (row.verified ? "true" : "false") + ")");
  return id;
}

std::map<std::pair<std::int64_t, int>, GridTest::Jobs> GridTest::Claim() {
  std::map<std::pair<std::int64_t, int>, Jobs> claimed;
  for (const auto& row : Sql("SELECT id FROM clusters ORDER BY id")) {
    const int cluster = row[0].as<int>();
    runner::Store store(cluster, "grid", 0, 0);
    db::Tx tx(*db_);
    for (const auto& b : store.Claim(
             tx, 5000, [](std::int64_t) { return 5000; }, 10, false)) {
      std::vector<std::pair<int, std::string>> remote;
      for (int i = 0; i < static_cast<int>(b.tasks.size()); ++i) {
        remote.emplace_back(i, b.tag + "_" + std::to_string(i));
        claimed[{b.campaign_id, cluster}].push_back(b.first_job_id + i);
      }
      store.Record(tx, b, remote, {}, false);
    }
    tx.Commit();
  }
  return claimed;
}

namespace {

constexpr double kThen = 1'000'000;  // a cluster's clock has nothing to do with ours

updator::StatusUpdate UpdateOf(std::int64_t job, double started_ago) {
  updator::StatusUpdate n;
  n.job_id = job;
  n.cluster_time = kThen;
  n.remote.started_at = kThen - started_ago;
  return n;
}

}  // namespace

void GridTest::Run(const Jobs& jobs, double age_s) {
  std::vector<updator::StatusUpdate> updates;
  for (const auto job : jobs) {
    updates.push_back(UpdateOf(job, age_s));
    updates.back().remote.state = cluster::RemoteState::kRunning;
  }
  db::Tx tx(*db_);
  updator::ApplyStatusUpdates(tx, updates, {{1, "c1"}, {2, "c2"}, {3, "c3"}});
  tx.Commit();
}

void GridTest::End(const Jobs& jobs, double lasted_s, int status, cluster::EndCause cause) {
  std::vector<updator::StatusUpdate> updates;
  for (const auto job : jobs) {
    updates.push_back(UpdateOf(job, lasted_s));
    updates.back().remote.state = cluster::RemoteState::kEnded;
    updates.back().remote.ended_at = kThen;
    updates.back().remote.cause = cause;
    if (cause == cluster::EndCause::kExited) updates.back().remote.wait_status = status;
  }
  db::Tx tx(*db_);
  updator::ApplyStatusUpdates(tx, updates, {{1, "c1"}, {2, "c2"}, {3, "c3"}});
  tx.Commit();
}

void GridTest::LetPass(double s) {
  auto state = nlohmann::json::parse(Text("SELECT state FROM plan_state")).get<policy::State>();
  state.decided_at -= s;
  for (auto& [id, c] : state.credit) c.since -= s;
  for (auto& [key, bucket] : state.rates) bucket.at -= s;
  for (auto& [key, hold] : state.holds) hold.since -= s, hold.until -= s;
  for (auto& [key, ageing] : state.ageing) {
    if (ageing.held_since > 0) ageing.held_since -= s;
    if (ageing.rest_until > 0) ageing.rest_until -= s;
  }
  Sql("UPDATE plan_state SET state = '" + nlohmann::json(state).dump() + "'");
  const std::string duration = std::to_string(s) + " * interval '1 second'";
  Sql("UPDATE campaigns SET submission_time = submission_time - " + duration);
  Sql("UPDATE live SET started_at = started_at - " + duration + ", submitted_at = submitted_at - " +
      duration);
  Sql("UPDATE counters SET sum_start = sum_start - slots * " + std::to_string(s) +
      " WHERE state = 'running'");
  Fresh();
}

void GridTest::ExpectConservation() {
  const auto wrong =
      Sql("SELECT cur.campaign_id, cur.ntasks, cur.ntasks - cur.next_idx AS waiting, (SELECT "
          "count(*) FROM retry AS r WHERE r.campaign_id = cur.campaign_id) AS retries, (SELECT "
          "count(DISTINCT idx) FROM live AS l WHERE l.campaign_id = cur.campaign_id AND idx >= 0 "
          "AND NOT EXISTS (SELECT FROM done AS d WHERE d.campaign_id = l.campaign_id AND d.idx = "
          "l.idx AND d.counted)) AS live, (SELECT count(*) FROM needs_attention AS t WHERE "
          "t.campaign_id = cur.campaign_id) AS needs_attention, (SELECT count(*) FROM done AS d "
          "WHERE d.campaign_id = cur.campaign_id AND d.counted) AS done, (SELECT coalesce(sum(n), "
          "0) FROM counters AS k WHERE k.campaign_id = cur.campaign_id AND k.state = 'terminated' "
          "AND kind IN ('task', 'test', 'replica')) AS reported FROM campaign_cursor AS cur");
  for (const auto& row : wrong) {
    const auto n = [&](const char* name) { return row[name].as<std::int64_t>(); };
    EXPECT_EQ(n("ntasks"),
              n("waiting") + n("retries") + n("live") + n("needs_attention") + n("done"))
        << "campaign " << n("campaign_id");
    EXPECT_EQ(n("reported"), n("done")) << "campaign " << n("campaign_id");
  }
}

}  // namespace cigri::metascheduler
