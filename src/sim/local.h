// The jobs of clusters' own users: as they arrive, and as one who knows the future sees them.
#pragma once
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/scenario.h"

namespace cigri::sim {

/// One load of a cluster, job by job. The same numbers whoever asks.
class LocalStream {
 public:
  /// `cluster` and `n`: places of the cluster and of the load; no job is wider than `slots`.
  /// REQUIRES: `load` outlives it.
  LocalStream(const LocalLoad& load, std::uint64_t seed, int cluster, int n, int slots);
  /// The next job in order of arrival; nothing: the load is over.
  std::optional<LocalJob> Next();

 private:
  const LocalLoad* load_;
  std::uint64_t seed_, who_;
  int most_slots_;
  std::uint64_t draw_ = 0;
  std::size_t listed_ = 0;
  double at_ = 0;
};

/// The slots that a cluster and its local users leave, as if there were no job of ours; failures of
/// nodes are not foreseen.
class LocalFuture {
 public:
  LocalFuture(const ClusterSpec& spec, std::uint64_t seed, int cluster);

  struct Step {
    double at = 0;  ///< from then on...
    int left = 0;   ///< ...so many slots are left
  };
  /// Steps in order of time, the first at 0; all until `until` are there.
  const std::vector<Step>& Steps(double until);

 private:
  void Turn(double at);
  void StartWaiting(double at);

  const ClusterSpec& spec_;
  std::vector<LocalStream> streams_;
  std::vector<std::optional<LocalJob>> next_;  // of each stream
  std::queue<LocalJob> waiting_;
  using End = std::pair<double, int>;  // time, slots
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
  std::vector<double> turns_;  // ends of down windows, and their begins
  std::size_t turned_ = 0;
  std::vector<Step> steps_;
  double known_until_ = 0;
  int used_ = 0;
  bool down_ = false;
};

}  // namespace cigri::sim
