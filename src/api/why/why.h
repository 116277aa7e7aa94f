// Why things are where they are: one message and one action first, then the numbers. What the
// files why_*.cc share; the routes are in routes.cc.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "api/http/router.h"
#include "api/read/read.h"
#include "core/pluralize.h"
#include "policy/reason.h"

namespace cigri::api {

struct Explanation {
  std::string message, action;
};

inline std::string Jobs(std::int64_t n) { return Pluralize(n, "job"); }
inline std::string Tasks(std::int64_t n) { return Pluralize(n, "task"); }

/// Operators may be advised to do what users cannot.
inline policy::Reader ReaderOf(const Request& request) {
  return request.caller.is_operator ? policy::Reader::kOperator : policy::Reader::kUser;
}

// ---------------------------------------------------------------- grid.cc
void AddGridRoutes(Router& router);

// ---------------------------------------------------------------- reasons.cc
/// The texts for reasons on clusters, rows with `id` and `name`.
template <typename Row>
policy::ReasonTexts TextsFor(const std::vector<Row>& clusters) {
  policy::Snapshot names;
  for (const auto& row : clusters) {
    policy::Cluster cluster;
    cluster.id = row.id;
    cluster.name = row.name;
    names.clusters.push_back(std::move(cluster));
  }
  return policy::ReasonTexts(names);
}
/// A row of `reasons`, whichever statement has read it.
struct StoredReason {
  std::int64_t cluster_id = 0;         ///< 0: the whole campaign
  std::optional<std::string> cluster;  ///< its name
  std::string code, numbers;           ///< numbers: a JSON object
  double since = 0;                    ///< epoch s

  template <typename Row>
  static StoredReason Of(const Row& row) {
    return {row.cluster_id, row.cluster, row.code, row.numbers, row.since};
  }
};
/// A row of `reasons`:
/// {"cluster","cluster_id","code","message","action","numbers","main","since"}.
nlohmann::json ReasonJson(const policy::ReasonTexts& texts, const StoredReason& row,
                          std::int64_t campaign, policy::Reader reader);

/// When clusters may take more: from forecasts, hours, drains, holds.
class Outlook {
 public:
  Outlook(db::Tx& tx, const std::vector<int>& clusters);
  /// What must happen before the reason (as ReasonJson gives it) ends, and when that is expected;
  /// null when it is not known. `rate`: ends per second of the campaign itself there.
  nlohmann::json Of(const nlohmann::json& reason, double rate = 0) const;

 private:
  struct Row {
    std::string hours;
    std::optional<double> drained_for, retry_in;
    double rate = 0;
  };
  nlohmann::json OfCluster(const std::string& code, const Row& row) const;
  std::map<std::int64_t, Row> rows_;
  double now_ = 0;
};

// ---------------------------------------------------------------- who is asked about
nlohmann::json CampaignWhy(db::Tx& tx, const Request& request,
                           std::int64_t campaign);                   // campaign.cc
nlohmann::json CampaignHistory(db::Tx& tx, const Request& request);  // campaign.cc
nlohmann::json TaskWhy(db::Tx& tx, const Request& request);          // task.cc
nlohmann::json JobWhy(db::Tx& tx, const Request& request);           // task.cc
nlohmann::json ClusterWhy(db::Tx& tx, const Request& request);       // cluster.cc
/// With `most` of the campaigns that wait for it.
nlohmann::json ClusterWhy(db::Tx& tx, const Request& request, int most);

/// Adds `what_if` to the answer about a campaign: what would give it more, found by taking the last
/// stored decision again with each limit lifted; and to each reason that names another campaign,
/// `before`: by which term that one came first. Outside any transaction, at most some seconds, one
/// at a time (whatif.cc).
void AddWhatIf(Context& context, const Request& request, nlohmann::json& why);

}  // namespace cigri::api
