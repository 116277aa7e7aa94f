// Events: the only code that opens and closes them. Repeated ones are one row with a count.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "db/db.h"

namespace cigri::db {

struct Event {
  std::string cls;   ///< cluster, job, campaign, notify, log
  std::string code;  ///< "MODULE_STUCK"; docs/events.md has a line for each
  std::string message;
  std::optional<std::int64_t> campaign_id, cluster_id, job_id, idx;
  std::string
      fingerprint;        ///< two open events of one code, campaign, cluster and this are the same
  nlohmann::json sample;  ///< of the first of them; null when there is none
  std::int64_t count = 1;
  /// Who did what the event records: it is closed from the beginning, nobody has to answer it.
  std::optional<std::string> closed_by;
};

/// Opens the event or counts it; its id.
std::int64_t RaiseEvent(Tx& tx, const Event& event);

/// Which open events: those that meet every filter that is set.
struct EventFilter {
  static constexpr std::int64_t kNone = 0;  ///< for events of no campaign, or of no cluster
  std::optional<std::int64_t> campaign_id, cluster_id;
  std::optional<std::vector<std::int64_t>> ids;  ///< one of these; an empty list: no event at all
  std::vector<std::string> codes, classes;       ///< one of these; empty: any
  std::optional<std::string> fingerprint;
  std::optional<double> unseen_s;  ///< nothing was added to them for so long
};

/// Closes open events; how many. `by` says who ("updator", a user).
/// REQUIRES: a filter is set.
std::size_t CloseEvents(Tx& tx, const std::string& by, const EventFilter& filter);
/// Closes the open event that `event` would be counted in.
void CloseEvent(Tx& tx, const std::string& by, const Event& event);

}  // namespace cigri::db
