#pragma once
#include "runner/store.h"
#include "tests/support/rows.h"
#include "updator/campaigns.h"
#include "updator/status_updates.h"

namespace cigri::updator {

/// Jobs that a runner has sent, and what the updator does of what their clusters say of them.
class UpdatesTest : public test::RowsTest {
 protected:
  // Claims and records as the runner does; the job ids.
  std::vector<std::int64_t> GivenLive(std::int64_t campaign, int cluster, int n,
                                      const std::string& kind = "task") {
    GivenGrant(campaign, cluster, n, kind);
    auto c = Connect();
    db::Tx tx(*c);
    runner::Store store(cluster, "grid", 0, 0);
    std::vector<std::int64_t> jobs;
    for (const auto& b : store.Claim(
             tx, 1000, [](std::int64_t) { return 1000; }, 10, false)) {
      std::vector<std::pair<int, std::string>> remote;
      for (int i = 0; i < static_cast<int>(b.tasks.size()); ++i) {
        remote.emplace_back(i, b.tag + "_" + std::to_string(i));
        jobs.push_back(b.first_job_id + i);
      }
      store.Record(tx, b, remote, {}, false);
    }
    tx.Commit();
    return jobs;
  }
  static StatusUpdate Ended(std::int64_t job, std::optional<int> status,
                            cluster::EndCause cause = cluster::EndCause::kExited) {
    StatusUpdate n;
    n.job_id = job;
    n.remote.state = cluster::RemoteState::kEnded;
    n.remote.cause = cause;
    n.remote.wait_status = status;
    n.remote.started_at = 1000;
    n.remote.ended_at = 1012;
    n.cluster_time = 1012;
    return n;
  }
  UpdateResult Apply(const std::vector<StatusUpdate>& updates) {
    auto c = Connect();
    db::Tx tx(*c);
    auto result = ApplyStatusUpdates(tx, updates, {{1, "c1"}, {2, "c2"}});
    tx.Commit();
    return result;
  }
  void Update(const std::set<std::int64_t>& ended, const Limits& limits = {}) {
    auto c = Connect();
    db::Tx tx(*c);
    UpdateCampaigns(tx, ended, true, limits);
    tx.Commit();
  }
  std::string State(std::int64_t campaign) {
    return Sql("SELECT state FROM campaigns WHERE id = " + std::to_string(campaign))[0][0].c_str();
  }
};

}  // namespace cigri::updator
