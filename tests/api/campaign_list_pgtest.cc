// The pages of GET /campaigns: what is on them, and how many there are.
#include "api/http/kept_counts.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using api::KeptCounts;
using nlohmann::json;
using std::chrono::milliseconds;

class CampaignListPgTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl, state) "
        "SELECT i, CASE WHEN i % 2 = 0 THEN 'ann' ELSE 'bob' END, 'c' || i, 1, i, '{}', "
        "CASE WHEN i = 5 THEN 'terminated' ELSE 'in_treatment' END::campaign_state "
        "FROM generate_series(1, 7) AS i");
  }
  struct Page {
    std::vector<int> ids;
    int total = 0;
    bool more = false;
    bool operator==(const Page&) const = default;
  };
  Page Of(const std::string& query) {
    const auto answer = Ask("ann", "GET", "/campaigns?" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    Page page{{}, answer.body["total"], answer.body["links"].size() > 1};
    for (const auto& item : answer.body["items"]) page.ids.push_back(item["id"]);
    return page;
  }
};

TEST_F(CampaignListPgTest, APageAfterAnotherShowsEachOnceAndHowManyThereAre) {
  EXPECT_EQ(Of("limit=2"), (Page{{1, 2}, 6, true}));
  EXPECT_EQ(Of("limit=2&offset=2"), (Page{{3, 4}, 6, true}));
  EXPECT_EQ(Of("limit=2&offset=4"), (Page{{6, 7}, 6, false}));
  EXPECT_EQ(Of("limit=2&offset=6"), (Page{{}, 6, false}));
  EXPECT_EQ(Of("limit=2&newest=1"), (Page{{7, 6}, 6, true}));
  EXPECT_EQ(Of("limit=4&newest=1&offset=2"), (Page{{4, 3, 2, 1}, 6, false}));
  EXPECT_EQ(Of("limit=4&newest=1&offset=6"), (Page{{}, 6, false}));
  EXPECT_EQ(Of("limit=2&user=bob"), (Page{{1, 3}, 3, true}));
  EXPECT_EQ(Of("limit=2&user=bob&all=1&newest=1"), (Page{{7, 5}, 4, true}));
  EXPECT_EQ(Of("state=terminated"), (Page{{5}, 1, false}));
  EXPECT_EQ(Of("name=c7"), (Page{{7}, 1, false}));
  EXPECT_EQ(Of("name=nobody"), (Page{{}, 0, false}));
}

// With ten thousand at work each page waited for their count, and the readers for each other's.
TEST_F(CampaignListPgTest, OnlyTheNumberMayBeOldAndOnlyWhereMoreFollow) {
  context_->kept_counts->Keep({"in_treatment", "paused"}, 99, milliseconds(100'000));
  EXPECT_EQ(Of("limit=2"), (Page{{1, 2}, 99, true}));
  EXPECT_EQ(Of("limit=2&state=paused,in_treatment"), (Page{{1, 2}, 99, true}));
  EXPECT_EQ(Of("limit=2&offset=6"), (Page{{}, 6, false}));
  EXPECT_EQ(Of("limit=6"), (Page{{1, 2, 3, 4, 6, 7}, 6, false}));
  EXPECT_EQ(Of("limit=2&all=1"), (Page{{1, 2}, 7, true}));
  EXPECT_EQ(Of("limit=2&user=bob"), (Page{{1, 3}, 3, true}));
  context_->kept_counts->Keep({"in_treatment", "paused"}, 2, milliseconds(100'000));
  EXPECT_EQ(Of("limit=2"), (Page{{1, 2}, 3, true})) << "more follow than were counted";
}

TEST(KeptCountsTest, ACountIsKeptAHundredTimesAsLongAsItTookAndTenSecondsAtMost) {
  KeptCounts counts;
  const KeptCounts::Clock::time_point now;
  counts.Keep({"paused"}, 7, milliseconds(4), now);
  EXPECT_EQ(counts.Find({"paused"}, now + milliseconds(399)), 7);
  EXPECT_EQ(counts.Find({"paused"}, now + milliseconds(400)), std::nullopt);
  EXPECT_EQ(counts.Find({"terminated"}, now), std::nullopt);
  counts.Keep({"paused"}, 8, milliseconds(60'000), now);
  EXPECT_EQ(counts.Find({"paused"}, now + milliseconds(9'999)), 8);
  EXPECT_EQ(counts.Find({"paused"}, now + milliseconds(10'000)), std::nullopt);
}

}  // namespace
}  // namespace cigri::test
