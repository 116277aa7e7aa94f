#include "updator/absences.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

using Jobs = std::vector<std::int64_t>;

class AbsencesTest : public testing::Test {
 protected:
  // A look `second` seconds after the first that misses these jobs.
  Jobs Update(int second, const Jobs& missing) {
    std::vector<cluster::RemoteRef> refs;
    for (const auto job : missing)
      refs.push_back({.remote_id = "", .tag = "", .job_id = job, .cluster_user = ""});
    return absences_.Update(refs, start_ + std::chrono::seconds(second));
  }
  Absences absences_;
  const Absences::Clock::time_point start_{};
};

TEST_F(AbsencesTest, ThreePollsAndAMinuteAreNeededAndEachJobHasItsOwn) {
  EXPECT_EQ(Update(0, {7}), Jobs{});
  EXPECT_EQ(Update(5, {7, 8}), Jobs{});
  EXPECT_EQ(Update(59, {7, 8}), Jobs{}) << "three polls, no minute";
  EXPECT_EQ(Update(60, {7, 8}), Jobs{7});
  EXPECT_EQ(Update(65, {7, 8}), (Jobs{7, 8})) << "reported again until somebody has written it";
}

TEST_F(AbsencesTest, AMinuteAloneIsNotEnough) {
  EXPECT_EQ(Update(0, {7}), Jobs{});
  EXPECT_EQ(Update(600, {7}), Jobs{});
  EXPECT_EQ(Update(1200, {7}), Jobs{7});
}

TEST_F(AbsencesTest, AJobThatIsSeenAgainBeginsAgain) {
  Update(0, {7});
  Update(40, {7});
  EXPECT_EQ(Update(80, {}), Jobs{});
  EXPECT_EQ(Update(120, {7}), Jobs{});
  EXPECT_EQ(Update(160, {7}), Jobs{});
  EXPECT_EQ(Update(200, {7}), Jobs{7});
}

}  // namespace
}  // namespace cigri::updator
