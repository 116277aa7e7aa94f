// Runners of several hosts on one database: real processes, with leases on different clusters.
#include <sched.h>
#include <signal.h>
#include <sql/leases.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "clusterdb/clusterdb.h"
#include "core/error.h"
#include "core/text.h"
#include "process/spawn.h"
#include "runner/leases.h"
#include "secrets/secrets.h"
#include "tests/cluster/recorded_server.h"
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"

namespace cigri::runner {
namespace {

using test::Await;
using test::Says;

// `runner --loop`, as an almighty that stands by keeps one.
class RunnerProcess {
 public:
  RunnerProcess(process::Environment environment, bool without_network) {
    process::SpawnOptions options;
    options.environment = std::move(environment);
    options.death_signal = SIGKILL;
    std::vector<std::string> command{std::string(CIGRI_BIN_DIR) + "/runner", "--loop"};
    // An ordinary user needs a user namespace for it; root in one could not reach the database.
    if (without_network)
      command.insert(command.begin(), {"/usr/bin/unshare", geteuid() == 0 ? "-n" : "-rn"});
    pid_ = process::Spawn(command, options);
  }
  ~RunnerProcess() {
    if (pid_ != 0) Kill(SIGKILL);
  }
  pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }
  // Returns when none of its threads runs any more: the signal alone lets them run on for a while.
  void Stop() const {
    Signal(SIGSTOP);
    const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    EXPECT_TRUE(Await([&] {
      for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        std::ifstream in(task.path() / "stat");
        const std::string stat(std::istreambuf_iterator<char>(in), {});
        if (stat.find(") T ") == stat.npos) return false;
      }
      return true;
    }));
  }
  // Sends a signal that ends it, 0 for none, and waits; its exit code.
  int Kill(int signal) {
    if (signal != 0) kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

class HostsPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    std::filesystem::create_directories(home_);
    server_.OnEach("POST", "/jobs.json", [this](const auto&) {
      if (on_post_) on_post_();
      return Says({{"cmd_output", "OAR_JOB_ID=" + std::to_string(100 + next_++) + "\n"}}, 201);
    });
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
    RowsTest::TearDown();
  }
  void GivenOars(int n) {
    for (int i = 1; i <= n; ++i)
      Sql("INSERT INTO clusters (id, name, kind, api_url, mode, api_auth_type) VALUES (" +
          std::to_string(i) + ", 'c" + std::to_string(i) + "', 'oar2', 'http://127.0.0.1:" +
          std::to_string(server_.port()) + "/c" + std::to_string(i) +
          "', 'unlimited', 'header')");
  }
  std::unique_ptr<RunnerProcess> Start(double term_s = 8, bool without_network = false,
                                       const std::string& home = "") {
    const std::string file = home_ + "/cigri.conf";
    std::ofstream(file) << "LEADER_TERM = \"" << term_s << "\"\n";
    return std::make_unique<RunnerProcess>(
        process::Environment{"CIGRI_DB=" + conninfo(), "CIGRI_HOME=" + home_ + home,
                             "CIGRICONFFILE=" + file, "LANG=C.UTF-8", "PATH=/usr/bin:/bin"},
        without_network);
  }
  int LeasesOf(const RunnerProcess& runner) {
    return static_cast<int>(
        Count("cluster_leases AS l JOIN living_runners AS r ON r.id = l.runner_id WHERE r.pid = " +
              std::to_string(runner.pid())));
  }
  bool AwaitLeases(const RunnerProcess& runner, int n) {
    return Await([&] { return LeasesOf(runner) == n; });
  }
  // Grants one more job on each cluster, and waits for all of them.
  void ExpectServed(std::int64_t campaign, int clusters, int jobs) {
    for (int k = 1; k <= clusters; ++k) GivenGrant(campaign, k, jobs);
    Sql("NOTIFY cigri_grants");
    EXPECT_TRUE(Await([&] { return Count("live") == clusters * jobs; })) << Count("live");
    EXPECT_EQ(server_.Asked("POST", "/jobs.json").size(),
              static_cast<std::size_t>(clusters * jobs))
        << "nothing is sent twice";
    ExpectConservation(campaign);
  }

