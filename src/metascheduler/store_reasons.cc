// Why campaigns wait (table reasons), and what observed clusters would be sent (would_send).
#include <sql/grants.h>
#include <sql/reasons.h>

#include "metascheduler/store.h"
#include "policy/reason.h"

namespace cigri::metascheduler {
namespace {

constexpr double kWriteEvery = 1;  // s: users and operators read both, the runner reads neither

bool Due(double now, double& written_at) {
  if (now - written_at < kWriteEvery && now >= written_at) return false;
  written_at = now;
  return true;
}

}  // namespace

void Store::WriteWouldSend(db::Tx& tx, const Decision& decision) {
  if (!Due(now_, would_send_at_) || decision.would_send == would_send_) return;
  db::RowSet<std::int64_t, std::int64_t, int> rows;
  for (const auto& [key, n] : decision.would_send) rows.Add(key.first, key.second, n);
  tx.Exec(sql::kReplaceWouldSend, rows);
  would_send_ = decision.would_send;
}

void Store::WriteReasons(db::Tx& tx, const policy::PlanResult& result) {
  if (!Due(now_, reasons_at_)) return;
  std::map<ReasonKey, std::string> present;
  for (const auto& r : result.reasons) {
    auto numbers = policy::ReasonTexts::Numbers(r);
    if (r.main) numbers["main"] = true;
    present[{r.campaign, r.cluster, std::string(policy::ToString(r.code))}] = numbers.dump();
  }
  db::RowSet<std::int64_t, std::int64_t, std::string, std::string> changed;
  for (const auto& [key, numbers] : present) {
    const auto it = reasons_.find(key);
    if (it != reasons_.end() && it->second == numbers) continue;
    const auto& [campaign, cluster, code] = key;
    changed.Add(campaign, cluster, code, numbers);
  }
  db::RowSet<std::int64_t, std::int64_t, std::string> gone;
  for (const auto& [key, numbers] : reasons_)
    if (present.count(key) == 0) gone.Add(std::get<0>(key), std::get<1>(key), std::get<2>(key));
  if (!gone.empty()) tx.Exec(sql::kCloseReasons, gone);
  if (!changed.empty()) tx.Exec(sql::kPutReasons, changed);
  reasons_ = std::move(present);
}

}  // namespace cigri::metascheduler
