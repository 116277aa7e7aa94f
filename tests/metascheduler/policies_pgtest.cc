// Every policy, chosen by a row of policy_settings, through the module's pass on real tables.
#include "tests/metascheduler/fixture.h"

namespace cigri::metascheduler {
namespace {

TEST_F(GridTest, FifoServesTheFirstUntilItWantsNoMore) {  // GRID-20, CIG-24, CIG-34, T-25
  Policy("policy", "fifo");
  for (int k = 1; k <= 4; ++k) Cluster(k, 10);
  const auto first = Campaign({.tasks = 25, .clusters = {1, 2, 3}});
  const auto second = Campaign({.user = "bob", .clusters = {2, 4}});
  Pass();
  EXPECT_EQ(Granted(first), 25);
  EXPECT_EQ(Granted(second, 4), 10);
  EXPECT_EQ(Granted(first, 2) + Granted(second, 2), 10);
  EXPECT_EQ(Why(second, 4), "FULL");
  const auto third = Campaign({.user = "eve", .clusters = {1}});
  Fresh();
  Pass();
  EXPECT_EQ(Granted(first, 1) + Granted(third, 1), 10);
  EXPECT_EQ(Why(third), Granted(third, 1) > 0 ? "FULL" : "SERVED_BEFORE");
}

TEST_F(GridTest, AffinityServesAffinePairsFirstInTheOrderOfCampaigns) {  // CIG-02, CIG-26, T-20
  Policy("policy", "affinity");
  Cluster(1, 10);
  Cluster(2, 10);
  Sql("INSERT INTO users_priority (grid_user, cluster_id, priority) VALUES ('u1', 1, 1), "
      "('u2', 1, 1), ('u2', 2, 1)");
  const auto c1 = Campaign({.tasks = 15, .user = "u1", .clusters = {1, 2}});
  const auto c2 = Campaign({.tasks = 6, .user = "u2", .clusters = {1, 2}});
  const auto c3 = Campaign({.user = "u3", .clusters = {1, 2}});
  Pass();
  EXPECT_EQ(Granted(c1, 1), 10);  // (c1,k1), nothing left for (c2,k1)
  EXPECT_EQ(Granted(c2, 2), 6);   // (c2,k2) before (c1,k2)
  EXPECT_EQ(Granted(c1, 2), 4);   // (c1,k2)
  EXPECT_EQ(Granted(c3), 0);
  EXPECT_EQ(Why(c3), "SERVED_BEFORE");
}

TEST_F(GridTest, UsageGivesByWeight) {  // GRID-09, T-07
  Policy("policy", "usage");
  Policy("aggregate", "none");
  Cluster(1, 8);
  const auto a = Campaign({.user = "a", .priority = 2});
  const auto b = Campaign({.user = "b", .priority = 2});
  const auto c = Campaign({.user = "c", .priority = 4});
  Pass();
  EXPECT_EQ(Granted(a), 2);
  EXPECT_EQ(Granted(b), 2);
  EXPECT_EQ(Granted(c), 4);
}

TEST_F(GridTest, UsageCountsWhatRunsNowSlotsIncluded) {  // GRID-12
  Policy("policy", "usage");
  Policy("aggregate", "none");
  Cluster(1, 100);
  const auto wide = Campaign({.tasks = 10, .user = "a", .slots = 8});
  const auto narrow = Campaign({.tasks = 10, .user = "b"});
  Cycle();
  Run(Live(wide), 300);
  Run(Live(narrow), 300);
  Fresh();
  Pass();
  const auto state = nlohmann::json::parse(Text("SELECT state FROM plan_state"));
  // The newest snapshot says when its jobs began, whatever their width.
  const auto started = [&](std::int64_t campaign) {
    Loaded loaded;
    auto db = Connect();
    db::Tx tx(*db);
    loaded = Store().Load(tx);
    for (const auto& c : loaded.snapshot.campaigns)
      if (c.id == campaign)
        return loaded.now - c.placements[0].running_since / std::max(1, c.placements[0].running);
    return 0.0;
  };
  EXPECT_NEAR(started(wide), 300, 30);
  EXPECT_NEAR(started(narrow), 300, 30);
}

TEST_F(GridTest, SlaGivesEachGroupItsNumberThenTheRestInProportion) {  // GRID-41, GRID-42, T-15
  Policy("policy", "sla");
  Policy("sla.groups", {{"a", 20}, {"b", 30}, {"c", 50}});
  Cluster(1, 109);
  const auto a = Campaign({.user = "a", .sla_group = "a"});
  const auto b = Campaign({.user = "b", .sla_group = "b"});
  const auto c = Campaign({.user = "c", .sla_group = "c"});
  const auto orphan = Campaign({.user = "d", .sla_group = "none"});
  Pass();
  EXPECT_EQ(Granted(a) + Granted(b) + Granted(c), 109);
  EXPECT_GE(Granted(a), 21);
  EXPECT_GE(Granted(b), 32);
  EXPECT_GE(Granted(c), 54);
  EXPECT_EQ(Granted(orphan), 0);
  EXPECT_EQ(Why(orphan), "BAD_GROUP");
}

TEST_F(GridTest, AnIdleGroupLends) {  // GRID-45: what nobody of its group wants
  Policy("policy", "sla");
  Policy("sla.groups", {{"a", 20}, {"b", 30}});
  Cluster(1, 50);
  const auto a = Campaign({.user = "a", .sla_group = "a"});
  Pass();
  EXPECT_EQ(Granted(a), 50);
}

TEST_F(GridTest, TheLotteryGivesEqualTicketsAboutEqualSlots) {  // TECH-15, TECH-20..26
  Policy("policy", "lottery");
  Cluster(1, 1000);
  const auto a = Campaign({.user = "a"});
  const auto b = Campaign({.user = "b"});
  Pass();
  EXPECT_EQ(Granted(a) + Granted(b), 1000);
  EXPECT_NEAR(Granted(a), 500, 80);  // five standard deviations
}

TEST_F(GridTest, StrideIsTheLotteryWithoutChance) {  // TECH-24
  Policy("policy", "stride");
  Policy("aggregate", "none");
  Cluster(1, 100);
  const auto a = Campaign({.user = "a", .priority = 6});
  const auto b = Campaign({.user = "b", .priority = 2});
  Pass();
  EXPECT_EQ(Granted(a), 75);
  EXPECT_EQ(Granted(b), 25);
}

TEST_F(GridTest, DynamicSharesInverselyToWhatAStartCosts) {  // FBS-24, FBS-25, T-17
  Policy("policy", "dynamic");
  Policy("queues", {{"A", {{"min", 0}, {"max", 100}, {"inc", 1}, {"dec", 3}, {"gap", 100}}},
                    {"B", {{"min", 0}, {"max", 100}, {"inc", 1}, {"dec", 7}, {"gap", 100}}}});
  Cluster(1, 100);
  const auto a = Campaign({.user = "a", .jdl = {{"class", "A"}}});
  const auto b = Campaign({.user = "b", .jdl = {{"class", "B"}}});
  Pass();
  EXPECT_EQ(Granted(a), 70);
  EXPECT_EQ(Granted(b), 30);
}

TEST_F(GridTest, FairshareGivesMoreToWhomUsedLess) {  // FAIR-12, FAIR-13, FAIR-20
  Policy("policy", "fairshare");
  Cluster(1, 100);
  const auto much = Campaign({.user = "much"});
  const auto little = Campaign({.user = "little"});
  Pass();
  EXPECT_EQ(Granted(much), 50);
  EXPECT_EQ(Granted(little), 50);
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s) VALUES "
      "(date_trunc('minute', now() - interval '1 hour'), 77, 1, 'much', '', 9e5), "
      "(date_trunc('minute', now() - interval '1 hour'), 78, 1, 'little', '', 1e5)");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(little), 55) << "the past moves 5 % of the slots at most";
  Policy("fairshare.payback", 1);
  Fresh();
  Pass();
  EXPECT_GT(Granted(little), 60);
  EXPECT_GT(Granted(much), 0);
  EXPECT_EQ(Granted(much) + Granted(little), 100);
}

