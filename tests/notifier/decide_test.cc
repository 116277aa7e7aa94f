#include "notifier/decide.h"

#include <gtest/gtest.h>

namespace cigri::notifier {
namespace {

Waiting Event(std::int64_t id, const std::string& code, double age_s = 100) {
  return {.id = id,
          .subscription = 1,
          .type = "mail",
          .identity = "ann@site.org",
          .campaign_id = 12,
          .campaign = "sweep",
          .severity = "high",
          .code = code,
          .message = "what happened",
          .age_s = age_s};
}

TEST(DueTest, EventsOfACampaignWithinTheWindowAreOneMessage) {
  EXPECT_TRUE(Due({Event(1, "EXIT_ERROR", 59)}, {}).empty()) << "others may follow";
  const auto due = Due({Event(1, "EXIT_ERROR", 61), Event(2, "CANARY_FAILED", 1)}, {});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].ids, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(due[0].subject, "[CIGRI] (high): campaign 12 (sweep): 2 events");
  EXPECT_NE(due[0].body.find("gridnotify -u -m ann@site.org"), std::string::npos);
}

TEST(DueTest, TheEndOfACampaignWaitsForNothing) {
  const auto due = Due({Event(1, "EXIT_ERROR", 5), Event(2, "FINISHED_CAMPAIGN", 0)}, {});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].ids.size(), 2u);
}

TEST(DueTest, CampaignsAndSubscriptionsAreApart) {
  auto other = Event(2, "EXIT_ERROR");
  other.campaign_id = 13;
  auto bob = Event(3, "EXIT_ERROR");
  bob.subscription = 2;
  EXPECT_EQ(Due({Event(1, "EXIT_ERROR"), other, bob}, {}).size(), 3u);
}

TEST(DueTest, BeyondTheRateMessagesWaitAndBecomeOne) {
  auto first = Event(1, "FINISHED_CAMPAIGN");
  first.sent_lately = 30;
  EXPECT_TRUE(Due({first}, {}).empty());
  first.sent_lately = 29;
  EXPECT_EQ(Due({first}, {}).size(), 1u);
}

TEST(DueTest, TheRateIsOfAnAddressAlsoWithinAPass) {
  std::vector<Waiting> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(Event(i, "FINISHED_CAMPAIGN"));
    many.back().subscription = many.back().campaign_id.emplace(i);  // gridsub --notify
  }
  many.push_back(Event(41, "FINISHED_CAMPAIGN"));
  many.back().identity = "bob@site.org";
  EXPECT_EQ(Due(many, {.per_hour = 30}).size(), 31u) << "30 of Ann's, and Bob's";
}

TEST(DueTest, NothingLeavesInQuietHours) {
  auto event = Event(1, "FINISHED_CAMPAIGN");
  event.quiet_hours = "20-8,Sun";
  const auto at = [](int day, int hour) {  // of November 2026; the 22nd is a Sunday
    std::tm local{.tm_hour = hour, .tm_mday = day, .tm_mon = 10, .tm_year = 126, .tm_isdst = -1};
    return std::mktime(&local);
  };
  for (const auto& [day, hour] : std::vector<std::pair<int, int>>{{20, 21}, {21, 7}, {22, 12}})
    EXPECT_TRUE(Due({event}, {.now = at(day, hour)}).empty()) << day << " " << hour;
  EXPECT_EQ(Due({event}, {.now = at(20, 12)}).size(), 1u);
}

TEST(DueTest, ASubscriptionHasItsOwnWindow) {
  auto event = Event(1, "EXIT_ERROR", 3599);
  event.digest_minutes = 60;
  EXPECT_TRUE(Due({event}, {}).empty());
  event.age_s = 3600;
  EXPECT_EQ(Due({event}, {}).size(), 1u);
  event.age_s = 1;
  event.digest_minutes = 0;
  EXPECT_EQ(Due({event}, {}).size(), 1u) << "each at once";
}

TEST(DueTest, ALongDigestHasItsFirstLinesAndTheNumberOfTheRest) {
  std::vector<Waiting> many;
  for (int i = 0; i < 1000; ++i) many.push_back(Event(i, "EXIT_ERROR"));
  const auto due = Due(many, {});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].ids.size(), 1000u);
  EXPECT_NE(due[0].body.find("\nand 950 more\n"), std::string::npos) << due[0].body;
}

TEST(DueTest, WhatAUserWroteEndsNoHeader) {
  auto event = Event(1, "EXIT_ERROR");
  event.campaign = "x\r\nBcc: everybody@site.org";
  const std::string subject = Due({event}, {}).at(0).subject;
  EXPECT_EQ(subject.find_first_of("\r\n"), subject.npos) << subject;
}

TEST(SeverityTest, IsCiGri3s) {
  EXPECT_EQ(SeverityOf("FINISHED_CAMPAIGN"), "high");
  EXPECT_EQ(SeverityOf("CLUSTER_UNREACHABLE"), "medium");
}

TEST(RetryTest, PausesDoubleUntilItIsGivenUp) {
  EXPECT_EQ(RetryIn(1, false), 120);
  EXPECT_EQ(RetryIn(9, false), 14400);
  EXPECT_FALSE(RetryIn(10, false));
  EXPECT_FALSE(RetryIn(1, true)) << "there is no such address";
}

}  // namespace
}  // namespace cigri::notifier
