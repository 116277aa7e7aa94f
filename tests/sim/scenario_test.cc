// What a scenario file may say, and how its faults are reported.
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

constexpr char kGood[] = R"({
  // comments are allowed
  "clusters": [{"name": "luke", "slots": 4}, {"name": "leia", "slots": 2}],
  "campaigns": [{"name": "a", "user": "alice", "tasks": 3, "duration": "2 min"}]
})";

ReadResult Read(const std::string& text, const Edits& edits = {}) {
  return ReadScenario(text, "", edits);
}

TEST(ScenarioTest, AFreshGridRunsSiteDefault) {
  const auto read = Read(kGood);
  EXPECT_EQ(test::FaultsOf(read), "");
  EXPECT_EQ(read.scenario.policy.policy, policy::PolicyKind::kFairshare);
  EXPECT_EQ(read.scenario.policy.first_results, 10);
  EXPECT_EQ(read.scenario.campaigns[0].duration.a, 120);
}

TEST(ScenarioTest, EveryFaultHasItsLineItsKeyAndWhatWouldBeRight) {
  const auto read = Read(R"({
  "polcy": "fifo",
  "clusters": [
    {"name": "luke", "slotz": 4},
    {"name": "luke", "speed": 0, "job_ratio": "adaptiv"}],
  "campaigns": [
    {"tasks": 0, "duration": "soon", "clusters": ["lukke"], "priority": "hihg"},
    {"duration": {"distribution": "uniform", "min": 5, "max": 1}}],
  "policy": {"policy": "fairshar", "multi_slot.age": "x"}
})");
  const std::string all = test::FaultsOf(read);
  for (const char* want :
       {"scenario:2:12: polcy: unknown key\nHINT: did you mean \"policy\"?",
        ":4:31: clusters[0].slotz: unknown key", "clusters[1].speed: must be a number",
        "\"adaptiv\" is none of", "HINT: did you mean \"adaptive\"?",
        ":5:14: clusters[1].name: there are two",
        "campaigns[0].tasks: must be a whole number, 1 to", "campaigns[0].duration: must be a time",
        "there is no cluster \"lukke\"", "campaigns[0].priority: must be 0 to 9",
        "campaigns[1].duration.max: is less than min", "did you mean \"fairshare\"?",
        "policy.multi_slot.age: \"multi_slot.age\" must be a number"})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

TEST(ScenarioTest, FaultsOfDistributionsSayWhatWouldBeRight) {
  const auto read = Read(R"({
  "clusters": [{"slots": 8, "local": [
    {"every": {"distribution": "weibul", "scale": 60}},
    {"every": {"distribution": "weibull", "scale": "1 h"}, "duration": {"distribution": "exponential"}},
    {"every": 60, "duration": 5, "slots": "4 s"},
    {"every": 60, "duration": 5, "slots": [1, 2.5]},
    {"every": 60, "duration": 5, "hours": [1, 2], "weekdays": [0, 0, 0, 0, 0, 0, 0]},
    {"every": 60, "duration": [], "slots": {"distribution": "uniform", "min": 4, "max": "1 h"}}]}],
  "campaigns": [{}]
})");
  const std::string all = test::FaultsOf(read);
  for (const char* want :
       {":3:32: clusters[0].local[0].every.distribution: \"weibul\" is none of",
        "HINT: did you mean \"weibull\"?",
        ":4:15: clusters[0].local[1].every.shape: is missing\nHINT: a number, as 0.7",
        "clusters[0].local[1].duration.mean: is missing\nHINT: a time, as \"10 min\"",
        ":5:43: clusters[0].local[2].slots: must be a whole number, 1 or more\nHINT: 4, [1, 1, 4]",
        ":6:43: clusters[0].local[3].slots: must be a list of whole numbers, 1 or more",
        "clusters[0].local[4].hours: must be a list of 24 numbers",
        "clusters[0].local[4].weekdays: must be a list of 7 numbers, 0 or more, not all 0",
        "clusters[0].local[5].duration: must be a list of times",
        "clusters[0].local[5].slots.max: must be a number, 0 to"})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

