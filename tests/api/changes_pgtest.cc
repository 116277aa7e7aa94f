// What its user does to a campaign afterwards: add, retry, set, cancel, pause; and events.
#include <sql/batches.h>
#include <sql/campaigns.h>
#include <sql/claims.h>
#include <sql/kills.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class ChangesPgTest : public ApiTest {
 protected:
  std::string Path(std::int64_t id, const std::string& rest = "") {
    return "/campaigns/" + std::to_string(id) + rest;
  }
  void Terminate(std::int64_t id) {
    const std::string n = std::to_string(id);
    Sql("UPDATE campaign_cursor SET next_idx = ntasks WHERE campaign_id = " + n +
        "; INSERT INTO done SELECT 1000 + i, " + n +
        ", i, 1, 1, 1, 'task', true, 'terminated', 'none', '', 0, 1,"
        " now(), now(), now(), 'n', 'r', NULL FROM campaign_cursor, generate_series(0, ntasks - 1) "
        "AS i"
        " WHERE campaign_id = " +
        n + "; UPDATE campaigns SET state = 'terminated', completion_time = now() WHERE id = " + n);
  }
  // Two tasks whose tries are spent, with their event.
  std::int64_t Fail(std::int64_t id) {
    const std::string n = std::to_string(id);
    Sql("UPDATE campaign_cursor SET next_idx = 2 WHERE campaign_id = " + n);
    const auto event =
        Sql("INSERT INTO events (class, code, campaign_id, message) VALUES ('job', 'EXIT_ERROR', " +
            n + ", 'exit 1') RETURNING id")[0][0]
            .as<std::int64_t>();
    Sql("INSERT INTO needs_attention SELECT " + n + ", i, 10 + i, " + std::to_string(event) +
        " FROM generate_series(0, 1) AS i"
        "; INSERT INTO tries (campaign_id, idx, attempts, program) SELECT " +
        n + ", i, 2, 2 FROM generate_series(0, 1) AS i");
    return event;
  }
};

TEST_F(ChangesPgTest, TasksAreAddedAsCiGriDoesAndReopenWhatHasEnded) {
  const auto id = Submit({{"params", {"a", "b"}}});
  Terminate(id);
  const auto a = Ask("alice", "POST", Path(id, "/jobs"), json{"c d", 7});
  ASSERT_EQ(a.status, 201) << a.body;
  EXPECT_EQ(a.body["state"], "in_treatment");
  EXPECT_EQ(a.body["total_jobs"], 4);
  EXPECT_EQ(One("SELECT completion_time IS NULL FROM campaigns"), "t");
  EXPECT_EQ(One("SELECT string_agg(first_idx || ':' || n, ' ' ORDER BY first_idx) FROM segments"),
            "0:2 2:2");
  ExpectConservation(id);
  const auto b = Ask("alice", "POST", Path(id, "/jobs?upload=" + std::to_string(Upload({"e"}))));
  EXPECT_EQ(b.body["total_jobs"], 5) << b.body;
  ExpectConservation(id);
}

TEST_F(ChangesPgTest, NothingIsAddedToWhatIsCancelledOrATest) {
  const auto id = Submit();
  EXPECT_EQ(Ask("bob", "POST", Path(id, "/jobs"), json{"x"}).status, 403);
  for (const json& bad : {json::array(), json::object(), json{{"a", nullptr}}, json{true},
                          json{std::string("a\0b", 3)}})
    EXPECT_EQ(Ask("alice", "POST", Path(id, "/jobs"), bad).status, 400) << bad;
  EXPECT_EQ(Ask("alice", "DELETE", Path(id)).status, 202);
  const auto a = Ask("alice", "POST", Path(id, "/jobs"), json{"x"});
  EXPECT_EQ(a.status, 400);
  EXPECT_NE(a.body["message"].get<std::string>().find("cancelled"), std::string::npos);
  const auto test = Submit({{"nb_jobs", 9}}, "?type=test");
  EXPECT_EQ(Ask("alice", "POST", Path(test, "/jobs"), json{"x"}).status, 400);
  EXPECT_EQ(Ask("alice", "POST", Path(77, "/jobs"), json{"x"}).status, 404);
}

