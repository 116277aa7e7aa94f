// What the page asks for is bounded, on a grid with a campaign of ten million tasks, a thousand
// campaigns and 24 clusters.
#include <cstdlib>

#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

constexpr std::size_t kMostBytes = 300'000;  // a page of 200 rows and its reasons
// That PostgreSQL reads, whatever the machine does: tasks that wait for another try or for their
// user are counted up to 100,001, by two or three statements; shares sum a month of usage by
// campaign, cluster and hour, /grid the forecasts of 24 clusters.
constexpr std::int64_t kMostRows = 1'000'000;

// {n}: the campaign; the routes of web/src.
const std::vector<std::string> kAsked = {
    "/me",
    "/campaigns?newest=1&limit=50&offset=0&user=alice&all=1",
    "/campaigns?newest=1&limit=50&offset=0&all=1",
    "/campaigns?newest=1&limit=50&offset=900&all=1",
    "/campaigns?newest=1&limit=50&offset=0&user=alice&name=many&all=1",
    "/campaigns?newest=1&limit=50&offset=0&user=alice&state=terminated",
    "/campaigns/{n}",
    "/campaigns/{n}/why",
    "/campaigns/{n}/stats",
    "/campaigns/{n}/progress",
    "/campaigns/{n}/failures?limit=20",
    "/campaigns/{n}/series",
    "/campaigns/{n}/jobs?limit=25&offset=0",
    "/campaigns/{n}/jobs?limit=25&offset=100000",
    "/campaigns/{n}/jobs?limit=25&offset=9999000",
    "/campaigns/{n}/jobs?limit=25&state=failed&after=-1",
    "/campaigns/{n}/jobs?limit=25&state=running&after=-1",
    "/campaigns/{n}/jobs?limit=25&state=waiting&after=-1",
    "/campaigns/{n}/jobs?limit=25&state=done&after=-1",
    "/campaigns/{n}/jobs?limit=25&state=done&after=90000",
    "/campaigns/{n}/jdl",
    "/campaigns/{n}/events?all=1&limit=100",
    "/campaigns/{n}/tasks/3",
    "/campaigns/{n}/tasks/3/why",
    "/clusters?full=1",
    "/grid",
    "/incidents?limit=100",
    "/incidents?limit=100&state=closed",
    "/incidents?limit=100&before=5000",
    "/admin/policy/shares?days=1",
    "/admin/policy/shares?days=30",
    "/admin/policy/lint",
    "/admin/policy/history",
    "/admin/policy/presets",
    "/admin/rules",
    "/admin/audit?limit=100",
    "/admin/audit?limit=100&user=user7",
    "/admin/audit?limit=100&subject=campaign+500",
    "/admin/audit?limit=100&before=50000",
    "/openapi.json"};

