#include "metascheduler/store.h"

#include <sql/events.h>
#include <sql/grants.h>
#include <sql/kills.h>
#include <sql/plans.h>
#include <sql/reasons.h>
#include <sql/survival.h>

#include "core/counted.h"
#include "core/text.h"
#include "module/events.h"
#include "policy/json.h"
#include "policy/reason.h"

namespace cigri::metascheduler {
namespace {

constexpr double kReasonsEvery = 1;    // s: people read them, nobody schedules by them
constexpr double kSnapshotEvery = 10;  // s between two snapshots that are kept for replay

struct GrantRow {
  std::int64_t campaign, cluster;
  BatchKind kind;
  std::int64_t n;
  int rank;
};

std::vector<GrantRow> Rows(const Loaded& loaded, const policy::PlanResult& result) {
  std::vector<GrantRow> rows;
  std::map<std::int64_t, int> last_rank;
  for (const auto& g : result.plan.grants) {
    if (g.shadow) continue;  // an observed cluster is only shown what it would be sent
    const auto it = loaded.in_flight.find({g.campaign, g.cluster, g.kind});
    const auto in_flight = it == loaded.in_flight.end() ? 0 : it->second;
    rows.push_back({g.campaign, g.cluster, g.kind, in_flight + g.n, g.rank});
    last_rank[g.cluster] = std::max(last_rank[g.cluster], g.rank);
  }
  for (const auto& [campaign, cluster] : loaded.epilogues) {
    rows.push_back({campaign, cluster, BatchKind::kEpilogue, 1, ++last_rank[cluster]});
  }
  return rows;
}

}  // namespace

policy::State Store::LoadState(db::Tx& tx) {
  const auto rows = tx.Exec(sql::kPlanState);
  carried_ = {};
  if (rows.empty()) return carried_;
  return carried_ = nlohmann::json::parse(rows[0].state).get<policy::State>();
}

void Store::Reset(db::Tx& tx) {
  written_grants_ = "?";
  written_state_.clear();
  config_rows_ = {{"?", nullptr}};
  old_usage_until_ = overdue_at_ = yield_at_ = 0;
  preempted_ = true;
  reasons_.clear();
  sinks_.clear();
  for (const auto& row : tx.Exec(sql::kOpenBlackHoles))
    sinks_.emplace(row.campaign_id, row.cluster_id);
  observed_ = {{{0, 0}, 0}};  // unlike any
  for (const auto& row : tx.Exec(sql::kOpenReasons))
    reasons_[{row.campaign_id, row.cluster_id, row.code}] =
        nlohmann::json::parse(row.numbers).dump();
}

bool Store::Write(db::Tx& tx, const Loaded& loaded, const policy::PlanResult& result,
                  std::uint64_t seed, double took_ms) {
  const auto rows = Rows(loaded, result);
  std::vector<std::int64_t> campaigns;
  std::vector<int> clusters, n, ranks;
  std::vector<std::string> kinds;
  for (const auto& r : rows) {
    campaigns.push_back(r.campaign);
    clusters.push_back(static_cast<int>(r.cluster));
    kinds.emplace_back(ToString(r.kind));
    n.push_back(static_cast<int>(std::min<std::int64_t>(r.n, 1 << 30)));
    ranks.push_back(r.rank);
  }
  const std::string grants = campaigns + clusters + kinds +
                             n + ranks;
  const bool changed = grants != written_grants_;
  const std::string state = nlohmann::json(result.next).dump();
  const policy::State before = std::exchange(carried_, result.next);
  if (changed || (state != written_state_ && now_ - snapshot_at_ >= kSnapshotEvery)) {
    std::optional<std::string> snapshot;
    if (now_ - snapshot_at_ >= kSnapshotEvery) {
      const auto bytes = nlohmann::json::to_cbor({{"snapshot", loaded.snapshot},
                                                  {"state", before},
                                                  {"now", loaded.now},
                                                  {"plan", result.plan}});
      snapshot = "\\x" + [&] {
        static constexpr char kHex[] = "0123456789abcdef";
        std::string hex;
        for (const auto b : bytes) {
          hex += kHex[b >> 4];
          hex += kHex[b & 15];
        }
        return hex;
      }();
      snapshot_at_ = now_;
    }
    const auto plan = tx.One(sql::kInsertPlan, static_cast<std::int64_t>(seed),
                              snapshot, took_ms).id;
    tx.Exec(sql::kPutPlanState, plan, state);
    written_state_ = state;
    if (changed) {
      tx.Exec(sql::kClearGrants);
      if (!rows.empty())
        tx.Exec(sql::kInsertGrants, plan, campaigns, clusters,
                kinds, n, ranks);
      written_grants_ = grants;
    }
  }
  if (!result.plan.preempt.empty()) {
    std::vector<std::int64_t> jobs, winners;
    std::vector<int> clusters_of, slots;
    std::vector<double> lost;
    std::vector<std::string> why;
    for (const auto& p : result.plan.preempt) {
      jobs.push_back(p.job);
      winners.push_back(p.for_campaign);
      clusters_of.push_back(static_cast<int>(p.cluster));
      slots.push_back(p.slots);
      lost.push_back(p.lost_s);
      why.push_back(p.code);
    }
    tx.Exec(sql::kInsertPreemptions, jobs, winners,
            clusters_of, slots, lost, why);
    preempted_ = true;
  }
  TellYield(tx);
  WriteSinks(tx, loaded, result.plan.holds);
  CloseSinks(tx, result.next);
  TellOverdue(tx, loaded);
  WriteReasons(tx, result);
  return changed;
}

// CIG-11: their user is told, and the updator is asked to send what was swallowed again.
void Store::WriteSinks(db::Tx& tx, const Loaded& loaded, const std::vector<policy::Hold>& holds) {
  if (holds.empty()) return;
  std::map<std::int64_t, std::string> names;
  for (const auto& c : loaded.snapshot.clusters) names[c.id] = c.name;
  std::vector<std::int64_t> campaigns;
  std::vector<int> clusters, n;
  std::vector<double> until;
  for (const auto& hold : holds) {
    campaigns.push_back(hold.campaign);
    clusters.push_back(static_cast<int>(hold.cluster));
    n.push_back(hold.requeue);
    until.push_back(hold.until);
    module::Event e{.cls = "campaign", .code = hold.code, .message = ""};
    e.campaign_id = hold.campaign;
    e.cluster_id = hold.cluster;
    e.message = "the last " + std::to_string(hold.requeue) + " jobs on " + names[hold.cluster] +
                " ended too fast to be true, without an error: they go again elsewhere, nothing is "
                "sent there for " +
                HumanSpan(hold.until - hold.since);
    module::RaiseEvent(tx, e);
  }
  tx.Exec(sql::kInsertBlackHoles, campaigns, clusters, n,
          until);
}

// Who closes the event by hand lifts the hold.
void Store::LiftSinks(db::Tx& tx, policy::State& state) {
  if (state.holds.empty()) return;
  std::set<std::pair<std::int64_t, std::int64_t>> open;
  for (const auto& row : tx.Exec(sql::kOpenBlackHoles))
    open.emplace(row.campaign_id, row.cluster_id);
  const auto lifted = [&](const auto& entry) {
    return entry.second.code == "SINK" && open.count(entry.first) == 0;
  };
  if (std::erase_if(state.holds, lifted) > 0) carried_ = state;
}

// A hold that is over, or whose campaign is.
void Store::CloseSinks(db::Tx& tx, const policy::State& next) {
  for (const auto& [campaign, cluster] : sinks_) {
    if (next.holds.count({campaign, cluster}) != 0) continue;
    module::Event e{.cls = "campaign", .code = "SINK", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = cluster;
    module::CloseEvent(tx, e, "metascheduler");
  }
  sinks_.clear();
  for (const auto& [key, hold] : next.holds) sinks_.insert(key);
}

// GRID-28, GRID-36: a freed slot may go to a local user; what preemption costs and brings is said
// once a minute while there is any.
void Store::TellYield(db::Tx& tx) {
  constexpr double kEvery = 60;
  if (!preempted_ || (now_ - yield_at_ < kEvery && now_ >= yield_at_)) return;
  yield_at_ = now_;
  const auto rows = tx.Exec(sql::kPreemptionYield);
  preempted_ = !rows.empty();
  for (const auto& row : rows) {
    const auto freed = row.freed, got = row.got;
    module::Event e{.cls = "log", .code = "PREEMPTION", .message = ""};
    e.campaign_id = row.for_campaign;
    e.message = "in the last hour " + row.jobs + " jobs (" +
                row.slots + " slots) were cancelled for it, " +
                HumanSpan(row.lost_s) + " of slot time lost; of " +
                std::to_string(freed) + " slots freed it got " + std::to_string(got);
    if (freed > 0) e.message += " (yield " + std::to_string(100 * got / freed) + " %)";
    module::CloseEvent(tx, e, "metascheduler");
    module::RaiseEvent(tx, e);
  }
}

// TECH-12: who has not asked for copies is told of jobs that may hang, once.
void Store::TellOverdue(db::Tx& tx, const Loaded& loaded) {
  if (!loaded.tell_overdue) return;
  std::set<std::pair<std::int64_t, std::int64_t>> told;
  for (const auto& row : tx.Exec(sql::kReportedOverdueJobs))
    told.emplace(row.campaign_id, row.cluster_id);
  const auto event = [](std::int64_t campaign, std::int64_t cluster) {
    module::Event e{.cls = "notify", .code = "OVERDUE", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = cluster;
    return e;
  };
  for (const auto& o : loaded.overdue) {
    if (o.copies || told.erase({o.campaign, o.cluster}) != 0) continue;
    auto e = event(o.campaign, o.cluster);
    e.count = o.n;
    e.message = Counted(o.n, "job runs", "jobs run") + " longer than " + HumanSpan(o.limit_s) +
                ", which is far longer than those that have ended";
    module::RaiseEvent(tx, e);
  }
  for (const auto& [campaign, cluster] : told)
    module::CloseEvent(tx, event(campaign, cluster), "metascheduler");
}

// What clusters that are only observed would be sent: shown, never claimed against.
void Store::WriteObserved(db::Tx& tx, const policy::PlanResult& result) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> wanted;
  for (const auto& g : result.plan.grants)
    if (g.shadow) wanted[{g.campaign, g.cluster}] += g.n;
  if (wanted == observed_) return;
  std::vector<std::int64_t> campaigns;
  std::vector<int> clusters, n;
  for (const auto& [key, jobs] : wanted) {
    campaigns.push_back(key.first);
    clusters.push_back(static_cast<int>(key.second));
    n.push_back(jobs);
  }
  tx.Exec(sql::kReplaceWouldSend, campaigns, clusters,
          n);
  observed_ = std::move(wanted);
}

void Store::WriteReasons(db::Tx& tx, const policy::PlanResult& result) {
  if (now_ - reasons_at_ < kReasonsEvery && now_ >= reasons_at_) return;
  reasons_at_ = now_;
  WriteObserved(tx, result);
  std::map<ReasonKey, std::string> present;
  for (const auto& r : result.reasons) {
    auto numbers = policy::ReasonTexts::Numbers(r);
    if (r.main) numbers["main"] = true;
    present[{r.campaign, r.cluster, std::string(policy::ToString(r.code))}] = numbers.dump();
  }
  std::vector<std::int64_t> campaigns, gone_campaigns;
  std::vector<int> clusters, gone_clusters;
  std::vector<std::string> codes, numbers, gone_codes;
  for (const auto& [key, text] : present) {
    const auto it = reasons_.find(key);
    if (it != reasons_.end() && it->second == text) continue;
    campaigns.push_back(std::get<0>(key));
    clusters.push_back(static_cast<int>(std::get<1>(key)));
    codes.push_back(std::get<2>(key));
    numbers.push_back(text);
  }
  for (const auto& [key, text] : reasons_) {
    if (present.count(key) != 0) continue;
    gone_campaigns.push_back(std::get<0>(key));
    gone_clusters.push_back(static_cast<int>(std::get<1>(key)));
    gone_codes.push_back(std::get<2>(key));
  }
  if (!gone_codes.empty())
    tx.Exec(sql::kCloseReasons, gone_campaigns, gone_clusters,
            gone_codes);
  if (!codes.empty())
    tx.Exec(sql::kPutReasons, campaigns, clusters,
            codes, numbers);
  reasons_ = std::move(present);
}

}  // namespace cigri::metascheduler
