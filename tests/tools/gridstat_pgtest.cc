// What gridstat prints, byte for byte, of rows that the test has written.
#include "tests/tools/grid.h"

namespace cigri {
namespace {

class GridstatPgTest : public test::GridTest {
 protected:
  // Ten tasks: 0 done on alpha, 1 failed twice (needs attention), 2 runs on beta, 3 is being sent,
  // 4 is retried, 5.. wait.
  std::int64_t GivenEveryKind() {
    const auto c =
        GivenCampaign({.ntasks = 8,
                       .next_idx = 5,
                       .params = {"p0 0", "p1 1", "p2 2", "p3 3", "p4 4", "p5 5", "p6 6", "p7 7"}});
    const auto first = GivenBatch(c, 1, 0, 3);
    GivenDone(c, first, 0, 1);
    GivenDone(c, first + 1, 1, 1, Failure());
    const auto second = GivenBatch(c, 2, 1, 2);
    GivenDone(c, second, 1, 2, Failure());
    GivenLive(c, second + 1, 2, 2, "running");
    GivenBatch(c, 1, 3, 1, "intended");
    const auto fourth = GivenBatch(c, 1, 4, 1);
    GivenDone(
        c, fourth, 4, 1,
        {.counted = false, .state = "event", .exit_class = "preemption", .code = "PREEMPTED"});
    Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 4, 'PREEMPTED')");
    Sql("INSERT INTO events (id, class, code, campaign_id, cluster_id, job_id, idx, count, "
        "message, date_open) VALUES "
        "(7, 'job', 'EXIT_ERROR', 1, 2, 44, 1, 2, 'exit 3: no such file', '2026-11-20 "
        "09:00:03+00')");
    Sql("INSERT INTO needs_attention (campaign_id, idx, job_id, event_id) VALUES (1, 1, 44, 7)");
    for (const auto& [cluster, state, n] : {std::tuple{1, "terminated", 1},
                                            {1, "event", 2},
                                            {1, "program", 1},
                                            {1, "preemption", 1},
                                            {1, "launching", 1},
                                            {2, "event", 1},
                                            {2, "program", 1},
                                            {2, "running", 1}})
      GivenCounter(c, cluster, state, n);
    Sql("INSERT INTO placements (campaign_id, cluster_id, verified, n_ok, sum_s, sum_sq, "
        "first_start, last_end) VALUES (1, 1, true, 1, 2, 4, '2026-11-20 09:00:00', '2026-11-20 "
        "09:01:00')");
    return c;
  }
  static test::DoneRow Failure() {
    return {.counted = false,
            .state = "event",
            .exit_class = "program",
            .code = "EXIT_ERROR",
            .message = "no such file",
            .wait_status = 3 << 8};
  }
};

TEST_F(GridstatPgTest, TheListHasCigrisBytes) {
  GivenCampaign(
      {.user = "alice", .name = "a-name-of-more-than-nineteen", .ntasks = 6, .next_idx = 6});
  GivenCounter(1, 1, "terminated", 4);
  GivenCampaign({.user = "bob", .name = "b", .state = "paused", .ntasks = 0});
  GivenCampaign({.user = "bob", .name = "over", .state = "terminated"});
  Sql("INSERT INTO events (class, code, campaign_id) VALUES ('campaign', 'CANARY_FAILED', 1)");
  const auto ran = Run("gridstat", {});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Campaign id Name                User             Submission time     S  Progress\n"
            "----------- ------------------- ---------------- ------------------- -- --------\n"
            "1           a-name-of-more-than alice            2026-11-20 08-40-15 Re 4/6 (66%)\n"
            "2           b                   bob              2026-11-20 08-40-15 P  0/0 (0%)\n");
  EXPECT_EQ(Run("gridstat", {"-H", "-u", "bob", "-a"}).out,
            "2           b                   bob              2026-11-20 08-40-15 P  0/0 (0%)\n"
            "3           over                bob              2026-11-20 08-40-15 T  0/10 (0%)\n");
}

