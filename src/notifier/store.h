// All SQL of the notifier.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "db/db.h"
#include "notifier/decide.h"

namespace cigri::notifier {

/// Marks what a former notifier was sending when it died.
void MarkAbandoned(db::Tx& tx);
/// Events up to this one are older than `age_s`.
std::int64_t EventsOlderThan(db::Tx& tx, double age_s);
/// An event that a subscription is to be notified of, not yet queued.
struct New {
  int subscription = 0;
  std::int64_t event = 0;
  std::optional<std::int64_t> campaign;
  std::string code, message;
};
/// Of events after `event`, the first ones.
std::vector<New> FindNew(db::Tx& tx, std::int64_t event);
void Queue(db::Tx& tx, const std::vector<New>& news);
std::vector<Waiting> LoadWaiting(db::Tx& tx);
/// False when somebody else has taken some of it.
bool Claim(db::Tx& tx, const Message& message, const std::string& message_id);
void MarkSent(db::Tx& tx, const Message& message);
/// Each of a message, and in how many seconds it is tried again; nothing: never.
using Retries = db::RowSet<std::int64_t, std::optional<double>>;
void MarkFailed(db::Tx& tx, const std::string& error, const Retries& retries);

}  // namespace cigri::notifier