TEST_F(ChangesPgTest, TasksAddedWhileTheCampaignEndsAreNotLost) {
  const auto id = Submit({{"params", {"a"}}});
  const std::string n = std::to_string(id);
  // The updator's way to end a campaign: an exact look with the cursor locked.
  auto updator = Connect("updator");
  db::Tx ending(*updator);
  ending.Raw("SELECT * FROM campaign_cursor WHERE campaign_id = " + n + " FOR UPDATE");
  auto adding = std::async(std::launch::async,
                           [&] { return Ask("alice", "POST", Path(id, "/jobs"), json{"b"}); });
  const auto waits =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = "
      "'cigri api'";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (One(waits) == "0" && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ending.Raw("UPDATE campaign_cursor SET next_idx = 1 WHERE campaign_id = " + n);
  ending.Raw("UPDATE campaigns SET state = 'terminated', completion_time = now() WHERE id = " + n);
  ending.Commit();
  EXPECT_EQ(adding.get().status, 201);
  EXPECT_EQ(One("SELECT state FROM campaigns"), "in_treatment") << "what was added brings it back";
  EXPECT_EQ(One("SELECT ntasks - next_idx FROM campaign_cursor"), "1");
}

// Measured: 8 clients that submitted took all sessions, and 200 that polled got a 503 after 10 s.
TEST_F(ChangesPgTest, ReadersHaveSessionsOfTheirOwnWhenAllOthersWait) {
  const auto id = Submit();
  auto other = Connect("other");
  db::Tx holds(*other);
  holds.Raw("SELECT * FROM id_blocks FOR UPDATE");
  // As many as the context of this suite has sessions; of one user only some are at work at once.
  std::vector<std::future<Answer>> submitting;
  for (const std::string user : {"alice", "bob", "carol", "dave"})
    submitting.push_back(std::async(std::launch::async, [&, user] {
      return Ask(user, "POST", "/campaigns",
                 {{"name", "sweep"}, {"exec_file", "./run.sh"}, {"nb_jobs", 5},
                  {"clusters", {{"alpha", json::object()}}}});
    }));
  const auto waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = "
      "'cigri api'";
  ASSERT_TRUE(test::Await([&] { return One(waiting) == "4"; }));
  EXPECT_EQ(Ask("bob", "GET", Path(id)).status, 200);
  EXPECT_EQ(One(waiting), "4");
  holds.Commit();
  for (auto& one : submitting) EXPECT_EQ(one.get().status, 201);
}

// It waits for a lock that is not to be had, or an operator ends it: nothing is wrong with the API.
TEST_F(ChangesPgTest, AStatementThatIsEndedWhileItWaitsIsTriedAgainLater) {
  const auto id = Submit();
  auto other = Connect("other");
  db::Tx holds(*other);
  holds.Raw("SELECT * FROM campaign_cursor FOR UPDATE");
  auto cancels = std::async(std::launch::async, [&] { return Ask("alice", "DELETE", Path(id)); });
  ASSERT_TRUE(test::Await([&] {
    return One("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = "
               "'Lock' AND application_name = 'cigri api'") == "1";
  }));
  const auto answer = cancels.get();
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_NE(answer.body["message"].get<std::string>().find("waited in vain"), std::string::npos);
  EXPECT_EQ(answer.headers.count("retry-after"), 1u);
  holds.Commit();
  EXPECT_EQ(Ask("alice", "DELETE", Path(id)).status, 202);
}

// Measured: of 8 clients that submitted 7 waited for the ids that the eighth had not committed yet.
TEST_F(ChangesPgTest, ASubmissionThatWaitsHoldsUpNoOther) {
  auto other = Connect("other");
  db::Tx holds(*other);
  holds.Raw("SELECT * FROM clusters WHERE name = 'alpha' FOR UPDATE");
  const auto submit = [&](const std::string& user, const std::string& cluster) {
    return Ask(user, "POST", "/campaigns",
               {{"name", "sweep"}, {"exec_file", "./run.sh"}, {"nb_jobs", 5},
                {"clusters", {{cluster, json::object()}}}});
  };
  auto waits = std::async(std::launch::async, [&] { return submit("alice", "alpha"); });
  ASSERT_TRUE(test::Await([&] {
    return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cigri api'") == "1";
  }));
  auto goes_on = std::async(std::launch::async, [&] { return submit("bob", "beta"); });
  EXPECT_EQ(goes_on.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  holds.Commit();
  const auto first = waits.get(), second = goes_on.get();
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(One("SELECT abs(max(first_task_id) - min(first_task_id)) FROM campaigns"), "5");
}

TEST_F(ChangesPgTest, WhatGivesACampaignAnotherTryGivesItItsCanaryJobsAgain) {
  const auto id = Submit();
  const auto asked = [&] {
    const bool any = One("SELECT count(*) FROM canary_renewals WHERE campaign_id = " +
                         std::to_string(id)) != "0";
    Sql("DELETE FROM canary_renewals");
    return any;
  };
  EXPECT_FALSE(asked());
  Ask("alice", "POST", Path(id, "/jobs"), json{"x"});
  EXPECT_TRUE(asked());
  Ask("alice", "PATCH", Path(id), json{{"set", {{"priority", "high"}}}});
  EXPECT_FALSE(asked());
  Ask("alice", "PATCH", Path(id), json{{"set", {{"exec_file", "./other.sh"}}}});
  EXPECT_TRUE(asked());
  Fail(id);
  Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}});
  EXPECT_TRUE(asked());
}

