// gridsim against a real grid: its stored decisions are taken again, and its past is a scenario.
#include <algorithm>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class GridsimTest : public SystemTest {
 protected:
  void RunLong(const std::string& name) {
    const int id = grid().Submit(Jdl(grid(), name, "sleep 0.2 #", {{"nb_jobs", 20}}));
    ASSERT_TRUE(grid().AwaitOver(id));
  }
  // What POST /admin/whatif answers, with its HTTP status as "http".
  json WhatIf(const json& change) {
    const auto answer =
        grid().Ok({"/usr/bin/curl", "-s", "-w", "\n%{http_code}", "--unix-socket", grid().home() + "/run/api.sock",
                   "-H", "Content-Type: application/json", "-d", change.dump(),
                   "http://grid/admin/whatif"});
    const auto line = answer.rfind('\n');
    json body = json::parse(answer.substr(0, line), nullptr, false);
    if (!body.is_object()) body = json::object();
    body["http"] = std::stoi(answer.substr(line + 1));
    return body;
  }
  static json Of(const json& answer, int campaign) {
    for (const auto& c : answer.value("campaigns", json::array()))
      if (c["campaign"] == campaign) return c;
    return {{"ends_now", nullptr}, {"ends_then", nullptr}};
  }
};

TEST_F(GridsimTest, StoredDecisionsOfARealGridAreTakenAgainTheSame) {
  RunLong("history");
  const auto replay = grid().Run({"gridsim", "--from-history", "--replay", "--json"});
  EXPECT_EQ(replay.code, 0) << replay.out << replay.err;
  const auto answer = json::parse(replay.out, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << replay.out;
  EXPECT_GE(answer["decisions"], 1);
  EXPECT_EQ(answer["decisions"], answer["same"]);
}

TEST_F(GridsimTest, TheApiSaysWhenCampaignsWouldEndAfterAChange) {
  const int id = grid().Submit(Jdl(grid(), "asked", "sleep 3 #", {{"nb_jobs", 2000}}));
  const json more = {{"slots", {{"alpha", 20}}}};
  ASSERT_TRUE(Await([&] { return Of(WhatIf(more), id)["ends_then"].is_number(); }))
      << WhatIf(more).dump();
  const json grown = WhatIf(more), c = Of(grown, id);
  EXPECT_EQ(grown["http"], 200) << grown;
  EXPECT_LT(c["ends_then"], c["ends_now"]) << grown;
  EXPECT_LT(grown["then"]["ends"], grown["now"]["ends"]) << grown;
  const json shrunk = Of(WhatIf({{"without", {"beta"}}}), id);
  EXPECT_GT(shrunk["ends_then"], shrunk["ends_now"]) << shrunk;
  EXPECT_EQ(WhatIf({{"policy", "fifo"}})["http"], 200);

  const struct {
    json change;
    std::string says;
  } wrong[] = {{json::object(), "nothing is to change"},
               {{{"without", {"alfa"}}}, "there is no cluster \"alfa\""},
               {{{"slots", {{"alpha", -2}}}}, "alpha has 2 slots"},
               {{{"policy", "fairshair"}}, "cannot be simulated"},
               {{{"policy", "--jobs=/tmp/x"}}, "cannot be simulated"},
               {{{"witout", {"alpha"}}}, "unknown key"}};
  for (const auto& w : wrong) {
    const json answer = WhatIf(w.change);
    EXPECT_EQ(answer["http"], 400) << w.change << answer;
    EXPECT_NE(answer.value("message", "").find(w.says), std::string::npos) << w.change << answer;
  }
  grid().Ok({"griddel", std::to_string(id)});
}

TEST_F(GridsimTest, ALargeHistoryIsSimulatedByFewerAndLongerTasks) {
  const int id = grid().Submit(Jdl(grid(), "large", "sleep 30 #", {{"nb_jobs", 200'000}}));
  const auto history = [&] { return grid().Get("/admin/plans/history?limit=1000"); };
  ASSERT_TRUE(Await([&] {
    const auto plans = history();
    if (plans["items"].empty()) return false;
    const json& campaigns = plans["items"].back()["snapshot"]["campaigns"];
    return std::any_of(campaigns.begin(), campaigns.end(),
                       [&](const json& campaign) { return campaign["id"] == id; });
  }));
  json plans = history();
  plans["items"] = json::array({plans["items"].back()});
  const auto run = grid().Run({"gridsim", "--history", "-", "--coarse", "1000", "--json"}, plans.dump());
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("are taken as"), std::string::npos) << run.err;
  const json report = json::parse(run.out);
  EXPECT_LE(report["campaigns"][0]["tasks"], 1000) << report;
  EXPECT_EQ(report["campaigns"][0]["done"], report["campaigns"][0]["tasks"]) << report;
  EXPECT_GT(report["makespan_s"], 200'000.0 * 30 / 4 * 0.9) << "the work stays the same";
  grid().Ok({"griddel", std::to_string(id)});
}

}  // namespace
}  // namespace cigri::test