TEST_F(GridstatPgTest, OneCampaignHasCigrisBytes) {
  GivenEveryKind();
  const auto ran = Run("gridstat", {"-c", "1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Campaign: 1\n  Name: sweep\n  User: " + me() +
                         "\n  Date: 2026-11-20 08-40-15\n  State: in_treatment (events)\n"
                         "  Progress: 1/8 (12%)\n  Stats: \n    average_jobs_duration: 2\n"
                         "    stddev_jobs_duration: \n    jobs_throughput: 60.0 jobs/h\n"
                         "    remaining_time: 0.1 hours\n    failures_rate: 75.0 %\n"
                         "    resubmit_rate: 25.0 %\n  Clusters: \n"
                         "    alpha:\n      active_jobs: 0\n      queued_jobs: 1\n"
                         "      prologue_ok: true\n      epilogue_ok: true\n"
                         "    beta:\n      active_jobs: 1\n      queued_jobs: 0\n"
                         "      prologue_ok: true\n      epilogue_ok: true\n\n");
  EXPECT_EQ(Run("gridstat", {"1"}).out, ran.out) << "the id as an argument";
}

// CIG-50: a queue that we trimmed ourselves once showed as 58 % failures.
TEST_F(GridstatPgTest, WhatWeTookBackIsNoFailure) {
  GivenCampaign({.ntasks = 10, .next_idx = 4});
  GivenCounter(1, 1, "terminated", 3);
  GivenCounter(1, 1, "event", 6);
  GivenCounter(1, 1, "our_kill", 4);
  GivenCounter(1, 1, "duplicate", 1);
  EXPECT_NE(Run("gridstat", {"-c", "1"}).out.find("failures_rate: 25.0 %"), std::string::npos);
}

// T-30, CIG-49: what the 2009 note wants of gridstat -f.
TEST_F(GridstatPgTest, T30FullListsEveryAttemptAndEachClustersRateAndMean) {
  GivenEveryKind();
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  EXPECT_NE(
      out.find("    alpha:\n      active_jobs: 0\n      queued_jobs: 1\n      prologue_ok: true\n"
               "      epilogue_ok: true\n      jobs_throughput: 60.0 jobs/h\n      "
               "average_jobs_duration: 2\n      average_wait: "),
      std::string::npos)
      << out;
  const auto jobs = out.find("\n Jobs:\n");
  ASSERT_NE(jobs, std::string::npos);
  EXPECT_EQ(out.substr(jobs + 1),
            " Jobs:\n"
            "  1000: 41,r41,terminated,alpha,p0,p0 0\n"
            "  1001: 42,r42,event,alpha,p1,p1 1\n"
            "  1001: 44,r44,event,beta,p1,p1 1\n"
            "  1002: 45,r45,running,beta,p2,p2 2\n"
            "  1003: 46,*,launching,alpha,p3,p3 3\n"
            "  1004: 47,r47,event,alpha,p4,p4 4\n"
            "  1004: *,*,pending,*,p4,p4 4\n"
            "  1005: *,*,pending,*,p5,p5 5\n"
            "  1006: *,*,pending,*,p6,p6 6\n"
            "  1007: *,*,pending,*,p7,p7 7\n");
  EXPECT_NE(Run("gridstat", {"-c", "1", "-f", "-o", "7"}).out.find(" Jobs:\n  1007:"),
            std::string::npos);
}

TEST_F(GridstatPgTest, FullSaysWhatJobsMeasured) {
  GivenEveryKind();
  Sql("UPDATE done SET cpu_s = 0.1, peak_mb = 12.25, read_mb = 0, written_mb = 3, "
      "transfer_s = 1.5 WHERE job_id = 41;"
      "UPDATE done SET cpu_s = 2 WHERE job_id = 42");
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  EXPECT_NE(out.find("  1000: 41,r41,terminated,alpha,p0,p0 0\n"
                     "      0.100 s CPU, 12.2 MB of memory, 0.0 MB read, 3.0 MB written, "
                     "1.500 s of transfers\n"
                     "  1001: 42,r42,event,alpha,p1,p1 1\n      2.000 s CPU\n"),
            std::string::npos)
      << out;
  const auto job = nlohmann::json::parse(Run("gridstat", {"-j", "41", "--json"}).out);
  EXPECT_EQ(job["cpu_s"], 0.1);
  EXPECT_EQ(job["peak_mb"], 12.25);
  EXPECT_EQ(nlohmann::json::parse(Run("gridstat", {"-j", "42", "--json"}).out)["peak_mb"], nullptr);
}

TEST_F(GridstatPgTest, FullSaysHowLongTasksWaitedOnEachCluster) {
  const auto c = GivenCampaign({.ntasks = 5, .next_idx = 5});
  const auto first = GivenBatch(c, 1, 0, 5);
  for (int i = 0; i < 5; ++i) GivenDone(c, first + i, i, 1);
  // They waited 10, 20, 30, 40 and 100 s.
  Sql("UPDATE done SET started_at = submission_time + (array[10, 20, 30, 40, 100])[idx + 1] * "
      "interval '1 second' FROM campaigns AS c WHERE c.id = done.campaign_id");
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  EXPECT_NE(out.find("      average_wait: 40\n      p90_wait: 76\n"), std::string::npos) << out;
  EXPECT_NE(out.find("      average_wait: \n      p90_wait: \n"), std::string::npos)
      << "nothing has run on the other";
}

TEST_F(GridstatPgTest, FullSaysWhatCheckpointsHaveKept) {
  const auto c = GivenCampaign({.ntasks = 5, .next_idx = 5});
  const auto first = GivenBatch(c, 1, 0, 5);
  for (int i = 0; i < 5; ++i) GivenDone(c, first + i, i, 1);
  Sql("UPDATE done SET counted = false, state = 'event', ended_at = started_at + interval '1 hour', "
      "(exit_class, code) = ROW((array['preemption', 'our_kill', 'our_kill', 'program', "
      "'infrastructure'])[idx + 1]::exit_class, (array['BESTEFFORT_KILL', 'WALLTIME', "
      "'KILLED_BY_GRID', 'EXIT', 'NODE_FAIL'])[idx + 1])");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "-f"}).out.find("kept_by"), std::string::npos)
      << "it has no checkpoints";
  Sql("UPDATE campaign_clusters SET options = '{\"checkpoint\": {}}'");
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  EXPECT_NE(out.find("      kept_by_checkpoints: 2 h of 2 jobs that were evicted"),
            std::string::npos)
      << out;
  const auto on = Get("/campaigns/1?waits=1")["clusters"]["1"];
  EXPECT_EQ(on["kept_s"], 7200);
  EXPECT_EQ(on["checkpointed_jobs"], 2);
}

