// Submission: each job is submitted exactly once, whatever happens on the way.
#include <set>
#include <thread>

#include "conformance.h"
#include "tests/support/await.h"

namespace cigri::conformance {

using namespace cluster;
using Why = SubmitRefused::Why;

namespace {

std::string Outcome(Cluster& driver, const Batch& batch) {
  try {
    driver.Submit(batch);
    return "taken";
  } catch (const SubmitInDoubt&) {
    return "in doubt";
  } catch (const SubmitRefused& e) {
    return e.why() == Why::kTemporary ? "refused for now" : "refused";
  }
}

}  // namespace

TEST_P(ConformanceTest, AnArrayGivesOneIdForEachElementInTheirOrder) {
  const auto batch = GivenBatch(std::vector<std::string>(5, "sleep 300"));
  const auto ids = driver().Submit(batch);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 5u);
  EXPECT_EQ(Found(batch), ids);
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 5);
}

TEST_P(ConformanceTest, OneElementIsAnArrayToo) {
  const auto batch = GivenBatch({"exit 3"});
  const auto refs = GivenJobs(batch);
  ASSERT_EQ(refs.size(), 1u);
  EXPECT_EQ(Await(refs, RemoteState::kEnded)[0].wait_status, 3 << 8);
}

TEST_P(ConformanceTest, EachElementRunsItsOwnCommand) {
  const auto refs = GivenJobs(GivenBatch({"exit 11", "exit 12", "exit 13"}));
  const auto jobs = Await(refs, RemoteState::kEnded);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(jobs.at(i).ref.index, i);
    EXPECT_EQ(jobs.at(i).cause, EndCause::kExited);
    EXPECT_EQ(jobs.at(i).wait_status, (11 + i) << 8);
  }
}

TEST_P(ConformanceTest, ARefusedBatchLeavesNoJob) {
  auto batch = GivenBatch({"exit 0", "exit 0"});
  tested().MakeRefused(&batch);
  EXPECT_EQ(Outcome(driver(), batch), "refused");
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 0);
}

TEST_P(ConformanceTest, WithoutAConnectionNothingIsSent) {
  const auto batch = GivenBatch({"exit 0"});
  Break(Fault::kNoConnection);
  EXPECT_EQ(Outcome(driver(), batch), "refused for now");
  Heal();
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 0);
  EXPECT_EQ(Outcome(driver(), batch), "taken") << "it can be sent again";
}

TEST_P(ConformanceTest, NothingIsSentAfterItsTime) {
  auto batch = GivenBatch({"exit 0"});
  batch.send_by = std::chrono::steady_clock::now();
  EXPECT_EQ(Outcome(driver(), batch), "refused for now");
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 0);
}

// The cluster has the jobs and the driver does not know it: the tag finds each of them, and
// each runs once.
void ConformanceTest::ExpectInDoubt(Cluster& with, Fault fault, const std::string& garbage) {
  SCOPED_TRACE("garbage: " + garbage);
  const auto batch = GivenBatch({"exit 4", "exit 5", "exit 6"});
  Break(fault, Which::kSubmissions, garbage);
  EXPECT_EQ(Outcome(with, batch), "in doubt");
  Heal();
  // A real scheduler may still be at the submission whose answer the driver did not await.
  test::Await([&] { return tested().JobsWithTag(batch.tag) >= 3; }, kPatience, tested().pause());
  ASSERT_EQ(tested().JobsWithTag(batch.tag), 3);
  const auto ids = Found(batch);
  driver().Release(batch, ids);
  const auto jobs = Await(RefsOf(batch, ids), RemoteState::kEnded);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(jobs.at(i).wait_status, (4 + i) << 8);
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 3);
}

TEST_P(ConformanceTest, ASubmissionWhoseAnswerIsLostIsInDoubt) {
  ExpectInDoubt(driver(), Fault::kAnswerLost);
}

TEST_P(ConformanceTest, ASubmissionWhoseAnswerIsCutIsInDoubt) {
  ExpectInDoubt(driver(), Fault::kAnswerCut);
}

TEST_P(ConformanceTest, ASubmissionThatEndsInAServerErrorIsInDoubt) {
  ExpectInDoubt(driver(), Fault::kServerError);
}

TEST_P(ConformanceTest, ASubmissionWithoutAnAnswerIsInDoubtAtItsDeadline) {
  ExpectInDoubt(*Impatient(), Fault::kSilence);
}

TEST_P(ConformanceTest, ASubmissionIsInDoubtAfterAnAnswerThatNamesNoJobs) {
  for (const auto& garbage : GarbageAnswers()) ExpectInDoubt(driver(), Fault::kGarbage, garbage);
}

TEST_P(ConformanceTest, JobsAreHeldUntilTheyAreReleased) {
  if (!driver().capabilities().hold_release) GTEST_SKIP() << "this kind holds no jobs";
  const auto batch = GivenBatch({"exit 1", "exit 2"});
  const auto ids = driver().Submit(batch);
  const auto refs = RefsOf(batch, ids);
  Await(refs, RemoteState::kHeld);
  Break(Fault::kNoConnection);
  EXPECT_THROW(driver().Release(batch, ids), CallFailed);
  Heal();
  Await(refs, RemoteState::kHeld);
  driver().Release(batch, ids);
  driver().Release(batch, ids);
  EXPECT_EQ(Await(refs, RemoteState::kEnded).at(1).wait_status, 2 << 8);
}

TEST_P(ConformanceTest, ATagThatWasGivenUpCanNoLongerBeSubmitted) {
  if (!driver().capabilities().revokes) GTEST_SKIP() << "this kind cannot give up a tag";
  const auto batch = GivenBatch({"exit 0"});
  const auto found = driver().Find(batch.tag, batch.cluster_user, Lately(), true);
  EXPECT_TRUE(found.complete && found.revoked);
  EXPECT_TRUE(found.jobs.empty());
  EXPECT_NE(Outcome(driver(), batch), "taken");
  EXPECT_EQ(tested().JobsWithTag(batch.tag), 0);
}

TEST_P(ConformanceTest, ATagIsNotReportedAsGivenUpWhereThatCannotBe) {
  if (driver().capabilities().revokes) GTEST_SKIP() << "this kind can give up a tag";
  EXPECT_FALSE(driver().Find("cigri.7.conform.never", tested().user(), Lately(), true).revoked);
}

}  // namespace cigri::conformance
