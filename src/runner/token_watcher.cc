#include "runner/token_watcher.h"

#include "core/log.h"
#include "core/text.h"
#include "db/events.h"

namespace cigri::runner {

void ReportMissingToken(ClusterSession& session, std::int64_t campaign, const std::string& login,
                        const std::string& why) {
  if (!session.user_tokens) return;
  db::Event event{.cls = "campaign", .code = "TOKEN_MISSING", .message = session.name + ": " + why};
  event.sample = {{"user", login}};
  event.campaign_id = campaign;
  event.cluster_id = session.id;
  session.Transact([&](db::Tx& tx) { db::RaiseEvent(tx, event); });
}

void TokenWatcher::Check() {
  if (Clock::now() < next_) return;
  next_ = Clock::now() + kTokensEvery;
  std::vector<TokenWait> waits;
  session_.Transact(
      [&](db::Tx& tx) {
        waits = session_.store.MissingTokens(tx);
        ReportExpiring(tx);
      },
      db::Tx::Sync::kOff);
  for (const auto& wait : waits)
    if (!wait.alive || session_.driver->CredentialError(wait.cluster_login).empty()) Continue(wait);
  if (!waits.empty()) session_.shared.waker.WakeIn(kTokensEvery);
}

void TokenWatcher::ReportExpiring(db::Tx& tx) {
  for (const auto& token : session_.store.ExpiringTokens(tx)) {
    db::Event e{.cls = "notify", .code = "TOKEN_EXPIRES", .message = ""};
    e.campaign_id = token.campaign_id;
    e.cluster_id = session_.id;
    e.message = session_.name + ": your token expires in " + HumanDuration(token.token_s) +
                ", the campaign is expected to end in " + HumanDuration(token.end_s);
    if (token.too_early)
      db::RaiseEvent(tx, e);
    else
      db::CloseEvent(tx, "runner", e);
  }
}

void TokenWatcher::Continue(const TokenWait& wait) {
  session_.Transact([&](db::Tx& tx) {
    db::Event e{.cls = "campaign", .code = "TOKEN_MISSING", .message = ""};
    e.campaign_id = wait.campaign_id;
    e.cluster_id = session_.id;
    db::CloseEvent(tx, "runner", e);
  });
  if (wait.alive)
    log::info("[{}] user {} has a token again: campaign {} continues", session_.name,
              wait.cluster_login, wait.campaign_id);
  session_.shared.waker.Wake();
}

}  // namespace cigri::runner