TEST_F(ChangesPgTest, OnlyFailedTasksAreTriedAgainWithAllTheirTries) {
  const auto id = Submit();
  const auto event = Fail(id);
  Sql("UPDATE campaigns SET state = 'terminated'");
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/retry"), json::object()).status, 400);
  const auto a = Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}});
  EXPECT_EQ(a.status, 202);
  EXPECT_EQ(a.body["tasks"], 2);
  EXPECT_EQ(One("SELECT count(*) || ' ' || min(rank) FROM retry"), "2 0");
  EXPECT_EQ(One("SELECT max(program) FROM tries"), "0");
  EXPECT_EQ(One("SELECT state FROM campaigns"), "in_treatment");
  EXPECT_EQ(One("SELECT state FROM events WHERE id = " + std::to_string(event)), "closed");
  ExpectConservation(id);
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}}).body["tasks"], 0)
      << "once";
}

// A copy that was being sent was no copy: the task was in two places, and this answered 500.
TEST_F(ChangesPgTest, ATaskThatIsRetriedAlreadyIsTriedAgainOnce) {
  const auto id = Submit();
  Fail(id);
  Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (" + std::to_string(id) + ", 1, '')");
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}}).body["tasks"], 2);
  EXPECT_EQ(One("SELECT count(*) FROM retry"), "2");
}

// A million of them kept the campaign locked for 15 s: the runner waited, and with it all users.
TEST_F(ChangesPgTest, ManyTasksThatAreTriedAgainKeepTheCampaignLockedOnlyForAPart) {
  const auto id = Submit();
  const auto n = std::to_string(id);
  Sql("UPDATE campaign_cursor SET ntasks = 150000, next_idx = 150000 WHERE campaign_id = " + n +
      "; INSERT INTO needs_attention (campaign_id, idx, job_id) SELECT " + n +
      ", i, i FROM generate_series(1, 149999) AS i");
  std::atomic<bool> over = false;
  double longest_s = 0;
  std::thread claims([&] {
    db::Connection other(conninfo(), "a claim");
    while (!over) {
      const auto began = std::chrono::steady_clock::now();
      db::Tx tx(other);
      tx.Raw("SELECT FROM campaign_cursor WHERE campaign_id = " + n + " FOR UPDATE");
      tx.Commit();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      longest_s = std::max(longest_s, took.count());
    }
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}}).body["tasks"], 149999);
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  over = true;
  claims.join();
  EXPECT_EQ(One("SELECT count(*) || ' ' || min(idx) || ' ' || max(idx) FROM retry"),
            "149999 1 149999");
  EXPECT_LT(longest_s / all.count(), 0.5);
}

TEST_F(ChangesPgTest, ClosingAnEventResubmitsItsTasksOnce) {
  const auto id = Submit();
  const std::string event = "/events/" + std::to_string(Fail(id));
  EXPECT_EQ(Ask("bob", "DELETE", event + "?resubmit").status, 403);
  EXPECT_EQ(Ask("alice", "DELETE", event + "?resubmit").body["tasks"], 2);
  EXPECT_EQ(Ask("alice", "DELETE", event + "?resubmit").body["tasks"], 0)
      << "CiGri 3 made the tasks twice";
  ExpectConservation(id);
  Sql("INSERT INTO events (class, code, cluster_id) VALUES ('cluster', 'CLUSTER_ERROR', 1)");
  const std::string global =
      "/events/" + One("SELECT max(id) FROM events WHERE campaign_id IS NULL");
  EXPECT_EQ(Ask("alice", "DELETE", global).status, 403);
  EXPECT_EQ(Ask("oscar", "DELETE", global).status, 202);
}

// The updator was counting one more failure up: its task stayed behind a closed event.
TEST_F(ChangesPgTest, AFailureThatIsBeingAddedToAnEventThatIsClosedIsTriedAgainToo) {
  const auto id = Submit();
  const auto n = std::to_string(id);
  for (const bool all : {false, true}) {
    Sql("DELETE FROM retry; DELETE FROM tries; DELETE FROM needs_attention; DELETE FROM events");
    const auto event = std::to_string(Fail(id));
    auto updator = Connect("updator");
    db::Tx failing(*updator);
    failing.Raw("UPDATE events SET count = count + 1 WHERE id = " + event);
    failing.Raw("INSERT INTO needs_attention (campaign_id, idx, job_id, event_id) VALUES (" + n +
                ", 3, 13, " + event + ")");
    auto asked = std::async(std::launch::async, [&] {
      return all ? Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}})
                 : Ask("alice", "DELETE", "/events/" + event + "?resubmit");
    });
    ASSERT_TRUE(Await([&] {
      return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                 "application_name = 'cigri api'") == "1";
    }));
    failing.Commit();
    EXPECT_EQ(asked.get().body["tasks"], 3);
    EXPECT_EQ(One("SELECT count(*) FROM needs_attention"), "0");
    EXPECT_EQ(One("SELECT string_agg(idx::text, ' ' ORDER BY idx) FROM retry"), "0 1 3");
  }
}

