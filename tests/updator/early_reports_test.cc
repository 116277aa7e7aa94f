// Which reports wait for their batch to be recorded. What happens once it is: updator_pgtest.cc.
#include "updator/early_reports.h"

#include <gtest/gtest.h>

namespace cigri::updator {
namespace {

class EarlyReportsTest : public testing::Test {
 protected:
  void Add(const std::string& tag, std::int64_t cluster = 1) {
    EarlyReport report{.cluster_id = cluster};
    report.remote.ref.tag = tag;
    early_.Add(report);
  }
  std::string Tags() {
    std::string out;
    for (const auto& tag : early_.Tags()) out += tag + " ";
    return out;
  }
  EarlyReports early_;
};

TEST_F(EarlyReportsTest, AReportWaitsOnlyWhileItsBatchMayStillBeRecorded) {
  for (const char* tag : {"doubt", "intended", "nobody", "refused", "abandoned"}) Add(tag);
  early_.Settle({{"doubt", BatchState::kInDoubt},
                 {"intended", BatchState::kIntended},
                 {"refused", BatchState::kRefused},
                 {"abandoned", BatchState::kAbandoned}});
  EXPECT_EQ(Tags(), "doubt intended ");
  Add("refused");
  EXPECT_EQ(Tags(), "doubt intended ") << "its cluster may report it indefinitely";
}

TEST_F(EarlyReportsTest, ABatchThatHasJustBeenRecordedIsLookedForOnceMore) {
  Add("a");
  early_.Settle({{"a", BatchState::kRecorded}});
  EXPECT_EQ(Tags(), "a ") << "recorded after the pass had read the new batches";
  early_.Settle({{"a", BatchState::kRecorded}});
  EXPECT_EQ(Tags(), "") << "recorded, and none of its jobs is in flight";
}

TEST_F(EarlyReportsTest, EachClusterWaitsForItsOwn) {
  Add("a", 1);
  EXPECT_TRUE(early_.AnyOf(1));
  EXPECT_FALSE(early_.AnyOf(2));
  early_.Clear();
  EXPECT_FALSE(early_.AnyOf(1));
}

}  // namespace
}  // namespace cigri::updator