TEST(ScenarioTest, WhatIsNoScenarioIsRefusedWithoutACrash) {
  for (const char* text :
       {"", "{", "[]", "3", "{}", "{\"clusters\": 3}", "{\"clusters\": [], \"campaigns\": [1]}",
        "{\"clusters\": [1], \"campaigns\": {}}", "{\"clusters\": [{\"local\": [3]}]}",
        "{\"policy\": []}", "{\"usage\": [[]]}", "\xff"})
    EXPECT_FALSE(Read(text).faults.empty()) << text;
  // Seen by fuzz_scenario: a name that is no text, where clusters are left out.
  const auto odd = R"({"clusters": [{"name": 1}, {"name": "k"}],
    "campaigns": [{"name": 2, "clusters": ["k"]}]})";
  const auto faults = test::FaultsOf(Read(odd, {.without = {"k"}}));
  EXPECT_NE(faults.find("clusters[0].name"), faults.npos) << faults;
  EXPECT_NE(faults.find("campaigns"), faults.npos) << faults;
}

TEST(ScenarioTest, ConfigurationsThatTheGridRefusesAreRefusedHere) {  // T-14
  const auto read = Read(R"({"clusters": [{}], "campaigns": [{}],
    "policy": {"policy": "sla", "sla.groups": {"a": 10, "b": 0.5}}})");
  EXPECT_NE(test::FaultsOf(read).find("policy.sla.groups"), std::string::npos);
}

TEST(ScenarioTest, APolicyInPlaceOfAPresetIsToldApart) {
  const auto faults = [](const std::string& name) {
    return test::FaultsOf(
        Read(R"({"clusters": [{}], "campaigns": [{}], "policy": {"preset": ")" + name + "\"}}"));
  };
  EXPECT_NE(faults("usage").find("there is no preset \"usage\"\nHINT: it is a policy"),
            std::string::npos)
      << faults("usage");
  EXPECT_NE(faults("departmens").find("did you mean \"departments\"?"), std::string::npos);
}

TEST(ScenarioTest, EditsOfTheCommandLine) {
  const auto read =
      Read(kGood, {.without = {"leia"},
                   .set = {{"clusters.luke.slots", "9"}, {"first_results", "3"}, {"seed", "5"}},
                   .policy = "usage"});
  EXPECT_EQ(test::FaultsOf(read), "");
  ASSERT_EQ(read.scenario.clusters.size(), 1u);
  EXPECT_EQ(read.scenario.clusters[0].slots, 9);
  EXPECT_EQ(read.scenario.policy.first_results, 3);
  EXPECT_EQ(read.scenario.policy.policy, policy::PolicyKind::kUsage);
  EXPECT_EQ(read.scenario.seed, 5u);
  const auto wrong =
      Read(kGood,
           {.without = {"lea"}, .set = {{"clusters.x.slots", "9"}, {"sed", "1"}}, .policy = "fif"});
  const std::string all = test::FaultsOf(wrong);
  for (const char* want : {"--without lea: there is no such cluster\nHINT: did you mean \"leia\"?",
                           "--set clusters.x.slots: names nothing", "--set sed: unknown key",
                           "there is no policy or preset \"fif\""})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

TEST(ScenarioTest, ACampaignThatMayRunOnlyThereGoesWithItsCluster) {
  const auto read = Read(R"({"clusters": [{"name": "a"}, {"name": "b"}],
    "campaigns": [{"name": "x", "clusters": ["a"]}, {"name": "y", "clusters": ["a", "b"]}]})",
                         {.without = {"a"}});
  ASSERT_EQ(read.scenario.campaigns.size(), 1u);
  EXPECT_EQ(read.scenario.campaigns[0].name, "y");
  EXPECT_EQ(read.scenario.notes.size(), 1u);
}

// A history names a class for each cluster: --without was refused for what it had not taken away.
TEST(ScenarioTest, ResourceClassesGoWithTheirCluster) {
  const auto read = Read(R"({"clusters": [{"name": "a", "resource_classes": {"GPUs": 2, "big": 1}},
      {"name": "b", "resource_classes": {"big": 1}}],
    "campaigns": [{"name": "x", "resource_class": "GPUs"}, {"name": "y", "resource_class": "big"},
      {"name": "z", "resource_class": {"a": "GPUs", "b": "big"}, "class_units": {"a": 2}}]})",
                         {.without = {"a"}});
  EXPECT_EQ(test::FaultsOf(read), "");
  ASSERT_EQ(read.scenario.campaigns.size(), 2u) << "x needs what only a had";
  EXPECT_EQ(read.scenario.campaigns[0].name, "y");
  EXPECT_EQ(read.scenario.campaigns[1].needs.size(), 1u);
  EXPECT_EQ(read.scenario.notes.size(), 1u);
}