TEST_F(ChangesPgTest, WhatUsersAskForIsWantedAndChecked) {
  const auto id = Submit();
  EXPECT_EQ(Ask("bob", "DELETE", Path(id)).status, 403);
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?resume=1")).status, 400);
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?hold=1")).status, 202);
  EXPECT_EQ(One("SELECT wanted || ' ' || state FROM campaigns"), "paused in_treatment")
      << "state is the updator's";
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?hold=1")).status, 400);
  EXPECT_EQ(Ask("alice", "PUT", Path(id), "state=in_treatment&name=other", {},
                "application/x-www-form-urlencoded")
                .status,
            202);
  EXPECT_EQ(One("SELECT wanted || ' ' || name FROM campaigns"), "in_treatment other");
  EXPECT_EQ(Ask("alice", "PUT", Path(id), json{{"state", "terminated"}}).status, 400);
  EXPECT_EQ(
      Ask("oscar", "POST", Path(id), "_method=DELETE", {}, "application/x-www-form-urlencoded")
          .status,
      202)
      << "operators may, and forms can say DELETE";
  EXPECT_EQ(Ask("alice", "DELETE", Path(id)).status, 400) << "already";
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code IN ('PAUSED', 'RESUMED', 'CANCELLED')"),
            "3");
}

TEST_F(ChangesPgTest, PurgeRemovesAllButTheAccounts) {
  const auto id = Submit({{"params", {"a", "b"}}});
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?purge=1")).status, 400) << "alive";
  Sql("UPDATE campaigns SET wanted = 'cancelled', state = 'cancelled'");
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?purge=1")).status, 400)
      << "its epilogues are to come";
  Terminate(id);
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project) VALUES (now(), " +
      std::to_string(id) + ", 1, 'alice', '')");
  EXPECT_EQ(Ask("alice", "DELETE", Path(id, "?purge=1")).status, 202);
  for (const char* table : {"campaigns", "campaign_clusters", "campaign_cursor", "segments",
                            "uploads", "params_chunk", "done", "placements"})
    EXPECT_EQ(One(std::string("SELECT count(*) FROM ") + table), "0") << table;
  EXPECT_EQ(One("SELECT count(*) FROM usage"), "1");
}

// It was looked at once; what was added while its rows went away ran, and was removed with them.
TEST_F(ChangesPgTest, NothingIsAddedToACampaignThatIsBeingPurged) {
  const auto id = Submit({{"params", {"a", "b"}}});
  Terminate(id);
  auto other = Connect("other");
  db::Tx holds(*other);
  holds.Raw("SELECT FROM done WHERE campaign_id = " + std::to_string(id) + " FOR UPDATE");
  auto purging =
      std::async(std::launch::async, [&] { return Ask("alice", "DELETE", Path(id, "?purge=1")); });
  ASSERT_TRUE(Await([&] {
    return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cigri api'") == "1";
  }));
  const auto added = Ask("alice", "POST", Path(id, "/jobs"), json{"c"});
  EXPECT_EQ(added.status, 409) << added.body;
  EXPECT_NE(added.body["message"].get<std::string>().find("is being purged"), std::string::npos)
      << added.body;
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/retry"), json{{"failed", true}}).status, 409);
  holds.Commit();
  EXPECT_EQ(purging.get().status, 202);
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
}