// CIG-31
TEST_F(GridstatPgTest, FullAndWhySayWhenEachClusterWillBeDone) {
  GivenCampaign({.ntasks = 50, .next_idx = 5});
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, end_low, end_high) VALUES (1, 1, "
      "to_timestamp(1900000000), to_timestamp(1900003600))");
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  const auto line = out.find("      expected_end: 2030-03-17 ");
  EXPECT_NE(line, std::string::npos) << out;
  EXPECT_EQ(out.find("expected_end", line + 10), std::string::npos)
      << "of the other nothing is known";
  EXPECT_NE(Run("gridstat", {"-c", "1", "--why", "-v"}).out.find("    Expected end: 2030-03-17 "),
            std::string::npos);
  Sql("UPDATE campaigns SET state = 'cancelled', wanted = 'cancelled'");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "-f"}).out.find("expected_end"), std::string::npos);
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--why", "-v"}).out.find("Expected end"),
            std::string::npos);
}

TEST_F(GridstatPgTest, T30SummaryReportsWaitingRunningTerminatedAndNeedsAttention) {
  GivenEveryKind();
  GivenCampaign({.user = "bob", .state = "terminated", .ntasks = 3, .next_idx = 3});
  GivenCounter(2, 1, "terminated", 3);
  EXPECT_EQ(
      Run("gridstat", {"-s", "-a", "-u", "bob"}).out,
      "Id          User             Status       Type     Waiting  Running Terminated Failed Err\n"
      "----------- ---------------- ------------ ------- -------- -------- ---------- ------ ---\n"
      "2           bob              terminated   default        0        0          3      0   \n");
  const auto one = Run("gridstat", {"-H", "-s", "1-1"}).out;
  EXPECT_NE(one.find("in_treatment default        4        2          1      1  x"),
            std::string::npos)
      << one;
  const auto users = Run("gridstat", {"--by-user", "-a", "-H"}).out;
  EXPECT_NE(users.find("bob                      1        0        0          3      0\n"),
            std::string::npos)
      << users;
}