class BoundedTest : public ApiTest {
 protected:
  struct Cost {
    std::int64_t rows = 0;
    std::size_t bytes = 0;
    double ms = 0;
  };
  // A session adds what it has read to the statistics when it ends.
  std::int64_t RowsRead() {
    const std::string of_api = " FROM pg_stat_activity WHERE application_name LIKE 'cigri api%'";
    Sql("SELECT pg_terminate_backend(pid)" + of_api);
    EXPECT_TRUE(Await([&] { return One("SELECT count(*)" + of_api) == "0"; }));
    return std::stoll(One("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM "
                          "pg_stat_user_tables WHERE schemaname = current_schema()"));
  }
  Cost CostOf(const std::string& path) {
    const std::int64_t before = RowsRead();
    const auto began = std::chrono::steady_clock::now();
    const auto answer = Http().Get(path, {{"X-Cigri-User", "oscar"}});
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - began;
    EXPECT_EQ(answer.status, 200) << path << " " << answer.body.substr(0, 300);
    return {RowsRead() - before, answer.body.size(), took.count()};
  }
  // `rows` of the campaign's ten million tasks have their records; the whole takes 5 GB.
  void Fill(std::int64_t campaign, std::int64_t rows) {
    const std::string n = std::to_string(campaign), r = std::to_string(rows);
    Sql("SET session_replication_role = replica;"  // the audit is filled below
        "INSERT INTO clusters (name, kind, api_url, mode) SELECT 'c' || g, 'local', "
        "'unix:/nowhere', 'unlimited' FROM generate_series(3, 24) g;"
        "INSERT INTO cluster_status (cluster_id, polled_at, answered_at) SELECT id, now(), now() "
        "FROM clusters ON CONFLICT DO NOTHING;"
        "INSERT INTO campaigns (id, grid_user, name, state, wanted, nb_params, first_task_id, jdl, "
        "completion_time) SELECT 1000 + g, CASE WHEN g % 2 = 0 THEN 'alice' ELSE 'user' || g % 50 "
        "END, 'many' || g, (CASE WHEN g % 4 = 0 THEN 'in_treatment' ELSE 'terminated' "
        "END)::campaign_state, 'in_treatment', 10000, 100000000 + g * 10000, (SELECT jdl FROM "
        "campaigns WHERE id = " + n + "), CASE WHEN g % 4 > 0 THEN now() END "
        "FROM generate_series(1, 999) g;"
        "INSERT INTO campaign_cursor (campaign_id, ntasks, next_idx) SELECT id, 10000, 5000 FROM "
        "campaigns WHERE id > 1000;"
        "UPDATE campaign_cursor SET next_idx = 9000000 WHERE campaign_id = " + n + ";"
        "INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
        "cluster_login) SELECT c.id, k.id, 'true', '/core=1', 3600, 'x' FROM campaigns c, clusters "
        "k ON CONFLICT DO NOTHING;"
        "INSERT INTO placements (campaign_id, cluster_id, verified, jobs, n_ok, sum_s, sum_sq, "
        "hist, first_start, last_end) SELECT campaign_id, cluster_id, true, 1000, 900, 9000, 90000, "
        "array_fill(20, ARRAY[100]), now() - interval '1 day', now() FROM campaign_clusters "
        "ON CONFLICT DO NOTHING;"
        "INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots) SELECT "
        "campaign_id, cluster_id, 'task', s, 'updator', 40, 40 FROM campaign_clusters, "
        "unnest(ARRAY['terminated', 'running', 'submitted', 'remote_waiting', 'event', "
        "'preemption']) s ON CONFLICT DO NOTHING;"
        "INSERT INTO forecasts (campaign_id, cluster_id, rate, end_low, end_high) SELECT c.id, k.id,"
        " 1, now() + interval '1 h', now() + interval '2 h' FROM campaigns c, (SELECT id FROM "
        "clusters UNION SELECT 0) k ON CONFLICT DO NOTHING;"
        "INSERT INTO forecasts_history (campaign_id, cluster_id, job_ratio, poll, nsub, at, "
        "end_low, end_high) SELECT id, k, 1, 1, 0, now() - h * interval '1 min', now(), now() FROM "
        "campaigns, generate_series(0, 2) k, generate_series(1, 100) h;"
        "INSERT INTO reasons (campaign_id, cluster_id, code, numbers) SELECT campaign_id, "
        "cluster_id, 'NO_FREE_SLOTS', '{}' FROM campaign_clusters;"
        "INSERT INTO reasons (campaign_id, cluster_id, code, numbers, since, until) SELECT " + n +
        ", 1 + g % 24, 'NO_FREE_SLOTS', '{}', now() - g * interval '1 min', now() - g * interval "
        "'1 min' FROM generate_series(1, 50000) g;"
        "INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, waits,"
        " width) SELECT date_trunc('hour', now()) - h * interval '1 h', CASE WHEN c = 1 THEN " + n +
        " ELSE 1000 + c END, k, 'user' || c % 50, '', 3600, 100, array_fill(1, ARRAY[100]), '1 h' "
        "FROM generate_series(24, 719) h, generate_series(1, 20) c, generate_series(1, 24) k;"
        "INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, waits)"
        " SELECT date_trunc('minute', now()) - m * interval '1 min', CASE WHEN c = 1 THEN " + n +
        " ELSE 1000 + c END, k, 'user' || c % 50, '', 60, 10, array_fill(1, ARRAY[100]) "
        "FROM generate_series(0, 1439) m, generate_series(1, 5) c, generate_series(1, 24) k;");
    Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
        "state, exit_class, wait_status, slots, submitted_at, started_at, remote_id) SELECT g, " +
        n + ", g, g / 1000, 1 + g % 24, 1, 'task', true, 'terminated', 'none', 0, 1, now(), now(), "
        "g::text FROM generate_series(0, " + r + " - 1) g;");
    Sql("SET session_replication_role = replica;"
        "INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots,"
        " tag, state, epoch, send_by) SELECT 1000000 + g, g * 1000, 'task', " + n + ", 1 + g % 24, "
        "1000, g * 1000, 1, 'tag' || g, 'recorded', 1, now() FROM generate_series(0, " + r +
        " / 1000) g ON CONFLICT DO NOTHING;"
        "INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, cluster_id, "
        "remote_id, attempt, slots, state) SELECT 100000000 + g, " + n + ", 8000000 + g, 'task', "
        "1000000, 0, 1 + g % 24, g::text, 1, 1, 'running' FROM generate_series(1, 20000) g;"
        "INSERT INTO retry (campaign_id, idx, why) SELECT " + n + ", 8500000 + g, 'user' FROM "
        "generate_series(1, 100000) g;"
        "INSERT INTO events (class, code, campaign_id, cluster_id, idx, job_id, message, "
        "fingerprint, state) SELECT 'job', 'EXIT_ERROR', " + n + ", 1 + g % 24, g, g, 'error ' || "
        "g, g::text, 'open' FROM generate_series(1, 5000) g;"
        "INSERT INTO needs_attention (campaign_id, idx, job_id, event_id) SELECT " + n +
        ", 8700000 + g, g, 1 + g % 5000 FROM generate_series(1, 100000) g;"
        "INSERT INTO events (class, code, cluster_id, message, fingerprint, state, date_closed) "
        "SELECT 'cluster', 'CLUSTER_UNREACHABLE', 1 + g % 24, 'gone ' || g, g::text, "
        "CASE WHEN g % 50 = 0 THEN 'open' ELSE 'closed' END, now() FROM generate_series(1, 50000) g;"
        "INSERT INTO audit (actor, source, action, subject) SELECT 'user' || g % 50, 'test', "
        "'changed', 'campaign ' || g % 1000 FROM generate_series(1, 200000) g;"
        "ANALYZE");
  }
};

