// Why things are where they are: rows, the real metascheduler's decision over them, the API, the
// tools.
#include <cstdlib>

#include "core/text.h"
#include "tests/tools/grid.h"

namespace cigri {
namespace {

using nlohmann::json;

class WhyPgTest : public test::GridTest {
 protected:
  /// One pass of the real program; it stores the snapshot, too.
  void Decide() {
    const std::string command = "CIGRI_DB=" + ShellQuote(conninfo()) +
                                " " CIGRI_BIN_DIR "/metascheduler --once 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  /// The cluster as it was seen just now; `ours` of the used ones are the grid's.
  void GivenSlots(int cluster, int max, int free, int ours = 0) {
    Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
        "unavailable_resources, used_by_cigri, jobs_running, jobs_waiting) VALUES (" +
        std::to_string(cluster) + "," + std::to_string(max) + "," + std::to_string(free) + "," +
        std::to_string(max - free) + ",0," + std::to_string(ours) + "," + std::to_string(ours) +
        ",0)");
  }
  void GivenSetting(const std::string& key, const std::string& value) {
    Sql("INSERT INTO policy_settings (key, value) VALUES ('" + key + "', '" + value +
        "') ON CONFLICT (key) DO UPDATE SET value = excluded.value");
  }
  /// Of a campaign that runs on alpha alone, where one of its jobs has succeeded.
  std::int64_t GivenVerified(test::CampaignRow row = {}) {
    const auto id = GivenCampaign(std::move(row));
    Sql("DELETE FROM campaign_clusters WHERE cluster_id = 2; INSERT INTO placements (campaign_id, "
        "cluster_id, verified) VALUES (" +
        std::to_string(id) + ", 1, true)");
    return id;
  }
  /// Its next `n` tasks run on `cluster`, with their counters.
  void GivenRunning(std::int64_t campaign, int cluster, int n) {
    const auto job = GivenBatch(campaign, cluster, given_, n);
    for (int i = 0; i < n; ++i) GivenLive(campaign, job + i, given_ + i, cluster, "running");
    given_ += n;
    const auto text = std::to_string(n);
    Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n, slots) VALUES (" +
        std::to_string(campaign) + ", " + std::to_string(cluster) +
        ", 'task', 'running', 'updator', " + text + ", " + text + ")");
  }
  json As1(const std::string& user, const std::string& path) {
    return json::parse(client().Get(path, As(user)).body, nullptr, false);
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

 private:
  int given_ = 0;
};

// ---------------------------------------------------------------- counterfactuals
TEST_F(WhyPgTest, ItsOwnLimitIsNamedWithTheLeastThatWouldChangeIt) {
  GivenSlots(1, 8, 5, 3);
  GivenVerified({.ntasks = 50, .next_idx = 3});
  Sql("UPDATE campaign_clusters SET max_jobs = 3");
  GivenRunning(1, 1, 3);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, rate) VALUES (1, 1, 0.1)");
  Decide();
  const auto why = Get("/campaigns/1/why?full=1");
  EXPECT_EQ(why["code"], "MAX_JOBS");
  EXPECT_EQ(why["message"],
            "47 tasks wait while 3 jobs are in flight: its own max_jobs allows 3 on alpha, 3 are "
            "in flight");
  EXPECT_EQ(why["action"], "raise it: gridsub -c 1 --set max_jobs=...");
  EXPECT_EQ(why["expected"], "a job of it ends there about every 10 s");
  EXPECT_EQ(why["what_if"]["message"], "max_jobs 4 instead of 3 on alpha would give it 1 job more");
  ASSERT_FALSE(why["what_if"]["items"].empty()) << why;
  EXPECT_EQ(why["what_if"]["items"][0]["who"], "user");
  EXPECT_FALSE(Get("/campaigns/1/why").contains("what_if")) << "only for those who ask";
  const auto ran = Run("gridstat", {"-c", "1", "--why"});
  EXPECT_EQ(ran.out,
            "47 tasks wait while 3 jobs are in flight: its own max_jobs allows 3 on alpha, 3 are "
            "in flight\n-> raise it: gridsub -c 1 --set max_jobs=...\n");
  const auto more = Run("gridstat", {"-c", "1", "--why", "-v"}).out;
  EXPECT_TRUE(Has(more, "    a job of it ends there about every 10 s\n")) << more;
  EXPECT_TRUE(Has(more, "What would change it: max_jobs 4 instead of 3")) << more;
  Sql("UPDATE forecasts SET rate = 30");
  EXPECT_EQ(Get("/campaigns/1/why")["expected"], "about 30 jobs of it end there a second");
}

// F13: "nothing of it waits to be sent: 3 jobs running" while their cluster was dead.
TEST_F(WhyPgTest, AClusterThatIsAwayIsNamedWhateverTheMainReasonIs) {
  GivenSlots(1, 8, 5, 3);
  GivenSlots(2, 8, 8);
  GivenCampaign({.ntasks = 3, .next_idx = 3});
  GivenRunning(1, 1, 3);
  const auto message = [&] { return Get("/campaigns/1/why")["message"].get<std::string>(); };
  EXPECT_FALSE(Has(message(), "alpha")) << message();
  Sql("UPDATE cluster_status SET failing_since = now(), error = 'connection refused' WHERE "
      "cluster_id = 1; UPDATE clusters SET drained = true, drain_reason = 'new disks', drained_by "
      "= 'root' WHERE id = 2");
  EXPECT_TRUE(Has(message(), "alpha does not answer: connection refused (3 jobs there)"))
      << message();
  EXPECT_TRUE(Has(message(), "beta is drained by root: new disks")) << message();
  Sql("UPDATE campaigns SET state = 'terminated'");
  EXPECT_FALSE(Has(message(), "drained")) << "it is over: nothing waits for beta";
}

TEST_F(WhyPgTest, WhatOnlyOperatorsCanChangeIsNoActionForAUser) {
  GivenSlots(1, 8, 8);
  GivenVerified({.user = "alice", .ntasks = 50});
  GivenSetting("quotas", R"([{"scope": "user", "slots": 2}])");
  GivenRunning(1, 1, 2);
  Decide();
  const auto alice = As1("alice", "/campaigns/1/why?full=1");
  EXPECT_EQ(alice["code"], "QUOTA");
  EXPECT_EQ(alice["action"], "nothing to do but wait");
  EXPECT_EQ(alice["what_if"]["message"],
            "a quota of user alice, slots of 3 instead of 2 would give it 1 job more (for an "
            "operator to do)");
  EXPECT_EQ(Get("/campaigns/1/why")["action"], "gridadmin policy set quotas=...");
}

TEST_F(WhyPgTest, WhoWasServedBeforeAndByWhichTermIsReported) {
  GivenSetting("policy", "\"fifo\"");
  GivenSlots(1, 4, 4);
  GivenVerified({.user = "alice", .ntasks = 100});
  GivenVerified({.ntasks = 100});
  Decide();
  const auto why = Get("/campaigns/2/why?full=1");
  EXPECT_EQ(why["code"], "SERVED_BEFORE");
  EXPECT_TRUE(Has(why["message"], "campaign 1 was served first on alpha")) << why["message"];
  EXPECT_EQ(why["clusters"][0]["reasons"][0]["before"],
            "campaign 1 comes first: of two that came together it has the lower number");
  // 132 free and one place in the queue, of which the first takes 100.
  EXPECT_EQ(why["what_if"]["message"], "128 more free slots on alpha would give it 33 jobs more");
  EXPECT_EQ(why["action"], "gridmod -c 2 -p LEVEL gives it another priority") << "an operator asks";
}

TEST_F(WhyPgTest, OneTaskWaitsAndTwoTasksWait) {
  GivenSlots(1, 8, 7, 1);
  GivenVerified({.ntasks = 2, .next_idx = 1});
  EXPECT_EQ(Get("/campaigns/1/why")["message"], "1 task waits for the next cycle");
  GivenRunning(1, 1, 1);
  EXPECT_EQ(Get("/campaigns/1/why")["message"], "it runs: 1 job in flight, 1 task waits for room");
  Sql("UPDATE campaign_clusters SET max_jobs = 1");
  Decide();
  EXPECT_EQ(
      Get("/campaigns/1/why")["message"],
      "1 task waits while 1 job is in flight: its own max_jobs allows 1 on alpha, 1 is in flight");
}

TEST_F(WhyPgTest, WithoutAStoredDecisionItSaysSo) {
  GivenVerified();
  EXPECT_EQ(Get("/campaigns/1/why?full=1")["what_if"]["message"],
            "no decision has been stored yet");
  Sql("INSERT INTO plans (seed, snapshot) VALUES (1, '\\x00ff')");
  EXPECT_EQ(Get("/campaigns/1/why?full=1")["what_if"]["message"],
            "the stored decision cannot be read");
  EXPECT_EQ(Get("/campaigns/1/why")["message"], "10 tasks wait for the next cycle");
  Decide();
  GivenVerified();
  EXPECT_EQ(Get("/campaigns/2/why?full=1")["what_if"]["message"],
            "it was not in the last stored decision");
}

// ---------------------------------------------------------------- each case has its message
TEST_F(WhyPgTest, EachStateOfACampaignHasItsMessage) {
  GivenSlots(1, 8, 8);
  GivenSlots(2, 4, 4);
  const auto say = [&](const std::string& sql) {
    Sql("UPDATE campaigns SET state = 'in_treatment', wanted = 'in_treatment', priority = 4, "
        "state_reason = NULL; UPDATE campaign_clusters SET slots = 1; DELETE FROM placements; "
        "UPDATE clusters SET drained = false, drain_reason = NULL, drained_until = NULL, hours = "
        "NULL;" +
        sql);
    Decide();
    return Get("/campaigns/1/why");
  };
  GivenCampaign({.ntasks = 10});
  auto why = say("UPDATE campaigns SET priority = 0");
  EXPECT_EQ(why["message"], "it is suspended: its priority is 0, nothing new is sent");
  EXPECT_EQ(why["action"], "gridmod -c 1 -p normal lets it go on");
  EXPECT_TRUE(Has(Run("gridstat", {"-c", "1"}).err, "its priority is 0: suspended"));
  EXPECT_EQ(why["reasons"][0]["code"], "SUSPENDED") << "the metascheduler says the same";

  why = say("UPDATE campaigns SET state = 'paused', wanted = 'paused'");
  EXPECT_EQ(why["message"], "it is paused");

  why = say("UPDATE campaign_clusters SET slots = 12");
  EXPECT_EQ(why["message"],
            "10 tasks wait: one job needs 12 slots and no cluster of it has more than 8");
  EXPECT_EQ(why["action"],
            "ask for fewer resources (gridsub -c 1 --set resources=...), or for another cluster");

  why =
      say("INSERT INTO placements (campaign_id, cluster_id, held_since, held_why) VALUES (1, 1, "
          "now(), './fit.sh: not found'), (1, 2, now(), 'the same')");
  EXPECT_EQ(why["message"], "held on alpha: ./fit.sh: not found");

  why =
      say("UPDATE clusters SET drained = true, drain_reason = 'disks', drained_by = 'root', "
          "drained_until = now() + interval '3 hours 30 seconds'");
  EXPECT_EQ(why["message"], "alpha is drained by root: disks; beta is drained by root: disks");
  EXPECT_TRUE(Has(why["clusters"][0]["reasons"][0]["expected"], "the drain ends in 3 h"))
      << why["clusters"];
  why =
      say("UPDATE clusters SET drained = true, drain_reason = 'disks', drained_by = 'root', "
          "drained_until = 'infinity'");
  EXPECT_EQ(why["clusters"][0]["reasons"][0]["expected"], "until an operator resumes it") << why;

  // Never open: an empty window is a fault of the row, so a window of yesterday's weekday.
  why = say("UPDATE clusters SET hours = to_char(now() - interval '2 days', 'Dy') || ' 0-24'");
  EXPECT_EQ(why["code"], "CLUSTER_HOURS");
  EXPECT_TRUE(Has(why["expected"], "it opens in ")) << why["expected"];

  why =
      say("UPDATE campaigns SET notes = '[{\"at\": 1, \"by\": \"admission rules\", \"text\": "
          "\"walltime: 7200 -> 3600\"}, {\"at\": 1, \"by\": \"alice\", \"text\": \"x\"}]'");
  EXPECT_EQ(why["rules"], json::array({"walltime: 7200 -> 3600"}));
  EXPECT_TRUE(Has(Run("gridstat", {"-c", "1", "--why", "-v"}).out,
                  "  admission rules: walltime: 7200 -> 3600\n"));

  why = say("UPDATE campaigns SET state = 'cancelled', wanted = 'cancelled'");
  EXPECT_EQ(why["message"], "it is cancelled");
}

TEST_F(WhyPgTest, TheCampaignThatHasToEndFirstIsNamedBeforeTheFirstDecision) {
  GivenSlots(1, 8, 8);
  GivenSlots(2, 4, 4);
  const auto first = GivenCampaign();
  const auto then = GivenCampaign();
  const auto path = "/campaigns/" + std::to_string(then) + "/why";
  EXPECT_EQ(Get(path)["message"], "10 tasks wait for the next cycle");
  Sql("UPDATE campaigns SET jdl = jdl || '{\"after\": [" + std::to_string(first) +
      "]}' WHERE id = " + std::to_string(then));
  auto why = Get(path);
  EXPECT_EQ(why["code"], "AFTER");
  const std::string at_once = why["message"];
  EXPECT_TRUE(Has(at_once, "campaign " + std::to_string(first) + " has to end first")) << at_once;
  Sql("UPDATE campaigns SET state = 'cancelled', wanted = 'cancelled' WHERE id = " +
      std::to_string(first));
  why = Get(path);
  EXPECT_EQ(why["code"], "AFTER_FAILED");
  EXPECT_TRUE(Has(why["message"], "it was cancelled")) << why["message"];
  EXPECT_FALSE(Has(why.dump(), "--retry-failed")) << "which is refused: " << why;
  EXPECT_TRUE(Has(why.dump(), "--set after=[]")) << why;
  Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (" + std::to_string(first) +
      ", 0, 1)");
  EXPECT_FALSE(Has(Get(path).dump(), "--retry-failed")) << "tasks of it had failed before";
  const std::string before = why["message"];
  Decide();
  EXPECT_EQ(Get(path)["message"], before) << "the decision says the same";
}

TEST_F(WhyPgTest, JobsThatAreSaidToRunAndGiveNoSignOfItAreReported) {
  GivenSlots(1, 8, 6, 2);
  GivenSlots(2, 4, 4);
  const auto id = GivenVerified({.ntasks = 2});
  GivenRunning(id, 1, 2);
  Decide();
  const auto path = "/campaigns/" + std::to_string(id) + "/why";
  EXPECT_FALSE(Has(Get(path)["message"], "sign")) << Get(path)["message"];
  Sql("INSERT INTO unresponsive_jobs (job_id, cluster_id, since) SELECT min(job_id), 1, now() - "
      "interval '3 minutes' FROM live");
  const std::string reported =
      "1 job on alpha is said to be starting or running and gives no sign of "
      "it for 3 min: killed and sent again if that lasts";
  const auto why = Get(path);
  EXPECT_TRUE(Has(why["message"], "; " + reported)) << why["message"];
  EXPECT_EQ(why["clusters"][0]["message"], reported);
}

TEST_F(WhyPgTest, WhatWaitsInAQueueBesideIdleSlotsIsSaidToBeTakenBack) {
  GivenCampaign({.ntasks = 6, .next_idx = 6});
  GivenCounter(1, 1, "running", 2);
  GivenCounter(1, 1, "remote_waiting", 4);
  Sql("INSERT INTO reasons (campaign_id, cluster_id, code, numbers) VALUES (1, 1, 'RECALLED', "
      "'{\"taken back\": 3, \"waiting there\": 4, \"detail\": \"beta\"}')");
  EXPECT_EQ(Get("/campaigns/1/why")["message"],
            "nothing of it waits to be sent: 2 jobs running, 4 in the clusters' queues; slots are "
            "free on beta: of 4 jobs that wait on alpha, 3 are taken back");
  Sql("UPDATE campaigns SET wanted = 'cancelled'");
  EXPECT_EQ(Get("/campaigns/1/why")["message"], "it is cancelled; 6 jobs still to be killed");
}

TEST_F(WhyPgTest, ATestCampaignMakesOneJobAClusterAndSaysWhatIsNotRun) {
  GivenSlots(1, 8, 8);
  GivenCampaign({.type = "test", .ntasks = 2, .next_idx = 2, .nb_params = 10});
  for (int cluster : {1, 2}) GivenCounter(1, cluster, "running", 1, "test");
  Decide();
  EXPECT_EQ(Get("/campaigns/1/why")["message"],
            "nothing of it waits to be sent: 2 jobs running, 0 in the clusters' queues");
  GivenCampaign(
      {.state = "terminated", .type = "test", .ntasks = 2, .next_idx = 2, .nb_params = 10});
  GivenCounter(2, 1, "terminated", 2, "test");
  EXPECT_EQ(Get("/campaigns/2/why")["message"],
            "it is over: 2 of 2 tasks done, 8 parameters not run (test)");
}

TEST_F(WhyPgTest, LongerThanJobsLiveAnywhereIsSaidOnce) {
  GivenCampaign();
  for (int cluster : {1, 2})
    Sql("INSERT INTO reasons (campaign_id, cluster_id, code, numbers) VALUES (1, " +
        std::to_string(cluster) +
        ", 'SHORT_SURVIVAL', '{\"needs, s\": 18000, \"median survival, s\": 7200, "
        "\"next probe\": 45000, \"detail\": \"the next probe goes at 12:30 UTC\"}')");
  EXPECT_EQ(Get("/campaigns/1/why")["message"],
            "10 tasks wait: a job needs 5 h and on no cluster of it do jobs live longer than 2 h "
            "as a rule; the next probe goes at 12:30 UTC");
  EXPECT_EQ(Get("/campaigns/1/why")["clusters"][0]["reasons"][0]["message"],
            "a job needs 5 h, the median survival on alpha is 2 h: the next probe goes at 12:30 "
            "UTC");
}

TEST_F(WhyPgTest, ATaskSaysWhereItIs) {
  GivenCampaign({.ntasks = 9, .next_idx = 6});
  const auto job = GivenBatch(1, 1, 0, 4);
  GivenDone(1, job, 0, 1);
  GivenDone(1, job + 1, 1, 1,
            {.counted = false,
             .state = "event",
             .exit_class = "program",
             .code = "EXIT_ERROR",
             .wait_status = 768});
  Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (1, 1, " +
      std::to_string(job + 1) + ")");
  GivenDone(1, job + 2, 2, 1,
            {.counted = false,
             .state = "event",
             .exit_class = "preemption",
             .code = "PREEMPTED",
             .wait_status = 9});
  Sql("INSERT INTO retry (campaign_id, idx, why, not_before, avoid) VALUES (1, 2, 'PREEMPTED', "
      "now() "
      "+ interval '1 hour 30 seconds', '{1}')");
  GivenLive(1, job + 3, 3, 1, "running");
  GivenBatch(1, 2, 4, 1, "intended");
  GivenBatch(1, 2, 5, 1, "recorded");
  Sql("UPDATE batches SET state = 'in_doubt', doubtful_since = now() WHERE first_idx = 5");
  const auto say = [&](int task) {
    const auto why = Get("/campaigns/1/tasks/" + std::to_string(task) + "/why");
    return why["message"].get<std::string>() + " -> " + why["action"].get<std::string>();
  };
  EXPECT_EQ(say(0), "it is done on alpha -> ");
  EXPECT_EQ(say(1),
            "it exited with code 3 on alpha (EXIT_ERROR): the program's own failure: it "
            "counts as a try; it is not tried again -> gridsub --retry-failed 1 runs the "
            "failures again");
  Sql("UPDATE done SET exit_class = 'our_kill', code = 'USER_FRAG', wait_status = 15 WHERE idx = "
      "1");
  EXPECT_EQ(say(1),
            "it was killed by signal 15 on alpha (USER_FRAG): the grid killed it: no try charged; "
            "somebody asked for it (griddel -j): its task waits for its user -> gridsub "
            "--retry-failed 1 runs the failures again");
  EXPECT_TRUE(Has(say(2), "it waits to be retried in 1 h")) << say(2);
  EXPECT_TRUE(Has(say(2),
                  "rather not on alpha (PREEMPTED); last time it was killed by signal 9 on "
                  "alpha; of its campaign: "))
      << say(2);
  EXPECT_EQ(say(3), "it runs on alpha -> ");
  EXPECT_EQ(say(4), "it is on its way on beta -> ");
  EXPECT_EQ(say(5), "it was sent on beta without an answer: the grid looks whether it arrived -> ");
  EXPECT_TRUE(Has(say(6), "it is the next to be sent; of its campaign: ")) << say(6);
  EXPECT_TRUE(Has(say(8), "it waits its turn, 2 tasks before it; of its campaign: ")) << say(8);
  EXPECT_TRUE(Has(Run("gridstat", {"-c", "1", "--task", "3", "--why"}).out, "it runs on alpha\n"));
  // A copy that runs matters more than one that was killed.
  const auto copy = GivenBatch(1, 2, 2, 1);
  Sql("DELETE FROM retry");
  GivenLive(1, copy, 2, 2, "running");
  EXPECT_EQ(say(2), "it runs on beta -> ");
}

// ---------------------------------------------------------------- clusters
TEST_F(WhyPgTest, AnIdleSlotNextToAWaitingTaskAlwaysHasAReasonThatCanBeRead) {
  GivenSlots(1, 20, 12, 2);
  GivenSlots(2, 20, 20);
  GivenSetting("quotas", R"([{"scope": "user", "name": "carol", "slots": 1}])");
  GivenSetting("licences", R"({"x": 0})");
  for (const char* user : {"alice", "bob", "carol", "dave", "erin", "frank"})
    GivenCampaign({.user = user, .ntasks = 1000});
  GivenRunning(2, 1, 1);
  GivenRunning(2, 2, 1);
  GivenRunning(3, 1, 1);                                                       // carol's quota
  Sql("UPDATE campaigns SET priority = 0 WHERE id = 1;"                        // suspended
      "UPDATE campaign_clusters SET max_jobs = 1 WHERE campaign_id = 2;"       // its own limit
      "UPDATE campaigns SET jdl = '{\"licences\": {\"x\": 1}}' WHERE id = 4;"  // none left
      "UPDATE campaign_clusters SET slots = 30 WHERE campaign_id = 5;"         // too wide
      "INSERT INTO placements (campaign_id, cluster_id, held_since, held_why) VALUES (6, 1, now(), "
      "'failed'), (6, 2, now(), 'failed')");
  Decide();
  std::string codes;
  for (const std::string name : {"alpha", "beta"}) {
    const auto why = Get("/clusters/" + name + "/why");
    EXPECT_GT(why["free"].get<int>(), 0);
    ASSERT_EQ(why["reasons"].size(), 6u) << why["reasons"];
    for (const auto& r : why["reasons"]) {
      EXPECT_TRUE(r["code"].is_string() && r["code"] != "NONE") << r;
      EXPECT_FALSE(r["message"].get<std::string>().empty());
      EXPECT_TRUE(r["since"].is_number());
      if (name == "alpha") codes += r["code"].get<std::string>() + " ";
    }
  }
  EXPECT_EQ(codes, "SUSPENDED MAX_JOBS QUOTA LICENCE TOO_MANY_SLOTS HELD ");
  const auto ran = Run("gridclusters", {"--why", "alpha"});
  EXPECT_EQ(ran.out,
            "alpha has 12 of 20 slots free; 6 campaigns wait for it, the first: 1, its priority is "
            "0: nothing is sent\n-> gridmod -c 1 -p normal lets it go on\n");
  const auto more = Run("gridclusters", {"--why", "alpha", "-v"}).out;
  EXPECT_TRUE(Has(more, "  mode unlimited\n")) << more;
  EXPECT_TRUE(Has(more, "  1 campaign is held there\n")) << more;
  EXPECT_TRUE(Has(more,
                  "campaign 3 of carol, 1000 waiting, 1 in flight here: the quota of user "
                  "carol, slots is 1, 0 left [QUOTA]\n    -> gridadmin policy set quotas=...\n"))
      << more;
}

TEST_F(WhyPgTest, WhatBoundsUsOnAClusterIsListed) {
  GivenSlots(1, 20, 20);
  Sql("UPDATE clusters SET mode = 'limited', mode_limit = 7, max_running = 5, max_waiting = 30, "
      "hours = '0-24', drained = true, drain_reason = 'x', drained_until = '2031-01-01 "
      "00:00:00+00' WHERE id = 1;UPDATE cluster_status SET stress = 0.25, failures = 3, "
      "failing_since = now() - interval '1 min', error = 'no route', retry_at = now() + interval "
      "'10 min' WHERE cluster_id = 1;INSERT INTO cluster_limits (cluster_id, max_array) VALUES (1, "
      "500)");
  const auto lines = Get("/clusters/alpha/why")["ceilings"].dump();
  for (const char* line :
       {"mode limited: at most 7 jobs", "max_running: at most 5 jobs", "queue: 5 s of our work",
        "at most 30 jobs", "stress 0.25, the limit is 0.8", "hours: 0-24",
        "drained until 2031-01-01", "backoff: 3 failures in a row, asked again in ",
        "arrays of at most 500 jobs"})
    EXPECT_TRUE(Has(lines, line)) << line << " in " << lines;
  EXPECT_EQ(Get("/clusters/alpha/why")["action"], "gridadmin resume alpha");
}

TEST_F(WhyPgTest, AnIdleClusterThatNobodyWaitsForSaysSo) {
  GivenSlots(1, 4, 4);
  EXPECT_EQ(Run("gridclusters", {"--why", "alpha"}).out,
            "alpha has 4 of 4 slots free; no campaign waits for it\n");
}

// ---------------------------------------------------------------- history
TEST_F(WhyPgTest, HistoryHasFromAndToAndAReasonThatComesAndGoesIsOneRow) {
  GivenSlots(1, 4, 4);
  GivenVerified();
  Sql("UPDATE campaigns SET priority = 0");
  Decide();
  for (int i = 0; i < 3; ++i) {  // on and off within a minute
    Sql("UPDATE campaigns SET priority = 4");
    Decide();
    EXPECT_EQ(Sql("SELECT count(*) FROM reasons WHERE code = 'SUSPENDED' AND until IS NULL")[0][0]
                  .as<int>(),
              0);
    Sql("UPDATE campaigns SET priority = 0");
    Decide();
  }
  EXPECT_EQ(Sql("SELECT count(*) FROM reasons WHERE code = 'SUSPENDED' AND cluster_id = 0")[0][0]
                .as<int>(),
            1);
  // What ceased longer ago begins again.
  Sql("UPDATE campaigns SET priority = 4");
  Decide();
  Sql("UPDATE reasons SET since = '2026-11-20 08:00:00+00', until = '2026-11-20 09:30:00+00' WHERE "
      "code = 'SUSPENDED'");
  Sql("UPDATE campaigns SET priority = 0");
  Decide();
  const auto ran = Run("gridstat", {"-c", "1", "--why", "--history"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(
      Has(ran.out, "  now                  SUSPENDED: its priority is 0: nothing is sent\n"))
      << ran.out;
  EXPECT_TRUE(Has(ran.out,
                  "2026-11-20 08-00-00  2026-11-20 09-30-00  SUSPENDED: its priority is 0: "
                  "nothing is sent\n"))
      << ran.out;
  const auto page = Get("/campaigns/1/why/history?limit=1");
  EXPECT_EQ(page["items"].size(), 1u);
  EXPECT_GE(page["total"].get<int>(), 2);
  EXPECT_EQ(client().Get("/campaigns/1/why/history", As("mallory")).status, 403);
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--history"}).code, 64);
}

TEST_F(WhyPgTest, ItSaysWhereCommonInputsHaveBeen) {
  GivenCampaign();
  EXPECT_FALSE(Has(Run("gridstat", {"-c", "1", "--why", "-v"}).out, "common inputs"));
  Sql("UPDATE campaign_clusters SET common_inputs = 'x'");
  Sql("DELETE FROM placements");
  Sql("INSERT INTO placements (campaign_id, cluster_id, verified, last_end) "
      "VALUES (1, 2, true, now())");
  Sql("UPDATE placements SET n_ok = 2, sum_s = 100, sum_transfer_s = 24");
  const auto out = Run("gridstat", {"-c", "1", "--why", "-v"}).out;
  EXPECT_TRUE(Has(out, "transfers take 12 s of a job there")) << out;
  EXPECT_TRUE(Has(out, "its common inputs have not been there")) << out;
  EXPECT_TRUE(Has(out, "its common inputs have been there: it goes there first")) << out;
}

}  // namespace
}  // namespace cigri