TEST_F(ChangesPgTest, SettingsChangeWhatIsNotYetSentAndAreRecorded) {
  const auto id = Submit();
  Sql("INSERT INTO events (class, code, campaign_id) VALUES ('campaign', 'CANARY_FAILED', " +
      std::to_string(id) + ")");
  const auto a = Ask("alice", "PATCH", Path(id),
                     json{{"set",
                           {{"walltime", "0:02:00"},
                            {"exec_file", "./better.sh"},
                            {"max_jobs", 4},
                            {"priority", "high"},
                            {"clusters", "beta"}}}});
  ASSERT_EQ(a.status, 202) << a.body;
  EXPECT_EQ(One("SELECT string_agg(cluster_id || ' ' || walltime_s || ' ' || exec_file || ' ' || "
                "max_jobs, ',') FROM campaign_clusters WHERE left_at IS NULL"),
            "2 120 ./better.sh 4");
  EXPECT_EQ(One("SELECT priority FROM campaigns"), "6");
  EXPECT_EQ(One("SELECT state FROM events WHERE code = 'CANARY_FAILED'"), "closed")
      << "another program, another ten jobs";
  EXPECT_NE(One("SELECT notes::text FROM campaigns").find("\"alice\""), std::string::npos);
  EXPECT_GE(a.body["changes"].size(), 4u) << a.body["changes"];
  EXPECT_EQ(Ask("alice", "PATCH", Path(id), json{{"set", {{"clusters", "alpha,beta"}}}}).status,
            202);
  EXPECT_EQ(One("SELECT exec_file FROM campaign_clusters WHERE cluster_id = 1"), "./better.sh")
      << "a new cluster runs the same";
}

// It forgot who they belong to: clusters refused to kill them, and no epilogue cleaned up.
TEST_F(ChangesPgTest, WhatACampaignLeavesOnAClusterStillBelongsToItsUser) {
  const auto id = Submit({{"nb_jobs", 5}, {"epilogue", {"rm -r scratch"}}});
  const auto n = std::to_string(id);
  Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, "
      "tag, state, epoch, send_by) VALUES (1, 1, 'task', " +
      n +
      ", 1, 1, 0, 1, 't', 'recorded', 0, now()); INSERT INTO live (job_id, campaign_id, idx, "
      "kind, batch_id, element, cluster_id, remote_id, attempt, slots, state) VALUES (1, " +
      n +
      ", 0, 'task', 1, 0, 1, 'R1', 1, 1, 'running'); INSERT INTO kills (job_id, reason) VALUES "
      "(1, 'user'); UPDATE placements SET last_end = now() WHERE cluster_id = 1");
  ASSERT_EQ(Ask("alice", "PATCH", Path(id), json{{"set", {{"clusters", "beta"}}}}).status, 202);
  auto db = Connect();
  db::Tx tx(*db);
  const auto kills = tx.Exec(sql::kDueKills, 5.0, 60.0, std::vector<std::int64_t>());
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].cluster_user, "alice");
  EXPECT_EQ(tx.Exec(sql::kBatchesInFlight).at(0).cluster_login, "alice");

  tx.Raw("UPDATE campaigns SET finishing_since = now()");
  const auto epilogues = tx.Exec(sql::kDueEpilogues);
  ASSERT_EQ(epilogues.size(), 1u);
  EXPECT_EQ(epilogues[0].cluster_id, 1);
  EXPECT_EQ(tx.One(sql::kEpiloguesLeft, id).n, 1);
  tx.Raw("INSERT INTO grants (campaign_id, cluster_id, kind, n, rank, plan_id) SELECT " + n +
         ", 1, k::batch_kind, 1, 1, 1 FROM unnest('{task,epilogue}'::text[]) AS k");
  const auto sent = tx.Exec(sql::kClaimCandidates, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, "epilogue");
  EXPECT_EQ(Ask("alice", "GET", Path(id)).body["clusters"].size(), 1u);
  tx.Commit();

  EXPECT_EQ(Ask("alice", "PATCH", Path(id), json{{"set", {{"clusters", "alpha,beta"}}}}).status,
            202);
  EXPECT_EQ(Ask("alice", "GET", Path(id)).body["clusters"].size(), 2u) << "it comes back";
}

TEST_F(ChangesPgTest, AWalltimeIsAutomaticUntilItIsSetToOneThatIsNot) {  // FAIR-09
  const auto id = Submit({{"nb_jobs", 2}, {"walltime", "auto:2h"}});
  const auto stored = [&] {
    return One("SELECT walltime_s || coalesce(' ' || (options ->> 'auto_walltime'), '') FROM "
               "campaign_clusters WHERE cluster_id = 1");
  };
  const auto set = [&](const char* walltime) {
    const auto a = Ask("alice", "PATCH", Path(id), json{{"set", {{"walltime", walltime}}}});
    EXPECT_EQ(a.status, 202) << a.body;
    return stored();
  };
  EXPECT_EQ(stored(), "7200 true");
  EXPECT_EQ(Ask("alice", "GET", Path(id, "/jdl")).body["clusters"]["alpha"]["walltime"],
            "auto:2:00:00");
  EXPECT_EQ(set("auto:3h"), "10800 true");
  EXPECT_EQ(set("1h"), "3600");
  EXPECT_EQ(set("auto:1h"), "3600 true");
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, walltime_s) VALUES (" + std::to_string(id) +
      ", 1, 90)");
  const auto clusters = Ask("alice", "GET", Path(id)).body["clusters"];
  EXPECT_EQ(clusters["1"]["asked_walltime_s"], 90);
  EXPECT_EQ(clusters["2"]["asked_walltime_s"], 3600) << "nothing is known there";
  EXPECT_EQ(clusters["1"]["walltime_s"], 3600);
}

