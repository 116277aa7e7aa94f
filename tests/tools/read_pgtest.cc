// The reading routes: shapes, rights, pages, explanations.
#include "tests/tools/grid.h"

namespace cigri {
namespace {

using nlohmann::json;

class ReadPgTest : public test::GridTest {
 protected:
  int StatusAs(const std::string& user, const std::string& path) {
    return client().Get(path, As(user)).status;
  }
  json GetAs(const std::string& user, const std::string& path) {
    return json::parse(client().Get(path, As(user)).body, nullptr, false);
  }
};

// docs/design.md section 10.
TEST_F(ReadPgTest, EveryUserSeesCountsAndOnlyTheOwnerSeesTheRest) {
  const auto id = std::to_string(GivenCampaign({.user = "alice", .params = {"secret 1"}}));
  const auto job = GivenBatch(1, 1, 0, 1);
  GivenLive(1, job, 0, 1, "running");
  Sql("INSERT INTO events (id, class, code, campaign_id) VALUES (3, 'campaign', 'CANARY_FAILED', "
      "1)");
  const std::string c = "/campaigns/" + id;
  for (const std::string& path :
       {c, c + "/stats", c + "/jobs", std::string("/campaigns"), std::string("/clusters"),
        std::string("/summary"), std::string("/gridusage")}) {
    EXPECT_EQ(StatusAs("alice", path), 200) << path;
    EXPECT_EQ(StatusAs("bob", path), 200) << path;
  }
  for (const std::string& path :
       {c + "/jdl", c + "/params", c + "/output", c + "/joblog", c + "/events", c + "/failures",
        c + "/why", c + "/tasks/0/why", c + "/jobs/finished", std::string("/events/3"),
        "/jobs/" + std::to_string(job) + "/stdout", "/jobs/" + std::to_string(job) + "/why",
        "/jobs/" + std::to_string(job) + "/cinfos"}) {
    EXPECT_EQ(StatusAs("alice", path), 200) << path;
    EXPECT_EQ(StatusAs("bob", path), 403) << path;
    EXPECT_EQ(StatusAs("root", path), 200) << path;
    EXPECT_EQ(client().Get(path).status, 403) << path << ": nobody is anonymous";
  }
  EXPECT_EQ(GetAs("alice", c + "/jobs")["items"][0]["parameters"], "secret 1");
  EXPECT_TRUE(GetAs("bob", c + "/jobs")["items"][0]["parameters"].is_null());
  EXPECT_FALSE(GetAs("bob", "/jobs/" + std::to_string(job)).contains("param"));
  EXPECT_FALSE(GetAs("bob", c).contains("notes"));
}

TEST_F(ReadPgTest, FollowingNextVisitsEveryTaskOnce) {
  GivenCampaign({.ntasks = 250});
  std::vector<std::int64_t> seen;
  std::string path = "/campaigns/1/jobs?limit=60";
  while (!path.empty()) {
    const auto page = Get(path);
    EXPECT_EQ(page["total"], 250);
    for (const auto& item : page["items"]) seen.push_back(item["index"]);
    path.clear();
    for (const auto& link : page["links"])
      if (link["rel"] == "next") path = link["href"];
  }
  ASSERT_EQ(seen.size(), 250u);
  for (int i = 0; i < 250; ++i) EXPECT_EQ(seen[i], i);
  EXPECT_EQ(Get("/campaigns/1/jobs?offset=250")["message"], "No more jobs");
  EXPECT_EQ(Get("/campaigns/1/jobs?limit=x", 400)["status"], 400);
}

TEST_F(ReadPgTest, ThePagesOfOneStateFollowTheLastTask) {
  GivenCampaign({.ntasks = 9, .next_idx = 9});
  const auto first = GivenBatch(1, 1, 0, 9);
  for (int i = 0; i < 9; i += 2) GivenDone(1, first + i, i, 1);
  std::vector<int> seen;
  std::string path = "/campaigns/1/jobs?state=done&limit=2";
  while (!path.empty()) {
    const auto page = Get(path);
    for (const auto& item : page["items"]) seen.push_back(item["index"]);
    path.clear();
    for (const auto& link : page["links"])
      if (link["rel"] == "next") path = link["href"];
  }
  EXPECT_EQ(seen, (std::vector<int>{0, 2, 4, 6, 8}));
  EXPECT_EQ(Get("/campaigns/1/jobs?state=lost", 400)["hint"],
            "say waiting, running, failed or done");
}

TEST_F(ReadPgTest, ACampaignHasCigrisKeys) {
  GivenCampaign({.ntasks = 4, .next_idx = 2});
  GivenCounter(1, 2, "running", 2);
  const auto c = Get("/campaigns/1");
  EXPECT_EQ(c["total_jobs"], 4);
  EXPECT_EQ(c["finished_jobs"], 0);
  EXPECT_EQ(c["has_events"], false);
  EXPECT_EQ(c["clusters"]["2"]["cluster_name"], "beta");
  EXPECT_EQ(c["clusters"]["2"]["active_jobs"], 2);
  EXPECT_EQ(c["waiting_jobs"], 2);
  std::set<std::string> rels;
  for (const auto& link : c["links"]) rels.insert(link["rel"].get<std::string>());
  EXPECT_EQ(rels, (std::set<std::string>{"collection", "item", "parent", "self"}));
  EXPECT_EQ(Get("/campaigns/77", 404)["status"], 404);
}

// An interval is judged by whether the campaign ended in it, halfway from its submission.
TEST_F(ReadPgTest, AnExpectedEndIsToldWithHowManyOfThePastCameTrue) {
  GivenCampaign({.ntasks = 4});
  const auto past = [&] {
    const auto stats = Get("/campaigns/1/stats");
    return stats["forecasts_held"].dump() + " of " + stats["forecasts_judged"].dump();
  };
  EXPECT_EQ(past(), "0 of 0");
  // A campaign of 100 s, whose end was expected, `at_s` after its submission, from low_s to high_s.
  const auto ended = [&](int at_s, const std::string& low_s, const std::string& high_s,
                         const std::string& state = "terminated") {
    const auto id = std::to_string(GivenCampaign({.ntasks = 1}));
    Sql("UPDATE campaigns SET state = '" + state + "', wanted = '" +
        (state == "cancelled" ? "cancelled" : "in_treatment") + "', submission_time = now() - "
        "interval '1000 s', completion_time = now() - interval '900 s' WHERE id = " + id +
        "; INSERT INTO forecasts_history (campaign_id, cluster_id, job_ratio, poll, nsub, at, "
        "end_low, end_high) SELECT id, 0, 1, 1, 0, submission_time + interval '" +
        std::to_string(at_s) + " s', submission_time + interval '" + low_s +
        " s', submission_time + interval '" + high_s + " s' FROM campaigns WHERE id = " + id);
    return id;
  };
  ended(40, "90", "110");
  EXPECT_EQ(past(), "1 of 1");
  ended(40, "50", "99");
  EXPECT_EQ(past(), "1 of 2");
  ended(40, "101", "300");
  EXPECT_EQ(past(), "1 of 3");
  ended(60, "90", "110");  // there was none yet halfway
  ended(40, "90", "110", "cancelled");
  EXPECT_EQ(past(), "1 of 3");
  const auto later = ended(20, "50", "60");
  Sql("INSERT INTO forecasts_history (campaign_id, cluster_id, job_ratio, poll, nsub, at, end_low, "
      "end_high) SELECT id, 0, 1, 1, 0, submission_time + interval '30 s', completion_time, "
      "completion_time FROM campaigns WHERE id = " + later);
  EXPECT_EQ(past(), "2 of 4") << "the last one before the half counts";
}

// Prologue and epilogue jobs, and copies that did not count, are no tasks.
TEST_F(ReadPgTest, OnlyJobsOfTasksAreCounted) {
  GivenCampaign({.ntasks = 4, .next_idx = 4});
  GivenCounter(1, 1, "terminated", 1, "prologue");
  GivenCounter(1, 1, "terminated", 3);
  GivenCounter(1, 1, "terminated", 1, "replica");
  GivenCounter(1, 1, "duplicate", 2);
  EXPECT_EQ(Get("/campaigns/1")["finished_jobs"], 4);
}

TEST_F(ReadPgTest, NumbersBeyondTheCountedOnesAreWhatIsLeft) {
  GivenCampaign({.ntasks = 300'000, .next_idx = 300'000});
  GivenCounter(1, 1, "terminated", 50'000);
  GivenCounter(1, 1, "running", 10);
  Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) SELECT 1, i, i FROM "
      "generate_series(0, 249984) AS i");
  Sql("INSERT INTO retry (campaign_id, idx, why) SELECT 1, i, 'LOST' FROM generate_series(249985, "
      "249989) AS i");
  const auto c = Get("/campaigns/1");
  EXPECT_EQ(c["failed_jobs"], 249'985);
  EXPECT_EQ(c["waiting_jobs"], 5);
}

TEST_F(ReadPgTest, FailuresAreGroupedWithASample) {
  GivenCampaign({.params = {"a", "b"}});
  const auto job = GivenBatch(1, 1, 0, 2);
  GivenDone(1, job + 1, 1, 1,
            {.counted = false,
             .state = "event",
             .exit_class = "program",
             .code = "KILLED_BY_SIGNAL",
             .message = "out of memory",
             .wait_status = 9});
  Sql("INSERT INTO events (id, class, code, campaign_id, cluster_id, job_id, idx, count, message) "
      "VALUES "
      "(5, 'job', 'KILLED_BY_SIGNAL', 1, 1, " +
      std::to_string(job + 1) +
      ", 1, 40, 'signal 9'),"
      "(6, 'notify', 'PREEMPTED', 1, 1, NULL, NULL, 7, 'not your fault')");
  const auto failures = Get("/campaigns/1/failures");
  EXPECT_EQ(failures["total"], 1) << "what needs no answer is no failure";
  const auto& item = failures["items"][0];
  EXPECT_EQ(item["count"], 40);
  EXPECT_EQ(item["sample"]["params"], "b");
  EXPECT_EQ(item["sample"]["signal"], 9);
  EXPECT_EQ(item["sample"]["stderr"], "out of memory");
  EXPECT_EQ(item["sample"]["cluster"], "alpha");
}

TEST_F(ReadPgTest, EqualFailuresOnTwoClustersAreOneGroupThatSaysItsMessageOnce) {
  GivenCampaign({.params = {"a", "b"}});
  const auto job = GivenBatch(1, 1, 0, 2);
  GivenDone(1, job + 1, 1, 1,
            {.counted = false,
             .state = "event",
             .exit_class = "program",
             .code = "EXIT_ERROR",
             .message = "exit code 3: no licence",
             .wait_status = 3 << 8});
  Sql("INSERT INTO events (id, class, code, campaign_id, cluster_id, job_id, idx, count, message, "
      "fingerprint, "
      "date_update) VALUES "
      "(5, 'job', 'EXIT_ERROR', 1, 1, " +
      std::to_string(job + 1) +
      ", 1, 40, 'exit code 3: no licence', 'same', now()),(6, 'job', 'EXIT_ERROR', 1, 2, NULL, 0, "
      "2, 'exit code 3: no licence', 'same', now() - interval '1 hour'),(7, 'job', 'EXIT_ERROR', "
      "1, 2, NULL, 0, 41, 'exit code 4: disk', 'other', now()),(8, 'campaign', 'CANARY_FAILED', 1, "
      "1, NULL, NULL, 1, 'on alpha', '', now()),(9, 'campaign', 'CANARY_FAILED', 1, 2, NULL, NULL, "
      "1, 'on beta', '', now())");
  const auto failures = Get("/campaigns/1/failures");
  EXPECT_EQ(failures["total"], 4) << "each hold is one of its own";
  ASSERT_EQ(failures["items"].size(), 4u);
  const auto& item = failures["items"][2];
  EXPECT_EQ(item["count"], 42);
  EXPECT_EQ(item["events"], (json{5, 6}));
  EXPECT_EQ(item["clusters"], (json{"alpha", "beta"}));
  EXPECT_EQ(item["sample"]["task"], 1) << "the newest";
  EXPECT_FALSE(item["sample"].contains("stderr")) << "the message says it";
  EXPECT_EQ(failures["items"][3]["message"], "exit code 4: disk");
}

TEST_F(ReadPgTest, NoEventsIsAnEmptyListAndNo404) {
  GivenCampaign();
  EXPECT_EQ(Get("/campaigns/1/events")["items"].size(), 0u);
  EXPECT_EQ(Get("/events")["items"].size(), 0u);
}

TEST_F(ReadPgTest, ACampaignsEventsIncludeThoseOfItsClusters) {
  GivenCampaign();
  Sql("INSERT INTO events (id, class, code, campaign_id, cluster_id, state) VALUES (1, 'cluster', "
      "'CLUSTER_UNREACHABLE', NULL, 2, 'open'), (2, 'campaign', 'CANARY_FAILED', 1, 1, 'open'),(3, "
      "'campaign', 'CANARY_FAILED', 1, 2, 'closed'), (4, 'log', 'MODULE_RESTARTED', NULL, NULL, "
      "'open')");
  const auto ids = [](const json& page) {
    std::vector<int> out;
    for (const auto& item : page["items"]) out.push_back(item["id"]);
    return out;
  };
  EXPECT_EQ(ids(Get("/campaigns/1/events")), (std::vector<int>{1, 2}));
  EXPECT_EQ(ids(Get("/campaigns/1/events?all=1")), (std::vector<int>{2, 3}));
  EXPECT_EQ(ids(Get("/events")), (std::vector<int>{1}));
  EXPECT_EQ(Get("/campaigns/1/events?limit=1")["links"].size(), 2u) << "self and next";
}

TEST_F(ReadPgTest, AJobIsShownFromItsIntentToItsEnd) {
  GivenCampaign({.ntasks = 4});
  const auto sent = std::to_string(GivenBatch(1, 1, 0, 1, "intended"));
  const auto refused = std::to_string(GivenBatch(1, 1, 1, 1, "refused"));
  const auto job = GivenBatch(1, 2, 2, 1);
  EXPECT_EQ(Get("/jobs/" + sent)["state"], "launching");
  EXPECT_EQ(Get("/jobs/" + refused)["state"], "refused");
  GivenLive(1, job, 2, 2, "remote_waiting");
  EXPECT_EQ(Get("/jobs/" + std::to_string(job))["state"], "remote_waiting");
  Sql("DELETE FROM live");
  GivenDone(1, job, 2, 2,
            {.counted = false,
             .state = "event",
             .exit_class = "program",
             .code = "EXIT_ERROR",
             .wait_status = 137 << 8});
  const auto ended = Get("/jobs/" + std::to_string(job));
  EXPECT_EQ(ended["return_code"], 137 << 8);
  EXPECT_EQ(ended["exit"], 137);
  EXPECT_EQ(ended["param_id"], 1002);
  EXPECT_EQ(Get("/jobs/9999", 404)["status"], 404);
}

TEST_F(ReadPgTest, ClustersAreShownByIdAndByNameWithoutTheirSecrets) {
  Sql("UPDATE clusters SET api_password = 's1:xyz', api_username = 'oar' WHERE id = 2");
  Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
      "unavailable_resources, "
      "used_by_cigri, jobs_running, jobs_waiting) VALUES (2, 10, 4, 5, 1, 3, 3, 0)");
  const auto byname = Get("/clusters/beta");
  EXPECT_EQ(byname["id"], 2);
  EXPECT_EQ(Get("/clusters/2")["name"], "beta");
  EXPECT_EQ(byname["usage"]["used_by_cigri"], 3);
  EXPECT_EQ(byname["stress_factor"], "0/0.8");
  EXPECT_EQ(byname.dump().find("s1:xyz"), std::string::npos);
  EXPECT_FALSE(byname.contains("api_username"));
  const auto usage = Get("/gridusage");
  EXPECT_EQ(usage["items"][0]["clusters"][0]["max_resources"], 10);
  EXPECT_EQ(Get("/gridusage?from=1&to=2")["items"].size(), 0u);
  EXPECT_EQ(Get("/gridusage?from=1%27;--", 400)["status"], 400);
  EXPECT_EQ(Get("/clusters/nowhere", 404)["status"], 404);
}

// docs/design.md section 3: numbers come from the cursor and the counters, never from counting
// rows.
TEST_F(ReadPgTest, TenMillionTasksAreShownAsFastAsTen) {
  GivenCampaign({.ntasks = 10, .next_idx = 5});
  GivenCampaign({.ntasks = 10'000'000, .next_idx = 5'000'000});
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id) SELECT i, 2, i, 1, 1, 1, 'task', true, "
      "'terminated', 'none', 1, now(), i FROM generate_series(0, 199999) AS i; ANALYZE done");
  for (int campaign : {1, 2}) GivenCounter(campaign, 1, "terminated", 5);
  const auto milliseconds = [&](const std::string& path) {
    const auto begin = std::chrono::steady_clock::now();
    Get(path);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  for (const auto& [small, large] :
       {std::pair{"/campaigns/1", "/campaigns/2"},
        std::pair{"/campaigns/1/jobs?limit=5", "/campaigns/2/jobs?limit=5&offset=9999990"},
        std::pair{"/campaigns/1/jobs?limit=5", "/campaigns/2/jobs?limit=5&offset=150000"}}) {
    std::vector<double> of_small, of_large;  // in turns: a load that comes and goes is that of both
    for (int i = 0; i < 31; ++i) {
      of_small.push_back(milliseconds(small));
      of_large.push_back(milliseconds(large));
    }
    for (auto* took : {&of_small, &of_large}) std::sort(took->begin(), took->end());
    const double a = of_small[15], b = of_large[15];
    std::printf("%s %.2f ms, %s %.2f ms\n", small, a, large, b);
    EXPECT_LT(b, 5 * a) << large;
  }
}

