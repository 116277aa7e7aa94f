// Events as every module raises them: repeated ones are one row with a count.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "db/db.h"

namespace cigri::module {

struct Event {
  std::string cls;   ///< cluster, job, campaign, notify, log
  std::string code;  ///< "MODULE_STUCK"; docs/events.md has a line for each
  std::string message;
  std::optional<std::int64_t> campaign_id, cluster_id, job_id, idx;
  std::string
      fingerprint;        ///< two open events of one code, campaign, cluster and this are the same
  nlohmann::json sample;  ///< of the first of them; null when there is none
  std::int64_t count = 1;
};

/// Opens the event or counts it; its id.
std::int64_t RaiseEvent(db::Tx& tx, const Event& event);
/// Closes the open event that `event` would be counted in; `by` says who ("updator").
void CloseEvent(db::Tx& tx, const Event& event, const std::string& by);

}  // namespace cigri::module
