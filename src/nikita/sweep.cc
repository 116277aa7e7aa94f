#include "nikita/sweep.h"

#include <sql/breakers.h>
#include <sql/campaigns.h>
#include <sql/cluster_status.h>
#include <sql/events.h>
#include <sql/forecasts.h>
#include <sql/kills.h>
#include <sql/parameters.h>
#include <sql/plans.h>
#include <sql/reasons.h>
#include <sql/usage.h>

#include "core/log.h"

namespace cigri::nikita {
namespace {

using std::chrono::minutes;
constexpr minutes kSweepEvery{1}, kThinEvery{10};
constexpr int kRows = 5000;           // of one statement
constexpr int kPurgeStatements = 20;  // a minute: 10 million jobs go in a day and a half

template <typename... Args>
void Run(db::Connection& db, const db::Statement& statement, const Args&... args) {
  db::Tx tx(db, db::Tx::Sync::kOff);
  tx.Exec(statement, args...);
  tx.Commit();
}

void SweepDrafts(module::Turn& turn) {
  const double keep_s = static_cast<double>(turn.config.GetInt("DRAFT_KEEP", 86400, 60));
  Run(turn.db, sql::kDropStaleUploadBlocks, keep_s, 500);
  Run(turn.db, sql::kDropStaleUploads, keep_s);
}

void FoldUsage(db::Connection& db, const char* unit, const char* from, const char* age) {
  Run(db, sql::kAggregateUsage, unit, from, age, kRows);
  Run(db, sql::kWidenUsage, unit, from, age, kRows);
}

void Thin(db::Connection& db) {
  Run(db, sql::kThinGridstatus, kRows);
  Run(db, sql::kThinForecasts, kRows);
  Run(db, sql::kThinPlans, kRows);
  FoldUsage(db, "hour", "1 minute", "1 day");
  FoldUsage(db, "day", "1 hour", "30 days");
}

// KEEP_CAMPAIGNS_DAYS = 0 keeps them for ever.
void PurgeCampaigns(module::Turn& turn) {
  const auto days = static_cast<double>(turn.config.GetInt("KEEP_CAMPAIGNS_DAYS", 365));
  if (days == 0) return;
  for (int i = 0; i < kPurgeStatements; ++i) {
    db::Tx tx(turn.db, db::Tx::Sync::kOff);
    const auto found = tx.Exec(sql::kPurgeableCampaign, days);
    if (found.empty()) return;
    const auto id = found[0].id;
    if (tx.One(sql::kPurgeCampaignRows, id, kRows).n == 0) {
      tx.Exec(sql::kPurgeCampaign, id);
      log::info("campaign {} is gone: it ended more than {} days ago", id, days);
    }
    tx.Commit();
  }
}

}  // namespace

void Sweeper::Sweep(module::Turn& turn) {
  const auto now = Clock::now();
  if (swept_ != Clock::time_point{} && now - swept_ < kSweepEvery) return;
  swept_ = now;
  SweepDrafts(turn);
  Run(turn.db, sql::kDropSettledRequests);
  Run(turn.db, sql::kDropOldCalls);
  PurgeCampaigns(turn);
  if (thinned_ != Clock::time_point{} && now - thinned_ < kThinEvery) return;
  thinned_ = now;
  Run(turn.db, sql::kDropOldReasons, kRows);
  Run(turn.db, sql::kCapReasons, kRows);
  Run(turn.db, sql::kDropOldEvents, kRows);
  Run(turn.db, sql::kCloseLogEvents);
  Thin(turn.db);
}

}  // namespace cigri::nikita
