// Up to where the feed of each cluster has been applied (docs/design.md section 3).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "updator/early_reports.h"
#include "updator/poller.h"

namespace cigri::updator {

class Store;

class FeedTokens {
 public:
  /// Reads the stored tokens: after a start, or a failed pass.
  void Load(Store& store);
  /// The stored token of a cluster, "" when there is none: where its feed begins.
  std::string Of(std::int64_t cluster_id) const;
  /// Stores the tokens of these answers in the transaction that applies them. A token is stored
  /// only while no early report of its cluster waits in memory: after a crash the feed then says
  /// the same again, and nothing is lost.
  void Save(Store& store, const std::vector<Answer>& answers, const EarlyReports& early);

 private:
  std::map<std::int64_t, std::string> stored_;  // by cluster
};

}  // namespace cigri::updator
