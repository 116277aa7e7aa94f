#include "updator/classify.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

using cluster::EndCause;
constexpr int Exit(int code) { return code << 8; }

TEST(ClassifyExitTest, EveryEndHasItsExitClassAndNextStep) {
  const struct {
    const char* when;
    EndInfo end;
    ExitClass exit_class;
    const char* code;
    NextStep next;
  } cases[] = {
      {"exit 3, first time",
       {.wait_status = Exit(3)},
       ExitClass::kProgram,
       "EXIT_ERROR",
       NextStep::kRetryFront},
      {"exit 3, tries spent",
       {.wait_status = Exit(3), .program = 1},
       ExitClass::kProgram,
       "EXIT_ERROR",
       NextStep::kNeedsAttention},
      {"signal 11",
       {.wait_status = 11, .program = 1},
       ExitClass::kProgram,
       "KILLED_BY_SIGNAL",
       NextStep::kNeedsAttention},
      {"exit 66",
       {.wait_status = Exit(66)},
       ExitClass::kProgram,
       "RESUBMIT",
       NextStep::kRetryFront},
      {"exit 67",
       {.wait_status = Exit(67)},
       ExitClass::kProgram,
       "RESUBMIT_END",
       NextStep::kRetryBack},
      {"exit 66, eleventh time",
       {.wait_status = Exit(66), .user_requeues = 10},
       ExitClass::kProgram,
       "TOO_MANY_REQUEUES",
       NextStep::kNeedsAttention},
      {"an input is missing",
       {.wait_status = Exit(217), .moves_files = true},
       ExitClass::kProgram,
       "INPUT_MISSING",
       NextStep::kRetryFront},
      {"an output is missing, tries spent",
       {.wait_status = Exit(218), .program = 1, .moves_files = true},
       ExitClass::kProgram,
       "OUTPUT_MISSING",
       NextStep::kNeedsAttention},
      {"files cannot be moved",
       {.wait_status = Exit(216), .program = 1, .moves_files = true},
       ExitClass::kInfrastructure,
       "TRANSFER_FAILED",
       NextStep::kRetryFront},
      {"exit 216 of a campaign without files",
       {.wait_status = Exit(216)},
       ExitClass::kProgram,
       "EXIT_ERROR",
       NextStep::kRetryFront},
      {"best-effort kill",
       {.cause = EndCause::kPreempted, .program = 1},
       ExitClass::kPreemption,
       "PREEMPTED",
       NextStep::kRetryFront},
      {"node died",
       {.cause = EndCause::kNodeFailed},
       ExitClass::kInfrastructure,
       "NODE_FAILED",
       NextStep::kRetryFront},
      {"the cluster does not know",
       {.cause = EndCause::kUnknown},
       ExitClass::kInfrastructure,
       "UNKNOWN_END",
       NextStep::kRetryFront},
      {"exited, status lost",
       {.cause = EndCause::kExited},
       ExitClass::kInfrastructure,
       "UNKNOWN_END",
       NextStep::kRetryFront},
      {"lost 60 times",
       {.cause = EndCause::kNodeFailed, .infrastructure = 59},
       ExitClass::kInfrastructure,
       "TOO_MANY_UNCHARGED",
       NextStep::kNeedsAttention},
      {"preempted as often: another budget",
       {.cause = EndCause::kPreempted, .infrastructure = 59, .preemption = 998},
       ExitClass::kPreemption,
       "PREEMPTED",
       NextStep::kRetryFront},
      {"no directory, where jobs have succeeded",
       {.cause = EndCause::kBadDirectory, .program = 1, .verified = true},
       ExitClass::kInfrastructure,
       "WORKING_DIRECTORY_ERROR",
       NextStep::kRetryFront},
      {"no directory, where none has",
       {.cause = EndCause::kBadDirectory, .program = 1},
       ExitClass::kProgram,
       "WORKING_DIRECTORY_ERROR",
       NextStep::kNeedsAttention},
      {"killed 1,000 times",
       {.cause = EndCause::kPreempted, .preemption = 999},
       ExitClass::kPreemption,
       "TOO_MANY_UNCHARGED",
       NextStep::kNeedsAttention},
      {"walltime",
       {.cause = EndCause::kWalltime},
       ExitClass::kProgram,
       "WALLTIME",
       NextStep::kRetryFront},
      {"walltime of a task that saves its work",
       {.cause = EndCause::kWalltime, .program = 1, .checkpoint = true},
       ExitClass::kOurKill,
       "WALLTIME",
       NextStep::kRetryFront},
      {"walltime that the grid chose",
       {.cause = EndCause::kWalltime, .program = 1, .auto_walltime_s = 60},
       ExitClass::kOurKill,
       "WALLTIME",
       NextStep::kRetryFront},
      {"our kill",
       {.cause = EndCause::kDeleted, .kill_reason = "excess_waiting", .program = 1},
       ExitClass::kOurKill,
       "KILLED_BY_GRID",
       NextStep::kRetryFront},
      {"its user's kill",
       {.cause = EndCause::kDeleted, .kill_reason = "user"},
       ExitClass::kOurKill,
       "USER_FRAG",
       NextStep::kNeedsAttention},
      {"test campaign",
       {.wait_status = Exit(1), .test_campaign = true},
       ExitClass::kProgram,
       "EXIT_ERROR",
       NextStep::kNeedsAttention},
      {"a prologue",
       {.wait_status = Exit(1), .kind = BatchKind::kPrologue},
       ExitClass::kProgram,
       "EXIT_ERROR",
       NextStep::kNothing},
  };
  for (const auto& c : cases) {
    const auto b = ClassifyExit(c.end);
    EXPECT_FALSE(b.success) << c.when;
    EXPECT_EQ(ToString(b.exit_class), ToString(c.exit_class)) << c.when;
    EXPECT_EQ(b.code, c.code) << c.when;
    EXPECT_EQ(static_cast<int>(b.next), static_cast<int>(c.next)) << c.when;
  }
}

