// TECH-21, FAIR-21: jobs that need a GPU, or slots with certain properties, are given by what is
// idle of these, not by the slots of their cluster.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/json.h"
#include "tests/policy/fixture.h"

namespace cigri::policy {
namespace {

using test::PolicyFixture;

constexpr PolicyKind kAll[] = {PolicyKind::kFifo,    PolicyKind::kAffinity,
                               PolicyKind::kUsage,   PolicyKind::kSla,
                               PolicyKind::kLottery, PolicyKind::kStride,
                               PolicyKind::kDynamic, PolicyKind::kFairshare};

// A cluster of 64 idle slots and `free` of 4 idle GPUs.
PolicyFixture GpuGrid(int free = 4, PolicyKind policy = PolicyKind::kFifo) {
  PolicyFixture s(policy);
  s.AddCluster(64).classes = {{.name = "GPUs", .total = 4, .free = free}};
  return s;
}

// A campaign whose jobs take `units` of the first class of cluster 1; units 0: as many as slots.
Campaign& AddGpuCampaign(PolicyFixture& s, std::int64_t waiting, int units = 1, int slots = 1,
                         const std::string& user = "alice") {
  Campaign& c = s.AddCampaign(waiting, user, {1}, slots);
  c.placements[0].resource_class = 1;
  c.placements[0].class_units = static_cast<std::uint16_t>(units);
  return c;
}

std::string TextOf(const PolicyFixture& s, std::int64_t campaign) {
  for (const auto& r : s.result.reasons)
    if (r.campaign == campaign && r.main) return ReasonTexts(s.snapshot).Text(r);
  return "";
}

TEST(ResourceClass, JobsAreGivenByWhatIsIdleOfTheirClass) {
  const struct {
    const char* when;
    int free, units, slots, want;
  } cases[] = {
      {"a GPU a job", 4, 1, 1, 4},
      {"two GPUs a job", 3, 2, 1, 1},
      {"as many as its slots", 4, 0, 2, 2},
      {"none is idle", 0, 1, 1, 0},
      {"one job takes more than there are", 4, 5, 1, 0},
  };
  for (const auto& c : cases) {
    PolicyFixture s = GpuGrid(c.free);
    AddGpuCampaign(s, 100, c.units, c.slots);
    s.AddCampaign(100, "bob");
    s.Run();
    EXPECT_EQ(s.Given(1), c.want) << c.when;
    EXPECT_EQ(s.Given(2), 64 - c.want * c.slots) << c.when << ": the other slots are for others";
  }
}

TEST(ResourceClass, TheSlotsOfTheClusterAreALimitToo) {
  PolicyFixture s = GpuGrid();
  s.cluster(1).free = 2;
  AddGpuCampaign(s, 100);
  s.Run();
  EXPECT_EQ(s.Given(1), 2);
  EXPECT_EQ(s.Why(1), "FULL");
}

TEST(ResourceClass, CampaignsOfAClassSpendFromOneCountUnderEveryPolicy) {
  for (const auto policy : kAll) {
    PolicyFixture s = GpuGrid(4, policy);
    s.snapshot.config.sla_groups = {{"g", 1}};
    for (const char* user : {"alice", "bob", "carol"})
      AddGpuCampaign(s, 10, 1, 1, user).sla_group = "g";
    s.AddCampaign(100, "dave").sla_group = "g";
    s.Run();
    EXPECT_EQ(s.Given(1) + s.Given(2) + s.Given(3), 4) << ToString(policy);
    EXPECT_EQ(s.Given(4), 60) << ToString(policy);
  }
}

TEST(ResourceClass, TheReasonCountsTheClass) {
  PolicyFixture s = GpuGrid();
  AddGpuCampaign(s, 100, 2, 8);
  s.AddCampaign(100);
  AddGpuCampaign(s, 100, 1, 1, "bob");
  s.Run();
  EXPECT_EQ(s.Why(3, 1), "CLASS_FULL");
  EXPECT_EQ(TextOf(s, 3), "0 of 4 GPUs of c1 are free, a job takes 1");
}

TEST(ResourceClass, WhatIsNotKnownIsAsWithoutClasses) {
  PolicyFixture s = GpuGrid(0);
  s.AddCampaign(100);
  s.Run();
  EXPECT_EQ(s.Given(1), 64);
  AddGpuCampaign(s, 100).placements[0].resource_class = 2;  // of which the poll says nothing
  s.campaign(1).waiting = 0;
  s.Run();
  EXPECT_EQ(s.Given(2), 64);
}

TEST(ResourceClass, JobsThatWaitForAUnitTakeNoSlotFromOthers) {
  PolicyFixture s = GpuGrid(1);
  AddGpuCampaign(s, 0).placements[0].in_flight = 11;
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 11;
  AddGpuCampaign(s, 10, 1, 1, "bob");
  s.AddCampaign(100, "carol");
  s.Run();
  EXPECT_EQ(s.Given(2), 0) << "the idle unit is for one that waits already";
  EXPECT_EQ(s.Given(3), 63) << "one slot goes with the idle unit, ten jobs take none";
}

TEST(ResourceClass, SomeMayWaitForAUnitInTheQueue) {
  PolicyFixture s = GpuGrid();
  s.cluster(1).waiting_allowed = 3;
  AddGpuCampaign(s, 100);
  s.AddCampaign(100, "bob");
  s.Run();
  EXPECT_EQ(s.Given(1), 4 + 3);
  EXPECT_EQ(s.Given(2), 60 + 3) << "the queue for slots is another";
  s.Start();
  s.placement(1, 1).running -= 3;
  s.cluster(1).running -= 3, s.cluster(1).running_slots -= 3;
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 3;
  s.cluster(1).classes[0].free = 0;
  s.Run();
  EXPECT_EQ(s.Given(1), 0) << "three wait there";
  EXPECT_EQ(s.Why(1), "CLASS_FULL");
}

TEST(ResourceClass, AJobThatWaitsForAUnitIsRecalledToAnIdleOne) {
  PolicyFixture s = GpuGrid(0);
  s.AddCluster(8).classes = {{.name = "GPUs", .total = 2, .free = 2}};
  auto& c = AddGpuCampaign(s, 0);
  c.placements.push_back({.cluster = 2, .resource_class = 1, .class_units = 1});
  c.placements[0].in_flight = 5;
  s.cluster(1).waiting = s.cluster(1).waiting_slots = 5;
  s.Run();
  ASSERT_EQ(s.result.plan.recalls.size(), 1u);
  EXPECT_EQ(s.result.plan.recalls[0].n, 2);
  EXPECT_EQ(s.result.plan.recalls[0].to, 2);
}

TEST(ResourceClass, OnlyAJobThatHoldsAUnitIsPreemptedForOne) {
  PolicyFixture s = GpuGrid(0);
  s.snapshot.config.urgent_percent = 100;
  s.snapshot.config.urgent_delay_s = 0;
  s.AddCampaign(0, "bob").placements[0].in_flight = 1;
  AddGpuCampaign(s, 0, 1, 1, "carol").placements[0].in_flight = 4;
  AddGpuCampaign(s, 1).cls = "urgent";
  s.snapshot.running = {{10, 1, 1, 1, 990}, {11, 2, 1, 1, 900}, {12, 2, 1, 1, 800}};
  for (const std::int64_t id : {1, 2}) s.placement(id, 1).running = s.placement(id, 1).in_flight;
  s.Run();
  ASSERT_EQ(s.result.plan.preempt.size(), 1u);
  EXPECT_EQ(s.result.plan.preempt[0].job, 11) << "job 10 is younger and holds no GPU";
}

TEST(ResourceClass, NoSlotsAreKeptForAJobThatLacksUnits) {
  for (const auto policy : {PolicyKind::kFifo, PolicyKind::kDynamic}) {
    for (const int gpus : {0, 1}) {
      PolicyFixture s = GpuGrid(gpus, policy);
      s.cluster(1).free = 6;
      s.snapshot.config.multi_slot_age = policy == PolicyKind::kFifo ? 0 : -1;
      s.snapshot.config.queues = {{"wide", {.min = 5, .gap = 0}}, {"narrow", {}}};
      AddGpuCampaign(s, 10, 1, 8).cls = "wide";
      s.AddCampaign(100, "bob").cls = "narrow";
      s.Run();
      EXPECT_EQ(s.Given(2), gpus == 0 ? 6 : 0) << ToString(policy) << " " << gpus;
    }
  }
}

TEST(ResourceClass, AStoredDecisionIsRepeated) {
  PolicyFixture s = GpuGrid(3);
  AddGpuCampaign(s, 100, 2);
  AddGpuCampaign(s, 100, 1, 1, "bob");
  const auto stored = nlohmann::json::parse(nlohmann::json(s.snapshot).dump()).get<Snapshot>();
  s.Run();
  const auto again = Decide(stored, {}, s.now, s.seed);
  EXPECT_EQ(nlohmann::json(again.plan), nlohmann::json(s.result.plan));
  EXPECT_EQ(nlohmann::json(again.reasons), nlohmann::json(s.result.reasons));
}

}  // namespace
}  // namespace cigri::policy