TEST(ScenarioTest, WhatACampaignWaitsForStandsBeforeIt) {
  const auto read = Read(R"({"clusters": [{}], "campaigns": [{"name": "first", "count": 2},
    {"name": "x"}, {"name": "then", "after": ["first", "x"]}]})");
  EXPECT_EQ(test::FaultsOf(read), "");
  EXPECT_EQ(read.scenario.campaigns.back().after, (std::vector<int>{0, 1, 2}));
  const auto wrong = Read(R"({"clusters": [{}], "campaigns": [{"name": "first", "after": ["first"]},
    {"after": ["frist"], "start_rate": -1, "duration": 5, "min_duration": 5}]})");
  const std::string all = test::FaultsOf(wrong);
  for (const char* want :
       {"campaigns[0].after: no campaign \"first\" stands before it",
        "campaigns[1].after: no campaign \"frist\" stands before it\nHINT: did you mean \"first\"?",
        "campaigns[1].start_rate: must be a number, 0 to",
        "campaigns[1].min_duration: its jobs are shorter"})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

TEST(ScenarioTest, WhatGoesWithItsClusterIsNotWaitedFor) {
  const auto read = Read(R"({"clusters": [{"name": "a"}, {"name": "b"}],
    "campaigns": [{"name": "x", "clusters": ["a"]}, {"name": "y", "after": ["x"]}]})",
                         {.without = {"a"}});
  EXPECT_EQ(test::FaultsOf(read), "");
  ASSERT_EQ(read.scenario.campaigns.size(), 1u);
  EXPECT_TRUE(read.scenario.campaigns[0].after.empty());
}

TEST(ScenarioTest, ALargeScenarioIsDecidedAsOftenAsItsJobsAreLong) {
  const auto cycle = [](const std::string& tasks, const std::string& duration,
                        const std::string& more = "") {
    return Read("{\"clusters\": [{}]" + more + ", \"campaigns\": [{\"tasks\": " + tasks +
                ", \"duration\": \"" + duration + "\"}]}")
        .scenario.cycle_s;
  };
  EXPECT_EQ(cycle("100000", "1 h"), 1);
  EXPECT_EQ(cycle("100001", "1 h"), 10);
  EXPECT_EQ(cycle("100001", "1 min"), 1);
  EXPECT_EQ(cycle("100001", "15 h"), 60);
  EXPECT_EQ(cycle("100001", "15 h", ", \"cycle\": 2"), 2);
}

TEST(ScenarioTest, TheShippedExamplesAreGood) {
  const std::string folder = std::string(CIGRI_SOURCE_DIR) + "/examples/scenarios";
  for (const char* name : {"first", "local-users", "departments", "urgent", "trace"})
    EXPECT_EQ(test::FaultsOf(ReadScenario(test::FileText(folder + "/" + name + ".json"), folder)),
              "")
        << name;
}

TEST(DistributionTest, DrawsHaveTheirMeanAndDependOnTheirKeyAlone) {
  for (const Distribution& conservation :
       {Distribution{Distribution::Kind::kUniform, 10, 30, {}},
        Distribution{Distribution::Kind::kExponential, 20, 0, {}},
        Distribution{Distribution::Kind::kLognormal, 20, .5, {}},
        Distribution{Distribution::Kind::kWeibull, 20, .7, {}},
        Distribution{Distribution::Kind::kWeibull, 20, 3, {}}}) {
    double sum = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = conservation.At(static_cast<std::uint64_t>(i) * 7919, i);
      EXPECT_GE(x, 0);
      EXPECT_EQ(x, conservation.At(static_cast<std::uint64_t>(i) * 7919, i));
      sum += x;
    }
    EXPECT_NEAR(sum / 20000, conservation.Mean(), conservation.Mean() * .03);
  }
}

}  // namespace
}  // namespace cigri::sim