// ---------------------------------------------------------------- why
TEST_F(ReadPgTest, WhySaysTheMetaschedulersReasonInOneMessage) {
  GivenCampaign({.ntasks = 10, .next_idx = 3});
  GivenCounter(1, 1, "running", 3);
  Sql("INSERT INTO reasons (campaign_id, cluster_id, code, numbers) VALUES "
      "(1, 1, 'MAX_JOBS', '{\"limit\": 3, \"in flight\": 3, \"main\": true}'), (1, 2, "
      "'CLUSTER_OBSERVED', '{}')");
  const auto why = Get("/campaigns/1/why");
  EXPECT_EQ(why["message"],
            "7 tasks wait while 3 jobs are in flight: its own max_jobs allows 3 on alpha, 3 are in "
            "flight");
  EXPECT_EQ(why["action"], "raise it: gridsub -c 1 --set max_jobs=...");
  EXPECT_EQ(why["clusters"][0]["reasons"][0]["numbers"]["limit"], 3);
  EXPECT_EQ(why["clusters"][1]["reasons"][0]["code"], "CLUSTER_OBSERVED");
}

TEST_F(ReadPgTest, WhyOfACampaignThatIsHeldEverywhereNamesTheCause) {
  GivenCampaign({.ntasks = 10, .next_idx = 10});
  Sql("INSERT INTO retry (campaign_id, idx, why) SELECT 1, i, 'EXIT_ERROR' FROM generate_series(0, "
      "9) AS i;INSERT INTO placements (campaign_id, cluster_id, held_since, held_why) VALUES (1, "
      "1, now(), 'the first 10 jobs failed: ./ft.sh: not found'), (1, 2, now(), 'the same')");
  const auto why = Get("/campaigns/1/why");
  EXPECT_EQ(why["message"], "held on alpha: the first 10 jobs failed: ./ft.sh: not found");
}

