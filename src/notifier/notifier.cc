#include "notifier/notifier.h"

#include <sys/random.h>

#include "core/log.h"
#include "core/text.h"
#include "notifier/store.h"

namespace cigri::notifier {
namespace {

using std::chrono::seconds;
constexpr seconds kPassEvery{1}, kSettled{600};
constexpr double kNews_s = 86400;  // of older events nobody is notified any more
// A pass ends long before the almighty takes the module for stuck.
constexpr seconds kSendFor{20};
// A server that does not answer would take the whole time of each pass, from all other ways.
constexpr seconds kPause{60};

Limits LimitsOf(const Config& config, const std::string& after) {
  return {.window_s = static_cast<double>(config.GetInt("NOTIFICATIONS_WINDOW", 60, 0, 86400)),
          .per_hour = static_cast<int>(config.GetInt("NOTIFICATIONS_PER_HOUR", 30, 1, 10000)),
          .tag = config.Get("NOTIFICATIONS_SMTP_SUBJECT_TAG", "[CIGRI]"),
          .now = std::time(nullptr),
          .after = after};
}

}  // namespace

void Notifier::Pass(module::Step& step) {
  if (const auto left = passed_ + kPassEvery - Clock::now(); !step.fresh && left > seconds(0)) {
    step.waker.WakeIn(std::chrono::ceil<std::chrono::milliseconds>(left));
    return;
  }
  passed_ = Clock::now();
  if (step.fresh) Start(step);
  QueueNews(step);
  std::vector<Waiting> waiting;
  {
    db::Tx tx(step.db);
    waiting = LoadWaiting(tx);
  }
  const auto end = Clock::now() + kSendFor;
  for (const auto& message : Due(waiting, LimitsOf(step.config, served_))) {
    if (Clock::now() > end) break;
    if (Clock::now() < paused_[message.type == "mail"]) continue;
    if (!Send(step, message)) break;
  }
  if (!waiting.empty()) step.waker.WakeIn(kPassEvery);
}

void Notifier::Start(module::Step& step) {
  db::Tx tx(step.db);
  module::CheckEpoch(tx, step.epoch);
  MarkAbandoned(tx);
  after_event_ = EventsOlderThan(tx, kNews_s);
  tx.Commit();
  moved_ = Clock::now();
}

void Notifier::QueueNews(module::Step& step) {
  std::vector<New> news;
  {
    db::Tx tx(step.db);
    news = FindNew(tx, after_event_);
    // No transaction that writes events takes so long: what is older has been seen.
    if (news.empty() && Clock::now() - moved_ > kSettled) {
      after_event_ = EventsOlderThan(tx, std::chrono::duration<double>(kSettled).count());
      moved_ = Clock::now();
    }
  }
  if (news.empty()) return;
  db::Tx tx(step.db);
  module::CheckEpoch(tx, step.epoch);
  Queue(tx, news);
  tx.Commit();
}

bool Notifier::Send(module::Step& step, const Message& message) {
  const std::string id = std::to_string(message.ids.front()) + "." + RandomHex(8) + "@cigri";
  {
    db::Tx tx(step.db);
    module::CheckEpoch(tx, step.epoch);
    if (!Claim(tx, message, id)) return false;
    tx.Commit();
  }
  served_ = message.grid_user;
  const Delivery delivery = Deliver(step.config, message, id, patience_);
  if (delivery.timed_out) paused_[message.type == "mail"] = Clock::now() + kPause;
  db::Tx tx(step.db);
  if (delivery.sent) {
    MarkSent(tx, message);
  } else {
    Retries retries;
    bool again = false;
    for (std::size_t i = 0; i < message.ids.size(); ++i) {
      const auto retry_s = RetryIn(message.attempts[i] + 1, delivery.permanent);
      retries.Add(message.ids[i], retry_s);
      again = again || retry_s;
    }
    log::warn("a notification for {} was not sent{}: {}", message.identity,
              again ? "; it is tried again" : "", delivery.error);
    MarkFailed(tx, delivery.error, retries);
  }
  tx.Commit();
  return true;
}

}  // namespace cigri::notifier