TEST_F(ChangesPgTest, TheSlotsThatItsJobsCanUseAreStoredAndChangeWithIt) {  // TECH-21
  Sql("UPDATE clusters SET kind = 'oar2', api_url = 'http://127.0.0.1:1' WHERE name = 'beta'");
  const auto id = Submit({{"nb_jobs", 2}, {"gpus", 2}, {"clusters", {{"beta", json::object()}}}});
  const auto stored = [&] {
    return One("SELECT coalesce(resource_class, 'any') || ' ' || class_units FROM "
               "campaign_clusters");
  };
  EXPECT_EQ(stored(), R"({"unit":"gpu"} 2)");
  auto a = Ask("alice", "PATCH", Path(id), json{{"set", {{"properties", "mem >= 64"}}}});
  EXPECT_EQ(a.status, 202) << a.body;
  EXPECT_EQ(stored(), R"({"properties":"mem >= 64","unit":"gpu"} 2)");
  const auto plain = Submit({{"nb_jobs", 2}, {"clusters", {{"beta", json::object()}}}});
  EXPECT_EQ(One("SELECT resource_class IS NULL FROM campaign_clusters WHERE campaign_id = " +
                std::to_string(plain)),
            "t");
}

// CIG-52
TEST_F(ChangesPgTest, RulesThatRunWhenTasksAreAddedChangeWhatIsNotYetSentAndAreRecorded) {
  const auto id = Submit({{"nb_jobs", 2}});
  Sql("INSERT INTO admission_rules (name, code) VALUES ('cap', 'if campaign.jobs > 3 then "
      "for _, c in pairs(campaign.clusters) do c.walltime = 61 end end')");
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/jobs"), json{"x"}).status, 201);
  EXPECT_EQ(One("SELECT count(*) FROM campaign_clusters WHERE walltime_s = 61"), "0");
  const auto a = Ask("alice", "POST", Path(id, "/jobs"), json{"y", "z"});
  ASSERT_EQ(a.status, 201) << a.body;
  EXPECT_NE(a.body["notes"].dump().find("-> 61"), std::string::npos) << a.body["notes"];
  EXPECT_EQ(One("SELECT bool_and(walltime_s = 61) FROM campaign_clusters"), "t");
  EXPECT_EQ(One("SELECT jdl->'clusters'->'alpha'->>'walltime' FROM campaigns"), "61");
  EXPECT_EQ(One("SELECT jdl->>'nb_jobs' FROM campaigns"), "2") << "where its first tasks come from";
  EXPECT_NE(One("SELECT notes::text FROM campaigns").find("admission rules"), std::string::npos);
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'SETTINGS_CHANGED'"), "1");
  ExpectConservation(id);

  Sql("INSERT INTO admission_rules (name, code) VALUES ('no', 'reject(\"not today\")')");
  EXPECT_EQ(Ask("alice", "POST", Path(id, "/jobs"), json{"w"}).status, 400);
  EXPECT_EQ(One("SELECT nb_params FROM campaigns"), "5");
}

// Each waited for the other, and nobody said so.
TEST_F(ChangesPgTest, ACampaignCannotWaitForItsOwnEnd) {
  const auto a = Submit(), b = Submit({{"nb_jobs", 5}, {"after", a}}),
             c = Submit({{"nb_jobs", 5}, {"after_any", {b}}});
  const auto after = [&](std::int64_t id, const json& others, const char* key = "after") {
    return Ask("alice", "PATCH", Path(id), json{{"set", {{key, others}}}});
  };
  const auto numbers = [](std::initializer_list<std::int64_t> ids) {
    std::string text;
    for (const auto id : ids) text += (text.empty() ? "" : " after ") + std::to_string(id);
    return text;
  };
  const auto own = after(a, {a});
  EXPECT_EQ(own.status, 400);
  EXPECT_NE(own.body.dump().find("wait for its own end: " + numbers({a, a})), std::string::npos)
      << own.body;
  const auto far = after(a, {c}, "after_any");
  EXPECT_EQ(far.status, 400);
  EXPECT_NE(far.body.dump().find("wait for its own end: " + numbers({a, c, b, a})),
            std::string::npos)
      << far.body;
  EXPECT_EQ(after(c, {a, b}).status, 202) << "no ring";
  EXPECT_EQ(One("SELECT count(*) FROM campaigns WHERE id = " + std::to_string(a) +
                " AND jdl ?| '{after,after_any}'"),
            "0");
}