  std::string home_ = "/tmp/cigri-hosts-" + RandomHex(6);
  std::atomic<int> next_{0};
  std::function<void()> on_post_;
  test::RecordedServer server_;
};

TEST_F(HostsPgTest, TwoRunnersShareTheClustersAndOneThatIsKilledLeavesAllToTheOther) {
  GivenOars(4);
  const auto campaign = GivenCampaign({.ntasks = 50, .clusters = 4});
  const auto first = Start();
  ASSERT_TRUE(AwaitLeases(*first, 4));
  ExpectServed(campaign, 4, 1);
  const auto second = Start();
  ASSERT_TRUE(AwaitLeases(*second, 2));
  EXPECT_EQ(LeasesOf(*first), 2);
  ExpectServed(campaign, 4, 2);
  // A runner that dies leaves a session that ends: nobody waits for the end of its term.
  const auto killed = std::chrono::steady_clock::now();
  first->Kill(SIGKILL);
  ASSERT_TRUE(AwaitLeases(*second, 4));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(8));
  ExpectServed(campaign, 4, 3);
}

// The cluster got nothing for as long as such a runner had it.
TEST_F(HostsPgTest, ARunnerThatCannotReachItsClustersLeavesThemToOneThatCan) {
  GivenOars(2);
  const auto campaign = GivenCampaign({.ntasks = 50, .clusters = 2});
  const auto cut_off = Start(1, true);
  ASSERT_TRUE(AwaitLeases(*cut_off, 2));
  for (int k = 1; k <= 2; ++k) GivenGrant(campaign, k, 1);
  const auto leader_polls = [&](const std::string& failing_since) {
    Sql("INSERT INTO cluster_status (cluster_id, answered_at, failing_since) SELECT id, now(), " +
        failing_since +
        " FROM clusters ON CONFLICT (cluster_id) DO UPDATE SET answered_at = now(), failing_since "
        "= " + failing_since + "; UPDATE api_load SET failures = 0, open_until = NULL; "
        "NOTIFY cigri_grants");
  };
  // Nobody reaches them: another runner would be no better.
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(Await([&] {
    leader_polls("now()");
    return std::chrono::steady_clock::now() - begun > std::chrono::seconds(5);
  }));
  EXPECT_EQ(Count("unreachable_clusters"), 0);
  ASSERT_TRUE(Await([&] {
    leader_polls("NULL");
    return Count("unreachable_clusters") == 2;
  }));
  EXPECT_EQ(LeasesOf(*cut_off), 2) << "there is no other one yet";
  const auto whole = Start(1);
  ASSERT_TRUE(AwaitLeases(*whole, 2));
  EXPECT_TRUE(Await([&] {
    leader_polls("NULL");
    return Count("live") == 2;
  }));
  EXPECT_EQ(server_.Asked("POST", "/jobs.json").size(), 2u) << "nothing is sent twice";
  EXPECT_EQ(LeasesOf(*cut_off), 0) << "it takes none of them again";
  ExpectConservation(campaign);
}

// The key of its password is on the other host only: the cluster got nothing as long as the first
// runner lived.
TEST_F(HostsPgTest, ARunnerWithoutTheKeyOfAClusterLeavesItToOneThatHasIt) {
  GivenOars(1);
  const std::string key = home_ + "/other/secret.key";
  Sql("UPDATE clusters SET api_auth_type = 'basic', api_username = 'grid', api_password = '" +
      SecretBox(key).Encrypt("s3cret") + "'");
  const auto campaign = GivenCampaign({.ntasks = 50, .clusters = 1});
  const auto without = Start(1);
  ASSERT_TRUE(AwaitLeases(*without, 1));
  GivenGrant(campaign, 1, 1);
  const auto with = Start(1, false, "/other");
  ASSERT_TRUE(Await([&] { return Sql("NOTIFY cigri_grants"), LeasesOf(*with) == 1; }));
  EXPECT_TRUE(Await([&] { return Count("live") == 1; }));
  EXPECT_EQ(server_.Asked("POST", "/jobs.json").size(), 1u);
  ExpectConservation(campaign);
}

