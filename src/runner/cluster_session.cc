#include "runner/cluster_session.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace cigri::runner {

bool IsOutage(const std::exception& e) {
  const auto* fatal = dynamic_cast<const Fatal*>(&e);
  return dynamic_cast<const db::Broken*>(&e) != nullptr ||
         dynamic_cast<const db::InDoubt*>(&e) != nullptr ||
         (fatal != nullptr && fatal->code() == kExitUnavailable);
}

using std::chrono::milliseconds;

ClusterSession::ClusterSession(const clusterdb::ClusterRow& row, std::int64_t lease,
                               Shared& a_shared)
    : id(row.config.id),
      name(row.config.name),
      user_tokens(row.config.auth_type == "jwt"),
      shared(a_shared),
      store(row.config.id, shared.grid_id, shared.epoch, lease),
      driver(clusterdb::MakeDriver(shared.make_driver, row, shared.conninfo,
                                   clusterdb::Caller::kRunner)),
      caps(driver->capabilities()) {}

void ClusterSession::Transact(const std::function<void(db::Tx&)>& body, db::Tx::Sync sync) {
  if (in_transaction_) throw std::logic_error("a transaction inside a transaction");
  struct Mark {
    bool& set;
    explicit Mark(bool& flag) : set(flag) { set = true; }
    ~Mark() { set = false; }
  } mark(in_transaction_);
  auto session = shared.pool.Get();
  db::Tx tx(*session, sync);
  body(tx);
  tx.Commit();
}

void ClusterSession::BackOff(const std::string& why) {
  const double s = std::min(60.0, 0.05 * static_cast<double>(1 << std::min(failures_++, 11)));
  const milliseconds pause(static_cast<int>(s * 1000));
  not_before_ = Clock::now() + pause;
  if (failures_ == 1 || failures_ % 10 == 0)
    log::warn("[{}] submits nothing for {}: {}", name, HumanDuration(s), why);
  shared.waker.WakeIn(pause + milliseconds(5));
}

void ClusterSession::AwaitDatabase() {
  constexpr milliseconds kRetry{250};
  not_before_ = Clock::now() + kRetry;
  shared.waker.WakeIn(kRetry + milliseconds(5));
}

}  // namespace cigri::runner