TEST_F(ChangesPgTest, TwoCampaignsThatAreMadeToWaitForEachOtherAtOnceDoNot) {
  const auto a = Submit(), b = Submit();
  const auto after = [&](std::int64_t id, std::int64_t other) {
    return Ask("alice", "PATCH", Path(id), json{{"set", {{"after", {other}}}}}).status;
  };
  // Both have read the campaigns as they were.
  auto other = Connect("other");
  db::Tx holds(*other);
  holds.Raw("SELECT pg_advisory_xact_lock(hashtext('cigri after ' || current_schema()))");
  auto one = std::async(std::launch::async, [&] { return after(a, b); });
  auto two = std::async(std::launch::async, [&] { return after(b, a); });
  ASSERT_TRUE(Await([&] {
    return One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cigri api'") == "2";
  }));
  holds.Commit();
  EXPECT_EQ(one.get() + two.get(), 202 + 400);
}

TEST_F(ChangesPgTest, AHeldCampaignIsOverForThoseWhoWaitUntilItsEventIsAnswered) {
  const auto id = Submit();
  const std::string n = std::to_string(id);
  Sql("UPDATE campaigns SET state = 'paused', state_reason = 'held everywhere'; INSERT INTO events "
      "(id, class, code, campaign_id, cluster_id, fingerprint) VALUES (1, 'campaign', "
      "'CANARY_FAILED', " +
      n + ", 1, ''), (2, 'campaign', 'SUBMIT_REFUSED', " + n +
      ", 2, ''); UPDATE placements SET held_since = now(), held_event = 1 WHERE cluster_id = 1");
  const auto over = [&] { return Ask("alice", "GET", Path(id, "/progress")).body["over"]; };
  EXPECT_EQ(over(), true);
  Sql("UPDATE events SET state = 'closed' WHERE id = 2");
  EXPECT_EQ(over(), false) << "the updator is about to let it go on";
  Sql("UPDATE events SET state = CASE id WHEN 1 THEN 'closed' ELSE 'open' END");
  EXPECT_EQ(over(), false);
  Sql("UPDATE placements SET fault_until = now() + interval '5 minutes' WHERE cluster_id = 1");
  EXPECT_EQ(over(), false) << "the faulty cluster is tried again in some minutes";
}

TEST_F(ChangesPgTest, WrongSettingsChangeNothing) {
  const auto id = Submit();
  const struct {
    const char* key;
    json value;
  } cases[] = {{"waltime", 60},       {"walltime", "soon"}, {"nb_jobs", 7},
               {"clusters", "gamma"}, {"max_jobs", -1},     {"clusters.gamma.walltime", 9}};
  const auto before =
      One("SELECT md5(c::text || string_agg(cc::text, '')) FROM campaigns AS c, campaign_clusters "
          "AS cc GROUP BY c.*");
  for (const auto& c : cases)
    EXPECT_EQ(Ask("alice", "PATCH", Path(id), json{{"set", {{c.key, c.value}}}}).status, 400)
        << c.key;
  EXPECT_EQ(Ask("bob", "PATCH", Path(id), json{{"set", {{"walltime", 60}}}}).status, 403);
  EXPECT_EQ(One("SELECT md5(c::text || string_agg(cc::text, '')) FROM campaigns AS c, "
                "campaign_clusters AS cc GROUP BY c.*"),
            before);
}

TEST_F(ChangesPgTest, AJobIsKilledOnRequestOfItsUserWhileItLives) {
  const auto id = Submit();
  Sql("INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, tag, "
      "state, doubtful_since, epoch, send_by) VALUES"
      " (100, 'task', " +
      std::to_string(id) + ", 1, 3, 0, 1, 't1', 'in_doubt', now(), 0, now()), (103, 'task', " +
      std::to_string(id) + ", 1, 1, 3, 1, 't2', 'recorded', NULL, 0, now())");
  EXPECT_EQ(Ask("bob", "DELETE", "/jobs/101").status, 403);
  EXPECT_EQ(Ask("alice", "DELETE", "/jobs/101").status, 202) << "on its way";
  EXPECT_EQ(Ask("alice", "DELETE", "/jobs/101").status, 202) << "asked twice";
  EXPECT_EQ(Ask("alice", "DELETE", "/jobs/103").status, 409) << "has ended";
  EXPECT_EQ(Ask("alice", "DELETE", "/jobs/104").status, 404);
  EXPECT_EQ(One("SELECT string_agg(job_id || asked_by, ',') FROM job_requests"), "101alice");
}