// The updator, on a host that reaches no cluster.
class CutOffLeaderPgTest : public HostsPgTest {
 protected:
  void SetUp() override {
    HostsPgTest::SetUp();
    if (geteuid() != 0) GTEST_SKIP() << "needs root: a thread of it leaves the network";
    setenv("CIGRI_HOME", home_.c_str(), 1);
    GivenOars(1);
    const nlohmann::json job = {{"id", 84}, {"state", "Running"}, {"name", "cigri.1.x"}};
    server_.On("GET", "ids=84", Says({{"items", {job}}, {"total", 1}, {"offset", 0}}));
    server_.On("DELETE", "/jobs/84.json", test::Fixture("oar/delete_running_202"));
  }
  void TearDown() override {
    unsetenv("CIGRI_HOME");
    HostsPgTest::TearDown();
  }
  // Kills a job on the cluster; why it could not, or "".
  std::string Kill(bool cut_off = true) {
    return std::async(
               std::launch::async,
               [this, cut_off] {
                 EXPECT_EQ(unshare(cut_off ? CLONE_NEWNET : 0), 0);
                 db::Connection session(conninfo(), "updator");
                 db::Tx tx(session);
                 const auto row = clusterdb::LoadClusters(tx).at(0);
                 tx.Commit();
                 auto job = test::RefOf("84", "cigri.1.x");
                 job.cluster_user = "ann";
                 try {
                   clusterdb::MakeDriver(row, conninfo(), clusterdb::Caller::kUpdator)->Kill({job});
                   return std::string();
                 } catch (const std::exception& e) {
                   return std::string(e.what());
                 }
               })
        .get();
  }
  void GivenFailing(const std::string& since) {
    Sql("INSERT INTO cluster_status (cluster_id, failing_since) VALUES (1, " + since +
        ") ON CONFLICT (cluster_id) DO UPDATE SET failing_since = excluded.failing_since; "
        "UPDATE api_load SET failures = 0, open_until = NULL");
  }
};

TEST_F(CutOffLeaderPgTest, CallsThroughTheRunnerOfAnotherHostThatHasTheCluster) {
  const auto other = Start(8, false, "/other");
  ASSERT_TRUE(AwaitLeases(*other, 1));
  EXPECT_EQ(Kill(), "");
  const auto calls = server_.Asked("DELETE", "/jobs/84.json");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].Header("X-Remote-Ident"), "ann");
  EXPECT_EQ(Count("relayed_calls"), 0) << "whoever has the answer removes it";
  // Runners of this host would not reach it.
  const auto mine = Start();
  ASSERT_TRUE(Await([&] { return Count("living_runners") == 2; }));
  EXPECT_EQ(Kill(), "");
  EXPECT_EQ(Count("unreachable_clusters AS u JOIN living_runners AS r ON r.id = u.runner_id "
                  "WHERE r.pid = " + std::to_string(mine->pid())), 1);
}

// Its driver could not be made there: while this host led, the cluster got nothing.
TEST_F(CutOffLeaderPgTest, CallsThroughTheRunnerThatHasTheKeyOfACluster) {
  Sql("UPDATE clusters SET api_auth_type = 'basic', api_username = 'grid', api_password = '" +
      SecretBox(home_ + "/other/secret.key").Encrypt("s3cret") + "'");
  EXPECT_NE(Kill(false).find("there is no key file " + home_ + "/secret.key"), std::string::npos);
  const auto other = Start(8, false, "/other");
  ASSERT_TRUE(AwaitLeases(*other, 1));
  EXPECT_EQ(Kill(false), "");
  const auto calls = server_.Asked("DELETE", "/jobs/84.json");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].Header("Authorization"), "Basic Z3JpZDpzM2NyZXQ=");
}

