#include "notifier/store.h"

#include <sql/notifications.h>

namespace cigri::notifier {
namespace {

constexpr int kMostRows = 1000;  // of all events; of what waits for one subscription

}  // namespace

void MarkAbandoned(db::Tx& tx) { tx.Exec(sql::kAbandonedNotifications); }

std::int64_t EventsOlderThan(db::Tx& tx, double age_s) {
  return tx.One(sql::kNotificationsFrom, age_s).event_id;
}

std::vector<New> FindNew(db::Tx& tx, std::int64_t event) {
  std::vector<New> out;
  for (const auto& row : tx.Exec(sql::kNewNotifications, event, kMostRows, MediumCodes()))
    out.push_back({row.subscription_id, row.event_id, row.campaign_id, row.code, row.message});
  return out;
}

void Queue(db::Tx& tx, const std::vector<New>& news) {
  db::RowSet<int, std::int64_t, std::optional<std::int64_t>, std::string, std::string, std::string>
      rows;
  for (const auto& n : news)
    rows.Add(n.subscription, n.event, n.campaign, SeverityOf(n.code), n.code, n.message);
  tx.Exec(sql::kQueueNotifications, rows);
}

std::vector<Waiting> LoadWaiting(db::Tx& tx) {
  std::vector<Waiting> out;
  for (const auto& row : tx.Exec(sql::kWaitingNotifications, kMostRows))
    out.push_back({row.id, row.subscription_id, row.type, row.identity, row.campaign_id,
                   row.campaign.value_or(""), row.severity, row.code, row.message, row.age_s,
                   row.attempts, row.sent_lately, row.quiet_hours, row.digest_minutes});
  return out;
}

bool Claim(db::Tx& tx, const Message& message, const std::string& message_id) {
  return tx.Exec(sql::kClaimNotifications, message.ids, message_id) == message.ids.size();
}

void MarkSent(db::Tx& tx, const Message& message) {
  tx.Exec(sql::kEndNotifications, message.ids, "sent", std::optional<std::string>(),
          std::optional<double>());
}

void MarkFailed(db::Tx& tx, const Message& message, const std::string& error,
                std::optional<double> retry_in_s) {
  tx.Exec(sql::kEndNotifications, message.ids, retry_in_s ? "waiting" : "failed",
          std::optional(error), retry_in_s);
}

}  // namespace cigri::notifier