TEST_F(BoundedTest, EveryRouteOfThePageIsBoundedWithTenMillionTasksAndAThousandCampaigns) {
  const char* rows = std::getenv("CIGRI_BOUNDED_ROWS");  // 10000000: all of them
  const auto id = Submit({{"nb_jobs", 10'000'000}});
  Fill(id, rows == nullptr ? 100'000 : std::atoll(rows));
  for (const auto& pattern : kAsked) {
    const Cost cost = CostOf(ReplaceAll(pattern, "{n}", std::to_string(id)));
    std::printf("%8ld rows %8zu bytes %8.1f ms: %s\n", cost.rows, cost.bytes, cost.ms,
                pattern.c_str());
    EXPECT_LE(cost.bytes, kMostBytes) << pattern;
    EXPECT_LE(cost.rows, kMostRows) << pattern;
  }
}

// As ListAudit reads them newest first, it once looked through all rows for one that was not there.
TEST_F(BoundedTest, ASearchOfTheAuditThatFindsNothingReadsNoRowsOfOthers) {
  Sql("INSERT INTO audit (at, actor, source, action, subject) SELECT now() - g * interval '1 s', "
      "'user' || g % 50, 'test', (ARRAY['added', 'changed', 'killed'])[1 + g % 3], 'campaign ' || "
      "g % 1000 FROM generate_series(1, 100000) g; ANALYZE");
  constexpr std::int64_t kOfTheRequest = 500;  // who asks, how the grid is
  for (const std::string search :
       {"user=nobody", "action=retried", "subject=cluster", "subject=campaign+1000",
        "subject=camp", "since=4000000000", "until=1000", "user=nobody&action=changed",
        "user=user7&subject=cluster", "subject=campaign&action=retried"}) {
    const Cost cost = CostOf("/admin/audit?limit=100&" + search);
    std::printf("%8ld rows: %s\n", cost.rows, search.c_str());
    EXPECT_LE(cost.rows, kOfTheRequest) << search;
  }
  // What is found is found as before.
  const auto found = Http().Get("/admin/audit?limit=3&subject=campaign&user=user7&action=killed",
                                {{"X-Cigri-User", "oscar"}});
  EXPECT_EQ(nlohmann::json::parse(found.body)["items"].size(), 3u) << found.body;
}

}  // namespace
}  // namespace cigri::test
