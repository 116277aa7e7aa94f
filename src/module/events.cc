#include "module/events.h"

#include <sql/events.h>

namespace cigri::module {

std::int64_t RaiseEvent(db::Tx& tx, const Event& e) {
  std::optional<std::string> sample;
  if (!e.sample.is_null())
    sample = e.sample.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return tx
      .One(sql::kRaiseEvent, e.cls, e.code, e.campaign_id, e.cluster_id, e.job_id, e.idx,
           e.fingerprint, e.message, sample, e.count)
      .id;
}

void CloseEvent(db::Tx& tx, const Event& e, const std::string& by) {
  tx.Exec(sql::kCloseEvent, e.code, e.campaign_id, e.cluster_id, e.fingerprint, by);
}

}  // namespace cigri::module