// Two weeks of a thousand campaigns are some rows of a decision, and the same use.
TEST_F(GridTest, WhatCampaignsThatAreOverUsedIsReadByTheirUsers) {
  Policy("policy", "fairshare");
  Cluster(1, 100);
  const auto alive = Campaign({.user = "much"});
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s) SELECT "
      "date_trunc('minute', now() - h * interval '1 hour' - m * interval '1 minute'), 1000 + h, m, "
      "'much', '', 10 FROM generate_series(0, 299) AS h, generate_series(1, 9) AS m");
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s) VALUES "
      "(date_trunc('minute', now()), " +
      std::to_string(alive) + ", 1, 'much', '', 10)");
  const auto read = [&] {
    auto db = Connect();
    db::Tx tx(*db);
    return Store().Load(tx).snapshot.usage;
  };
  for (const char* policy : {"fairshare", "usage"}) {
    Policy("policy", policy);
    const auto usage = read();
    EXPECT_LT(usage.size(), std::string(policy) == "usage" ? 330u : 20u) << policy;
    double all = 0, of_alive = 0;
    for (const auto& row : usage)
      all += row.slot_seconds, of_alive += row.campaign == alive ? row.slot_seconds : 0;
    EXPECT_EQ(all, 27010) << policy;
    EXPECT_EQ(of_alive, 10) << policy;
  }
}

