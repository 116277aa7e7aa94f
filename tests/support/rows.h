// Rows that a module would find: campaigns, clusters, grants, as few words as a test needs.
#pragma once
#include "core/event_codes.h"
#include "tests/support/pg.h"

namespace cigri::test {

struct CampaignRow {
  std::int64_t ntasks = 10;
  std::string type = "default";
  std::string user = "alice";
  int max_tries = 2;
  int max_replicas = 0;
  int clusters = 1;  ///< it names the first so many
};

/// A schema with `n` open clusters c1..cn of kind local (never asked) and helpers to fill it.
class RowsTest : public PgTest {
 protected:
  /// Events that the modules raised have the class that docs/events.md gives their codes: by it the
  /// notifier, the API and nikita know what they are.
  void ExpectClassesOfEvents() {
    for (const auto& row : Sql("SELECT DISTINCT code, class::text FROM events"))
      for (const auto& known : kEventCodes) {
        if (known.code != row[0].as<std::string>()) continue;
        EXPECT_EQ(row[1].as<std::string>(), known.cls == "task" ? "job" : known.cls) << known.code;
      }
  }
  void TearDown() override {
    ExpectClassesOfEvents();
    PgTest::TearDown();
  }
  void GivenClusters(int n) {
    for (int i = 1; i <= n; ++i) {
      Sql("INSERT INTO clusters (id, name, kind, api_url, mode, change_feed, exact_walltime, "
          "dedicated, time_resolution_s) VALUES (" +
          std::to_string(i) + ", 'c" + std::to_string(i) +
          "', 'local', 'unix:/nowhere', 'unlimited', true, true, true, 0)");
      Sql("INSERT INTO cluster_leases (cluster_id) VALUES (" + std::to_string(i) + ")");
    }
  }
  std::int64_t GivenCampaign(const CampaignRow& row) {
    const auto id = Sql("INSERT INTO campaigns (grid_user, name, type, nb_params, first_task_id, "
                        "jdl, max_tries, "
                        "max_replicas) VALUES ('" +
                        row.user + "', 'test', '" + row.type + "', " + std::to_string(row.ntasks) +
                        ", 1, '{}', " + std::to_string(row.max_tries) + ", " +
                        std::to_string(row.max_replicas) + ") RETURNING id")[0][0]
                        .as<std::int64_t>();
    const std::string c = std::to_string(id);
    Sql("INSERT INTO campaign_cursor (campaign_id, ntasks) VALUES (" + c + ", " +
        std::to_string(row.ntasks) + ")");
    Sql("INSERT INTO segments (campaign_id, first_idx, n) VALUES (" + c + ", 0, " +
        std::to_string(row.ntasks) + ")");
    for (int k = 1; k <= row.clusters; ++k) {
      Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, "
          "walltime_s, cluster_login) "
          "VALUES (" +
          c + ", " + std::to_string(k) + ", './job.sh', '/resource_id=1', 60, 'alice')");
      Sql("INSERT INTO placements (campaign_id, cluster_id) VALUES (" + c + ", " +
          std::to_string(k) + ") ON CONFLICT DO NOTHING");
    }
    return id;
  }
  /// What a plan of now would write; it counts what has ended.
  void GivenGrant(std::int64_t campaign, int cluster, int n, const std::string& kind = "task") {
    Sql("INSERT INTO grants (campaign_id, cluster_id, kind, n, rank, plan_id) VALUES (" +
        std::to_string(campaign) + ", " + std::to_string(cluster) + ", '" + kind + "', " +
        std::to_string(n) +
        ", 1, 1) "
        "ON CONFLICT (campaign_id, cluster_id, kind) DO UPDATE SET n = excluded.n");
    Sql("UPDATE grants AS g SET ended = (SELECT coalesce(sum(c.jobs), 0) FROM job_counts AS c WHERE "
        "(c.campaign_id, c.cluster_id, c.kind) = (g.campaign_id, g.cluster_id, g.kind) AND NOT "
        "c.in_flight)");
  }
  std::int64_t Count(const std::string& what) {
    return Sql("SELECT count(*) FROM " + what)[0][0].as<std::int64_t>();
  }
  /// The conservation of tasks (docs/design.md section 3): every task is in exactly one place.
  void ExpectConservation(std::int64_t campaign) {
    const std::string c = std::to_string(campaign);
    EXPECT_EQ(Sql("SELECT cur.ntasks - cur.waiting"
                  " - (SELECT count(*) FROM retry WHERE campaign_id = " +
                  c + ") - (SELECT count(*) FROM needs_attention WHERE campaign_id = " + c +
                  ")"
                  " - (SELECT count(*) FROM done WHERE counted AND campaign_id = " +
                  c +
                  ")"
                  " - (SELECT count(DISTINCT idx) FROM ("
                  "     SELECT campaign_id, idx FROM live WHERE idx >= 0"
                  "     UNION SELECT campaign_id, unnest(coalesce(idxs, (SELECT array_agg(g) FROM "
                  "generate_series(first_idx, first_idx + n - 1) AS g)))"
                  "     FROM batches WHERE state IN ('intended', 'in_doubt')"
                  "         AND kind IN ('task', 'test', 'replica')"
                  " ) AS flying WHERE campaign_id = " +
                  c +
                  " AND NOT EXISTS (SELECT FROM done d WHERE d.campaign_id = flying.campaign_id"
                  "     AND d.idx = flying.idx AND d.counted))"
                  " FROM campaign_cursor AS cur WHERE cur.campaign_id = " +
                  c)[0][0]
                  .as<std::int64_t>(),
              0)
        << "tasks of campaign " << campaign << " in no place, or in two";
  }
};

}  // namespace cigri::test
