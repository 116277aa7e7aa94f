#include "updator/absences.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

using Jobs = std::vector<std::int64_t>;

class AbsencesTest : public testing::Test {
 protected:
  // A look `second` seconds after the first that misses these jobs.
  Jobs Look(int second, const Jobs& missing) {
    std::vector<cluster::RemoteRef> refs;
    for (const auto job : missing)
      refs.push_back({.remote_id = "", .tag = "", .job_id = job, .cluster_user = ""});
    return absences_.Look(refs, start_ + std::chrono::seconds(second));
  }
  Absences absences_;
  const Absences::Clock::time_point start_{};
};

TEST_F(AbsencesTest, ThreeLooksAndAMinuteAreNeededAndEachJobHasItsOwn) {
  EXPECT_EQ(Look(0, {7}), Jobs{});
  EXPECT_EQ(Look(5, {7, 8}), Jobs{});
  EXPECT_EQ(Look(59, {7, 8}), Jobs{}) << "three looks, no minute";
  EXPECT_EQ(Look(60, {7, 8}), Jobs{7});
  EXPECT_EQ(Look(65, {7, 8}), (Jobs{7, 8})) << "told again until somebody has written it";
}

TEST_F(AbsencesTest, AMinuteAloneIsNotEnough) {
  EXPECT_EQ(Look(0, {7}), Jobs{});
  EXPECT_EQ(Look(600, {7}), Jobs{});
  EXPECT_EQ(Look(1200, {7}), Jobs{7});
}

TEST_F(AbsencesTest, AJobThatIsSeenAgainBeginsAnew) {
  Look(0, {7});
  Look(40, {7});
  EXPECT_EQ(Look(80, {}), Jobs{});
  EXPECT_EQ(Look(120, {7}), Jobs{});
  EXPECT_EQ(Look(160, {7}), Jobs{});
  EXPECT_EQ(Look(200, {7}), Jobs{7});
}

}  // namespace
}  // namespace cigri::updator
