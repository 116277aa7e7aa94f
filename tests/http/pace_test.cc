// What one caller may have of the server while others ask, on a clock of the test's own.
#include "http/pace.h"

#include <gtest/gtest.h>

#include <functional>

namespace cigri::http {
namespace {

using std::chrono::milliseconds;
using Time = Pace::Clock::time_point;

class PaceTest : public ::testing::Test {
 protected:
  static constexpr milliseconds kStep{10};

  // For `length`, mallory has `threads` requests of 10 ms each in a row where he may; the share of
  // one thread that he got. Before each step `before`.
  double Plays(
      int threads, milliseconds length, const std::function<void()>& before = [] {}) {
    int served = 0;
    for (const Time end = now_ + length; now_ < end;) {
      before();
      int begun = 0;
      for (; begun < threads; ++begun) {
        pace_.Asks("mallory", now_);
        if (pace_.Next("mallory", now_) > now_) break;
      }
      now_ += kStep;
      for (int i = 0; i < begun; ++i) pace_.Spends("mallory", now_ - kStep, now_);
      served += begun;
    }
    return static_cast<double>(served) * (kStep / milliseconds(1)) / (length / milliseconds(1));
  }
  void HonestAsks() { pace_.Asks("alice", now_); }

  Pace pace_;
  Time now_{std::chrono::hours(1)};
};

TEST_F(PaceTest, WhoIsAloneNeverWaits) { EXPECT_EQ(Plays(4, milliseconds(10'000)), 4); }

TEST_F(PaceTest, WhoAsksOneThingAfterTheOtherNeverWaits) {
  EXPECT_EQ(Plays(1, milliseconds(10'000), [&] { HonestAsks(); }), 1);
  const Time begin = now_;
  pace_.Spends("mallory", begin, now_ += std::chrono::minutes(1));
  HonestAsks();
  EXPECT_LE(pace_.Next("mallory", now_), now_) << "one long request";
}

TEST_F(PaceTest, WhileOthersAskTheRestHaveOneThread) {
  const double share = Plays(4, milliseconds(10'000), [&] { HonestAsks(); });
  EXPECT_GE(share, 1);
  EXPECT_LE(share, 1 + 0.02) << "100 ms of 10 s, and the last step";
}

TEST_F(PaceTest, CallersWithoutLimitsAreOthersAndNeverWait) {
  EXPECT_LE(Plays(4, milliseconds(10'000), [&] { pace_.Asks("", now_); }), 1 + 0.02);
  for (int i = 0; i < 100; ++i) pace_.Spends("", now_ - milliseconds(1000), now_);
  HonestAsks();
  EXPECT_LE(pace_.Next("", now_), now_);
}

TEST_F(PaceTest, NobodyWaitsLongerThanHalfASecondNorForWhoIsGone) {
  HonestAsks();
  for (int i = 0; i < 4; ++i) pace_.Spends("mallory", now_ - std::chrono::hours(1), now_);
  EXPECT_EQ(pace_.Next("mallory", now_), now_ + Pace::kLongestWait);
  const Time asked = now_;
  now_ += Pace::kRecently - milliseconds(100);
  for (int i = 0; i < 4; ++i) pace_.Spends("mallory", now_ - std::chrono::hours(1), now_);
  EXPECT_EQ(pace_.Next("mallory", now_), asked + Pace::kRecently);
}

TEST_F(PaceTest, EachOfTwoIsTheOthersOther) {
  const double share = Plays(2, milliseconds(10'000), [&] {
    pace_.Asks("mallory's other name", now_);
    for (int i = 0; i < 2; ++i) pace_.Spends("mallory's other name", now_ - kStep, now_);
  });
  EXPECT_LE(share, 1 + 0.02);
}

TEST_F(PaceTest, WhatIsChargedCountsAsIfItHadBeenMore) {
  HonestAsks();
  for (int i = 0; i < 20; ++i) pace_.Spends("mallory", now_, now_ + milliseconds(5));
  EXPECT_LE(pace_.Next("mallory", now_), now_);
  pace_.Spends("mallory", now_, now_ + milliseconds(5));
  EXPECT_EQ(pace_.Next("mallory", now_), now_ + milliseconds(5));
}

}  // namespace
}  // namespace cigri::http
