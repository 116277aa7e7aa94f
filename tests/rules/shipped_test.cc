// The rules that ship with the grid, run as they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "rules/rules.h"

namespace cigri::rules {
namespace {

using nlohmann::json;

ShippedRule Shipped(const std::string& name) {
  for (auto& rule : ShippedRules())
    if (rule.name == name) return rule;
  throw std::runtime_error("no shipped rule " + name);
}

Verdict Try(ShippedRule rule, const json& campaign, const json& user = {},
            const json& grid = {{"clusters", json::object()}}) {
  rule.id = 1;
  rule.mode = Mode::kEnforce;
  return Admit({rule}, campaign, user, grid);
}

json Campaign(const std::string& type) {
  return {{"jobs", 500},
          {"type", "default"},
          {"clusters", {{"froggy", {{"type", type}, {"walltime", 7200}}}}}};
}

TEST(ShippedRulesTest, AllCompileAndThreeOfThemAreInForce) {
  const auto rules = ShippedRules();
  ASSERT_EQ(rules.size(), 7u);
  for (const auto& rule : rules) {
    EXPECT_EQ(CompileFault(rule.code).value_or(""), "") << rule.name;
    EXPECT_FALSE(rule.title.empty()) << rule.name;
    const bool in_force = rule.name == "best-effort-rights" || rule.name == "lowest-scavenges" ||
                          rule.name == "test-campaigns";
    EXPECT_EQ(rule.mode == Mode::kEnforce, in_force) << rule.name;
  }
}

TEST(ShippedRulesTest, JobsThatAreNotBestEffortNeedARight) {
  ShippedRule rule = Shipped("best-effort-rights");
  const json alice = {{"name", "alice"}};
  EXPECT_TRUE(Try(rule, Campaign("best-effort"), alice).ok());
  const Verdict refused = Try(rule, Campaign("normal"), alice);
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  EXPECT_NE(refused.message.find("only run best-effort jobs on froggy"), std::string::npos);
  for (const char* where : {"[\"froggy\"]", "[\"*\"]"}) {
    ShippedRule edited = rule;
    edited.code =
        ReplaceAll(rule.code, "local normal_authorized = {",
                   std::string("local normal_authorized = {") + where + " = {\"alice\"},");
    EXPECT_TRUE(Try(edited, Campaign("normal"), alice).ok()) << where;
    EXPECT_FALSE(Try(edited, Campaign("normal"), {{"name", "bob"}}).ok()) << where;
  }
}

TEST(ShippedRulesTest, WalltimesAreLoweredToTheClustersCap) {
  const json grid = {{"clusters", {{"froggy", {{"max_walltime", 3600}}}}}};
  const Verdict v = Try(Shipped("walltime-cap"), Campaign("best-effort"), {}, grid);
  EXPECT_EQ(v.campaign["clusters"]["froggy"]["walltime"], 3600);
  EXPECT_EQ(v.changes.size(), 1u);
  EXPECT_TRUE(Try(Shipped("walltime-cap"), Campaign("best-effort")).changes.empty());
}

TEST(ShippedRulesTest, ClustersOfOtherGroupsAreLeftOut) {
  ShippedRule rule = Shipped("cluster-groups");
  rule.code =
      ReplaceAll(rule.code, "local groups_of = {", "local groups_of = {froggy = {\"bio\"},");
  json campaign = Campaign("best-effort");
  const json chemist = {{"groups", {"chemistry"}}};
  EXPECT_EQ(Try(rule, campaign, chemist).message,
            "rule 1 (cluster-groups): none of your groups may use froggy");
  EXPECT_TRUE(Try(rule, campaign, {{"groups", {"math", "bio"}}}).changes.empty());
  campaign["clusters"]["open"] = {{"walltime", 60}};
  const Verdict v = Try(rule, campaign, chemist);
  ASSERT_TRUE(v.ok()) << v.message;
  EXPECT_FALSE(v.campaign["clusters"].contains("froggy"));
  EXPECT_EQ(v.notes.size(), 1u);
}

TEST(ShippedRulesTest, CampaignsAndTestCampaignsAreCounted) {
  json test = Campaign("best-effort");
  test["type"] = "test";
  EXPECT_TRUE(Try(Shipped("test-campaigns"), test, {{"active_test_campaigns", 1}}).ok());
  EXPECT_FALSE(Try(Shipped("test-campaigns"), test, {{"active_test_campaigns", 2}}).ok());
  const json campaign = Campaign("best-effort");
  EXPECT_TRUE(Try(Shipped("campaign-quota"), campaign, {{"active_campaigns", 9}}).ok());
  EXPECT_EQ(Try(Shipped("campaign-quota"), campaign, {{"active_campaigns", 10}}).message,
            "rule 1 (campaign-quota): you already have 10 campaigns; the next may have at most 100 "
            "jobs, this has 500");
}

TEST(ShippedRulesTest, ACampaignOfTheLowestPriorityIsAScavenger) {  // TECH-08
  const auto class_of = [](int priority, const json& chosen) {
    json campaign = Campaign("best-effort");
    campaign["priority"] = priority;
    if (!chosen.is_null()) campaign["class"] = chosen;
    return Try(Shipped("lowest-scavenges"), campaign).campaign.value("class", "");
  };
  EXPECT_EQ(class_of(1, nullptr), "scavenger");
  EXPECT_EQ(class_of(1, "night"), "night") << "a class that the user has chosen stays";
  EXPECT_EQ(class_of(2, nullptr), "");
  EXPECT_EQ(class_of(0, nullptr), "") << "suspended is no level";
}

TEST(ShippedRulesTest, JobsOfAProjectAskForItsNodes) {  // FBS-29
  ShippedRule rule = Shipped("project-nodes");
  rule.code = ReplaceAll(rule.code, "local nodes_of = {",
                         "local nodes_of = {[\"physics\"] = {froggy = {properties = "
                         "\"physics='YES'\", constraint = \"physics\"}},");
  json campaign = Campaign("best-effort");
  campaign["clusters"]["luke"] = {{"walltime", 60}};
  EXPECT_TRUE(Try(rule, campaign).changes.empty()) << "of no project";
  campaign["share_project"] = "physics";
  campaign["clusters"]["froggy"]["properties"] = "gpu='YES'";
  const Verdict first = Try(rule, campaign);
  const json froggy = first.campaign["clusters"]["froggy"];
  EXPECT_EQ(froggy["properties"], "(gpu='YES') AND physics='YES'");
  EXPECT_EQ(froggy["constraint"], "physics");
  EXPECT_FALSE(first.campaign["clusters"]["luke"].contains("properties"));
  EXPECT_TRUE(Try(rule, first.campaign).changes.empty()) << "a second run adds nothing";
}

TEST(CompileFaultTest, NamesTheLine) {
  EXPECT_EQ(CompileFault("local x = 1"), std::nullopt);
  EXPECT_EQ(CompileFault("local x = 1\n\nif then"), "line 3: unexpected symbol near 'then'");
  EXPECT_TRUE(CompileFault(std::string(70 << 10, ' ')).has_value());
  EXPECT_TRUE(CompileFault("x = '\xff'").has_value());
  EXPECT_TRUE(CompileFault("\x1bLua").has_value());
}

}  // namespace
}  // namespace cigri::rules
