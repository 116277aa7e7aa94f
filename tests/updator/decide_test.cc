#include "updator/decide.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

using cluster::RemoteState;

TEST(ChangesTest, OnlyAnEndOrAnotherStateChangesAJob) {
  EXPECT_FALSE(Changes(JobState::kRunning, RemoteState::kRunning));
  EXPECT_FALSE(Changes(JobState::kRemoteWaiting, RemoteState::kWaiting));
  EXPECT_FALSE(Changes(JobState::kRemoteWaiting, RemoteState::kHeld)) << "on hold is waiting";
  EXPECT_TRUE(Changes(JobState::kSubmitted, RemoteState::kWaiting));
  EXPECT_TRUE(Changes(JobState::kRunning, RemoteState::kWaiting)) << "requeued by its cluster";
  for (const auto known : {JobState::kSubmitted, JobState::kRemoteWaiting, JobState::kRunning})
    EXPECT_TRUE(Changes(known, RemoteState::kEnded));
}

TEST(DecideEndTest, ACampaignIsOverWhenNothingWaitsAndNothingIsInFlight) {
  EXPECT_EQ(DecideEnd(false, false, false), CampaignEnd::kOver);
  EXPECT_EQ(DecideEnd(false, true, false), CampaignEnd::kNotYet);
  EXPECT_EQ(DecideEnd(false, false, true), CampaignEnd::kNotYet);
  EXPECT_EQ(DecideEnd(true, false, false), CampaignEnd::kOver);
  EXPECT_EQ(DecideEnd(true, true, false), CampaignEnd::kIfTestsTimedOut);
  EXPECT_EQ(DecideEnd(true, false, true), CampaignEnd::kIfTestsTimedOut);
}

TEST(DecideSnapshotTest, OneASecondWhileNumbersChangeAndOneAMinuteWhileTheyDoNot) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  EXPECT_EQ(DecideSnapshot(milliseconds(999), false), SnapshotStep::kWait);
  EXPECT_EQ(DecideSnapshot(seconds(1), false), SnapshotStep::kWrite);
  EXPECT_EQ(DecideSnapshot(seconds(59), true), SnapshotStep::kSkip);
  EXPECT_EQ(DecideSnapshot(seconds(60), true), SnapshotStep::kWrite);
}

}  // namespace
}  // namespace cigri::updator
