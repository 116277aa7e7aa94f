#include "updator/feed_tokens.h"

#include "updator/store.h"

namespace cigri::updator {

void FeedTokens::Load(Store& store) { stored_ = store.FeedTokens(); }

std::string FeedTokens::Of(std::int64_t cluster_id) const {
  const auto it = stored_.find(cluster_id);
  return it == stored_.end() ? "" : it->second;
}

void FeedTokens::Save(Store& store, const std::vector<Answer>& answers, const EarlyReports& early) {
  std::map<std::int64_t, std::string> last;
  for (const auto& answer : answers)
    if (answer.ok && answer.feed && !answer.poll.token.empty())
      last[answer.cluster_id] = answer.poll.token;
  for (const auto& [cluster, token] : last) {
    if (early.AnyOf(cluster) || Of(cluster) == token) continue;
    store.SetFeedToken(cluster, token);
    stored_[cluster] = token;
  }
}

}  // namespace cigri::updator
