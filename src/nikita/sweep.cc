#include "nikita/sweep.h"

#include <sql/api.h>
#include <sql/nikita.h>

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
  Run(turn.db, sql::nikita::kDropDrafts, keep_s, 500);
  Run(turn.db, sql::nikita::kDropEmptyDrafts, keep_s);
}

void FoldUsage(db::Connection& db, const char* unit, const char* from, const char* age) {
  Run(db, sql::nikita::kFoldUsage, unit, from, age, kRows);
  Run(db, sql::nikita::kWidenUsage, unit, from, age, kRows);
}

void Thin(db::Connection& db) {
  Run(db, sql::nikita::kThinGridstatus, kRows);
  Run(db, sql::nikita::kThinForecasts, kRows);
  Run(db, sql::nikita::kThinPlans, kRows);
  FoldUsage(db, "hour", "1 minute", "1 day");
  FoldUsage(db, "day", "1 hour", "30 days");
}

// KEEP_CAMPAIGNS_DAYS = 0 keeps them for ever.
void PurgeCampaigns(module::Turn& turn) {
  const auto days = static_cast<double>(turn.config.GetInt("KEEP_CAMPAIGNS_DAYS", 365));
  if (days == 0) return;
  for (int i = 0; i < kPurgeStatements; ++i) {
    db::Tx tx(turn.db, db::Tx::Sync::kOff);
    const auto found = tx.Exec(sql::nikita::kPurgeable, days);
    if (found.empty()) return;
    const auto id = found[0][0].as<std::int64_t>();
    if (tx.Exec(sql::api::kPurgeBulk, id, kRows)[0][0].as<std::int64_t>() == 0) {
      tx.Exec(sql::api::kPurgeCampaign, id);
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
  Run(turn.db, sql::nikita::kDropOrphans);
  Run(turn.db, sql::nikita::kDropCalls);
  PurgeCampaigns(turn);
  if (thinned_ != Clock::time_point{} && now - thinned_ < kThinEvery) return;
  thinned_ = now;
  Run(turn.db, sql::nikita::kDropReasons, kRows);
  Run(turn.db, sql::nikita::kCapReasons, kRows);
  Run(turn.db, sql::nikita::kDropEvents, kRows);
  Run(turn.db, sql::nikita::kCloseLogEvents);
  Thin(turn.db);
}

}  // namespace cigri::nikita
