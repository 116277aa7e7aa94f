#include "policy/forecast/job_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "policy/forecast/estimate.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

// CIG-43's grid: 100 slots, 5 jobs may wait, all jobs end between two cycles. What is sent comes
// from Decide(), the ratio from what the predictor makes of it: the loop of the real grid.
class Cycles {
 public:
  Cycles(const std::string& rule, int slots) {
    grid_.AddCluster(100).waiting_allowed = 5;
    grid_.AddCampaign(1'000'000, "alice", {}, slots);
    stats_.rule = rule;
    stats_.slots = slots;
    stats_.max_resources = stats_.free_resources = 100;
    stats_.max_waiting = 5, stats_.campaign_mean_s = 1;
    stats_.last_ratio = 1;
    Predict();
  }
  /// Jobs sent in each cycle: on free slots and to the places of the queue.
  std::vector<int> Sent(int cycles) {
    std::vector<int> sent;
    for (int i = 0; i < cycles; ++i) {
      grid_.Run();
      sent.push_back(grid_.Given(1));
      stats_.ended += stats_.running + stats_.waiting;
      stats_.running = std::min(sent.back(), 100 / stats_.slots);
      stats_.waiting = sent.back() - stats_.running;
      Predict();
    }
    return sent;
  }
  double ratio() { return grid_.placement(1, 1).job_ratio; }
  void SetRatio(double ratio) {
    predictor_ = {};
    stats_.last_ratio = ratio;
    Predict();
  }
  test::PolicyFixture grid_;

 private:
  void Predict() {
    ++stats_.polls;
    const auto forecast = predictor_.Update(stats_, ++now_, 60);
    EXPECT_EQ(forecast.waiting_allowed, 5);
    grid_.placement(1, 1).job_ratio = forecast.job_ratio;
  }
  predictor::PlacementStats stats_;
  predictor::PlacementEstimate predictor_;
  double now_ = 0;
};

std::vector<int> OnFreeSlots(std::vector<int> sent) {
  for (auto& n : sent) n -= 5;  // places of the queue
  return sent;
}

TEST(T26, SlowStartDoublesAndFallsToOneJobPerCluster) {
  EXPECT_EQ(OnFreeSlots(Cycles("slow-start", 2).Sent(9)),
            (std::vector<int>{100, 1, 2, 4, 8, 16, 32, 64, 1}));
}

TEST(T27, TheLiteralRuleOscillatesAndTheMultiplicativeOneSettles) {
  EXPECT_EQ(Cycles("adaptive-2009", 2).Sent(5), (std::vector<int>{105, 57, 101, 59, 98}));
  Cycles adaptive("adaptive", 2);
  EXPECT_EQ(adaptive.Sent(6), (std::vector<int>{105, 57, 55, 60, 55, 61}));
  for (int i = 0; i < 60; ++i) {
    adaptive.Sent(1);
    EXPECT_GE(adaptive.ratio(), 0.5);
    EXPECT_LE(adaptive.ratio(), 0.62);
  }
}

TEST(T28, AdaptiveDownExponentialUp) {
  Cycles cycles("adaptive-down-exponential-up", 1);
  EXPECT_EQ(cycles.Sent(1)[0], 105);
  EXPECT_NEAR(cycles.ratio(), 2, 1e-12) << "five wait: up";
  EXPECT_EQ(cycles.Sent(1)[0], 205);
  EXPECT_NEAR(cycles.ratio(), 105.0 / 205, 1e-12) << "105 wait, 100 too many: down";
  EXPECT_EQ(cycles.Sent(1)[0], 56);
  EXPECT_NEAR(cycles.ratio(), 210.0 / 205, 1e-12) << "and up again";
}

// A burst of local users that has gone leaves a low ratio behind: what is sent starts, and with
// nothing waiting nothing would ever say that more could have.
TEST(JobRatio, AdaptiveRecoversAfterABurst) {
  Cycles cycles("adaptive", 4);
  cycles.SetRatio(0.01);
  cycles.grid_.cluster(1).waiting_allowed = 0;
  std::vector<int> sent = cycles.Sent(6);
  EXPECT_EQ(sent, (std::vector<int>{1, 2, 4, 8, 16, 25}));
  EXPECT_DOUBLE_EQ(cycles.ratio(), 0.25) << "a job for the slots that it asks for, no more";
}

TEST(JobRatio, OneJobGoesAtTheFloorWhenItFitsAlsoWhereWideOnesAreReserved) {
  for (const double age : {-1.0, 0.0, 20.0}) {
    Cycles cycles("slow-start", 2);
    cycles.grid_.snapshot.config.multi_slot_age = age;
    cycles.SetRatio(0.01);
    cycles.grid_.cluster(1).free = 50;  // half a job by the ratio
    cycles.grid_.cluster(1).waiting_allowed = 0;
    EXPECT_EQ(cycles.Sent(1)[0], 1) << age;
    cycles.grid_.placement(1, 1).in_flight = 1;
    cycles.SetRatio(0.01);
    EXPECT_EQ(cycles.Sent(1)[0], 0) << "one is on its way already";
  }
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

// CIG-44. Short jobs raise the flow by themselves: all of the places of the queue start in time.
TEST(JobRatio, ItRisesWhileAFewWaitAndNoHigherThanTheMost) {
  predictor::PlacementStats stats;
  stats.rule = "adaptive";
  stats.max_resources = stats.free_resources = 100;
  stats.max_waiting = 5, stats.campaign_mean_s = 1;
  predictor::PlacementEstimate predictor;
  double most = 0;
  for (int i = 1; i <= 50; ++i) {
    stats.polls = i;
    stats.ended += stats.running + stats.waiting;
    stats.running = stats.waiting = 5;  // local users leave five slots
    most = predictor.Update(stats, i, 60).job_ratio;
  }
  EXPECT_EQ(most, 4);
}

}  // namespace
}  // namespace cigri::policy
