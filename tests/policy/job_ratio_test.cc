#include "policy/forecast/job_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cigri::policy {
namespace {

struct Trace {
  std::vector<int> submitted;
  std::vector<double> ratios;
};

// CIG-43's grid: 100 slots, all jobs end between two cycles, counts truncated.
Trace Cycles(RatioRule rule, int slots_per_job, int rounds) {
  Trace trace;
  double ratio = 1;
  for (int i = 0; i < rounds; ++i) {
    RatioSample sample{.ratio = ratio, .free = 100, .allowed = 5, .max_slots = 100};
    sample.submitted = JobsFor(100, ratio);
    sample.running = std::min(sample.submitted, 100 / slots_per_job);
    sample.waiting = sample.submitted - sample.running;
    ratio = NextRatio(rule, sample);
    trace.submitted.push_back(sample.submitted);
    trace.ratios.push_back(ratio);
  }
  return trace;
}

TEST(T26, SlowStartDoublesAndFallsToOneJobPerCluster) {
  EXPECT_EQ(Cycles(RatioRule::kSlowStart, 2, 9).submitted,
            (std::vector<int>{100, 1, 2, 4, 8, 16, 32, 64, 1}));
}

TEST(T27, TheLiteralRuleOscillatesAndTheMultiplicativeOneSettles) {
  EXPECT_EQ(Cycles(RatioRule::kAdaptive2009, 2, 5).submitted,
            (std::vector<int>{100, 55, 110, 50, 100}));
  EXPECT_EQ(Cycles(RatioRule::kAdaptive, 2, 6).submitted,
            (std::vector<int>{100, 55, 60, 55, 61, 55}));
  const auto trace = Cycles(RatioRule::kAdaptive, 2, 60);
  for (std::size_t i = 1; i < trace.ratios.size(); ++i) {
    EXPECT_GE(trace.ratios[i], 0.5);
    EXPECT_LE(trace.ratios[i], 0.62);
  }
}

TEST(T28, AdaptiveDownExponentialUp) {
  const std::vector<double> want = {2, .525, 1.05, 2.1, .5, 1, 2};
  const auto got = Cycles(RatioRule::kAdaptiveDownExponentialUp, 1, 7).ratios;
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12);
}

TEST(JobRatio, NothingSubmittedTeachesNothingAndNoInputDividesByZero) {
  for (const auto rule : {RatioRule::kSlowStart, RatioRule::kAdaptive, RatioRule::kAdaptive2009,
                          RatioRule::kAdaptiveDownExponentialUp}) {
    EXPECT_EQ(NextRatio(rule, {.ratio = 0.25, .max_slots = 100}), 0.25);
    for (const int running : {0, 1, 50}) {
      for (const int waiting : {0, 6, 1000}) {
        const double next = NextRatio(rule, {.ratio = 1,
                                             .submitted = 50,
                                             .running = running,
                                             .waiting = waiting,
                                             .allowed = 5,
                                             .max_slots = 0});
        EXPECT_TRUE(std::isfinite(next)) << ToString(rule);
        EXPECT_GE(next, 1);  // 1 / max_slots
      }
    }
    EXPECT_EQ(RatioRuleFrom(ToString(rule)), rule);
  }
}

TEST(JobRatio, ShortJobsRaiseItNoHigherThanTheMost) {  // CIG-44
  double ratio = 1;
  for (int i = 0; i < 50; ++i)
    ratio = NextRatio(
        RatioRule::kAdaptive,
        {.ratio = ratio, .submitted = 100, .running = 10, .max_slots = 100, .max_ratio = 4});
  EXPECT_EQ(ratio, 4);
}

}  // namespace
}  // namespace cigri::policy
