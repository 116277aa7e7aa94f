#include "notifier/store.h"

#include <sql/notifications.h>

namespace cigri::notifier {
namespace {

constexpr int kMostRows = 1000;  // of all events; of what waits for one address

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
    out.push_back({row.id, row.subscription_id, row.grid_user, row.type, row.identity,
                   row.campaign_id, row.campaign.value_or(""), row.severity, row.code, row.message,
                   row.age_s, row.attempts, row.sent_lately, row.quiet_hours, row.digest_minutes});
  return out;
}

bool Claim(db::Tx& tx, const Message& message, const std::string& message_id) {
  return tx.Exec(sql::kClaimNotifications, message.ids, message_id) == message.ids.size();
}

void MarkSent(db::Tx& tx, const Message& message) { tx.Exec(sql::kSentNotifications, message.ids); }

void MarkFailed(db::Tx& tx, const std::string& error, const Retries& retries) {
  tx.Exec(sql::kFailedNotifications, retries, error);
}

}  // namespace cigri::notifier
