#include "almighty/outage.h"

#include <gtest/gtest.h>

namespace cigri::almighty {
namespace {

using std::chrono::milliseconds;
const Outage::Clock::time_point kStart{};

TEST(OutageTest, LastsFromTheLostSessionToTheNextLead) {
  Outage outage;
  outage.NoDatabase(kStart);
  EXPECT_FALSE(outage.Take(kStart - milliseconds(1), kStart + milliseconds(500)))
      << "a start is no outage";
  outage.SessionLost(kStart + milliseconds(1000));
  outage.NoDatabase(kStart + milliseconds(1200));
  outage.NoDatabase(kStart + milliseconds(2200));
  EXPECT_EQ(outage.Take(kStart + milliseconds(3000), kStart + milliseconds(3500)),
            milliseconds(2500));
  EXPECT_FALSE(outage.Take(kStart + milliseconds(8000), kStart + milliseconds(9000)))
      << "it is reported once";
}

TEST(OutageTest, ALostSessionOfAServerThatAnswersIsNone) {
  Outage outage;
  outage.LedByAnother();
  outage.SessionLost(kStart);
  EXPECT_FALSE(outage.Take(kStart + milliseconds(50), kStart + milliseconds(100)));
}

// It has led no sooner than the database came back, and whoever led before it stands by by then.
TEST(OutageTest, WhoHadNoSessionBeforeItReportsIt) {
  Outage outage;
  outage.NoDatabase(kStart);
  EXPECT_EQ(outage.Take(kStart + milliseconds(9000), kStart + milliseconds(1500)),
            milliseconds(1500));
}

TEST(OutageTest, WhoStandsByReportsNothing) {
  Outage outage;
  outage.LedByAnother();
  outage.NoDatabase(kStart);
  outage.LedByAnother();
  EXPECT_FALSE(outage.Take(kStart + milliseconds(4000), kStart + milliseconds(5000)));
}

}  // namespace
}  // namespace cigri::almighty
