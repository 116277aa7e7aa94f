#include "runner/share.h"

#include <gtest/gtest.h>

namespace cigri::runner {
namespace {

std::vector<std::int64_t> Taken(const Share& share) {
  std::vector<std::int64_t> ids;
  for (const auto& cluster : share.take) ids.push_back(cluster.id);
  return ids;
}
using Ids = std::vector<std::int64_t>;

TEST(ShareOf, OneRunnerTakesAllThatIsFree) {
  const auto share = ShareOf("a", {"a"}, {{1, 0, "", ""}, {2, 4, "", ""}, {3, 1, "a", ""}});
  EXPECT_EQ(Taken(share), (Ids{1, 2}));
  EXPECT_EQ(share.give, Ids{});
}

TEST(ShareOf, ANewcomerGetsAsManyAsTheOthersAndTheFirstOnesHaveOneMore) {
  const std::vector<LeasedCluster> all{{1, 1, "a", ""}, {2, 1, "a", ""}, {3, 1, "a", ""}};
  EXPECT_EQ(ShareOf("a", {"a", "b"}, all).give, Ids{3});
  const auto newcomer = ShareOf("b", {"a", "b"}, all);
  EXPECT_EQ(Taken(newcomer), Ids{});
  EXPECT_FALSE(newcomer.complete);
  const std::vector<LeasedCluster> given{{1, 1, "a", ""}, {2, 1, "a", ""}, {3, 1, "", ""}};
  EXPECT_EQ(Taken(ShareOf("a", {"a", "b"}, given)), Ids{});
  EXPECT_EQ(Taken(ShareOf("b", {"a", "b"}, given)), Ids{3});
}

TEST(ShareOf, EverySplitIsEvenAndNothingMovesTwice) {
  for (std::size_t clusters = 0; clusters < 9; ++clusters)
    for (std::size_t runners = 1; runners < 6; ++runners) {
      std::vector<std::string> living;
      for (std::size_t r = 0; r < runners; ++r) living.push_back(std::string(1, char('a' + r)));
      std::vector<LeasedCluster> all;
      for (std::size_t c = 0; c < clusters; ++c)
        all.push_back({static_cast<std::int64_t>(c), 1, "a", ""});
      int moves = 0;
      for (int round = 0; round < 2; ++round)
        for (const auto& me : living) {
          const auto share = ShareOf(me, living, all);
          for (const auto id : share.give) all[static_cast<std::size_t>(id)].runner = "", ++moves;
          for (const auto id : Taken(share)) all[static_cast<std::size_t>(id)].runner = me;
        }
      for (const auto& me : living) {
        std::size_t n = 0;
        for (const auto& cluster : all) n += cluster.runner == me;
        EXPECT_GE(n, clusters / runners) << clusters << " clusters, " << runners << " runners";
        EXPECT_LE(n, (clusters + runners - 1) / runners);
        EXPECT_TRUE(ShareOf(me, living, all).give.empty());
        EXPECT_TRUE(ShareOf(me, living, all).complete);
      }
    }
}

TEST(ShareOf, ALocalClusterIsServedInItsHomeWhileARunnerLivesThere) {
  const LeasedCluster local{1, 1, "a", "b"}, other{2, 1, "a", ""};
  EXPECT_EQ(ShareOf("a", {"a", "b"}, {local, other}).give, Ids{1});
  EXPECT_EQ(Taken(ShareOf("b", {"a", "b"}, {{1, 1, "", "b"}, other})), Ids{1});
  EXPECT_EQ(Taken(ShareOf("a", {"a", "b"}, {{1, 1, "", "b"}, other})), Ids{});
  const LeasedCluster deserted{1, 1, "", "", "", true}, astray{1, 1, "a", "", "", true};
  EXPECT_EQ(Taken(ShareOf("a", {"a"}, {deserted, other})), Ids{}) << "only its home reaches it";
  EXPECT_TRUE(ShareOf("a", {"a"}, {deserted, other}).complete) << "it waits for nothing";
  EXPECT_EQ(ShareOf("a", {"a"}, {astray, other}).give, Ids{1});
}

}  // namespace
}  // namespace cigri::runner
