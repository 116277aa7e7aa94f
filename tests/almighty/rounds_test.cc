#include "almighty/rounds.h"

#include <gtest/gtest.h>

namespace cigri::almighty {
namespace {

using std::chrono::seconds;

// Time is what the test says; "u1 p1" means: updator and predictor got turn 1.
class RoundsTest : public ::testing::Test {
 protected:
  RoundsTest() : rounds({{"u", true}, {"p", true}, {"r", false}, {"n", false}}, Pace{}) {
    for (std::size_t i = 0; i < 4; ++i) rounds.Up(i);
  }
  std::string Step() {
    std::string out;
    for (const auto& send : rounds.Step(now))
      out += std::string(1, "uprn"[send.seat]) + std::to_string(send.number) + " ";
    return out;
  }
  std::string Done(std::size_t seat) {
    rounds.Done(seat, now);
    return Step();
  }
  void FinishRound() {
    for (std::size_t i = 0; i < 4; ++i) Done(i);
  }
  Time now = Time{} + seconds(1000);
  Rounds rounds;
};

TEST_F(RoundsTest, ModulesGetTheirTurnsInOrderAndRunnersAreNotAwaited) {
  EXPECT_EQ(Step(), "");
  rounds.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  EXPECT_EQ(Done(0), "p1 ");
  EXPECT_EQ(Done(1), "r1 n1 ");
  EXPECT_FALSE(rounds.running());
}

TEST_F(RoundsTest, AHundredWakesInOneRoundAreOneMoreRound) {  // FBS-15
  rounds.Wake(now);
  Step();
  for (int i = 0; i < 100; ++i) rounds.Wake(now + milliseconds(i));
  FinishRound();
  now += seconds(1);
  EXPECT_EQ(Step(), "u2 ");
  FinishRound();
  now += seconds(1);
  EXPECT_EQ(Step(), "");
}

TEST_F(RoundsTest, TwoRoundsBeginAtLeastTheGapApart) {
  rounds.Wake(now);
  Step();
  FinishRound();
  rounds.Wake(now);
  EXPECT_EQ(Step(), "");
  EXPECT_EQ(rounds.NextLook(), now + Pace{}.min_gap);
  now += Pace{}.min_gap;
  EXPECT_EQ(Step(), "u2 ");
}

TEST_F(RoundsTest, AWakeInTheFutureWaitsForItsTimeAndAnEarlierOneIsKept) {
  rounds.Wake(now + seconds(9));
  rounds.Wake(now + seconds(3));
  rounds.Wake(now + seconds(5));
  EXPECT_EQ(Step(), "");
  now += seconds(3);
  EXPECT_EQ(Step(), "u1 ");
}

TEST_F(RoundsTest, OverItsBudgetAModuleIsNotAwaitedAndItsAnswerStartsAnotherRound) {
  rounds.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  now += Pace{}.budget;
  EXPECT_EQ(Step(), "p1 ");
  EXPECT_EQ(Done(1), "r1 n1 ");
  rounds.Done(2, now);
  rounds.Done(3, now);
  rounds.Wake(now);
  EXPECT_EQ(Step(), "p2 ") << "the updator is still at its first turn";
  EXPECT_EQ(Done(1), "r2 n2 ");
  now += milliseconds(100);
  EXPECT_EQ(Done(0), "u3 ") << "what it wrote late has to be seen by the others";
}

TEST_F(RoundsTest, ABusyRunnerGetsTheTurnItMissedWhenItHasAnswered) {
  rounds.Wake(now);
  Step();
  Done(0);
  Done(1);
  rounds.Done(3, now);
  now += seconds(1);
  rounds.Wake(now);
  Step();
  Done(0);
  EXPECT_EQ(Done(1), "n2 ");
  EXPECT_EQ(Done(2), "r2 ");
  EXPECT_EQ(Done(2), "");
}

TEST_F(RoundsTest, ADeadModuleHoldsUpNobody) {
  rounds.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  rounds.Down(0);
  EXPECT_EQ(Step(), "p1 ");
  rounds.Down(3);
  EXPECT_EQ(Done(1), "r1 ");
}

TEST_F(RoundsTest, AModuleWithoutAnAnswerForAMinuteIsStuck) {
  rounds.Wake(now);
  Step();
  now += Pace{}.stuck - milliseconds(1);
  Step();
  EXPECT_TRUE(rounds.Stuck(now).empty());
  now += milliseconds(1);
  EXPECT_EQ(rounds.Stuck(now).front(), 0u);
  rounds.Down(0);
  EXPECT_TRUE(rounds.Stuck(now).empty());
}

TEST_F(RoundsTest, NothingToDoMeansNoLook) {
  EXPECT_EQ(rounds.NextLook(), std::nullopt);
  rounds.Wake(now);
  Step();
  FinishRound();
  EXPECT_EQ(rounds.NextLook(), std::nullopt);
}

}  // namespace
}  // namespace cigri::almighty