TEST_F(ChangesPgTest, OnlyOperatorsWriteEvents) {
  const json event{
      {"class", "cluster"}, {"code", "MANUAL_EVENT"}, {"cluster_id", 1}, {"message", "power cut"}};
  EXPECT_EQ(Ask("alice", "POST", "/events", event).status, 403);
  EXPECT_EQ(Ask("oscar", "POST", "/events", event).status, 201);
  EXPECT_EQ(Ask("oscar", "POST", "/events", event).status, 201);
  EXPECT_EQ(One("SELECT count(*) || ' ' || max(count) FROM events"), "1 2")
      << "the same one is counted";
  for (const char* code : {"x", "drop table", "_X"}) {
    json bad = event;
    bad["code"] = code;
    EXPECT_EQ(Ask("oscar", "POST", "/events", bad).status, 400);
  }
}

TEST_F(ChangesPgTest, AUserHasSoManySubscriptionsAndMayChangeThem) {
  Sql("INSERT INTO user_notifications (grid_user, type, identity, severity) SELECT 'alice', "
      "'jabber', i::text, 'low' FROM generate_series(1, 1000) AS i");
  const auto subscribe = [&](const char* user, const char* to) {
    return Ask(user, "POST", "/notifications/jabber", json{{"identity", to}, {"severity", "high"}});
  };
  const auto refused = subscribe("alice", "1001");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.body["message"].get<std::string>().find("the limit subscriptions"),
            std::string::npos)
      << refused.body;
  EXPECT_EQ(subscribe("alice", "7").status, 201) << "it has that one";
  EXPECT_EQ(subscribe("bob", "1001").status, 201) << "of each user";
  EXPECT_EQ(One("SELECT count(*) || ' ' || max(severity) FILTER (WHERE identity = '7') FROM "
                "user_notifications WHERE grid_user = 'alice'"),
            "1000 high");
  const Answer limits = Ask("oscar", "GET", "/admin/limits");
  for (const auto& item : limits.body.at("items"))
    if (item["name"] == "subscriptions") {
      EXPECT_EQ(item["used_by"], "user alice");
    }
}

TEST_F(ChangesPgTest, NotificationsAndTokensAreOnesOwn) {
  EXPECT_EQ(Ask("alice", "POST", "/notifications/mail",
                json{{"identity", "a@b.org"}, {"severity", "high"}})
                .status,
            201);
  EXPECT_EQ(Ask("alice", "POST", "/notifications/mail",
                json{{"identity", "a@b.org"}, {"severity", "often"}})
                .status,
            400);
  const auto named = Ask("alice", "POST", "/notifications/mail",
                         json{{"identity", "Ann <a@b.org>"}, {"severity", "high"}});
  EXPECT_EQ(named.status, 400) << "every message would fail";
  EXPECT_NE(named.body["message"].get<std::string>().find("is no mail address"), std::string::npos)
      << named.body;
  EXPECT_EQ(
      Ask("alice", "POST", "/notifications/pigeon", json{{"identity", "x"}, {"severity", "low"}})
          .status,
      404);
  EXPECT_EQ(Ask("alice", "GET", "/notifications").body["items"].size(), 1u);
  EXPECT_EQ(Ask("bob", "GET", "/notifications").body["items"].size(), 0u);
  EXPECT_EQ(Ask("alice", "DELETE", "/notifications/mail?identity=a@b.org").body["removed"], 1);

  EXPECT_EQ(Ask("alice", "POST", "/tokens", json{{"cluster_id", 1}, {"token", "abc"}}).status, 403)
      << "not a jwt cluster";
  Sql("UPDATE clusters SET api_auth_type = 'jwt' WHERE id = 1");
  // {"exp":2000000000}
  const std::string secret = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjIwMDAwMDAwMDB9.c2lnbmF0dXJl";
  EXPECT_EQ(Ask("alice", "POST", "/tokens", json{{"cluster_id", 1}, {"token", "Bearer " + secret}})
                .status,
            201);
  EXPECT_EQ(One("SELECT token LIKE 's1:%' AND position('eyJ' IN token) = 0 FROM users_mapping"),
            "t");
  const auto list = Ask("alice", "GET", "/tokens");
  EXPECT_EQ(list.body["items"][0]["expires"], 2000000000);
  EXPECT_EQ(list.body.dump().find(secret), std::string::npos);
  EXPECT_EQ(Ask("alice", "GET", "/tokens?user=oar").status, 403);
  EXPECT_EQ(Ask("alice", "DELETE", "/tokens/1").status, 202);
  EXPECT_EQ(Ask("alice", "DELETE", "/tokens/1").status, 404);
}

}  // namespace
}  // namespace cigri::test
