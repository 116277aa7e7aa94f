#include "updator/book.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

using cluster::EndCause;
constexpr int Exit(int code) { return code << 8; }

TEST(BookTest, EveryEndIsBookedToWhomItBelongs) {
  const struct {
    const char* when;
    EndFacts facts;
    Account account;
    const char* code;
    Next next;
  } cases[] = {
      {"exit 3, first time",
       {.wait_status = Exit(3)},
       Account::kProgram,
       "EXIT_ERROR",
       Next::kRetryFront},
      {"exit 3, tries spent",
       {.wait_status = Exit(3), .program = 1},
       Account::kProgram,
       "EXIT_ERROR",
       Next::kToFix},
      {"signal 11",
       {.wait_status = 11, .program = 1},
       Account::kProgram,
       "KILLED_BY_SIGNAL",
       Next::kToFix},
      {"exit 66", {.wait_status = Exit(66)}, Account::kProgram, "RESUBMIT", Next::kRetryFront},
      {"exit 67", {.wait_status = Exit(67)}, Account::kProgram, "RESUBMIT_END", Next::kRetryBack},
      {"exit 66, eleventh time",
       {.wait_status = Exit(66), .again = 10},
       Account::kProgram,
       "TOO_MANY_AGAIN",
       Next::kToFix},
      {"best-effort kill",
       {.cause = EndCause::kPreempted, .program = 1},
       Account::kPreemption,
       "PREEMPTED",
       Next::kRetryFront},
      {"node died",
       {.cause = EndCause::kNodeFailed},
       Account::kInfrastructure,
       "NODE_FAILED",
       Next::kRetryFront},
      {"nobody knows",
       {.cause = EndCause::kUnknown},
       Account::kInfrastructure,
       "UNKNOWN_END",
       Next::kRetryFront},
      {"exited, status lost",
       {.cause = EndCause::kExited},
       Account::kInfrastructure,
       "UNKNOWN_END",
       Next::kRetryFront},
      {"killed 60 times",
       {.cause = EndCause::kPreempted, .free = 59},
       Account::kPreemption,
       "TOO_MANY_FREE",
       Next::kToFix},
      {"walltime",
       {.cause = EndCause::kWalltime},
       Account::kProgram,
       "WALLTIME",
       Next::kRetryFront},
      {"our wipe",
       {.cause = EndCause::kDeleted, .kill_reason = "excess_waiting", .program = 1},
       Account::kOurKill,
       "KILLED_BY_GRID",
       Next::kRetryFront},
      {"its user's kill",
       {.cause = EndCause::kDeleted, .kill_reason = "user"},
       Account::kOurKill,
       "USER_FRAG",
       Next::kToFix},
      {"test campaign",
       {.wait_status = Exit(1), .test_campaign = true},
       Account::kProgram,
       "EXIT_ERROR",
       Next::kToFix},
      {"a prologue",
       {.wait_status = Exit(1), .kind = BatchKind::kPrologue},
       Account::kProgram,
       "EXIT_ERROR",
       Next::kNothing},
  };
  for (const auto& c : cases) {
    const auto b = Book(c.facts);
    EXPECT_FALSE(b.success) << c.when;
    EXPECT_EQ(ToString(b.account), ToString(c.account)) << c.when;
    EXPECT_EQ(b.code, c.code) << c.when;
    EXPECT_EQ(static_cast<int>(b.next), static_cast<int>(c.next)) << c.when;
  }
}

TEST(BookTest, ExitZeroIsASuccessWhoeverWasKilling) {
  EXPECT_TRUE(Book({.wait_status = 0, .kill_reason = "campaign_cancelled"}).success);
  EXPECT_TRUE(Book({.wait_status = 0}).success);
}

TEST(BookTest, AbsenceIsNeverASuccess) {
  EXPECT_FALSE(Book({.cause = EndCause::kUnknown, .wait_status = 0}).success);
  EXPECT_FALSE(Book({.cause = EndCause::kPreempted, .wait_status = 0}).success);
}

TEST(BookTest, AFailedTaskGoesElsewhereWhenThereIsAnElsewhere) {
  EXPECT_TRUE(Book({.wait_status = Exit(1), .other_clusters = true}).avoid_here);
  EXPECT_FALSE(Book({.wait_status = Exit(1), .other_clusters = false}).avoid_here);
}

}  // namespace
}  // namespace cigri::updator
