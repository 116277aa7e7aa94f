// Statements that remove what is old.
#include <sql/audit.h>
#include <sql/breakers.h>
#include <sql/campaigns.h>
#include <sql/cluster_status.h>
#include <sql/events.h>
#include <sql/forecasts.h>
#include <sql/kills.h>
#include <sql/notifications.h>
#include <sql/parameters.h>
#include <sql/plans.h>
#include <sql/reasons.h>
#include <sql/request_keys.h>
#include <sql/usage.h>

#include "core/log.h"
#include "db/events.h"
#include "nikita/store.h"

namespace cigri::nikita {
namespace {

constexpr int kRows = 5000;  // most rows that one statement touches
constexpr int kUploadBlocks = 500;
constexpr double kLogEventsOpen_s = 86400;  // after they were last added to

template <typename Statement, typename... Args>
void RunStatement(db::Connection& db, const Statement& statement, const Args&... args) {
  db::Tx tx(db, db::Tx::Sync::kOff);
  tx.Exec(statement, args...);
  tx.Commit();
}

// As much as there is: a grid of a thousand campaigns on ten clusters adds more than one statement
// of each pass takes.
void AggregateUsage(db::Connection& db, const char* unit, const char* from, const char* age) {
  constexpr int kMostStatements = 50;
  std::size_t units = 1;
  for (int i = 0; i < kMostStatements && units > 0; ++i) {
    db::Tx tx(db, db::Tx::Sync::kOff);
    units = tx.Exec(sql::kAggregateUsage, unit, from, age, kRows);
    tx.Commit();
  }
  RunStatement(db, sql::kWidenUsage, unit, from, age, kRows);
}

}  // namespace

void RemoveStaleUploads(db::Connection& db, double keep_s) {
  RunStatement(db, sql::kDropStaleUploadBlocks, keep_s, kUploadBlocks);
  RunStatement(db, sql::kDropStaleUploads, keep_s);
}

void RemoveSettledRequests(db::Connection& db) {
  RunStatement(db, sql::kDropSettledRequests);
  RunStatement(db, sql::kDropOldCalls);
  RunStatement(db, sql::kDropOldRequestKeys, kRows);
}

void RemoveOldReasonsAndEvents(db::Connection& db) {
  RunStatement(db, sql::kDropEndedSubscriptions, kRows);
  RunStatement(db, sql::kDropOldNotifications, kRows);
  RunStatement(db, sql::kDropOldReasons, kRows);
  RunStatement(db, sql::kCapReasons, kRows);
  RunStatement(db, sql::kDropOldEvents, kRows);
  db::Tx tx(db, db::Tx::Sync::kOff);
  db::CloseEvents(tx, "nikita", {.classes = {"log"}, .unseen_s = kLogEventsOpen_s});
  tx.Commit();
}

void RemoveOldAudit(db::Connection& db, double keep_days) {
  RunStatement(db, sql::kDropOldAudit, keep_days, kRows);
}

void ThinHistory(db::Connection& db, double since_s) {
  RunStatement(db, sql::kThinGridstatus, since_s);
  RunStatement(db, sql::kThinForecasts, since_s);
  RunStatement(db, sql::kThinPlans, since_s);
  RunStatement(db, sql::kDropOldGridstatus, kRows);
  RunStatement(db, sql::kDropOldForecasts, kRows);
  RunStatement(db, sql::kDropOldPlans, kRows);
  AggregateUsage(db, "hour", "1 minute", "1 day");
  AggregateUsage(db, "day", "1 hour", "30 days");
}

std::optional<std::int64_t> PurgeSomeOfOldestCampaign(db::Connection& db,
                                                      std::optional<double> days) {
  db::Tx tx(db, db::Tx::Sync::kOff);
  const auto found = tx.First(sql::kPurgeableCampaign, days);
  if (!found) return std::nullopt;
  // Its user may be adding tasks to it right now.
  tx.Exec(sql::kLockCampaign, found->id);
  if (tx.Exec(sql::kMarkPurged, found->id).empty()) return 0;
  const auto rows = tx.One(sql::kPurgeCampaignRows, found->id, kRows).n;
  // Fewer than the least of the statement's limits: these were the last ones.
  if (rows < kRows / 100) {
    tx.Exec(sql::kPurgeCampaign, found->id);
    log::info("campaign {} is purged", found->id);
  }
  tx.Commit();
  return rows;
}

}  // namespace cigri::nikita
