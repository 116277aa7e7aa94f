// Clusters where users have tokens: campaigns that wait for one, and tokens that expire too early.
#pragma once
#include "runner/cluster_session.h"

namespace cigri::runner {

/// How often the runner looks for tokens that campaigns wait for.
constexpr std::chrono::milliseconds kTokensEvery{5000};

/// TOKEN_MISSING for a campaign whose jobs on the cluster wait for a valid token of `login`;
/// nothing where users have none.
void ReportMissingToken(ClusterSession& session, std::int64_t campaign, const std::string& login,
                        const std::string& why);

class TokenWatcher {
 public:
  explicit TokenWatcher(ClusterSession& session) : session_(session) {}
  /// Every kTokensEvery: closes TOKEN_MISSING of campaigns whose user has a token that is not known
  /// to be refused, and raises or closes TOKEN_EXPIRES.
  void Check();

 private:
  void ReportExpiring(db::Tx& tx);
  void Continue(const TokenWait& wait);

  ClusterSession& session_;
  Clock::time_point next_{};
};

}  // namespace cigri::runner
