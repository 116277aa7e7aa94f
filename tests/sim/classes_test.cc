// TECH-21, FAIR-21: GPUs, and slots with properties, in the simulator.
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::Outcome;

const char* const kGpus = R"({"clusters": [
    {"name": "luke", "slots": 64, "resource_classes": {"GPUs": 4}},
    {"name": "leia", "slots": 16}],
  "campaigns": [
    {"name": "deep", "user": "alice", "tasks": 40, "duration": "10 min", "resource_class": "GPUs",
     "class_units": 2},
    {"name": "wide", "user": "bob", "tasks": 200, "duration": "5 min"}]})";

// Most jobs of a campaign at a time.
int Most(const Outcome& run, const std::string& campaign) {
  int most = 0;
  for (const double at : run.Starts(campaign)) most = std::max(most, run.RunningAt(at, campaign));
  return most;
}

TEST(ResourceClassesTest, JobsRunWhereTheirClassIsAndNoMoreThanItHasUnits) {
  const Outcome run(kGpus);
  EXPECT_EQ(Most(run, "deep"), 2);
  EXPECT_EQ(run.report.totals.not_done, 0);
  for (const auto& a : run.attempts)
    EXPECT_TRUE(run.NameOf(a) != "deep" || run.ClusterOf(a) == "luke");
  EXPECT_TRUE(run.reasons.count({"deep", "CLASS_FULL"}));
  EXPECT_GT(Most(run, "wide"), 64) << "the slots without a GPU are for whoever needs none";
}

TEST(ResourceClassesTest, TheClairvoyantSendsNoMoreThanItHasUnits) {
  const Outcome run(kGpus, {{"policy", "clairvoyant"}});
  EXPECT_EQ(Most(run, "deep"), 2);
  EXPECT_EQ(run.report.totals.not_done, 0);
  for (const auto& a : run.attempts)
    EXPECT_TRUE(run.NameOf(a) != "deep" || a.sent == a.started) << "it knows what is free";
}

// Each unit that is free goes to who needs one; who needs two gets the place in the queue that
// is due to him, beside who needs none.
TEST(ResourceClassesTest, WhoNeedsTwoUnitsGetsThemBesideWhoNeedsOne) {
  const Outcome run(R"({"until": "8 h", "policy": "fairshare",
    "clusters": [{"slots": 40, "resource_classes": {"GPUs": 8}, "job_ratio": "none"}],
    "campaigns": [
      {"name": "one", "user": "alice", "tasks": 9999, "duration": "7 min", "resource_class": "GPUs"},
      {"name": "none", "user": "bob", "tasks": 9999, "duration": "5 min"},
      {"name": "two", "user": "carol", "tasks": 9999, "duration": "9 min", "resource_class": "GPUs",
       "class_units": 2}]})");
  std::map<std::string, double> units;
  for (const auto& user : run.report.users) units[user.name] = user.slot_s;
  EXPECT_GT(2 * units["carol"], 0.5 * units["alice"]);
}

// Slots are free: it is for the units that jobs are killed, and only for those that lack.
TEST(ResourceClassesTest, LocalUsersTakeUnitsFromTheYoungest) {
  const char* const text = R"({"until": "2 h", "clusters": [
      {"name": "luke", "slots": 64, "resource_classes": {"GPUs": 4}, "local": [
        {"every": "10 h", "from": 0, "duration": "20 min", "resource_class": "GPUs",
         "class_units": 3}]}],
    "campaigns": [
      {"name": "deep", "tasks": 4, "duration": "90 min", "resource_class": "GPUs"},
      {"name": "wide", "user": "bob", "tasks": 10, "duration": "90 min"}]})";
  const auto at = [&](double when) {
    return std::vector<std::pair<std::string, std::string>>{
        {"clusters.luke.local", R"([{"every": {"distribution": "uniform", "min": )" +
                                    std::to_string(when) + R"(, "max": )" + std::to_string(when) +
                                    R"(}, "until": )" + std::to_string(when + 1) +
                                    R"(, "duration": 1200, "resource_class": "GPUs",
                                     "class_units": 3}])"}};
  };
  const Outcome run(text, at(1800));
  EXPECT_EQ(run.RunningAt(1799, "deep"), 4);
  EXPECT_EQ(run.RunningAt(1801, "deep"), 1) << "three units are taken";
  EXPECT_EQ(run.RunningAt(1801, "wide"), 10) << "nobody else is killed";
  EXPECT_EQ(run.RunningAt(1800 + 1200 + 60, "deep"), 4);
  auto polite = at(1800);
  polite.emplace_back("clusters.luke.preempts", "false");
  EXPECT_EQ(Outcome(text, polite).RunningAt(1801, "deep"), 4);
}