TEST(ClassifyExitTest, ExitCodeZeroIsASuccessAlsoWhenTheGridWasKillingTheJob) {
  EXPECT_TRUE(ClassifyExit({.wait_status = 0, .kill_reason = "campaign_cancelled"}).success);
  EXPECT_TRUE(ClassifyExit({.wait_status = 0}).success);
}

TEST(ClassifyExitTest, AbsenceIsNeverASuccess) {
  EXPECT_FALSE(ClassifyExit({.cause = EndCause::kUnknown, .wait_status = 0}).success);
  EXPECT_FALSE(ClassifyExit({.cause = EndCause::kPreempted, .wait_status = 0}).success);
}

TEST(ClassifyExitTest, AFailedTaskAvoidsItsClusterWhenThereIsAnotherOne) {
  EXPECT_TRUE(ClassifyExit({.wait_status = Exit(1), .other_clusters = true}).avoid_here);
  EXPECT_FALSE(ClassifyExit({.wait_status = Exit(1), .other_clusters = false}).avoid_here);
}

TEST(ClassifyExitTest, AClusterThatKillsAtOnceIsFedMoreSlowlyAndThenAvoided) {
  const auto preempted = [](int uncharged_here, bool other_clusters) {
    return ClassifyExit({.cause = EndCause::kPreempted,
                         .other_clusters = other_clusters,
                         .uncharged_here = uncharged_here});
  };
  EXPECT_EQ(preempted(2, true).delay_s, 0);
  EXPECT_EQ(preempted(3, true).delay_s, 3);
  EXPECT_FALSE(preempted(kMostUnchargedHere - 2, true).avoid_here);
  EXPECT_TRUE(preempted(kMostUnchargedHere - 1, true).avoid_here);
  EXPECT_FALSE(preempted(kMostUnchargedHere - 1, false).avoid_here);
}

