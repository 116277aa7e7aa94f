// When a cluster takes jobs (`hours` of its row), also where local time makes a step.
#include "core/hours.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cigri {
namespace {

// In the time of Paris, whatever the machine's is.
class HoursTest : public ::testing::Test {
 protected:
  HoursTest() {
    if (const char* zone = std::getenv("TZ")) before_ = zone;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  ~HoursTest() override {
    before_.empty() ? unsetenv("TZ") : setenv("TZ", before_.c_str(), 1);
    tzset();
  }
  static std::time_t Utc(int month, int day, int hour, int minute) {
    std::tm tm{};
    tm.tm_year = 126, tm.tm_mon = month - 1, tm.tm_mday = day;
    tm.tm_hour = hour, tm.tm_min = minute;
    return timegm(&tm);
  }
  std::string before_;
};

TEST_F(HoursTest, DaysAndHoursGoPastMidnight) {
  const auto monday_noon = Utc(11, 30, 11, 0), monday_night = Utc(11, 30, 22, 0),
             tuesday_early = Utc(12, 1, 5, 0), saturday = Utc(11, 28, 11, 0);
  EXPECT_FALSE(WithinHours("20-8", monday_noon));
  EXPECT_TRUE(WithinHours("20-8", monday_night));
  EXPECT_TRUE(WithinHours("Mon-Fri 20-8, Sat-Sun", tuesday_early));
  EXPECT_TRUE(WithinHours("Mon 20-8", tuesday_early)) << "the morning after";
  EXPECT_FALSE(WithinHours("Tue 20-8", tuesday_early));
  EXPECT_TRUE(WithinHours("Fri-Mon 0-24", saturday));
  EXPECT_TRUE(WithinHours("sat", saturday));
  std::string fault;
  EXPECT_FALSE(WithinHours("8-8", saturday, &fault));
  EXPECT_NE(fault.find("20-8"), std::string::npos);
}

// Clocks go from 2:00 to 3:00 on the 29th of March, and from 3:00 to 2:00 on the 25th of October.
TEST_F(HoursTest, LocalTimeCountsWhenClocksChange) {
  EXPECT_TRUE(WithinHours("20-2", Utc(3, 29, 0, 59))) << "1:59";
  EXPECT_FALSE(WithinHours("20-2", Utc(3, 29, 1, 0))) << "3:00";
  EXPECT_TRUE(WithinHours("20-8", Utc(3, 29, 5, 59))) << "7:59 of summer";
  EXPECT_FALSE(WithinHours("20-8", Utc(3, 29, 6, 0)));
  EXPECT_TRUE(WithinHours("20-3", Utc(10, 25, 0, 30))) << "2:30 of summer";
  EXPECT_TRUE(WithinHours("20-3", Utc(10, 25, 1, 30))) << "2:30 again";
  EXPECT_FALSE(WithinHours("20-3", Utc(10, 25, 2, 0)));
  EXPECT_TRUE(WithinHours("20-8", Utc(10, 25, 6, 59))) << "7:59 of winter";
  EXPECT_FALSE(WithinHours("20-8", Utc(10, 25, 7, 0)));
}

}  // namespace
}  // namespace cigri