TEST_F(GridstatPgTest, ManyJobsAreAllListed) {
  GivenCampaign({.ntasks = 4500});
  const auto out = Run("gridstat", {"-c", "1", "-f"}).out;
  for (int i : {0, 1999, 2000, 4499})
    EXPECT_NE(out.find("  " + std::to_string(1000 + i) + ": *,*,pending,*," + std::to_string(i) +
                       "," + std::to_string(i) + "\n"),
              std::string::npos)
        << i;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 34 + 4500);
}

TEST_F(GridstatPgTest, ParametersCanBeTakenAwayByState) {
  GivenEveryKind();
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--params", "waiting"}).out, "p4 4\np5 5\np6 6\np7 7\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--params", "failed"}).out, "p1 1\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--params", "done"}).out, "p0 0\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--params", "running"}).out, "p2 2\n");
}

TEST_F(GridstatPgTest, ValuesAreSeparatedByTabs) {
  GivenCampaign(
      {.format = "values", .params = {R"(["a b","ü"])", R"(["c","'"])"}, .columns = {"x", "y"}});
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--params", "waiting"}).out, "a b\tü\nc\t'\n");
}

// `gridsub --resume` took every task with a line for done: this one had failed on alpha first, and
// task 5 was preempted.
TEST_F(GridstatPgTest, TheJobLogHasParallelsColumnsAndALineForEachTaskThatIsOver) {
  GivenEveryKind();
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--joblog"}).out,
            "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
            "1\talpha\t1795165201.000\t     2.000\t0\t0\t0\t0\t./fit.sh p0 0\n"
            "2\tbeta\t1795165201.000\t     2.000\t0\t0\t3\t0\t./fit.sh p1 1\n");
}

// --resume refused the log, as no job log, for the second line of the command.
TEST_F(GridstatPgTest, ACommandOfSeveralLinesIsOneLineOfTheJobLog) {
  GivenCampaign({.ntasks = 1, .next_idx = 1, .params = {"p"}, .exec_file = "cd a\n\techo \\t"});
  GivenDone(1, GivenBatch(1, 1, 0, 1), 0, 1);
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--joblog"}).out,
            "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
            "1\talpha\t1795165201.000\t     2.000\t0\t0\t0\t0\tcd a\\n\\techo \\\\t p\n");
}

TEST_F(GridstatPgTest, OutputComesInParameterOrderByteForByte) {
  GivenEveryKind();
  output_ = {{"r41", std::string("zero\0\xff\n", 7)},
             {"r44", "second try\n"},
             {"r42", "first try\n"},
             {"r44.err", "no such file\n"}};
  EXPECT_EQ(Run("gridstat", {"-c", "1", "-O"}).out,
            std::string("zero\0\xff\n", 7) + "second try\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "-E"}).out, "no such file\n");
  EXPECT_EQ(Run("gridstat", {"-j", "42", "-O"}).out, "first try\n");
}

TEST_F(GridstatPgTest, OutputThatCannotBeReadIsNoSuccess) {
  GivenEveryKind();
  output_ = {{"r41", "zero\n"}};
  Sql("UPDATE done SET remote_id = 'lost' WHERE job_id = 44");
  const auto ran = Run("gridstat", {"-c", "1", "-O"});
  EXPECT_EQ(ran.out, "zero\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("to its end"), std::string::npos) << ran.err;
  EXPECT_NE(Run("gridstat", {"-j", "44", "-O"}).err.find("alpha does not answer"),
            std::string::npos);
}

TEST_F(GridstatPgTest, AJobIsFoundByItsClustersName) {
  GivenEveryKind();
  const auto out = Run("gridstat", {"-j", "beta:r45"}).out;
  EXPECT_NE(
      out.find("id: 45\nparam: p2 2\ngrid_user: " + me() + "\ncampaign_id: 1\nparam_id: 1002\n"),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("state: running\nreturn_code: \n"), std::string::npos) << out;
  EXPECT_NE(Run("gridstat", {"-j", "beta:r44"}).out.find("return_code: 768\n"), std::string::npos)
      << "ended jobs are found too, with the raw status that CiGri shows";
  const auto no = Run("gridstat", {"-j", "beta:r999"});
  EXPECT_EQ(no.code, 1);
}

TEST_F(GridstatPgTest, ATaskShowsItsAttempts) {
  GivenEveryKind();
  const auto out = Run("gridstat", {"-c", "1", "--task", "1"}).out;
  EXPECT_EQ(out,
            "Task: 1\n  Id: 1001\n  Parameters: p1 1\n  State: needs_attention\n  Jobs:\n    1001: "
            "42,r42,event,alpha,p1,p1 1\n      EXIT_ERROR, exit 3\n    1001: "
            "44,r44,event,beta,p1,p1 1\n      EXIT_ERROR, exit 3\n");
  EXPECT_NE(Run("gridstat", {"-c", "1", "--task", "0"}).out.find("\n      exit 0\n"),
            std::string::npos)
      << "a success has no code";
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--task", "8"}).code, 1);
}

TEST_F(GridstatPgTest, AnUnknownCampaignSaysSoAndEndsWithOne) {
  const auto ran = Run("gridstat", {"-c", "99"});
  EXPECT_EQ(ran.err, "Campaign 99 not found!\n");
  EXPECT_EQ(ran.code, 1);
}

TEST_F(GridstatPgTest, AWrongCommandLineEndsWith64) {
  for (const auto& args : std::vector<std::vector<std::string>>{{"-f"},
                                                                {"-e"},
                                                                {"-J"},
                                                                {"-O"},
                                                                {"-C"},
                                                                {"--why"},
                                                                {"-c", "x"},
                                                                {"--nonsense"},
                                                                {"-c", "1", "-j", "2"}})
    EXPECT_EQ(Run("gridstat", args).code, 64) << args[0];
}

TEST_F(GridstatPgTest, WithoutAnApiItSaysWhatToDo) {
  const auto ran = Run("gridstat", {"--api", "unix:/tmp/there-is-none.sock"});
  EXPECT_EQ(ran.code, 69);
  EXPECT_NE(ran.err.find("cigri up"), std::string::npos) << ran.err;
}

TEST_F(GridstatPgTest, ADrainedClusterIsReportedNextToTheUnchangedLayout) {
  GivenEveryKind();
  const auto before = Run("gridstat", {"-c", "1"});
  Sql("UPDATE clusters SET drained = true, drain_reason = 'new disks', drained_by = 'root' WHERE "
      "id = 1");
  const auto ran = Run("gridstat", {"-c", "1"});
  EXPECT_EQ(ran.out, before.out);
  EXPECT_EQ(ran.err, "gridstat: alpha: drained by root: new disks\n");
  EXPECT_EQ(Run("gridstat", {}).err, ran.err);
}

// Alice on alpha in two months, bob on beta.
class UsagePgTest : public test::GridTest {
 protected:
  void SetUp() override {
    GridTest::SetUp();
    Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, "
        "not_ok, program, preempted, lost_s, waited, wait_s, waits) VALUES "
        "('2026-10-31 23:59', 1, 1, 'alice', 'physics', 7200, 3, 1, 0, 1, 1800, 4, 400, "
        "array_fill(0, ARRAY[54]) || 4), "
        "('2026-11-01 00:00', 1, 1, 'alice', 'physics', 3600.25, 1, 0, 0, 0, 0, 1, 100, "
        "array_fill(0, ARRAY[54]) || 1), "
        "('2026-11-02 10:00', 2, 2, 'bob', '', 1800, 2, 3, 3, 0, 0, 0, 0, '{}')");
  }
};

TEST_F(UsagePgTest, IsReportedByEachKindOfGroupWithItsSum) {
  const std::pair<const char*, const char*> groups[] = {{"user", "alice bob"},
                                                        {"project", "physics -"},
                                                        {"campaign", "1 2"},
                                                        {"cluster", "alpha beta"},
                                                        {"day", "2026-10-31 2026-11-01 2026-11-02"},
                                                        {"month", "2026-10 2026-11"}};
  for (const auto& [by, want] : groups) {
    const auto report = Get(std::string("/usage?by=") + by);
    std::string keys;
    double used = 0;
    for (const auto& item : report["items"]) {
      keys += (keys.empty() ? "" : " ") + item["key"].get<std::string>();
      used += item["used_slot_s"].get<double>();
    }
    EXPECT_EQ(keys, want);
    EXPECT_DOUBLE_EQ(used, 12600.25) << by;
    EXPECT_EQ(report["sum"]["used_slot_s"], 12600.25);
  }
  const auto alice = Get("/usage")["items"][0];
  EXPECT_EQ(alice["lost_slot_s"], 1800);
  EXPECT_EQ(alice["mean_wait_s"], 100);
  EXPECT_NEAR(alice["p90_wait_s"].get<double>(), 100, 10);
  EXPECT_EQ(alice["jobs"]["preemption"], 1);
  EXPECT_TRUE(Get("/usage")["items"][1]["mean_wait_s"].is_null()) << "bob's jobs never started";
  Get("/usage?by=colour", 400);
}

TEST_F(UsagePgTest, IsNarrowedByTimeUserCampaignAndCluster) {
  const auto used = [&](const std::string& query) {
    const auto sum = Get("/usage?" + query)["sum"];
    return sum.is_null() ? 0 : sum["used_slot_s"].get<double>();
  };
  EXPECT_EQ(used("user=bob"), 1800);
  EXPECT_EQ(used("project=physics"), 10800.25);
  EXPECT_EQ(used("campaign=2"), 1800);
  EXPECT_EQ(used("cluster=alpha"), 10800.25);
  EXPECT_EQ(used("cluster=nowhere"), 0);
  EXPECT_EQ(used("since=1793491200&until=1793577600"), 3600.25) << "the first of November, UTC";
}

TEST_F(UsagePgTest, IsATableForReadersAndCsvForSpreadsheets) {
  EXPECT_EQ(Run("gridstat", {"--usage", "--by", "month", "--csv"}).out,
            "month,used_slot_s,lost_slot_s,mean_wait_s,p90_wait_s,ok,program,infrastructure,"
            "preemption,our_kill\n"
            "2026-10,7200.000,1800.000,100.000,98.701,3,0,0,1,0\n"
            "2026-11,5400.250,0.000,100.000,98.701,3,3,0,0,0\n");
  const auto table = Run("gridstat", {"--usage"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("alice         3.000       0.500 16.7 %"), std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("\nsum  "), std::string::npos) << table.out;
  EXPECT_EQ(Run("gridstat", {"--usage", "--since", "2030-01-01"}).out,
            "no job has ended in that time\n");
  Sql("UPDATE usage SET project = '=HYPERLINK(\"x\"), y' WHERE grid_user = 'bob'");
  EXPECT_NE(Run("gridstat", {"--usage", "--by", "project", "--csv"})
                .out.find("\n\"'=HYPERLINK(\"\"x\"\"), y\",1800.000"),
            std::string::npos);
  EXPECT_EQ(Run("gridstat", {"--usage", "--by", "week"}).code, 64);
  EXPECT_EQ(Run("gridstat", {"--csv"}).code, 64);
}

}  // namespace
}  // namespace cigri
