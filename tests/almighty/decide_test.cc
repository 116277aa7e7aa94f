#include "almighty/decide.h"

#include <gtest/gtest.h>

namespace cigri::almighty {
namespace {

using std::chrono::seconds;

// Time is what the test says; "u1 p1" means: updator and predictor got step 1.
class CyclesTest : public ::testing::Test {
 protected:
  CyclesTest() : cycles({{"u", true}, {"p", true}, {"r", false}, {"n", false}}, Pace{}) {
    for (std::size_t i = 0; i < 4; ++i) cycles.Up(i);
    first_steps = Step();
    for (std::size_t i : {2, 3}) cycles.Done(i, now);
  }
  std::string Step() {
    std::string out;
    for (const auto& send : cycles.Step(now))
      out += std::string(1, "uprn"[send.stage]) + std::to_string(send.number) + " ";
    return out;
  }
  std::string Done(std::size_t stage) {
    cycles.Done(stage, now);
    return Step();
  }
  std::string FinishCycle() {
    std::string out;
    for (std::size_t i = 0; i < 4; ++i) out += Done(i);
    return out;
  }
  Time now = Time{} + seconds(1000);
  Cycles cycles;
  std::string first_steps;
};

// Of a leader that has just begun, the runner waited for three modules to come up, seconds on a
// busy machine, and its host's clusters for the runner.
TEST_F(CyclesTest, WhatNobodyAwaitsGetsItsFirstStepAtOnce) {
  EXPECT_EQ(first_steps, "r0 n0 ");
  cycles.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  cycles.Down(2);
  cycles.Up(2);
  EXPECT_EQ(Step(), "r1 ");
  cycles.Done(2, now);
  EXPECT_EQ(Done(0), "p1 ");
  EXPECT_EQ(Done(1), "r1 n1 ") << "that step was not the one of this cycle";
}

TEST_F(CyclesTest, ModulesGetTheirStepsInOrderAndRunnersAreNotAwaited) {
  EXPECT_EQ(Step(), "");
  cycles.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  EXPECT_EQ(Done(0), "p1 ");
  EXPECT_EQ(Done(1), "r1 n1 ");
  EXPECT_FALSE(cycles.running());
}

TEST_F(CyclesTest, AHundredWakesInOneCycleAreOneMoreCycle) {  // FBS-15
  cycles.Wake(now);
  Step();
  for (int i = 0; i < 100; ++i) cycles.Wake(now + milliseconds(i));
  EXPECT_EQ(FinishCycle(), "p1 r1 n1 u2 ");
  EXPECT_EQ(FinishCycle(), "p2 r2 n2 ");
  now += seconds(1);
  EXPECT_EQ(Step(), "");
}

// A single job takes three cycles: it waited for the gap each time.
TEST_F(CyclesTest, AfterAWhileWithoutCyclesSomeBeginAtOnceThenOneEachGap) {
  for (const char* step : {"u1 ", "u2 ", "u3 ", "u4 "}) {
    cycles.Wake(now);
    EXPECT_EQ(Step(), step);
    FinishCycle();
  }
  for (const char* step : {"u5 ", "u6 "}) {
    cycles.Wake(now);
    EXPECT_EQ(Step(), "");
    EXPECT_EQ(cycles.NextDeadline(), now + Pace{}.min_gap);
    now += Pace{}.min_gap;
    EXPECT_EQ(Step(), step);
    FinishCycle();
  }
  now += 10 * Pace{}.min_gap;
  for (const char* step : {"u7 ", "u8 ", "u9 ", "u10 "}) {
    cycles.Wake(now);
    EXPECT_EQ(Step(), step);
    FinishCycle();
  }
  cycles.Wake(now);
  EXPECT_EQ(Step(), "") << "no more after a longer while";
}

TEST_F(CyclesTest, AWakeInTheFutureWaitsForItsTimeAndAnEarlierOneIsKept) {
  cycles.Wake(now + seconds(9));
  cycles.Wake(now + seconds(3));
  cycles.Wake(now + seconds(5));
  EXPECT_EQ(Step(), "");
  now += seconds(3);
  EXPECT_EQ(Step(), "u1 ");
}

TEST_F(CyclesTest, OverItsBudgetAModuleIsNotAwaitedAndItsAnswerStartsAnotherCycle) {
  cycles.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  now += Pace{}.budget;
  EXPECT_EQ(Step(), "p1 ");
  EXPECT_EQ(Done(1), "r1 n1 ");
  cycles.Done(2, now);
  cycles.Done(3, now);
  cycles.Wake(now);
  EXPECT_EQ(Step(), "p2 ") << "the updator is still at its first step";
  EXPECT_EQ(Done(1), "r2 n2 ");
  now += milliseconds(100);
  EXPECT_EQ(Done(0), "u3 ") << "what it wrote late has to be seen by the others";
}

TEST_F(CyclesTest, ABusyRunnerGetsTheStepItMissedWhenItHasAnswered) {
  cycles.Wake(now);
  Step();
  Done(0);
  Done(1);
  cycles.Done(3, now);
  now += seconds(1);
  cycles.Wake(now);
  Step();
  Done(0);
  EXPECT_EQ(Done(1), "n2 ");
  EXPECT_EQ(Done(2), "r2 ");
  EXPECT_EQ(Done(2), "");
}

TEST_F(CyclesTest, AStepMissedInTheLastCycleIsNotTheOneOfThisCycle) {
  cycles.Wake(now);
  Step();
  FinishCycle();
  for (int i : {2, 3}) {
    now += seconds(1);
    cycles.Wake(now);
    Step();
    Done(0);
    EXPECT_EQ(Done(1), i == 2 ? "r2 n2 " : "n3 ");
    cycles.Done(3, now);
  }
  now += seconds(1);
  cycles.Wake(now);
  EXPECT_EQ(Step(), "u4 ");
  EXPECT_EQ(Done(2), "r4 ") << "it has answered its second one and missed the third";
  cycles.Done(2, now);
  Done(0);
  EXPECT_EQ(Done(1), "r4 n4 ") << "what is planned in this cycle";
}

TEST_F(CyclesTest, ADeadModuleHoldsUpNobody) {
  cycles.Wake(now);
  EXPECT_EQ(Step(), "u1 ");
  cycles.Down(0);
  EXPECT_EQ(Step(), "p1 ");
  cycles.Down(3);
  EXPECT_EQ(Done(1), "r1 ");
}

TEST_F(CyclesTest, AModuleWithoutAnAnswerForAMinuteIsStuck) {
  cycles.Wake(now);
  Step();
  now += Pace{}.stuck - milliseconds(1);
  Step();
  EXPECT_TRUE(cycles.Stuck(now).empty());
  now += milliseconds(1);
  EXPECT_EQ(cycles.Stuck(now).front(), 0u);
  cycles.Down(0);
  EXPECT_TRUE(cycles.Stuck(now).empty());
}

TEST_F(CyclesTest, NothingToDoMeansNoPoll) {
  EXPECT_EQ(cycles.NextDeadline(), std::nullopt);
  cycles.Wake(now);
  Step();
  FinishCycle();
  EXPECT_EQ(cycles.NextDeadline(), std::nullopt);
}

}  // namespace
}  // namespace cigri::almighty