TEST_F(CutOffLeaderPgTest, AClusterGoesToTheRunnerThatReachesIt) {
  const auto mine = Start(1, true);
  ASSERT_TRUE(AwaitLeases(*mine, 1));
  GivenFailing("now() - interval '1 minute'");
  EXPECT_NE(Kill(), "");
  EXPECT_EQ(Count("unreachable_clusters"), 0) << "there is no other runner";
  const auto other = Start(1, false, "/other");
  ASSERT_TRUE(Await([&] { return Count("living_runners") == 2; }));
  GivenFailing("now()");
  EXPECT_NE(Kill(), "");
  EXPECT_EQ(Count("unreachable_clusters"), 0) << "maybe it is soon there again";
  GivenFailing("now() - interval '1 minute'");
  EXPECT_NE(Kill(), "");
  ASSERT_TRUE(AwaitLeases(*other, 1));
  GivenFailing("now() - interval '1 minute'");
  EXPECT_EQ(Kill(), "");
  EXPECT_EQ(server_.Asked("DELETE", "/jobs/84.json").size(), 1u);
}

// One host's network and processors carried every poll of the grid.
class PollsPgTest : public HostsPgTest {
 protected:
  void SetUp() override {
    HostsPgTest::SetUp();
    setenv("CIGRI_HOME", home_.c_str(), 1);
    GivenOars(2);
    const nlohmann::json job = {{"id", 84}, {"state", "Running"}, {"name", "cigri.1.x"}};
    server_.On("GET", "ids=84", Says({{"items", {job}}, {"total", 1}, {"offset", 0}}));
    mine_ = Start();
    ASSERT_TRUE(AwaitLeases(*mine_, 2));
    other_ = Start(8, false, "/other");
    ASSERT_TRUE(AwaitLeases(*other_, 1));
    ASSERT_TRUE(AwaitLeases(*mine_, 1));
  }
  void TearDown() override {
    unsetenv("CIGRI_HOME");
    HostsPgTest::TearDown();
  }
  // The updator's driver of the cluster that a runner has.
  std::unique_ptr<cluster::Cluster> DriverOf(const RunnerProcess& runner) {
    db::Connection session(conninfo(), "updator");
    db::Tx tx(session);
    const auto lease = "cluster_leases AS l JOIN runners AS r ON r.id = l.runner_id WHERE r.pid = " +
                       std::to_string(runner.pid()) + " AND l.cluster_id = ";
    for (const auto& row : clusterdb::LoadClusters(tx))
      if (Count(lease + std::to_string(row.config.id)) == 1)
        return clusterdb::MakeDriver(row, conninfo(), clusterdb::Caller::kUpdator);
    throw std::runtime_error("the runner has no cluster");
  }
  struct Calls {
    int here = 0, elsewhere = 0;
  };
  // Who made the calls of some polls.
  Calls Poll(cluster::Cluster& driver, int polls) {
    const auto asked = [this] {
      return Count("generate_series(1, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "
                   "relayed_call_ids))");
    };
    Calls made;
    const auto before = asked();
    for (int i = 0; i < polls; ++i) {
      const auto answer = driver.Poll({.jobs = {test::RefOf("84", "cigri.1.x")}, .token = ""});
      EXPECT_EQ(answer.jobs.size(), 1u);
      made.here += answer.calls;
    }
    made.elsewhere = static_cast<int>(asked() - before);
    made.here -= made.elsewhere;
    return made;
  }
  std::unique_ptr<RunnerProcess> mine_, other_;
};

