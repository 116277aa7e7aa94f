// Why campaigns wait (table reasons), and what observed clusters would be sent (would_send).
#include <sql/grants.h>
#include <sql/reasons.h>

#include "metascheduler/store.h"

namespace cigri::metascheduler {
namespace {

constexpr double kWriteEvery = 1;  // s: users and operators read both, the runner reads neither

bool Due(double now, double written_at) {
  return now - written_at >= kWriteEvery || now < written_at;
}

}  // namespace

void Store::WriteWouldSend(db::Tx& tx, const Decision& decision) {
  if (!Due(now_, would_send_at_)) return;
  would_send_at_ = now_;
  if (decision.would_send == would_send_) return;
  db::RowSet<std::int64_t, std::int64_t, int> rows;
  for (const auto& [key, n] : decision.would_send) rows.Add(key.first, key.second, n);
  tx.Exec(sql::kReplaceWouldSend, rows);
  would_send_ = decision.would_send;
}

bool Store::ReasonsDue() const { return Due(now_, reasons_at_); }

void Store::WriteReasons(db::Tx& tx, Decision& decision) {
  if (!decision.reasons) return;
  reasons_at_ = now_;
  const auto& present = *decision.reasons;
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
  reasons_ = std::move(*decision.reasons);
}

}  // namespace cigri::metascheduler
