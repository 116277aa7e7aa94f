#include "db/events.h"

#include <sql/events.h>

#include "core/text.h"

namespace cigri::db {
namespace {

using Texts = std::vector<std::string>;

std::optional<Texts> AnyIfEmpty(const Texts& texts) {
  return texts.empty() ? std::nullopt : std::optional(texts);
}

}  // namespace

std::int64_t RaiseEvent(Tx& tx, const Event& e) {
  std::optional<std::string> sample;
  if (!e.sample.is_null())
    // jsonb takes no NUL, escaped or not.
    sample = ReplaceAll(e.sample.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                        "\\u0000", "\\ufffd");
  return tx
      .One(sql::kRaiseEvent, e.cls, e.code, e.campaign_id, e.cluster_id, e.job_id, e.idx,
           e.fingerprint, e.message, sample, e.count, e.closed_by)
      .id;
}

std::size_t CloseEvents(Tx& tx, const std::string& by, const EventFilter& f) {
  return tx.Exec(sql::kCloseEvents, by, f.ids, f.campaign_id, f.cluster_id, AnyIfEmpty(f.codes),
                 AnyIfEmpty(f.classes), f.fingerprint, f.unseen_s);
}

void CloseEvent(Tx& tx, const std::string& by, const Event& e) {
  CloseEvents(tx, by,
              {.campaign_id = e.campaign_id.value_or(EventFilter::kNone),
               .cluster_id = e.cluster_id.value_or(EventFilter::kNone),
               .codes = {e.code},
               .fingerprint = e.fingerprint});
}

}  // namespace cigri::db
