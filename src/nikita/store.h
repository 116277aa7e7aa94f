// All SQL of nikita: which jobs to kill, the calls to make, and what is old enough to be removed.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"
#include "nikita/decide.h"

namespace cigri::nikita {

/// What a pass has to look at.
struct Work {
  bool kills = false, drained = false, live = false, duplicates = false, drain_over = false;
};
Work WorkToDo(db::Tx& tx);

/// Kills for the reasons that statements detect (kKillReasons): those that a write of somebody
/// makes true, and those that become true with time alone.
void CollectKills(db::Tx& tx);
void CollectDrainedJobs(db::Tx& tx);
void CollectByTime(db::Tx& tx);

/// Pending jobs by cluster and what they wait for there ("" = slots, else a resource class), of
/// clusters that were polled lately.
std::map<std::pair<std::int64_t, std::string>, PendingJobs> LoadPending(db::Tx& tx);
void AddKills(db::Tx& tx, const std::vector<std::int64_t>& jobs, const char* reason,
              const std::string& detail);

/// Ends the drains whose time is over, and closes their events.
void EndDrains(db::Tx& tx);
/// Opens and closes KILL_UNCONFIRMED: clusters that do not end jobs after many calls.
void ReportUnconfirmedKills(db::Tx& tx);

/// Calls that are due now, by cluster; of the clusters `busy` none. A ref without a job id is a
/// duplicate of one of our jobs.
std::map<std::int64_t, std::vector<cluster::RemoteRef>> DueCalls(
    db::Tx& tx, const std::vector<std::int64_t>& busy);
/// Records that these calls are about to be made.
void MarkCalled(db::Tx& tx, std::int64_t cluster_id, const std::vector<cluster::RemoteRef>& refs);
/// Seconds until the next call is due, if one is.
std::optional<double> NextCallIn(db::Tx& tx);

/// What clusters answered to calls.
struct Answers {
  db::RowSet<std::int64_t, std::string> failed;  ///< job, error message
  std::vector<std::int64_t> begun;  ///< jobs that were to be killed only while they wait
  /// Cluster, remote id, error message; "" = the duplicate is gone.
  db::RowSet<std::int64_t, std::string, std::string> duplicates;
};
void WriteAnswers(db::Connection& db, const Answers& answers);

// store_retention.cc: each statement is a transaction of its own and touches a bounded number of
// rows.
void RemoveStaleUploads(db::Connection& db, double keep_s);
void RemoveSettledRequests(db::Connection& db);
void RemoveOldReasonsAndEvents(db::Connection& db);
void RemoveOldAudit(db::Connection& db, double keep_days);
/// Keeps one row a minute, an hour or a day of what is measured, by its age: of what came to the
/// age for it in the last `since_s` seconds.
void ThinHistory(db::Connection& db, double since_s);
/// Removes some rows of the oldest campaign whose purge has begun or that ended more than `days`
/// days ago, and with the last ones itself; how many of its bulk tables. Nothing: there is no such
/// campaign.
std::optional<std::int64_t> PurgeSomeOfOldestCampaign(db::Connection& db,
                                                      std::optional<double> days);

}  // namespace cigri::nikita
