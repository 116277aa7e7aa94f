// What gridstat says on a terminal beyond CiGri's layout.
#include <gtest/gtest.h>

#include "core/text.h"
#include "tools/common/failures_text.h"
#include "tools/common/terminal.h"
#include "tools/gridstat/campaign.h"
#include "tools/gridstat/jobs.h"
#include "tools/gridstat/screen.h"

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

json SomeCampaign() {
  return {{"id", 12},
          {"name", "a name that is too long for a title line"},
          {"user", "alice"},
          {"state", "in_treatment"},
          {"submission_time", 1795165200},
          {"total_jobs", 200},
          {"finished_jobs", 84},
          {"running_jobs", 12},
          {"remote_waiting_jobs", 3},
          {"waiting_jobs", 99},
          {"failed_jobs", 2},
          {"has_events", true},
          {"clusters",
           {{"1", {{"cluster_name", "alpha"}, {"done", 60}, {"running", 8}, {"mean_s", 0.0499319}}},
            {"2",
             {{"cluster_name", "longer"},
              {"done", 24},
              {"running", 4},
              {"remote_waiting", 3},
              {"state", "drained"},
              {"reason", "drained by root: new disks in every node, back on Monday"}}}}}};
}

TEST(GridstatScreenTest, OneScreenSaysHowFarAndUntilWhen) {
  setenv("TZ", "UTC", 1);
  const json progress = {{"done", 84}, {"ends_in", {600, 1500}}};
  EXPECT_EQ(Screen(SomeCampaign(), progress, 1795165500, 80, {}),
            "Campaign 12  a name that is too lo...  alice  since 09:00  running\n"
            "  [#########################++++...............................]  42 %\n"
            "  200 tasks: 84 done, 12 running, 3 queued, 99 waiting, 2 failed\n"
            "  ends in 10 min to 25 min (09:15 to 09:30)\n"
            "  alpha   60 done, 8 running, 0.0 s a job\n"
            "  longer  24 done, 4 running, 3 queued: drained by root: new disks in every n...\n");
  EXPECT_EQ(NextCommand(SomeCampaign()), "next: gridevents -c 12");
}

TEST(GridstatScreenTest, NoLineIsWiderThanTheTerminal) {
  for (const int width : {40, 80, 200})
    for (const auto& text : {Screen(SomeCampaign(), {{"done", 1}}, 1795165500, width, {}),
                             ListScreen(json::array({SomeCampaign()}), false, false, width, {})})
      for (const auto& line : Split(text, '\n'))
        EXPECT_LE(tools::DisplayWidth(line), width) << line;
}

// It ended with 70 below 12 columns.
TEST(GridstatScreenTest, ATerminalOfOneColumnIsOneToo) {
  for (const int width : {1, 11})
    EXPECT_NE(Screen(SomeCampaign(), {{"done", 1}}, 1795165500, width, {}).find("[.]  42 %"),
              std::string::npos);
}

TEST(GridstatScreenTest, AnEndThatNobodyKnowsIsNotShown) {
  json campaign = SomeCampaign();
  for (const json& progress :
       {json({{"done", 0}, {"ends_in", {0.0, 0.2}}}), json({{"done", 9}, {"ends_in", {0.0, 0.2}}}),
        json({{"done", 9}, {"ends_in", nullptr}})})
    EXPECT_EQ(Screen(campaign, progress, 0, 80, {}).find("ends"), std::string::npos) << progress;
}

TEST(GridstatScreenTest, AnEmptyListSaysWhereTheOthersAre) {
  EXPECT_NE(ListScreen(json::array(), false, true, 80, {}).find("gridstat -a"), std::string::npos);
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
