// TECH-21, FAIR-21: units that Grid Engine's qstat and qconf show, and how its jobs end; the real
// one is in tests/real/gridengine_test.cc.
#include "cluster/gridengine_class.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cluster/gridengine_answers.h"
#include "cluster/job_record.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

std::string QueueText(const std::string& name, const std::string& resources,
                      const std::string& state = "") {
  return "<Queue-List><name>" + name + "</name><slots_total>8</slots_total>" + resources +
         (state.empty() ? "" : "<state>" + state + "</state>") + "</Queue-List>";
}

std::map<std::string, Consumable> Read(const std::string& queues) {
  pugi::xml_document xml;
  EXPECT_TRUE(xml.load_string(("<job_info><queue_info>" + queues + "</queue_info></job_info>").c_str()));
  return ConsumablesIn(xml, "gpu");
}

TEST(GridEngineClassTest, QueuesOfAHostShareWhatItHas) {
  const std::string two = R"(<resource name="gpu" type="hc">2.000000</resource>)";
  const auto found = Read(QueueText("all.q@node1", two) + QueueText("long.q@node1", two, "d") +
                          QueueText("all.q@node2", R"(<resource name="gpu" type="hc">1</resource>)"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("node1").idle, 2);
  EXPECT_TRUE(found.at("node1").usable) << "one of its queues is open";
  EXPECT_EQ(found.at("node2").idle, 1);
}

TEST(GridEngineClassTest, NothingStartsWhereAllQueuesAreClosed) {
  const auto found = Read(QueueText(
      "all.q@node1", R"(<resource name="gpu" type="hc">2</resource>)", "au"));
  EXPECT_FALSE(found.at("node1").usable);
}

TEST(GridEngineClassTest, AConsumableMayBeAQueuesOrTheWholeClusters) {
  const std::string all = R"(<resource name="gpu" type="gc">5</resource>)";
  const auto global = Read(QueueText("a.q@node1", all) + QueueText("a.q@node2", all));
  ASSERT_EQ(global.size(), 1u);
  EXPECT_EQ(global.at("global").idle, 5);
  const std::string own = R"(<resource name="gpu" type="qc">3</resource>)";
  const auto queues = Read(QueueText("a.q@node1", own) + QueueText("b.q@node1", own));
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues.at("b.q@node1").idle, 3);
}

TEST(GridEngineClassTest, OtherResourcesAndNonsenseAreNoUnits) {
  const auto found = Read(
      QueueText("a.q@n1", R"(<resource name="h_vmem" type="hc">8G</resource>)") +
      QueueText("a.q@n2", R"(<resource name="gpu" type="hc">many</resource>)") +
      QueueText("a.q@n3", R"(<resource name="gpu" type="hc">-1</resource>)"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("n2").idle, 0);
  EXPECT_EQ(found.at("n3").idle, 0);
}

TEST(GridEngineClassTest, WhatAHostHasStandsInItsComplexValues) {
  const std::string text =
      "hostname              node1\n"
      "complex_values        h_vmem=64G,slots=8, \\\n"
      "                      gpu=4,license=1\n"
      "load_values           gpu=9\n";
  EXPECT_EQ(ComplexValue(text, "gpu"), 4);
  EXPECT_EQ(ComplexValue(text, "slots"), 8);
  EXPECT_EQ(ComplexValue(text, "fpga"), std::nullopt);
  EXPECT_EQ(ComplexValue("complex_values        NONE\n", "gpu"), std::nullopt);
}

TEST(GridEngineClassTest, OnlyItsOwnRequestsAreRead) {
  const GridEngineClass what{true, "deep.q"};
  EXPECT_EQ(what.Name(), "GPUs of queue deep.q");
  const auto again = GridEngineClass::Read(what.Of(2).request);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->gpus);
  EXPECT_EQ(again->queue, "deep.q");
  EXPECT_EQ(what.Of(2).units, 2);
  EXPECT_FALSE(GridEngineClass::Read("{\"partition\":\"p\"}"));
  EXPECT_FALSE(GridEngineClass::Read("nonsense"));
}

// On the 25th of October 2:10 comes twice, 20 and 80 minutes after 1:50.
TEST(GridEngineEndTest, HowLongAJobLivedIsKnownWhenClocksChange) {
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  for (const int lived : {1200, 4800}) {
    const auto tasks = gridengine::ReadQacct(
        "",
        "=====\njobnumber 12\ntaskid 1\nstart_time Sun Oct 25 01:50:00 2026\n"
        "end_time Sun Oct 25 02:10:00 2026\nfailed 100 : assumedly after job\n"
        "exit_status 137\nru_wallclock " +
            std::to_string(lived) + "s\n");
    RemoteRef ref;
    ref.walltime_s = 3600;
    const auto job = gridengine::JobOf(tasks.at(0), ref);
    EXPECT_EQ(job.ended_at - job.started_at, lived);
    EXPECT_EQ(job.cause, lived < 3600 ? EndCause::kDeleted : EndCause::kWalltime);
  }
  unsetenv("TZ");
  tzset();
}

// qdel, or h_rt, came in the second in which its program ended.
TEST(GridEngineEndTest, AKilledJobThatHasSucceededByItsOwnRecordHas) {
  char name[] = "/tmp/cigri-ge-XXXXXX";
  const std::filesystem::path folder = mkdtemp(name);
  const auto program = [&](const char* command, const char* lines) {
    std::ofstream(folder / command) << "#!/bin/sh\n" << lines;
    std::filesystem::permissions(folder / command, std::filesystem::perms::owner_all);
  };
  program("qstat", "echo '<job_info/>'\n");
  program("qacct",
          "for task in 1 2; do\n"
          "  echo =====; echo jobname cigri.12.g1.abcd; echo jobnumber 7; echo taskid $task\n"
          "  echo failed 100; echo exit_status 137\n"
          "done\n");
  ClusterConfig config;
  config.kind = "gridengine";
  config.api_url = "local:";
  config.options = {{"shared_folder", folder},
                    {"command_wrapper", "env PATH=" + folder.string() + ":/usr/bin:/bin"}};
  PollRequest request;
  for (const int index : {0, 1}) {
    auto ref = test::RefOf("7." + std::to_string(index + 1), "cigri.12.g1.abcd", index);
    ref.cluster_user = getpwuid(geteuid())->pw_name;
    request.jobs.push_back(ref);
    const auto path = folder / RecordPath(ref);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "cigri1 began 1 n1 7.1 4711\ncigri1 used 1 0.5 1 0 0 " << 15 * index
                        << " 1003\n";
  }
  const auto jobs = MakeCluster(config)->Poll(request).jobs;
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].cause, EndCause::kExited);
  EXPECT_EQ(jobs[0].wait_status, 0);
  EXPECT_EQ(jobs[1].cause, EndCause::kDeleted);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cigri::cluster
