#include "policy/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "policy/json.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using nlohmann::json;

std::string FirstFault(const PolicyConfig& config) {
  const auto faults = ValidateConfig(config);
  return faults.empty() ? "" : faults[0].message;
}

TEST(T14, GroupsAreAllNumbersOrAllPartsAndNothingElse) {
  PolicyConfig c;
  c.sla_groups = {{"a", .25}, {"b", .5}, {"c", .1}};
  EXPECT_EQ(FirstFault(c), "");
  c.sla_groups = {{"a", 10}, {"b", 12}};
  EXPECT_EQ(FirstFault(c), "");
  c.sla_groups = {{"a", 10}, {"b", .5}};
  EXPECT_EQ(FirstFault(c), "\"sla.groups\" mixes numbers of slots and parts");
  c.sla_groups = {{"a", 1.5}, {"b", .2}};
  EXPECT_EQ(FirstFault(c),
            "\"sla.groups\" of \"a\" is neither a number of slots nor a part of one");
  c.sla_groups = {{"a", .7}, {"b", .6}};
  EXPECT_EQ(FirstFault(c), "\"sla.groups\" add up to more than the whole");
}

TEST(Validate, ImpossibleConfigurationsAreRefusedWithTheirReason) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* key;
    void (*spoil)(PolicyConfig&, double nan);
  } cases[] = {
      {"weights",
       [](PolicyConfig& c, double) {
         c.weights = {{4, 0}};
       }},
      {"weights",
       [](PolicyConfig& c, double) {
         c.weights = {{4, -1}};
       }},
      {"weights",
       [](PolicyConfig& c, double n) {
         c.weights = {{4, n}};
       }},
      {"weights",
       [](PolicyConfig& c, double) {
         c.weights = {{0, 1}};
       }},
      {"user_weights",
       [](PolicyConfig& c, double n) {
         c.user_weights = {{"a", n}};
       }},
      {"projects",
       [](PolicyConfig& c, double) {
         c.projects = {{"a", {1, "b"}}, {"b", {1, "a"}}};
       }},
      {"projects",
       [](PolicyConfig& c, double) {
         c.projects = {{"a", {1, "a"}}};
       }},
      {"projects",
       [](PolicyConfig& c, double) {
         c.projects = {{"a", {0, ""}}};
       }},
      {"users",
       [](PolicyConfig& c, double) {
         c.users = {{"a", {1, "nowhere"}}};
       }},
      {"sla.groups", [](PolicyConfig& c, double) { c.policy = PolicyKind::kSla; }},
      {"queues",
       [](PolicyConfig& c, double) {
         c.queues = {{"a", {.min = 5, .max = 5}}};
       }},
      {"queues",
       [](PolicyConfig& c, double n) {
         c.queues = {{"a", {.dec = n}}};
       }},
      {"quotas", [](PolicyConfig& c, double) { c.quotas = {{.scope = "usr", .slots = 1}}; }},
      {"quotas", [](PolicyConfig& c, double) { c.quotas = {{.scope = "user"}}; }},
      {"reserves",
       [](PolicyConfig& c, double) {
         c.reserves = {{.cls = "a", .fraction = .6}, {.cls = "b", .cluster = "x", .fraction = .5}};
       }},
      {"start_rates", [](PolicyConfig& c, double) { c.start_rates = {{.scope = "user"}}; }},
      {"usage.window", [](PolicyConfig& c, double n) { c.usage_window_s = n; }},
      {"urgent.percent", [](PolicyConfig& c, double) { c.urgent_percent = 101; }},
      {"multi_slot.step", [](PolicyConfig& c, double) { c.multi_slot_step = 0; }},
      {"black_hole.fraction", [](PolicyConfig& c, double) { c.black_hole_fraction = 1; }},
  };
  for (const auto& c : cases) {
    PolicyConfig config;
    c.spoil(config, nan);
    const auto faults = ValidateConfig(config);
    ASSERT_FALSE(faults.empty()) << c.key;
    EXPECT_EQ(faults[0].key, c.key) << faults[0].message;
  }
  EXPECT_EQ(FirstFault({}), "");
}

