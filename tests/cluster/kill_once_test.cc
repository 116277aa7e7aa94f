#include "cluster/kill_once.h"

#include <gtest/gtest.h>

namespace cigri::cluster {
namespace {

using Why = CallFailed::Why;

std::vector<RemoteRef> Jobs() {
  std::vector<RemoteRef> refs(3);
  refs[0].remote_id = refs[1].remote_id = "7";
  refs[2].remote_id = "8";
  for (std::int64_t i = 0; i < 3; ++i) refs[static_cast<std::size_t>(i)].job_id = i + 1;
  return refs;
}

// The kills of one user without a token kept those of all others from being asked for.
TEST(KillOnceTest, AUserWhoMayNotCallHasFailedAlone) {
  KillResult result;
  KillOncePerJob(Jobs(), &result, [](const auto& refs, KillResult* once) {
    once->asked.push_back(refs.front());
    throw CallFailed(Why::kAuth, "no token of user alice");
  });
  EXPECT_TRUE(result.asked.empty());
  ASSERT_EQ(result.failed.size(), 3u) << "those that share a job, too";
  EXPECT_EQ(result.failed[0].second, "no token of user alice");
}

TEST(KillOnceTest, WhatOnlyWaitsIsKilledBeforeTheArrayOfWhichAJobRuns) {
  const auto ref = [](const char* tag, int index) { return RemoteRef{"1", tag, index}; };
  const auto groups = InGroups({ref("a", 1), ref("b", 0), ref("c", 1), ref("c", 0), ref("a", 0)},
                               [](const RemoteRef& each) { return each.tag; });
  std::string order;
  for (const auto& group : groups)
    for (const auto& each : group) order += each.tag + std::to_string(each.index) + " ";
  EXPECT_EQ(order, "b0 c1 c0 a1 a0 ");
}

TEST(KillOnceTest, AClusterThatIsAwayEndsTheCall) {
  KillResult result;
  EXPECT_THROW(KillOncePerJob(Jobs(), &result,
                              [](const auto&, KillResult*) {
                                throw CallFailed(Why::kUnreachable, "no route to host");
                              }),
               CallFailed);
}

}  // namespace
}  // namespace cigri::cluster