TEST_F(ReadPgTest, WhyOfWhatIsOverOrPausedNeedsNoReasons) {
  GivenCampaign({.state = "paused"});
  EXPECT_EQ(Get("/campaigns/1/why")["message"], "it is paused");
  EXPECT_EQ(Get("/campaigns/1/why")["action"], "griddel -r 1 resumes it");
  GivenCampaign({.state = "terminated", .ntasks = 2, .next_idx = 2});
  GivenCounter(2, 1, "terminated", 1);
  Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (2, 1, 1)");
  EXPECT_EQ(Get("/campaigns/2/why")["message"], "it is over: 1 of 2 tasks done, 1 failed");
}

TEST_F(ReadPgTest, WhyOfAJobSaysWhoseFaultItsEndWas) {
  GivenCampaign({.ntasks = 2, .next_idx = 2});
  const auto job = GivenBatch(1, 1, 0, 2);
  GivenDone(1, job, 0, 1,
            {.counted = false,
             .state = "event",
             .exit_class = "preemption",
             .code = "PREEMPTED",
             .wait_status = 9});
  GivenLive(1, job + 1, 1, 1, "remote_waiting");
  EXPECT_EQ(Get("/jobs/" + std::to_string(job) + "/why")["message"],
            "it was killed by signal 9 on alpha (PREEMPTED): the cluster took the slot back: not "
            "your fault, no try charged");
  EXPECT_EQ(Get("/campaigns/1/tasks/1/why")["message"],
            "it is in the queue on alpha: the cluster decides when it starts");
}

TEST_F(ReadPgTest, WhyOfAClusterIsForOperators) {
  Sql("UPDATE clusters SET drained = true, drain_reason = 'disks', drained_by = 'root' WHERE id = "
      "1");
  EXPECT_EQ(Get("/clusters/alpha/why")["message"], "alpha is drained by root: disks");
  EXPECT_EQ(StatusAs("alice", "/clusters/alpha/why"), 403);
}

}  // namespace
}  // namespace cigri