TEST_F(GridTest, FairshareFollowsTheTreeOfProjects) {  // FAIR-03, CIG-03
  Policy("policy", "fairshare");
  Policy("projects", {{"physics", {{"share", 3}}}, {"biology", {{"share", 1}}}});
  Cluster(1, 100);
  const auto p1 = Campaign({.user = "a", .project = "physics"});
  const auto p2 = Campaign({.user = "b", .project = "physics"});
  const auto bio = Campaign({.user = "c", .project = "biology"});
  Pass();
  EXPECT_NEAR(Granted(p1) + Granted(p2), 75, 2);
  EXPECT_NEAR(Granted(bio), 25, 2);
}

TEST_F(GridTest, FairshareSimpleGivesAllToTheHighest) {  // FAIR-14, FAIR-17
  Policy("policy", "fairshare-simple");
  Policy("users", {{"jack", {{"share", 1}}}, {"jill", {{"share", 3}}}});
  Cluster(1, 5);
  const auto jack = Campaign({.user = "jack"});
  const auto jill = Campaign({.user = "jill"});
  Pass();
  EXPECT_EQ(Granted(jill), 5);
  EXPECT_EQ(Why(jack), "SERVED_BEFORE");
  // She has had the whole day of all four slots: S - U is below his.
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s) SELECT "
      "date_trunc('minute', now()), " +
      std::to_string(jill) + ", 1, 'jill', '', 4 * 86400");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(jack), 5);
}

TEST_F(GridTest, APolicyIsChangedWhileTheGridRunsAndABrokenRowIsNotTaken) {
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto a = Campaign({.user = "a"});
  const auto b = Campaign({.user = "b"});
  Pass();
  EXPECT_EQ(Granted(a), 10);
  Policy("policy", "stride");
  Pass();
  EXPECT_EQ(Granted(b), 5);
  Policy("policy", "nonsense");
  Pass();
  EXPECT_EQ(Granted(b), 5) << "the last good one goes on";
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'POLICY_INVALID' AND state = 'open'"),
            1);
  Policy("policy", "fifo");
  Pass();
  EXPECT_EQ(Granted(a), 10);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'POLICY_INVALID' AND state = 'open'"),
            0);
}

TEST_F(GridTest, AnotherProcessGoesOnWhereTheLastOneEnded) {
  Policy("policy", "stride");
  Policy("aggregate", "none");
  Cluster(1, 4);
  const auto a = Campaign({.user = "a", .priority = 6});
  const auto b = Campaign({.user = "b", .priority = 2});
  int of_a = 0, of_b = 0;
  for (int i = 0; i < 8; ++i) {  // each cycle by a new process, as after a crash
    Fresh();
    const auto got = Cycle();
    if (got.count(a) != 0) of_a += got.at(a);
    if (got.count(b) != 0) of_b += got.at(b);
    for (const auto c : {a, b}) End(Live(c), 10);
  }
  EXPECT_EQ(of_a + of_b, 32);
  EXPECT_EQ(of_a, 24) << "turns are carried: 3 to 1 over all cycles";
}

}  // namespace
}  // namespace cigri::metascheduler