TEST_F(PollsPgTest, AreMadeByTheHostThatHasTheCluster) {
  EXPECT_EQ(Poll(*DriverOf(*mine_), 3).elsewhere, 0);
  const auto driver = DriverOf(*other_);
  const auto made = Poll(*driver, 4);
  EXPECT_EQ(made.here, 1) << "it shows that this host could make them, too";
  EXPECT_GE(made.elsewhere, 3);
  EXPECT_EQ(Count("unreachable_clusters"), 0);
  // A host that stands still costs seconds, not a poll.
  other_->Stop();
  EXPECT_GE(Poll(*driver, 1).elsewhere, 1);
  EXPECT_EQ(Count("relayed_calls"), 0);
  other_->Kill(SIGKILL);
  ASSERT_TRUE(AwaitLeases(*mine_, 2));
  EXPECT_EQ(Poll(*driver, 3).elsewhere, 0);
}

// Grid Engine has commands alone; its calls go the same way.
TEST_F(PollsPgTest, CommandsAreRunByTheHostThatHasTheCluster) {
  std::ofstream(home_ + "/qstat") << "#!/bin/sh\n"
                                     "echo '<job_info><Queue-List><slots_total>8</slots_total>"
                                     "</Queue-List></job_info>'\n";
  std::filesystem::permissions(home_ + "/qstat", std::filesystem::perms::owner_all);
  const nlohmann::json options = {{"command_wrapper", "env"},
                                  {"environment", {{"PATH", home_ + ":/usr/bin:/bin"}}}};
  Sql("UPDATE clusters SET kind = 'gridengine', api_url = 'local:', api_auth_type = 'none', "
      "api_username = 'grid', options = '" + options.dump() + "'");
  const auto driver = DriverOf(*other_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver->GetResources({}).max, 8);
  EXPECT_EQ(Count("generate_series(1, (SELECT last_value FROM relayed_call_ids))"), 2)
      << "the first one shows that this host could make them, too";
  EXPECT_EQ(Count("relayed_calls"), 0);
}

TEST_F(HostsPgTest, WhatARunnerWritesAfterItsTermIsRefused) {
  GivenOars(1);
  const auto campaign = GivenCampaign({.ntasks = 3});
  const auto first = Start(2);
  ASSERT_TRUE(AwaitLeases(*first, 1));
  // It stands still after its cluster has taken the job, and before it reads the answer.
  on_post_ = [&] { first->Stop(); };
  GivenGrant(campaign, 1, 1);
  Sql("NOTIFY cigri_grants");
  ASSERT_TRUE(Await([&] { return !server_.Asked("POST", "/jobs.json").empty(); }));
  const auto second = Start(2);
  ASSERT_TRUE(AwaitLeases(*second, 1));
  ASSERT_TRUE(Await([&] { return Count("batches WHERE state = 'in_doubt'") == 1; }))
      << "the second one looks up what the first one may have sent";
  first->Signal(SIGCONT);
  EXPECT_EQ(first->Kill(0), kExitTryLater) << "it ends itself";
  EXPECT_EQ(Count("live"), 0) << "its record is refused";
  EXPECT_EQ(Count("batches WHERE state = 'in_doubt'"), 1);
  EXPECT_EQ(server_.Asked("POST", "/jobs.json").size(), 1u) << "nothing is sent twice";
  EXPECT_EQ(LeasesOf(*second), 1);
  ExpectConservation(campaign);
}

TEST_F(HostsPgTest, ARunnerThatStandsStillInAClaimIsEndedByTheNextOne) {
  GivenClusters(1);
  Sql("INSERT INTO runners (id, host, home, pid, session, ends_at) VALUES ('paused', 'a', 'a:/h', "
      "1, pg_backend_pid(), now() - interval '1 second');"
      "UPDATE cluster_leases SET epoch = 3, runner_id = 'paused'");
  db::Connection session(conninfo(), "cigri runner");
  db::Tx claim(session);
  ASSERT_FALSE(claim.Exec(sql::kHoldCluster, std::int64_t{1}, std::int64_t{3}).empty());
  test::TestWaker waker;
  Leases leases(conninfo(), {std::chrono::milliseconds(1000)}, waker);
  ASSERT_TRUE(Await([&] { return leases.Held().count(1) == 1; }));
  EXPECT_EQ(leases.Held().at(1), 4);
  EXPECT_THROW(claim.Commit(), db::Error);
}