TEST(ErrorClassTest, AnEndIsWhatItsClassSaysAndTheTaskDoesWhatTheClassSays) {
  const auto with = [](ErrorClass known, EndInfo end = {.wait_status = Exit(1), .program = 1}) {
    end.error_class = std::move(known);
    return ClassifyExit(end);
  };
  const auto disk = with({.name = "disk",
                          .title = "full",
                          .exit_class = ExitClass::kInfrastructure,
                          .cluster_fault = true,
                          .action = RetryAction::kRetryElsewhere},
                         {.wait_status = Exit(1), .other_clusters = true, .program = 1});
  EXPECT_EQ(disk.exit_class, ExitClass::kInfrastructure);
  EXPECT_EQ(disk.next, NextStep::kRetryFront) << "it costs no try";
  EXPECT_EQ(disk.code, "EXIT_ERROR");
  EXPECT_TRUE(disk.avoid_here && disk.cluster_fault);
  EXPECT_EQ(with({.action = RetryAction::kStop}, {.wait_status = Exit(1)}).next,
            NextStep::kNeedsAttention);
  EXPECT_EQ(with({.action = RetryAction::kLimit, .n = 5}).next, NextStep::kRetryFront);
  EXPECT_EQ(with({.action = RetryAction::kLimit, .n = 2}).next, NextStep::kNeedsAttention);
  EXPECT_EQ(with({.exit_class = ExitClass::kProgram, .action = RetryAction::kRetry},
                 {.cause = EndCause::kNodeFailed, .program = 1})
                .next,
            NextStep::kNeedsAttention);
  EXPECT_EQ(
      with({.action = RetryAction::kStop}, {.cause = EndCause::kDeleted, .kill_reason = "drain"})
          .next,
      NextStep::kRetryFront)
      << "what the grid killed is no matter of a class";
}

TEST(ErrorClassTest, ATaskGrowsSoOftenAndMemoryOnlyWhereSomeWasAskedFor) {
  const auto grown = [](RetryAction action, double x, bool has_mem) {
    return ClassifyExit({.wait_status = Exit(137),
                         .program = 1,
                         .walltime_x = x,
                         .memory_x = x,
                         .has_mem = has_mem,
                         .error_class = ErrorClass{.action = action, .n = 2, .factor = 1.5}});
  };
  EXPECT_EQ(grown(RetryAction::kMoreMemory, 1, true).memory_x, 1.5);
  EXPECT_EQ(grown(RetryAction::kMoreMemory, 1.5, true).next, NextStep::kRetryFront);
  EXPECT_EQ(grown(RetryAction::kMoreMemory, 2.25, true).next, NextStep::kNeedsAttention);
  EXPECT_EQ(grown(RetryAction::kMoreMemory, 1, false).next, NextStep::kNeedsAttention);
  EXPECT_EQ(grown(RetryAction::kMoreWalltime, 1, false).walltime_x, 1.5);
}

TEST(ClassifyTest, AfterAWalltimeThatTheGridChoseTheNextOneIsTwiceAsLong) {
  const auto next = [](std::optional<int> had) {
    return ClassifyExit({.cause = EndCause::kWalltime, .auto_walltime_s = had}).least_walltime_s;
  };
  EXPECT_EQ(next(30), 60);
  EXPECT_EQ(next(90), 240) << "powers of two: tasks that grew share submissions";
  EXPECT_EQ(next({}), std::nullopt);
  EXPECT_EQ(ClassifyExit({.cause = EndCause::kDeleted, .kill_reason = "walltime",
                          .auto_walltime_s = 30}).least_walltime_s,
            60)
      << "where the grid itself ends it";
}

