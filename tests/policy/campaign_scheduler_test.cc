#include "policy/campaign_scheduler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

// docs/develop/add-a-campaign-scheduler.md shows the lines between the two marks.
// [example]
/// At most three jobs of the campaign in flight on each cluster.
class Three : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement& placement, const Offer& offer) const override {
    const std::int64_t most = 3 - placement.in_flight - offer.given;
    return std::min({most, offer.free_jobs + offer.queue_places, offer.tasks});
  }
};

const CampaignScheduler* MakeThree() {
  static const Three scheduler;
  return &scheduler;
}

void AddThree() {
  AddSchedulerType(
      {"three", "at most three jobs on each cluster", SchedulerType::Use::kJdl, MakeThree});
}
// [example]

class CampaignSchedulerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto names = SelectableSchedulers();
    if (std::find(names.begin(), names.end(), "three") == names.end()) AddThree();
  }
};

const PolicyKind kPolicies[] = {PolicyKind::kFifo,      PolicyKind::kAffinity,
                                PolicyKind::kUsage,     PolicyKind::kLottery,
                                PolicyKind::kStride,    PolicyKind::kDynamic,
                                PolicyKind::kFairshare, PolicyKind::kFairshareSimple};

TEST_F(CampaignSchedulerTest, ARegisteredOneServesTheCampaignsThatSelectItUnderEveryPolicy) {
  for (const auto policy : kPolicies) {
    PolicyFixture s(policy);
    s.AddCluster(10);
    s.AddCluster(10);
    s.AddCampaign(100, "alice").scheduler = "three";
    s.AddCampaign(100, "bob");
    s.placement(1, 2).in_flight = 2;
    s.Run();
    EXPECT_EQ(s.Given(1) + s.Given(2), 20) << ToString(policy) << ": it leaves nothing idle";
    EXPECT_LE(s.Given(1, 1), 3) << ToString(policy);
    EXPECT_LE(s.Given(1, 2), 1) << ToString(policy);
    if (policy == PolicyKind::kLottery) continue;  // a draw may serve the other campaign first
    EXPECT_EQ(s.Given(1, 1), 3) << ToString(policy);
    EXPECT_EQ(s.Given(1, 2), 1) << ToString(policy);
    EXPECT_EQ(s.Why(1, 1), "CAMPAIGN_SCHEDULER") << ToString(policy);
  }
}

TEST_F(CampaignSchedulerTest, ImmediateTakesFreeSlotsAndNoPlaceInAQueue) {
  for (const auto policy : kPolicies) {
    PolicyFixture s(policy);
    s.AddCluster(4).waiting_allowed = 6;
    s.AddCampaign(100).scheduler = "immediate";
    s.Run();
    EXPECT_EQ(s.Given(1), 4) << ToString(policy);
    s.campaign(1).scheduler.clear();
    EXPECT_EQ((s.Run(), s.Given(1)), 10) << ToString(policy);
  }
}

TEST_F(CampaignSchedulerTest, NoAnswerOfASchedulerPassesALimit) {
  struct Greedy : CampaignScheduler {
    std::int64_t Jobs(const Placement&, const Offer&) const override { return 1'000'000; }
  };
  struct Negative : CampaignScheduler {
    std::int64_t Jobs(const Placement&, const Offer&) const override { return -5; }
  };
  AddSchedulerType({"greedy", "", SchedulerType::Use::kJdl, [] {
                      static const Greedy scheduler;
                      return static_cast<const CampaignScheduler*>(&scheduler);
                    }});
  AddSchedulerType({"negative", "", SchedulerType::Use::kJdl, [] {
                      static const Negative scheduler;
                      return static_cast<const CampaignScheduler*>(&scheduler);
                    }});
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(100).scheduler = "greedy";
  s.placement(1, 1).max_jobs = 7;
  EXPECT_EQ((s.Run(), s.Given(1)), 7);
  s.campaign(1).scheduler = "negative";
  EXPECT_EQ((s.Run(), s.Given(1)), 0);
}

TEST_F(CampaignSchedulerTest, OneThatThisProgramDoesNotHaveIsTheDefault) {
  PolicyFixture s;
  s.AddCluster(10);
  s.AddCampaign(100).scheduler = "of a later version";
  EXPECT_EQ((s.Run(), s.Given(1)), 10);
}

TEST_F(CampaignSchedulerTest, TestsAndCopiesKeepTheirsWhateverTheJdlSelects) {
  Campaign campaign;
  campaign.scheduler = "three";
  EXPECT_EQ(SchedulerFor(campaign).Kind(), BatchKind::kTask);
  EXPECT_EQ(CopySchedulerFor(campaign).Kind(), BatchKind::kReplica);
  campaign.test = true;
  EXPECT_EQ(SchedulerFor(campaign).Kind(), BatchKind::kTest);
}

TEST_F(CampaignSchedulerTest, NamesAreUniqueDescribedAndOnlyThoseForJdlsAreSelectable) {
  std::set<std::string> names;
  for (const auto& type : SchedulerTypes()) EXPECT_TRUE(names.insert(type.name).second);
  for (const char* name : {"workqueue", "immediate", "test", "finalize"})
    EXPECT_EQ(names.count(name), 1u) << name;
  EXPECT_EQ(SelectableSchedulers().front(), kDefaultScheduler);
  for (const auto& name : SelectableSchedulers()) EXPECT_TRUE(name != "test" && name != "finalize");
  EXPECT_THROW(AddSchedulerType({"workqueue", "", SchedulerType::Use::kJdl, MakeThree}),
               std::invalid_argument);
}

std::string FileText(const std::string& path) {
  std::ifstream in(std::string(CIGRI_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(CampaignSchedulerTest, ThePageShowsTheExampleThatIsTestedHere) {
  const std::string mark = "// [example]\n",
                    source = FileText("tests/policy/campaign_scheduler_test.cc");
  const auto begin = source.find(mark) + mark.size();
  const auto end = source.find(mark, begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_NE(FileText("docs/develop/add-a-campaign-scheduler.md")
                .find("```cpp\n" + source.substr(begin, end - begin) + "```"),
            std::string::npos)
      << "copy the lines between the marks to the page";
}

}  // namespace
}  // namespace cigri::policy
