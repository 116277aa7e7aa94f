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
