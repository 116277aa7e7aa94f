// Flow control of one cluster: how many of our jobs may wait in its queue.
#pragma once

namespace cigri::policy {

/// Waiting allowed is a time (docs/design.md section 6): the jobs that start in `queue_s` seconds
/// at the measured `rate` (starts per second; 0 = not yet measured), at least 1, at most
/// `max_waiting`. REQUIRES: max_waiting >= 1.
int WaitingAllowed(int max_waiting, double queue_s, double rate);

/// CIG-36: how many jobs to take back from a queue: none up to `most`, else down to `keep`.
int ExcessPending(int waiting, int most, int keep);

}  // namespace cigri::policy
