#include "updator/summarise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/histogram.h"

namespace cigri::updator {
namespace {

constexpr std::int64_t kCampaign = 7, kCluster = 3;
constexpr double kEnd = 1'000'000;

EndedJob Ended(std::int64_t idx, double lasted, ExitInfo exit) {
  return {.job_id = 100 + idx,
          .campaign_id = kCampaign,
          .cluster_id = kCluster,
          .idx = idx,
          .slots = 2,
          .from = JobState::kRunning,
          .counted = exit.success,
          .started_before = kEnd - lasted,
          .started = kEnd - lasted,
          .ended = kEnd,
          .exit = exit};
}
const ExitInfo kSuccess{.success = true};
const ExitInfo kProgramFailed{.exit_class = ExitClass::kProgram, .code = "EXIT_ERROR"};
const ExitInfo kPreempted{.exit_class = ExitClass::kPreemption, .code = "PREEMPTED"};
const ExitInfo kRequeued{
    .exit_class = ExitClass::kProgram, .user_requeue = true, .code = "RESUBMIT"};

std::int64_t Counter(const Summary& sum, const std::string& state, const char* kind = "task") {
  const auto it = sum.counters.all().find({kCampaign, kCluster, kind, state});
  return it == sum.counters.all().end() ? 0 : it->second.n;
}

const PlacementSummary& Placement(const Summary& sum) {
  return sum.placements.at({kCampaign, kCluster});
}

TEST(SummariseTest, SuccessesGiveTheMomentsOfTheirDurations) {
  auto slow = Ended(1, 30, kSuccess);
  slow.transfer_s = 12;
  const auto sum = Summarise({}, {Ended(0, 10, kSuccess), slow});
  const auto& p = Placement(sum);
  EXPECT_DOUBLE_EQ(p.sum_transfer_s, 12);
  EXPECT_EQ(p.n_ok, 2);
  EXPECT_EQ(p.ended, 2);
  EXPECT_EQ(p.failures, 0);
  EXPECT_DOUBLE_EQ(p.sum_s, 40);
  EXPECT_DOUBLE_EQ(p.sum_sq, 1000);
  EXPECT_DOUBLE_EQ(p.min_s, 10);
  EXPECT_DOUBLE_EQ(p.max_s, 30);
  EXPECT_DOUBLE_EQ(p.slot_s, 80) << "two slots each";
  EXPECT_DOUBLE_EQ(p.first_start, kEnd - 30);
  EXPECT_DOUBLE_EQ(p.last_end, kEnd);
  EXPECT_EQ(p.hist.at(static_cast<std::size_t>(DurationBucket(10))), 1);
  EXPECT_EQ(p.recent_s, (std::vector<double>{10, 30}));
  EXPECT_EQ(p.recent_idx, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(sum.succeeded, (std::set<TaskKey>{{kCampaign, 0}, {kCampaign, 1}}));
  EXPECT_EQ(Counter(sum, "running"), -2);
  EXPECT_EQ(Counter(sum, "terminated"), 2);
}

TEST(SummariseTest, OnlyFailuresOfTheProgramCountAgainstAPlacement) {
  const auto sum =
      Summarise({}, {Ended(0, 1, kProgramFailed), Ended(1, 2, kPreempted), Ended(2, 3, kRequeued)});
  const auto& p = Placement(sum);
  EXPECT_EQ(p.not_ok, 3);
  EXPECT_EQ(p.ended, 1);
  EXPECT_EQ(p.failures, 1);
  ASSERT_EQ(p.recent_s.size(), 1u);
  EXPECT_TRUE(std::isinf(p.recent_s[0]));
  EXPECT_EQ(Counter(sum, "event"), 3);
  EXPECT_EQ(Counter(sum, "program"), 1);
  EXPECT_EQ(Counter(sum, "preemption"), 1);
  EXPECT_EQ(Counter(sum, "user_requeue"), 1);
}

TEST(SummariseTest, SurvivalReportsJobsThatTheClusterKilledFromTheOthers) {
  const auto sum = Summarise({}, {Ended(0, 100, kPreempted), Ended(1, 100, kPreempted),
                                  Ended(2, 50, kSuccess), Ended(3, 5, kProgramFailed)});
  const auto total = [](const std::vector<std::int64_t>& hist) {
    std::int64_t n = 0;
    for (const auto x : hist) n += x;
    return n;
  };
  EXPECT_EQ(total(sum.survival.at(kCluster).killed), 2);
  EXPECT_EQ(total(sum.survival.at(kCluster).ended), 2);
  EXPECT_EQ(Placement(sum).longest_killed_s, 100);
}

TEST(SummariseTest, AJobThatNeverStartedLastedForNoTimeAndSaysNothingOfSurvival) {
  auto job = Ended(0, 100, kPreempted);
  job.from = JobState::kRemoteWaiting;
  job.started = job.started_before = std::nullopt;
  const auto sum = Summarise({}, {job});
  EXPECT_EQ(Placement(sum).slot_s, 0);
  EXPECT_TRUE(sum.survival.empty());
  EXPECT_EQ(Counter(sum, "remote_waiting"), -1);
}

TEST(SummariseTest, ASecondSuccessOfATaskIsADuplicate) {
  auto copy = Ended(0, 10, kSuccess);
  copy.counted = false;
  const auto sum = Summarise({}, {Ended(0, 10, kSuccess), copy});
  EXPECT_EQ(Counter(sum, "terminated"), 1);
  EXPECT_EQ(Counter(sum, "duplicate"), 1);
  EXPECT_EQ(Placement(sum).recent_s.size(), 1u);
}

TEST(SummariseTest, AScriptHasFailedOnlyByItsOwnFault) {
  auto prologue = Ended(-1, 1, kPreempted);
  prologue.kind = BatchKind::kPrologue;
  EXPECT_EQ(Placement(Summarise({}, {prologue})).prologue, std::nullopt) << "it is run again";
  prologue.exit = kProgramFailed;
  EXPECT_EQ(Placement(Summarise({}, {prologue})).prologue, "failed");
  auto epilogue = Ended(-1, 1, kSuccess);
  epilogue.kind = BatchKind::kEpilogue;
  epilogue.counted = false;
  const auto sum = Summarise({}, {epilogue});
  EXPECT_EQ(Placement(sum).epilogue, "done");
  EXPECT_EQ(Placement(sum).n_ok, 0) << "not a task";
  EXPECT_EQ(Counter(sum, "terminated", "epilogue"), 1);
}

TEST(SummariseTest, TheLastTwentyEndsAreKept) {
  std::vector<EndedJob> jobs;
  for (int i = 0; i < 25; ++i) jobs.push_back(Ended(i, i, kSuccess));
  const auto sum = Summarise({}, jobs);
  const auto& p = Placement(sum);
  ASSERT_EQ(p.recent_idx.size(), kMostRecent);
  EXPECT_EQ(p.recent_idx.front(), 5);
  EXPECT_EQ(p.recent_idx.back(), 24);
}

TEST(SummariseTest, AMovedJobLeavesOneStateForAnother) {
  const auto sum = Summarise({{.job_id = 1,
                               .campaign_id = kCampaign,
                               .cluster_id = kCluster,
                               .slots = 4,
                               .from = JobState::kSubmitted,
                               .to = JobState::kRunning,
                               .started = 500.0}},
                             {});
  EXPECT_EQ(Counter(sum, "submitted"), -1);
  const auto& running = sum.counters.all().at({kCampaign, kCluster, "task", "running"});
  EXPECT_EQ(running.n, 1);
  EXPECT_EQ(running.slots, 4);
  EXPECT_EQ(running.sum_start, 2000) << "the start times four slots";
  EXPECT_TRUE(sum.campaigns.empty()) << "nothing ended";
}

Failure FailureOf(std::int64_t idx, ExitInfo exit, std::int64_t job, bool last_copy = true) {
  return {.exit = exit,
          .job_id = job,
          .campaign_id = kCampaign,
          .cluster_id = kCluster,
          .idx = idx,
          .last_copy = last_copy};
}

TEST(SumTriesTest, EachExitClassIsChargedToItsOwnColumn) {
  const ExitInfo killed{.exit_class = ExitClass::kOurKill};
  const auto tries = SumTries({FailureOf(0, kProgramFailed, 1), FailureOf(0, kPreempted, 2),
                               FailureOf(0, kRequeued, 3), FailureOf(0, killed, 4),
                               FailureOf(-1, kProgramFailed, 5)});
  ASSERT_EQ(tries.size(), 1u) << "a prologue is no task";
  const auto& t = tries.at({kCampaign, 0});
  EXPECT_EQ(t.attempts, 4);
  EXPECT_EQ(t.program, 1);
  EXPECT_EQ(t.user_requeues, 1);
  EXPECT_EQ(t.preemption, 1);
  EXPECT_EQ(t.infrastructure, 0);
  EXPECT_EQ(t.our_kill, 1);
  EXPECT_EQ(t.last_cluster, kCluster);
}

TEST(TasksToMoveTest, ATaskMovesOnceAndOnlyWhenNoCopyOfItSurvival) {
  ExitInfo retry = kProgramFailed;
  retry.next = NextStep::kRetryFront;
  const auto moved = TasksToMove(
      {FailureOf(0, retry, 1), FailureOf(0, retry, 2), FailureOf(1, retry, 3, false),
       FailureOf(2, retry, 4), FailureOf(3, kProgramFailed, 5), FailureOf(-1, retry, 6)},
      {{kCampaign, 2}});
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved.at({kCampaign, 0}).job_id, 2);
}

}  // namespace
}  // namespace cigri::updator