TEST(ErrorClassTest, WithAutomaticMemoryWhatTheKernelKillsGetsMore) {
  const auto grown = [](bool auto_mem, int wait_status, const char* kill_reason = "") {
    return ClassifyExit({.wait_status = wait_status,
                         .kill_reason = kill_reason,
                         .program = 1,
                         .has_mem = true,
                         .auto_mem = auto_mem})
        .memory_x;
  };
  EXPECT_EQ(grown(true, 9), 1.5);
  EXPECT_EQ(grown(false, 9), 1) << "who says how much gets that much";
  EXPECT_EQ(grown(true, 11), 1);
  EXPECT_EQ(grown(true, Exit(3)), 1);
  EXPECT_EQ(grown(true, 9, "drain"), 1) << "the grid killed it";
}

TEST(RetryRulesTest, TheUsersRulesAndBudgetsDecideLast) {
  const auto retry = ReadRetry(nlohmann::json::parse(
      R"({"budgets": {"preemption": 2}, "evaluateOnExit": [
          {"onExitCode": "1*", "onReason": "*licence*", "action": "RETRY_ELSEWHERE"},
          {"onStatusReason": "infrastructure", "action": "exit"},
          {"onExitCode": "3", "action": "EXIT"}]})"));
  const auto next = [&](EndInfo end) {
    end.retry = retry;
    return ClassifyExit(end).next;
  };
  EXPECT_EQ(next({.wait_status = Exit(3)}), NextStep::kNeedsAttention);
  EXPECT_EQ(next({.wait_status = Exit(4)}), NextStep::kRetryFront) << "no rule: as ever";
  EXPECT_EQ(next({.cause = EndCause::kNodeFailed}), NextStep::kNeedsAttention);
  EXPECT_EQ(next({.cause = EndCause::kPreempted, .preemption = 1}), NextStep::kNeedsAttention);
  EXPECT_EQ(next({.cause = EndCause::kPreempted}), NextStep::kRetryFront);
  EXPECT_TRUE(ClassifyExit({.wait_status = Exit(12),
                            .other_clusters = true,
                            .message = "exit code 12: no licence left",
                            .retry = retry})
                  .avoid_here);
}

TEST(FailureMessageTest, SaysWhatIsMissingThenTheExitCodeThenTheWordsOfTheCluster) {
  cluster::RemoteJob job;
  job.wait_status = Exit(127);
  job.message = std::string("line 1\0\xFF", 8);
  EXPECT_EQ(FailureMessage(job, "", "not on the cluster: ./a"),
            "not on the cluster: ./a: exit code 127: line 1\xEF\xBF\xBD");
  EXPECT_EQ(FailureMessage(job, "asked for by alice", "").substr(0, 19), "asked for by alice:");
  job.message = std::string(5000, 'x');
  EXPECT_EQ(FailureMessage(job, "", "").size(), 2000u);
}

TEST(MissingOnClusterTest, ExitCodes126And127AreTheProgramsOwnOnceItHasRunThere) {
  const auto missing = [](int code, bool verified) {
    return MissingOnCluster(EndCause::kExited, Exit(code), verified, "./a", "$HOME/x");
  };
  EXPECT_EQ(missing(127, false), "not on the cluster: ./a");
  EXPECT_EQ(missing(126, false), "not executable on the cluster: ./a");
  EXPECT_EQ(missing(127, true), "");
  EXPECT_EQ(missing(1, false), "");
  EXPECT_EQ(MissingOnCluster(EndCause::kBadDirectory, {}, true, "./a", "$HOME/x"),
            "not on the cluster: $HOME/x");
}

TEST(FailureFingerprintTest, LeavesOutDigitsButThoseOfTheExitCode) {
  EXPECT_EQ(FailureFingerprint("EXIT_ERROR", "exit code 3: line 17"), "exit code 3: line ");
  EXPECT_EQ(FailureFingerprint("EXIT_ERROR", "exit code 3"), "exit code 3");
  EXPECT_EQ(FailureFingerprint("WALLTIME", "walltime of 60 s is over"), "walltime of  s is over");
}

}  // namespace
}  // namespace cigri::updator
