#include "updator/decide.h"

namespace cigri::updator {

bool Changes(JobState known, cluster::RemoteState reported) {
  if (reported == cluster::RemoteState::kEnded) return true;
  const bool running = reported == cluster::RemoteState::kRunning;
  return known != (running ? JobState::kRunning : JobState::kRemoteWaiting);
}

CampaignEnd DecideEnd(bool test, bool in_flight, bool waiting) {
  if (!in_flight && !waiting) return CampaignEnd::kOver;
  return test ? CampaignEnd::kIfTestsTimedOut : CampaignEnd::kNotYet;
}

SnapshotStep DecideSnapshot(std::chrono::steady_clock::duration age, bool same) {
  if (age < std::chrono::seconds(1)) return SnapshotStep::kWait;
  return same && age < std::chrono::seconds(60) ? SnapshotStep::kSkip : SnapshotStep::kWrite;
}

}  // namespace cigri::updator