TEST(Parse, RowsBecomeAConfigurationAndBack) {
  const auto parsed = ParseConfig(
      {{"policy", "usage"},
       {"weights", {{"4", 2.5}}},
       {"projects", {{"phys", {{"share", 60}}}, {"part", {{"share", 1}, {"parent", "phys"}}}}},
       {"quotas", json::array({{{"scope", "user"}, {"slots", 5}}})},
       {"reserves", json::array({{{"class", "test"}, {"fraction", 0.1}}})}});
  ASSERT_TRUE(parsed.faults.empty()) << parsed.faults[0].message;
  EXPECT_EQ(parsed.config.policy, PolicyKind::kUsage);
  EXPECT_EQ(parsed.config.weights.at(4), 2.5);
  EXPECT_EQ(parsed.config.projects.at("part").parent, "phys");
  const auto rows = ToRows(parsed.config);
  EXPECT_EQ(rows.size(), 5u);
  EXPECT_EQ(ToRows(ParseConfig(rows).config), rows);
}

TEST(Parse, EveryWrongRowIsNamedAndTheOthersAreTaken) {
  const auto parsed = ParseConfig({{"polcy", "usage"},
                                   {"policy", "fairshair"},
                                   {"first_results", 1.5},
                                   {"test_first", 1},
                                   {"quotas", json::array({{{"scop", "user"}}})},
                                   {"weights", {{"10", 1}}},
                                   {"black_hole.count", 7}});
  std::map<std::string, Fault> by_key;
  for (const auto& f : parsed.faults) by_key[f.key] = f;
  EXPECT_EQ(by_key.size(), 6u);
  EXPECT_EQ(by_key["polcy"].message, "unknown key \"polcy\"");
  EXPECT_EQ(by_key["polcy"].hint, "did you mean \"policy\"?");
  EXPECT_EQ(by_key["policy"].hint, "did you mean \"fairshare\"?");
  EXPECT_EQ(by_key["quotas"].hint, "did you mean \"scope\"?");
  EXPECT_EQ(by_key["weights"].message,
            "\"weights\" has priority \"10\", and priorities are 0 to 9");
  EXPECT_EQ(parsed.config.black_hole_count, 7);
  EXPECT_EQ(parsed.config.policy, PolicyConfig{}.policy);
}

TEST(Parse, EveryKnownKeyTakesItsOwnDefault) {
  for (const auto& key : KnownKeys()) {
    const auto parsed = ParseConfig({{key.key, key.fallback}});
    EXPECT_TRUE(parsed.faults.empty()) << key.key;
    EXPECT_TRUE(ToRows(parsed.config).empty()) << key.key;
    EXPECT_FALSE(key.meaning.empty());
  }
}

TEST(Lint, ABackgroundThatCanPassAHighQueueIsNamed) {  // FBS-23
  PolicyConfig c;
  c.policy = PolicyKind::kDynamic;
  c.queues = {{"high", {.min = 5}}, {"bg", {.min = 0, .max = 5}}};
  ASSERT_EQ(LintConfig(c).size(), 1u);
  EXPECT_EQ(LintConfig(c)[0].message, "\"bg\" can rise to 5 and pass \"high\", which starts at 5");
  c.queues["bg"].max = 4;
  EXPECT_TRUE(LintConfig(c).empty());
  c.queues["bg"].max = 7e126;  // no int: the fuzzer found it
  EXPECT_EQ(LintConfig(c)[0].message,
            "\"bg\" can rise to 7e+126 and pass \"high\", which starts at 5");
}

TEST(Lint, APartOfAQueueSaysSomethingUnderFairshareAlone) {
  PolicyConfig c;
  c.multi_slot_queue = 0.5;
  EXPECT_TRUE(LintConfig(c).empty());
  c.policy = PolicyKind::kUsage;
  ASSERT_EQ(LintConfig(c).size(), 1u);
  EXPECT_EQ(LintConfig(c)[0].message, "\"multi_slot.queue\" says nothing under policy usage");
}

TEST(Lint, ManyCampaignsThatEachDrawSlotsAreNamed) {  // TECH-16
  PolicyConfig c;
  for (const auto policy : {PolicyKind::kLottery, PolicyKind::kStride}) {
    c.policy = policy;
    c.aggregate = Aggregate::kUser;
    EXPECT_TRUE(LintConfig(c).empty()) << "a user draws as one, however many campaigns he has";
    c.aggregate = Aggregate::kNone;
    ASSERT_EQ(LintConfig(c).size(), 1u);
    EXPECT_EQ(LintConfig(c)[0].key, "parallel_campaigns");
    c.parallel_campaigns = 1;
    EXPECT_TRUE(LintConfig(c).empty());
    c.parallel_campaigns = 0;
  }
}

