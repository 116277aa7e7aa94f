// Flow control of one cluster: how many of our jobs may wait in its queue.
#pragma once
#include <cstddef>
#include <vector>

namespace cigri::policy {

/// Waiting allowed is a time (docs/design.md section 6): the jobs that start in `queue_s` seconds
/// at the measured `rate` (starts per second; 0 = not yet measured), at least 1, at most
/// `max_waiting`. REQUIRES: max_waiting >= 1.
int WaitingAllowed(int max_waiting, double queue_s, double rate);

/// A job of ours that waits in the queue of a cluster.
struct PendingJob {
  double age_s = 0;  ///< since its submission
  int allowed = 0;   ///< jobs of its campaign that may wait there if no other waits; 0: not known
};

/// CIG-36, CIG-50: which jobs of a queue are too many, as places in `newest_first`: none up to
/// twice the time that may wait there, whoever's they are; else the newest, until `keep` are left
/// (1 at least). The allowed number moves with each poll, and killing at every step down would only
/// churn. Jobs younger than 30 s may still start, and what no estimate is known of is left.
std::vector<std::size_t> ExcessPending(const std::vector<PendingJob>& newest_first, int keep);

}  // namespace cigri::policy
