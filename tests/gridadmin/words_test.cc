// What gridadmin makes of words on its command line.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tools/common/when.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

class WhenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::string When(const std::string& text) {
    const auto t = tools::ParseWhen(text, kNow);
    return t ? tools::UtcText(*t) : "";
  }
  static constexpr std::time_t kNow = 1'767'182'400;  // 2025-12-31T12:00:00Z
};

TEST_F(WhenTest, DurationsHoursAndDatesAreReadAndThePastIsNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"30m", "2025-12-31T12:30:00Z"},
      {"2h", "2025-12-31T14:00:00Z"},
      {"3d", "2026-01-03T12:00:00Z"},
      {"18:00", "2025-12-31T18:00:00Z"},
      {"08:00", "2026-01-01T08:00:00Z"},  // the next one
      {"2026-02-01", "2026-02-01T00:00:00Z"},
      {"2026-02-01 07:30", "2026-02-01T07:30:00Z"},
      {"2025-12-31 11:59", ""},
      {"2025-01-01", ""},
      {"", ""},
      {"0h", ""},
      {"-2h", ""},
      {"2 hours", ""},
      {"25:00", ""},
      {"2026-02-30", ""},
      {"2026-02-30 10:00", ""},
      {"tomorrow", ""},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(When(text), want) << text;
}

TEST_F(WhenTest, ATimeSinceWhenIsTheLastOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"30m", "2025-12-31T11:30:00Z"},
      {"3d", "2025-12-28T12:00:00Z"},
      {"08:00", "2025-12-31T08:00:00Z"},
      {"18:00", "2025-12-30T18:00:00Z"},
      {"2025-12-24", "2025-12-24T00:00:00Z"},
      {"2025-12-24 07:30", "2025-12-24T07:30:00Z"},
      {"yesterday", ""},
  };
  for (const auto& [text, want] : cases) {
    const auto t = tools::ParseSince(text, kNow);
    EXPECT_EQ(t ? tools::UtcText(*t) : "", want) << text;
  }
}

TEST(SettingsTest, ValuesKeepTheirTypeAndOptionsAreApart) {
  EXPECT_EQ(Settings({"power=120", "hours=20-8", "enabled=false", "max_running=",
                      "option.partition=gpu", "option.max_walltime=7200", "properties=a='b=c'"}),
            nlohmann::json({{"power", 120},
                            {"hours", "20-8"},
                            {"enabled", false},
                            {"max_running", nullptr},
                            {"properties", "a='b=c'"},
                            {"options", {{"partition", "gpu"}, {"max_walltime", 7200}}}}));
  EXPECT_THROW(Settings({"power"}), Fatal);
  EXPECT_THROW(Settings({"=3"}), Fatal);
}

TEST(CellTest, TimesAreShortAndTextsCannotSteerTheTerminal) {
  setenv("TZ", "XXX-5:30", 1);
  tzset();
  EXPECT_EQ(Cell("2026-11-20T10:34:39.123456+00:00"), "2026-11-20 16:04:39");
  EXPECT_EQ(Cell("2026-11-20T10:34:39-05:00"), "2026-11-20 21:04:39") << "the database's zone";
  EXPECT_EQ(Cell("2026-11-20T10:34:39Z"), "2026-11-20 16:04:39");
  EXPECT_EQ(Cell("2026-11-20T10:34:39 or so"), "2026-11-20T10:34:39 or so");
  unsetenv("TZ");
  tzset();
  EXPECT_EQ(Cell(nullptr), "-");
  EXPECT_EQ(Cell(true), "yes");
  EXPECT_EQ(Cell("a\x1b[31mb").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cigri::gridadmin