// Seen on a machine under load: it took its own clusters again, in a new epoch, and ended itself.
TEST_F(HostsPgTest, WhatNobodyHasTakenIsStillItsOwnAfterItsTerm) {
  GivenClusters(1);
  test::TestWaker waker;
  Leases leases(conninfo(), {std::chrono::milliseconds(400)}, waker);
  EXPECT_EQ(leases.Held().at(1), 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  ASSERT_TRUE(Await([&] {  // its term ends whenever it looks at the tables
    Sql("UPDATE runners SET ends_at = now() - interval '1 second'");
    return leases.lost() || std::chrono::steady_clock::now() > end;
  }));
  EXPECT_FALSE(leases.lost());
  EXPECT_EQ(leases.Held().at(1), 1);
}

// Whoever came back first took the clusters of all others, and had to give them back.
TEST_F(HostsPgTest, ARunnerWhoseSessionWasLostLeavesTheOthersTimeToReturn) {
  GivenClusters(2);
  auto session = std::make_unique<db::Connection>(conninfo(), "other runner");
  Sql("INSERT INTO runners (id, host, home, pid, session, ends_at) VALUES ('other', 'b', 'b:/h', "
      "1, " +
      std::to_string(session->backend_pid()) + ", now() + interval '1 hour');"
      "UPDATE cluster_leases SET runner_id = 'other' WHERE cluster_id = 2");
  test::TestWaker waker;
  Leases leases(conninfo(), {std::chrono::seconds(20)}, waker);
  const auto has = [&](std::size_t n) { return [&, n] { return leases.Held().size() == n; }; };
  ASSERT_TRUE(Await(has(1)));
  const std::string mine = "runners WHERE id <> 'other'";
  const auto text = [&](const std::string& column) {
    return std::string(Sql("SELECT " + column + " FROM " + mine)[0][0].c_str());
  };
  const auto lost = text("session");
  session.reset();
  Sql("SELECT pg_terminate_backend(session) FROM " + mine);
  ASSERT_TRUE(Await([&] { return text("session") != lost; })) << "it is back";
  for (int i = 0; i < 3; ++i) {
    const auto last = text("ends_at");
    ASSERT_TRUE(Await([&] { return text("ends_at") != last; })) << "it looks at the tables";
  }
  EXPECT_EQ(leases.Held().size(), 1u) << "the other one has not yet returned";
  EXPECT_TRUE(Await(has(2))) << "nor does it";
}

TEST_F(HostsPgTest, ALocalClusterIsServedByTheRunnerOfItsHome) {
  GivenClusters(3);
  test::TestWaker waker;
  setenv("CIGRI_HOME", "/one", 1);
  Leases one(conninfo(), {std::chrono::milliseconds(1000)}, waker);
  EXPECT_EQ(one.Held().size(), 3u);
  Sql("UPDATE clusters SET home = '" + HostName() + ":/two' WHERE id < 3");
  setenv("CIGRI_HOME", "/two", 1);
  Leases two(conninfo(), {std::chrono::milliseconds(1000)}, waker);
  unsetenv("CIGRI_HOME");
  EXPECT_TRUE(Await([&] {
    for (const auto id : one.ToGive()) one.Ended(id);
    return two.Held().size() == 2;
  }));
  EXPECT_EQ(one.Held().size(), 1u);
  EXPECT_EQ(one.Held().count(3), 1u);
  Sql("UPDATE clusters SET home = 'far:/away' WHERE id <> 2");
  EXPECT_TRUE(Await([&] {
    for (auto* runner : {&one, &two})
      for (const auto id : runner->ToGive()) runner->Ended(id);
    return one.Held().empty() && two.Held().size() == 1;
  })) << "no runner lives in the home of the others";
}

}  // namespace
}  // namespace cigri::runner
