// Events of the metascheduler: black holes, what preemption brings, overdue jobs.
#include <sql/events.h>
#include <sql/kills.h>
#include <sql/survival.h>

#include "core/pluralize.h"
#include "core/text.h"
#include "db/events.h"
#include "metascheduler/store.h"

namespace cigri::metascheduler {
namespace {

db::Event EventOf(const std::string& cls, const std::string& code, std::int64_t campaign,
                  std::int64_t cluster) {
  db::Event e{.cls = cls, .code = code, .message = ""};
  e.campaign_id = campaign;
  e.cluster_id = cluster;
  return e;
}

}  // namespace

// CIG-11: an event informs the user, and the updator requeues the tasks that ended there.
void Store::WriteBlackHoles(db::Tx& tx, const Loaded& loaded,
                            const std::vector<policy::Hold>& holds) {
  if (holds.empty()) return;
  std::map<std::int64_t, std::string> names;
  for (const auto& c : loaded.snapshot.clusters) names[c.id] = c.name;
  db::RowSet<std::int64_t, std::int64_t, int, double> rows;
  for (const auto& hold : holds) {
    rows.Add(hold.campaign, hold.cluster, hold.requeue, hold.until);
    if (hold.since < loaded.now) continue;  // jobs that were still there when it was found
    auto e = EventOf("campaign", hold.code, hold.campaign, hold.cluster);
    e.message = "the last " + std::to_string(hold.requeue) + " jobs on " + names[hold.cluster] +
                " ended without an error, but too fast to be true: CiGri retries them on other "
                "clusters and sends nothing there for " +
                HumanDuration(hold.until - hold.since);
    db::RaiseEvent(tx, e);
  }
  tx.Exec(sql::kInsertBlackHoles, rows);
}

void Store::LiftClosedHolds(db::Tx& tx, policy::State& state) {
  if (state.holds.empty()) return;
  std::set<Pair> open;
  for (const auto& row : tx.Exec(sql::kOpenBlackHoles))
    open.emplace(row.campaign_id, row.cluster_id);
  const auto lifted = [&](const auto& entry) {
    return entry.second.code == "BLACK_HOLE" && open.count(entry.first) == 0;
  };
  if (std::erase_if(state.holds, lifted) > 0) carried_ = state;
}

// Closes the events of holds that have expired, or whose campaigns have ended.
void Store::CloseBlackHoles(db::Tx& tx, const policy::State& next) {
  for (const auto& [campaign, cluster] : black_holes_)
    if (next.holds.count({campaign, cluster}) == 0)
      db::CloseEvent(tx, "metascheduler", EventOf("campaign", "BLACK_HOLE", campaign, cluster));
  black_holes_.clear();
  for (const auto& [key, hold] : next.holds) black_holes_.insert(key);
}

// GRID-28, GRID-36: a freed slot may go to a local user, so an event reports once a minute what
// preemption costs and brings.
void Store::ReportPreemptionYield(db::Tx& tx) {
  constexpr double kEvery = 60;
  if (!preempted_ || (now_ - yield_at_ < kEvery && now_ >= yield_at_)) return;
  yield_at_ = now_;
  const auto rows = tx.Exec(sql::kPreemptionYield);
  preempted_ = !rows.empty();
  for (const auto& row : rows) {
    db::Event e{.cls = "log", .code = "PREEMPTION", .message = ""};
    e.campaign_id = row.for_campaign;
    e.message = "in the last hour " + std::to_string(row.jobs) + " jobs (" +
                std::to_string(row.slots) + " slots) were cancelled for it, " +
                HumanDuration(row.lost_s) + " of slot time lost; of " + std::to_string(row.freed) +
                " slots freed it got " + std::to_string(row.got);
    if (row.freed > 0) e.message += " (yield " + std::to_string(100 * row.got / row.freed) + " %)";
    db::CloseEvent(tx, "metascheduler", e);
    db::RaiseEvent(tx, e);
  }
}

// TECH-12: users who did not ask for copies get one event about jobs that may hang.
void Store::ReportOverdue(db::Tx& tx, const Loaded& loaded) {
  if (!loaded.overdue_fresh) return;
  std::set<Pair> reported;
  for (const auto& row : tx.Exec(sql::kReportedOverdueJobs))
    reported.emplace(row.campaign_id, row.cluster_id);
  for (const auto& o : loaded.overdue) {
    if (o.copies || reported.erase({o.campaign, o.cluster}) != 0) continue;
    auto e = EventOf("notify", "OVERDUE", o.campaign, o.cluster);
    e.count = o.n;
    e.message = Pluralize(o.n, "job runs", "jobs run") + " longer than " +
                HumanDuration(o.limit_s) + ", which is far longer than those that have ended";
    db::RaiseEvent(tx, e);
  }
  for (const auto& [campaign, cluster] : reported)
    db::CloseEvent(tx, "metascheduler", EventOf("notify", "OVERDUE", campaign, cluster));
}

}  // namespace cigri::metascheduler
