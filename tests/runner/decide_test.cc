#include "runner/decide.h"
#include "runner/tag.h"

#include <gtest/gtest.h>

namespace cigri::runner {
namespace {

Candidate Of(std::int64_t campaign, int n, std::int64_t in_flight = 0) {
  Candidate c;
  c.campaign_id = campaign;
  c.n = n;
  c.in_flight_kind = c.in_flight = in_flight;
  c.fresh = 1000;
  return c;
}

TEST(RoomTest, AGrantIsATargetAndWhatIsInFlightCountsAgainstIt) {
  const auto wants = Room({Of(1, 10, 4), Of(2, 3, 3), Of(3, 5)}, {}, 100);
  ASSERT_EQ(wants.size(), 2u);
  EXPECT_EQ(wants[0].campaign_id, 1);
  EXPECT_EQ(wants[0].n, 6);
  EXPECT_EQ(wants[1].campaign_id, 3);
  EXPECT_EQ(wants[1].n, 5);
}

TEST(RoomTest, MaxJobsCountsEveryKind) {
  auto c = Of(1, 10);
  c.max_jobs = 4;
  c.in_flight = 3;  // a replica, say
  EXPECT_EQ(Room({c}, {}, 100).at(0).n, 1);
}

TEST(RoomTest, TheOperatorsCeilingsHoldWhateverThePlanSays) {
  Ceiling closed;
  closed.open = false;
  EXPECT_TRUE(Room({Of(1, 10)}, closed, 100).empty());
  Ceiling limited;
  limited.max_jobs = 5;
  limited.jobs = 3;
  EXPECT_EQ(Room({Of(1, 10), Of(2, 10)}, limited, 100).size(), 1u);
  EXPECT_EQ(Room({Of(1, 10)}, limited, 100)[0].n, 2);
  Ceiling slots;
  slots.max_slots = 8;
  slots.slots = 3;
  auto wide = Of(1, 10);
  wide.slots = 2;
  EXPECT_EQ(Room({wide}, slots, 100)[0].n, 2) << "5 slots are left, a job takes 2";
}

TEST(RoomTest, AfterABreakerWasOpenAndUnderACeilingOnCallsAClaimIsOnePost) {
  Ceiling careful;
  careful.half_open_limit = 2;
  ASSERT_EQ(Room({Of(1, 10), Of(2, 10)}, careful, 100).size(), 1u);
  EXPECT_EQ(Room({Of(1, 10), Of(2, 10)}, careful, 100)[0].n, 2);
  Ceiling sparing;
  sparing.sparing = true;
  ASSERT_EQ(Room({Of(1, 10), Of(2, 10)}, sparing, 100).size(), 1u);
  EXPECT_EQ(Room({Of(1, 10), Of(2, 10)}, sparing, 100)[0].n, 10);
  auto cut = Of(1, 10);
  cut.max_array = 4;
  EXPECT_EQ(Room({cut}, sparing, 100)[0].n, 4) << "what fits into one array";
  EXPECT_EQ(Room({cut}, {}, 100)[0].n, 10);
}

TEST(RoomTest, NoMoreThanAskedForInOneClaim) {
  int sum = 0;
  for (const auto& want : Room({Of(1, 70), Of(2, 70)}, {}, 100)) sum += want.n;
  EXPECT_EQ(sum, 100);
}

TEST(GroupTest, EachJobOfAGrantHasSomethingToDo) {
  EXPECT_EQ(TasksPerJob(40, 1000, 10), 40);
  EXPECT_EQ(TasksPerJob(40, 400, 10), 20);
  EXPECT_EQ(TasksPerJob(40, 401, 10), 21);
  EXPECT_EQ(TasksPerJob(40, 3, 10), 10) << "a quarter at least";
  EXPECT_EQ(TasksPerJob(3, 2, 10), 1);
  EXPECT_EQ(TasksPerJob(1, 1000, 10), 1);
  Candidate c;
  c.n = 10;
  c.fresh = 100000;
  c.tasks_per_job = 40;
  const auto wants = Room({c}, {}, 200);
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].n, 5) << "jobs: 200 tasks in all";
  c.kind = BatchKind::kTest;
  EXPECT_EQ(Room({c}, {}, 200)[0].tasks_per_job, 1);
}

TEST(GroupTest, TheLastTaskOfAJobStandsForIt) {
  std::string rides;
  for (int i = 0; i < 7; ++i) rides += Rides(i, 7, 3) ? "r" : "-";
  EXPECT_EQ(rides, "rr-rr--");
  EXPECT_FALSE(Rides(0, 7, 1));
}

TEST(AutoMemoryTest, IsWhatTheCampaignsOwnTasksUseElseWhatTheUserSaysElseTheClustersDefault) {
  const struct {
    const char* when;
    std::int64_t start_mb;
    MemoryUsed used;
    double memory_x;
    int want;
  } cases[] = {
      {"nothing is known", 0, {}, 1, 0},
      {"the user says where to start", 2048, {}, 1, 2048},
      {"too few have ended", 2048, {9, 100, 0}, 1, 2048},
      {"enough have", 2048, {10, 100, 0}, 1, 125},
      {"small programs", 0, {10, 3, 0}, 1, 64},
      {"one was killed for memory", 2048, {}, 1.5, 3072},
      {"at the cluster's default", 0, {}, 1.5, 1536},
      {"... which is more than that", 0, {0, 0, 4000}, 1.5, 6000},
      {"one needs more than most", 0, {50, 200, 300}, 2.25, 563},
  };
  for (const auto& c : cases)
    EXPECT_EQ(AutoMemory(c.start_mb, c.used, c.memory_x), c.want) << c.when;
}