TEST(ResourceClassesTest, EachClusterMayHaveItsOwn) {
  const Outcome run(R"({"clusters": [
      {"name": "luke", "slots": 8, "resource_classes": {"GPUs": 2, "big": 5}},
      {"name": "leia", "slots": 8, "resource_classes": {"GPUs of deep": 4}},
      {"name": "han", "slots": 8}],
    "campaigns": [{"name": "c", "tasks": 60, "duration": "10 min",
      "resource_class": {"luke": "big", "leia": "GPUs of deep"}, "class_units": {"leia": 2}}]})");
  int luke = 0, leia = 0, han = 0;
  for (const double at : run.Starts("c")) {
    luke = std::max(luke, run.RunningAt(at, "c", "luke"));
    leia = std::max(leia, run.RunningAt(at, "c", "leia"));
    han = std::max(han, run.RunningAt(at, "c", "han"));
  }
  EXPECT_EQ(luke, 5);
  EXPECT_EQ(leia, 2);
  EXPECT_EQ(han, 8) << "nothing is asked for there";
}

TEST(ResourceClassesTest, WhatNoClusterHasIsRefusedWithWhatWouldBeRight) {
  const struct {
    const char *cluster, *campaign, *want;
  } cases[] = {
      {R"("resource_classes": 4)", "", "clusters[0].resource_classes: must be an object of units"},
      {R"("resource_classes": {"GPUs": -1})", "", "must be a whole number, 0 to 65535"},
      {R"("resource_classes": {"GPUs": 4})", R"(, "resource_class": "TPUs")",
       "campaigns[0].resource_class: no cluster has so much of \"TPUs\""},
      {R"("resource_classes": {"GPUs": 4})", R"(, "resource_class": "GPUs", "class_units": 5)",
       "no cluster has so much of \"GPUs\""},
      {R"("resource_classes": {"GPUs": 4})",
       R"(, "resource_class": "GPUs", "class_units": 5, "clusters": ["luke"])",
       "campaigns[0].class_units: luke has 4 of \"GPUs\""},
      {R"("resource_classes": {"GPUs": 4})", R"(, "resource_class": {"lukee": "GPUs"})",
       "did you mean \"luke\"?"},
      {R"("resource_classes": {"GPUs": 4})", R"(, "class_units": 1)",
       "campaigns[0].class_units: needs a resource_class"},
      {R"("resource_classes": {"GPUs": 4})", R"(, "resource_class": "GPUs", "class_units": 0)",
       "campaigns[0].class_units: must be a whole number"},
      {R"("local": [{"every": 60, "resource_class": "GPUs"}])", "",
       "clusters[0].local[0].resource_class: the cluster has no resource class \"GPUs\""},
      {R"("resource_classes": {"GPUs": 4}, "local": [{"every": 60, "resource_class": "GPUs",
          "class_units": 5}])", "",
       "clusters[0].local[0].class_units: the cluster has 4 of GPUs"},
  };
  for (const auto& c : cases) {
    const auto read = ReadScenario(std::string(R"({"clusters": [{"name": "luke", "slots": 8, )") +
                                       c.cluster + R"(}], "campaigns": [{"tasks": 1)" + c.campaign +
                                       "}]}",
                                   "");
    EXPECT_NE(test::FaultsOf(read).find(c.want), std::string::npos)
        << c.want << "\n" << test::FaultsOf(read);
  }
}

}  // namespace
}  // namespace cigri::sim