TEST(Lint, RowsThatThePolicyIgnoresAreNamed) {
  struct Case {
    const char* key;
    void (*set)(PolicyConfig&);
    PolicyKind uses, ignores;
  };
  using C = PolicyConfig;
  using enum PolicyKind;
  for (const Case& c : std::initializer_list<Case>{
           {"users", [](C& p) { p.users["a"].share = 3; }, kFairshare, kUsage},
           {"projects", [](C& p) { p.projects["a"].share = 3; }, kFairshareSimple, kFifo},
           {"user_weights", [](C& p) { p.user_weights["a"] = 2; }, kUsage, kFairshare},
           {"usage.window", [](C& p) { p.usage_window_s = 60; }, kLottery, kFairshare},
           {"fairshare.half_life", [](C& p) { p.fairshare_half_life_s = 60; }, kFairshare, kUsage},
           {"fairshare.window", [](C& p) { p.fairshare_window_s = 60; }, kFairshare, kStride},
           {"fairshare.payback", [](C& p) { p.fairshare_payback = 1; }, kFairshare, kSla}}) {
    PolicyConfig config;
    c.set(config);
    const auto named = [&](PolicyKind policy) {
      config.policy = policy;
      const auto odd = LintConfig(config);
      return std::any_of(odd.begin(), odd.end(), [&](const auto& o) { return o.key == c.key; });
    };
    EXPECT_FALSE(named(c.uses)) << c.key;
    EXPECT_TRUE(named(c.ignores)) << c.key;
  }
}

TEST(Presets, AreValidAndTheFirstIsWhatAFreshGridRuns) {
  ASSERT_EQ(Presets().front().name, "site-default");
  EXPECT_GE(Presets().size(), 4u);
  for (const auto& preset : Presets()) {
    const auto parsed = ParseConfig(preset.rows);
    EXPECT_TRUE(parsed.faults.empty()) << preset.name;
    EXPECT_EQ(FirstFault(parsed.config), "") << preset.name;
  }
  EXPECT_EQ(ParseConfig(Presets().front().rows).config.policy, PolicyKind::kFairshare);
}

TEST(Json, ASnapshotItsPlanAndItsStateReadBackAsTheyWere) {
  test::PolicyFixture s(PolicyKind::kUsage);
  s.snapshot.config.black_hole_count = 3;
  s.AddCluster(10).mode = ClusterMode::kLimited;
  s.cluster(1).limited = 7;
  s.AddCluster(5).unusable = Unusable::kStale;
  s.AddCampaign(100).licences = {{"x", 1}};
  s.snapshot.config.licences = {{"x", 3}};
  s.snapshot.config.start_rates = {{.scope = "grid", .per_minute = 100, .burst = 9}};
  s.snapshot.usage = {{1, "alice", "p", 1, 2, 3}};
  s.snapshot.running = {{7, 1, 1, 2, 900}};
  s.Run();
  const json snapshot = s.snapshot, plan = s.result.plan, state = s.result.next;
  EXPECT_EQ(json(snapshot.get<Snapshot>()), snapshot);
  EXPECT_EQ(json(plan.get<Plan>()), plan);
  EXPECT_EQ(json(state.get<State>()), state);
  const json reasons = s.result.reasons;
  EXPECT_EQ(json(reasons.get<std::vector<Reason>>()), reasons);
  // A stored snapshot decides as the first did.
  const auto again = Decide(snapshot.get<Snapshot>(), State{}, s.now, s.seed);
  EXPECT_EQ(json(again.plan), plan);
  EXPECT_EQ(json(again.next), state);
}

TEST(Json, AWordNobodyKnowsIsRefused) {
  EXPECT_THROW(json({{"mode", "closed"}}).get<Cluster>(), std::invalid_argument);
  EXPECT_THROW(json({{"polcy", "fifo"}}).get<PolicyConfig>(), std::invalid_argument);
}

}  // namespace
}  // namespace cigri::policy
