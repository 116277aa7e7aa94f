// The decision of the metascheduler: what the policy gives, as targets for the runner. No I/O.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "policy/decide.h"

namespace cigri::metascheduler {

/// A Snapshot, and what turns its allocations into grants: the jobs in flight by kind, and the
/// campaigns whose epilogues are due.
struct Loaded {
  policy::Snapshot snapshot;
  double now = 0;                                                 ///< the database's clock, epoch s
  using Key = std::tuple<std::int64_t, std::int64_t, BatchKind>;  // campaign, cluster, kind
  std::map<Key, std::int64_t> in_flight;
  struct Flight {
    std::int64_t n = 0, running = 0, running_slots = 0, prologue = 0;
    double since = 0;  ///< sum over the running slots of their starts
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Flight> flights;  ///< by campaign and cluster
  std::set<std::pair<std::int64_t, std::int64_t>> epilogues;
  /// Jobs that run much too long, by campaign and cluster (TECH-12).
  struct Overdue {
    std::int64_t campaign = 0, cluster = 0;
    int n = 0;
    bool copies = false;  ///< the campaign asked for copies of them
    double limit_s = 0;
    double average_s = 0;  ///< of its campaign's successes
    double ran_s = 0;      ///< all of them together
    std::string user{};
  };
  std::vector<Overdue> overdue;
  bool overdue_fresh = false;  ///< `overdue` was read by this pass
};

/// A row of table grants: at most `n` jobs of the kind may be in flight there.
struct Allocation {
  std::int64_t campaign = 0, cluster = 0;
  BatchKind kind = BatchKind::kTask;
  std::int64_t n = 0;
  int rank = 0;  ///< 1 is claimed first on that cluster
  bool operator==(const Allocation&) const = default;
};

struct Decision {
  policy::PlanResult result;
  std::vector<Allocation> grants;
  /// Jobs that observed clusters would be sent, by campaign and cluster. The runner never claims
  /// against these.
  std::map<std::pair<std::int64_t, std::int64_t>, int> would_send;
  /// Rows of table reasons (campaign, cluster, code) with their numbers; null: not asked for.
  using ReasonKey = std::tuple<std::int64_t, std::int64_t, std::string>;
  std::optional<std::map<ReasonKey, std::string>> reasons;
};

/// A pure function: asks the policy, adds what is in flight to each allocation (a grant is a
/// target), and puts the epilogues that are due behind all other grants of their cluster.
Decision Decide(const Loaded& loaded, const policy::State& carried, std::uint64_t seed,
                bool reasons = true);

}  // namespace cigri::metascheduler
