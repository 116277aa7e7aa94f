// The decisions of the updator's pass that need no table. Pure functions.
#pragma once
#include <chrono>

#include "cluster/cluster.h"
#include "core/states.h"

namespace cigri::updator {

/// Whether a report changes what is known of a job in flight. Most reports do not.
bool Changes(JobState known, cluster::RemoteState reported);

/// Whether a campaign is over.
enum class CampaignEnd {
  kNotYet,
  kIfTestsTimedOut,  ///< a test campaign ends without the clusters that do not answer
  kOver
};
/// `in_flight`, `waiting`: whether jobs are in flight and whether tasks wait for one.
CampaignEnd DecideEnd(bool test, bool in_flight, bool waiting);

/// Whether a snapshot of a cluster's resources is written: at most one a second, one a minute
/// while nothing changes.
enum class SnapshotStep { kWrite, kSkip, kWait };
/// `age`: since the last snapshot; `same`: the numbers are those of the last snapshot.
SnapshotStep DecideSnapshot(std::chrono::steady_clock::duration age, bool same);

}  // namespace cigri::updator