TEST(RetryShareTest, AQuarterIsKeptForFreshTasksWhileThereAreAny) {
  EXPECT_EQ(RetryShare(100, 1000), 75);
  EXPECT_EQ(RetryShare(100, 0), 100);
  EXPECT_EQ(RetryShare(100, 10), 90);
  EXPECT_EQ(RetryShare(1, 1000), 1) << "a single place still goes to a task that is retried";
}

TEST(CutTest, PiecesCoverEverythingOnce) {
  const auto pieces = Cut(2500, 1000);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[2], (std::pair<int, int>{2000, 500}));
  EXPECT_TRUE(Cut(0, 10).empty());
}

TEST(AbsenceTest, OneSilenceProvesNothingTwoFarApartDo) {
  const Lookup lookup{.complete = true,
                      .revoked = false,
                      .send_over = true,
                      .absences = 1,
                      .quiet_s = 61,
                      .absence_delay_s = 60};
  EXPECT_TRUE(AbsenceIsFinal(lookup));
  auto first = lookup;
  first.absences = 0;
  EXPECT_FALSE(AbsenceIsFinal(first));
  auto early = lookup;
  early.quiet_s = 59;
  EXPECT_FALSE(AbsenceIsFinal(early));
  auto still_sending = lookup;
  still_sending.send_over = false;
  EXPECT_FALSE(AbsenceIsFinal(still_sending));
  auto partial = lookup;
  partial.complete = false;
  EXPECT_FALSE(AbsenceIsFinal(partial));
  const Lookup revoked{.complete = true,
                       .revoked = true,
                       .send_over = false,
                       .absences = 0,
                       .quiet_s = 0,
                       .absence_delay_s = 60};
  EXPECT_TRUE(AbsenceIsFinal(revoked)) << "the cluster itself will never take it any more";
}

TEST(TagTest, NamesItsTasksWhateverTheyAre) {
  for (const std::vector<std::int64_t>& idxs :
       {std::vector<std::int64_t>{0}, {7}, {5, 6, 7, 8}, {1, 2, 9, 10, 11, 40}, {9, 3, 4, 1},
        {9'999'999}, {35, 36, 37, 1295, 1296}}) {
    const auto tag = NewTag(12, "abcd1234", idxs);
    const auto content = ReadTag(tag, "abcd1234");
    ASSERT_TRUE(content) << tag;
    EXPECT_EQ(content->campaign_id, 12);
    EXPECT_EQ(content->idxs, idxs) << tag;
    EXPECT_EQ(content->tasks_per_job, 1);
    EXPECT_EQ(ReadTag(NewTag(12, "abcd1234", idxs, 40), "abcd1234")->idxs, idxs);
    EXPECT_EQ(ReadTag(NewTag(12, "abcd1234", idxs, 40), "abcd1234")->tasks_per_job, 40);
    EXPECT_FALSE(content->script);
    EXPECT_FALSE(ReadTag(tag, "other123")) << "of another grid";
  }
  EXPECT_TRUE(ReadTag(NewTag(12, "abcd1234", {-1}), "abcd1234")->script);
}

TEST(TagTest, ATagIsNeverTooLongForABatchScheduler) {
  std::vector<std::int64_t> fresh, odd;
  for (int i = 0; i < 1000; ++i) fresh.push_back(1'000'000 + i), odd.push_back(2 * i + 1);
  const auto tag = NewTag(123456, "abcd1234abcd1234", fresh);
  EXPECT_EQ(ReadTag(tag, "abcd1234abcd1234")->idxs, fresh);
  const auto long_one = NewTag(123456, "abcd1234abcd1234", odd);
  EXPECT_LE(long_one.size(), 80u);
  EXPECT_TRUE(ReadTag(long_one, "abcd1234abcd1234")->idxs.empty());
}

TEST(TagTest, NamesThatAnybodyMayGiveAJobNameNoTasks) {
  for (const char* name :
       {"cigri.1.g.x-", "cigri.1.g.x-1N", "cigri.1.g.x-N1", "cigri.1.g.x-1N0", "cigri.1.g.x--1",
        "cigri.1.g.x-zzzzzzzzzzzzzzzzzzzz", "cigri.1.g.x-1Nzzzzzz", "cigri.1.g.x-1__2", "cigri.1.g.x",
        "cigri.1.g.x-1N4G0", "cigri.1.g.x-1N4G", "cigri.1.g.x-1N4Gzzzzzz"})
    EXPECT_TRUE(ReadTag(name, "g")->idxs.empty()) << name;
  for (const char* name : {"", "cigri", "cigri.x.g.y-1", "cigri.1x.g.y-1", "other.1.g.y-1",
                           "cigri.1.g.", "cigri..g.y-1", "cigri.-1.g.y-1"})
    EXPECT_FALSE(ReadTag(name, "g")) << name;
}

}  // namespace
}  // namespace cigri::runner
