#include "notifier/decide.h"

#include <gtest/gtest.h>

namespace cigri::notifier {
namespace {

Waiting Event(std::int64_t id, const std::string& code, double age_s = 100) {
  return {.id = id,
          .subscription = 1,
          .grid_user = "ann",
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
  std::vector<Waiting> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(Event(i + 1, "FINISHED_CAMPAIGN"));
    many.back().subscription = 300 - i;
    many.back().campaign_id = i / 2 + 1;
    many.back().sent_lately = 29;
  }
  const auto due = Due(many, {});
  ASSERT_EQ(due.size(), 1u) << "one place is free";
  EXPECT_EQ(due[0].ids.size(), 300u);
  EXPECT_EQ(due[0].subject, "[CIGRI] (high): 150 campaigns: 300 events");
  EXPECT_NE(due[0].body.find("\ncampaign 2 (sweep): FINISHED_CAMPAIGN: what happened\n"),
            std::string::npos)
      << due[0].body;
  EXPECT_NE(due[0].body.find("\nand 250 more, of campaigns 26, 27, "), std::string::npos);
  EXPECT_NE(due[0].body.find(", 149, 150\n"), std::string::npos) << due[0].body;
  EXPECT_FALSE(due[0].campaign_id);
}

TEST(DueTest, UsersAndTheirAddressesTakeTurnsAndWhatWasNeverTriedGoesFirst) {
  std::vector<Waiting> many;
  const auto wait = [&](const char* user, const char* identity, int attempts) {
    const int i = static_cast<int>(many.size()) + 1;
    many.push_back(Event(i, "FINISHED_CAMPAIGN"));
    many.back().grid_user = user;
    many.back().identity = identity;
    many.back().subscription = many.back().campaign_id.emplace(i);
    many.back().attempts = attempts;
  };
  wait("ann", "a", 1);
  for (int i = 0; i < 3; ++i) wait("ann", "a", 0);
  wait("ann", "b", 0);
  wait("bob", "c", 0);
  wait("eve", "d", 0);
  wait("eve", "d", 2);
  const auto order = [&](const Limits& limits) {
    std::string out;
    for (const auto& m : Due(many, limits)) out += m.identity + std::to_string(m.ids[0]) + " ";
    return out;
  };
  EXPECT_EQ(order({}), "a2 c6 d7 b5 a3 a4 d8 a1 ");
  EXPECT_EQ(order({.after = "ann"}), "c6 d7 a2 b5 a3 a4 d8 a1 ");
}

TEST(DueTest, TheRateIsOfAnAddressAlsoWithinAPass) {
  std::vector<Waiting> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(Event(i, "FINISHED_CAMPAIGN"));
    many.back().subscription = many.back().campaign_id.emplace(i);  // gridsub --notify
  }
  many.push_back(Event(41, "FINISHED_CAMPAIGN"));
  many.back().identity = "bob@site.org";
  const auto due = Due(many, {.per_hour = 30});
  ASSERT_EQ(due.size(), 31u) << "30 of Ann's, and Bob's";
  EXPECT_EQ(due[0].ids.size(), 1u);
  EXPECT_EQ(due[30].ids.size(), 11u) << "the last one is of all that are left";
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
