// What gridstat says on a terminal beyond CiGri's layout.
#include <gtest/gtest.h>

#include "tools/common/failures_text.h"
#include "tools/gridstat/campaign.h"
#include "tools/gridstat/jobs.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;

TEST(FailuresTextTest, EqualFailuresHaveACountTheirClustersAndASampleThatRepeatsNothing) {
  const json failures = {
      {"total", 4},
      {"items",
       {{{"code", "EXIT_ERROR"},
         {"count", 40},
         {"clusters", {"alpha", "beta"}},
         {"message", "exit code 3: no such file\nmore \x1b[31m\n"},
         {"sample", {{"task", 7}, {"params", "a \x1b[31m"}, {"cluster", "beta"}, {"exit", 3}}}},
        {{"code", "KILLED_BY_SIGNAL"},
         {"count", 1},
         {"clusters", {"alpha"}},
         {"message", "signal 9 (Killed)"},
         {"sample", {{"task", 8}, {"cluster", "alpha"}, {"signal", 9}, {"stderr", "a core\n"}}}}}}};
  EXPECT_EQ(tools::FailuresText(failures, false),
            "  40 x exit code 3: no such file  [EXIT_ERROR]  on alpha, beta\n"
            "       | more ?[31m\n"
            "       e.g. task 7 (a ?[31m) on beta, exit 3\n"
            "  1 x signal 9 (Killed)  [KILLED_BY_SIGNAL]\n"
            "       e.g. task 8 on alpha, signal 9\n"
            "       | a core\n"
            "      and 2 more kinds: gridevents lists them\n");
  EXPECT_EQ(tools::FailuresText({{"total", 0}, {"items", json::array()}}, false), "");
}

TEST(GridstatTextTest, TheBarIsAsWideAsAskedWhateverTheNumbers) {
  for (const auto& [done, active, failed] :
       {std::tuple{0, 0, 0}, {3, 4, 3}, {10, 0, 0}, {9, 7, 1}}) {
    const json campaign = {{"total_jobs", 10},
                           {"finished_jobs", done},
                           {"running_jobs", active},
                           {"failed_jobs", failed}};
    const auto bar = Bar(campaign, 30, {});
    EXPECT_EQ(bar.find(']'), 33u) << bar;
  }
  EXPECT_EQ(Bar({{"total_jobs", 4},
                 {"finished_jobs", 1},
                 {"running_jobs", 1},
                 {"failed_jobs", 1},
                 {"waiting_jobs", 1}},
                8, {}),
            "  [##++xx..]\n  1 done, 1 in flight (1 running), 1 waiting, 1 needing attention\n");
}

TEST(GridstatTextTest, OnATerminalThePriorityIsShownByItsName) {
  const json campaign = {{"id", 1}, {"priority", 2}, {"clusters", json::object()}};
  const json stats = {{"average_jobs_duration", nullptr}, {"stddev_jobs_duration", nullptr}};
  EXPECT_NE(Campaign(campaign, stats, false, {.terminal = true}).find("  Priority: 2 (low)\n"),
            std::string::npos);
  EXPECT_EQ(Campaign(campaign, stats, false, {}).find("Priority"), std::string::npos)
      << "CiGri's layout has none";
}

TEST(GridstatTextTest, HistoryHasALineForEachReason) {
  setenv("TZ", "UTC", 1);
  const json items = {
      {{"since", 1795165200}, {"until", nullptr}, {"code", "FULL"}, {"message", "no room"}},
      {{"since", 1795161600}, {"until", 1795165200}, {"code", "QUOTA"}, {"message", "q"}}};
  EXPECT_EQ(WhyHistory(items),
            "2026-11-20 09-00-00  now                  FULL: no room\n"
            "2026-11-20 08-00-00  2026-11-20 09-00-00  QUOTA: q\n");
  EXPECT_EQ(WhyHistory(json::array()), "nothing has held it back\n");
}

TEST(GridstatTextTest, WhyIsOneMessageAndOneActionUnlessMoreIsAskedFor) {
  const json why = {{"message", "it waits"},    {"action", "raise max_jobs"},
                    {"reasons", json::array()}, {"clusters", json::array()},
                    {"past", json::array()},    {"waiting", 3}};
  EXPECT_EQ(Why(why, false), "it waits\n-> raise max_jobs\n");
  EXPECT_NE(Why(why, true).find("3 waiting"), std::string::npos);
}

}  // namespace
}  // namespace cigri::gridstat
