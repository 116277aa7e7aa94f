// `cigri` on a whole grid of real processes: a real almighty and PostgreSQL, and programs that
// stand for the modules. As root all of it runs a second time as an ordinary user.
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "core/config.h"
#include "core/error.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "http/client.h"
#include "process/spawn.h"
#include "tests/almighty/fixture.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;
using embedded::CommandResult;
using embedded::Home;
using test::Await;

// In memory where there is room: what is tested is not the disk, and a busy one takes a minute to
// sync.
std::string Place() {
  std::error_code failed;
  const auto space = fs::space("/dev/shm", failed);
  return !failed && space.available > (1u << 30) ? "/dev/shm" : "/tmp";
}

class GridTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string LogTail() const;
  void SetUp() override {
    for (const char* name : {"CIGRI_DB", "PGHOST", "PGDATABASE", "PGSERVICE", "CIGRICONFFILE"})
      unsetenv(name);
    if (user() != "" && geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    fs::create_directories(home.dir);
    if (user() != "") {
      const passwd* pw = getpwnam(user().c_str());
      ASSERT_NE(pw, nullptr);
      ASSERT_EQ(chown(home.dir.c_str(), pw->pw_uid, pw->pw_gid), 0);
    }
  }
  void TearDown() override {
    if (!IsSkipped()) Cigri({"down"});
    std::error_code ignored;
    fs::remove_all(home.dir, ignored);
  }

  std::string user() const { return GetParam(); }
  CommandResult Cigri(std::vector<std::string> words, std::vector<std::string> environment = {}) {
    std::vector<std::string> argv{"env", "CIGRI_HOME=" + home.dir};
    argv.insert(argv.end(), environment.begin(), environment.end());
    if (user() != "") argv.insert(argv.end(), {"runuser", "-u", user(), "--"});
    argv.push_back(bin.dir() + "/cigri");
    argv.insert(argv.end(), words.begin(), words.end());
    return embedded::RunCommand(argv, std::chrono::seconds(100));
  }
  int Count(const std::string& name) {
    int n = 0;
    for (const auto& process : embedded::GridProcesses(home)) n += process.name == name;
    return n;
  }
  pid_t PidOf(const std::string& name) {
    for (const auto& process : embedded::GridProcesses(home))
      if (process.name == name) return process.pid;
    throw std::runtime_error("no " + name + " runs");  // 0 would be all of ours, for kill()
  }
  // A killed process keeps its locks until it is gone.
  static void KillAndSee(pid_t pid) {
    const process::Fd process = process::PidFd(pid);
    kill(pid, SIGKILL);
    pollfd fd{process.get(), POLLIN, 0};
    if (process) poll(&fd, 1, 20000);
  }
  // Two almighties run and hold a place each. That a place is taken is not enough: the survivor of
  // a pair takes the other's for a moment, to see whether it is empty, and the file still names the
  // dead one.
  bool Paired() {
    std::set<pid_t> holders;
    for (const char* place : {"/almighty.1.lock", "/almighty.2.lock"}) {
      if (embedded::LockFile(home.run() + place, std::chrono::milliseconds(0))) return false;
      pid_t holder = 0;
      std::ifstream(home.run() + place) >> holder;
      if (holder > 1 && test::Alive(holder)) holders.insert(holder);
    }
    return holders.size() == 2;
  }
  bool Healthy(const std::string& socket) {
    return http::Client(http::Endpoint::Parse("unix:" + home.socket(socket)), {})
        .Get("/health")
        .ok();
  }
  bool Whole() {
    for (const char* name : {"updator", "predictor", "metascheduler", "runner", "nikita", "notifier", "api"})
      if (Count(name) != 1) return false;
    return Count("almighty") == 2 && Count("localcluster") == 2 && Healthy("api.sock") &&
           Healthy("alpha.sock") && embedded::PostgresPid(home) != 0;
  }

  Home home{Place() + "/cigri-grid-" + RandomHex(4)};
  test::BinFolder bin{{"almighty", "cigri"}};
};

INSTANTIATE_TEST_SUITE_P(AsOurselves, GridTest, ::testing::Values(""));
INSTANTIATE_TEST_SUITE_P(AsAnOrdinaryUser, GridTest, ::testing::Values("nobody"));

TEST_P(GridTest, ComesUpTwiceTheSameAndGoesDownWithoutATrace) {
  const auto up = Cigri({"up"});
  ASSERT_EQ(up.code, 0) << up.output;
  EXPECT_NE(up.output.find("grid up in "), std::string::npos) << up.output;
  EXPECT_NE(up.output.find("own PostgreSQL, alpha "), std::string::npos) << up.output;
  EXPECT_TRUE(Await([&] { return Whole(); })) << Cigri({"status"}).output;
  const pid_t leader = PidOf("almighty");
  EXPECT_EQ(Cigri({"up"}).code, 0);
  EXPECT_EQ(PidOf("almighty"), leader) << "a second `up` starts nothing";
  EXPECT_EQ(Cigri({"status"}).code, 0);
  const auto doctor = Cigri({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.output;

  const auto down = Cigri({"down"});
  EXPECT_EQ(down.code, 0) << down.output;
  EXPECT_TRUE(embedded::GridProcesses(home).empty());
  EXPECT_EQ(embedded::PostgresPid(home), 0);
  for (const auto& entry :
       fs::recursive_directory_iterator(home.dir, fs::directory_options::skip_permission_denied))
    EXPECT_FALSE(entry.is_socket()) << entry.path();
  EXPECT_EQ(Cigri({"status"}).code, 1);
  EXPECT_EQ(Cigri({"down"}).code, 0);
}

// Of a grid that was up it said that it was down, and asked to report a bug.
TEST_P(GridTest, AnotherUserIsToldWhoseItIs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string owner = user() == "" ? "root" : user();
  for (const char* command : {"status", "up", "down", "backup", "upgrade", "migrate", "doctor"}) {
    const auto ran = embedded::RunCommand({"env", "CIGRI_HOME=" + home.dir, "runuser", "-u",
                                           "daemon", "--", bin.dir() + "/cigri", command},
                                          std::chrono::seconds(100));
    const bool doctor = command == std::string("doctor");
    EXPECT_EQ(ran.code, doctor ? 1 : 77) << command << ": " << ran.output;
    const std::string says = doctor ? " is not yours to write" : home.dir + " belongs to " + owner;
    EXPECT_NE(ran.output.find(says), std::string::npos) << command << ": " << ran.output;
  }
}

TEST_P(GridTest, ComesBackAfterAPowerCut) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  for (const auto& process : embedded::GridProcesses(home)) kill(process.pid, SIGKILL);
  for (const auto& process : embedded::PostgresProcesses(home)) kill(process.pid, SIGKILL);
  const auto up = Cigri({"up"});
  EXPECT_EQ(up.code, 0) << up.output;
  EXPECT_TRUE(Await([&] { return Whole(); }));
}

TEST_P(GridTest, HealsItselfWhateverIsKilled) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  kill(embedded::PostgresPid(home), SIGKILL);
  EXPECT_TRUE(Await([&] { return Whole(); }, std::chrono::seconds(40)))
      << "the postmaster: " << Cigri({"status"}).output;
  // Its event, as the log has it; one for each time, whoever leads after it.
  EXPECT_TRUE(
      Await([&] { return LogTail().find("database was unavailable for") != std::string::npos; }));
  for (const char* name : {"almighty", "localcluster", "api"}) {
    const pid_t victim = PidOf(name);
    kill(victim, SIGKILL);
    EXPECT_TRUE(Await([&] { return !test::Alive(victim) && Whole(); }, std::chrono::seconds(40)))
        << name;
  }
  const auto sessions = embedded::PostgresProcesses(home);
  kill(sessions.back().pid, SIGKILL);  // its server restarts all of its sessions
  EXPECT_TRUE(Await([&] { return Whole(); }, std::chrono::seconds(40))) << "a session";
}

// What the grid said last, for a failure that nobody can repeat.
std::string GridTest::LogTail() const {
  std::ifstream in(home.log_file());
  std::stringstream text;
  text << in.rdbuf();
  const auto all = text.str();
  return all.substr(all.size() > 6000 ? all.size() - 6000 : 0);
}

TEST_P(GridTest, OutlivesKillsOfAnythingWhileItHeals) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  // The worst pair first: who would start the server again, a moment after the server.
  kill(embedded::PostgresPid(home), SIGKILL);
  KillAndSee(PidOf("almighty"));
  for (int i = 0; i < 12; ++i) {
    // A second almighty comes within some milliseconds; both at once only `cigri up` brings back.
    ASSERT_TRUE(Await([&] { return Paired(); })) << i << "\n"
                                                 << Cigri({"status"}).output << LogTail();
    auto processes = embedded::GridProcesses(home);
    const auto server = embedded::PostgresProcesses(home);
    processes.insert(processes.end(), server.begin(), server.end());
    KillAndSee(processes[static_cast<std::size_t>(i * 37 + 11) % processes.size()].pid);
  }
  EXPECT_TRUE(Await([&] { return Whole(); }, std::chrono::seconds(60)))
      << Cigri({"status"}).output << LogTail();
}

class CigriTest : public GridTest {};
INSTANTIATE_TEST_SUITE_P(AsOurselves, CigriTest, ::testing::Values(""));

TEST_P(CigriTest, SeveralGridsRunSideBySide) {
  ASSERT_EQ(Cigri({"up", "--slots", "one=3"}).code, 0);
  const Home first = home;
  home.dir += "b";
  const auto up = Cigri({"up", "--clusters", "3"});
  EXPECT_EQ(up.code, 0) << up.output;
  EXPECT_NE(up.output.find("gamma"), std::string::npos) << up.output;
  EXPECT_EQ(Cigri({"down"}).code, 0);
  fs::remove_all(home.dir);
  home = first;
  EXPECT_EQ(Count("localcluster"), 1);
  EXPECT_TRUE(Healthy("one.sock"));
}

TEST_P(CigriTest, OtherClustersThanThoseThatRunAreRefused) {
  ASSERT_EQ(Cigri({"up", "--slots", "one=3"}).code, 0);
  EXPECT_EQ(Cigri({"up", "--slots", "one=3"}).code, 0);
  const auto other = Cigri({"up", "--slots", "one=4"});
  EXPECT_EQ(other.code, 64);
  EXPECT_NE(other.output.find("one 3 slots"), std::string::npos) << other.output;
}

TEST_P(CigriTest, ADatabaseThatIsNotOursIsNeverWritten) {
  const Home other{home.dir + "o"};
  const std::string conninfo = embedded::StartPostgres(other);
  {
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    tx.Raw("CREATE TABLE payroll (id int)");
    tx.Commit();
  }
  std::ofstream(home.dir + "/cigri.conf")
      << "DATABASE_HOST = \"" << other.PostgresSocketDir()
      << "\"\nDATABASE_NAME = \"postgres\"\nDATABASE_USER_NAME = \"cigri\"\n";
  const auto up = Cigri({"up"}, {"CIGRICONFFILE=" + home.dir + "/cigri.conf"});
  EXPECT_EQ(up.code, 78) << up.output;
  EXPECT_NE(up.output.find("payroll"), std::string::npos) << up.output;
  EXPECT_NE(up.output.find("cigri.conf"), std::string::npos) << "which one, and why: " << up.output;
  EXPECT_EQ(Count("almighty"), 0);
  {
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    EXPECT_EQ(db::Native(tx)
                  .exec("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")[0][0]
                  .as<int>(),
              1);
    tx.Raw("DROP TABLE payroll");
    tx.Commit();
  }
  // Emptied, the same one is used; --embedded ignores it.
  const auto again = Cigri({"up"}, {"CIGRICONFFILE=" + home.dir + "/cigri.conf"});
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("configuration: " + home.dir + "/cigri.conf\n"), std::string::npos)
      << again.output;
  EXPECT_FALSE(embedded::HasPostgres(home));
  EXPECT_EQ(Cigri({"down"}).code, 0);
  EXPECT_NE(embedded::PostgresPid(other), 0) << "a server that is not ours is not stopped";
  const auto refused = Cigri({"up", "--embedded"}, {"CIGRICONFFILE=" + home.dir + "/cigri.conf"});
  EXPECT_EQ(refused.code, 78) << refused.output;
  fs::remove(home.grid_file());  // as it says
  const auto own = Cigri({"up", "--embedded"}, {"CIGRICONFFILE=" + home.dir + "/cigri.conf"});
  EXPECT_EQ(own.code, 0) << own.output;
  EXPECT_TRUE(embedded::HasPostgres(home));
  embedded::StopPostgres(other);
  fs::remove_all(other.dir);
}

// high-availability 1: the second home moved the clusters of the first to sockets that nobody
// served; at the next take-over, what ran there ran once more.
TEST_P(CigriTest, ASecondHomeOnOneDatabaseTakesNoClusterAndStandsBy) {
  const Home server{home.dir + "o"};
  const std::string conninfo = embedded::StartPostgres(server);
  const std::vector<std::string> database{"CIGRI_DB=" + conninfo};
  ASSERT_EQ(Cigri({"up", "--slots", "one=2"}, database).code, 0);
  const Home first = home;
  home.dir += "b";
  const auto same = Cigri({"up", "--slots", "one=2"}, database);
  EXPECT_EQ(same.code, 78) << same.output;
  EXPECT_NE(same.output.find("belongs to "), std::string::npos) << same.output;
  EXPECT_NE(same.output.find(first.dir), std::string::npos) << "whose it is: " << same.output;
  EXPECT_EQ(Count("almighty"), 0) << "nothing is left running";

  const auto other = Cigri({"up", "--slots", "two=1"}, database);
  EXPECT_EQ(other.code, 0) << other.output;
  EXPECT_NE(other.output.find("stands by, "), std::string::npos) << other.output;
  EXPECT_EQ(Count("localcluster"), 1) << "its own, though it does not lead";
  EXPECT_TRUE(Healthy("two.grid"));
  EXPECT_TRUE(Await([&] { return Count("almighty") == 2 && Count("runner") == 1; }));
  const auto doctor = Cigri({"doctor"}, database);
  EXPECT_EQ(doctor.output.find("does not run"), std::string::npos) << doctor.output;
  EXPECT_NE(doctor.output.find("; stands by, "), std::string::npos) << doctor.output;
  EXPECT_TRUE(Healthy("api.sock"));
  const Home second = std::exchange(home, first);
  EXPECT_TRUE(Healthy("one.grid")) << "the first's is untouched";
  EXPECT_EQ(Cigri({"down"}, database).code, 0);
  home = second;
  EXPECT_TRUE(Await([&] { return Count("updator") == 1; })) << "now it leads";
  EXPECT_EQ(Cigri({"down"}, database).code, 0);
  fs::remove_all(home.dir);
  home = first;
  embedded::StopPostgres(server);
  fs::remove_all(server.dir);
}

// A variable of the shell gave a running grid's home another database: two grids on one set of
// clusters.
TEST_P(CigriTest, TheDatabaseOfAGridIsKeptWhateverTheShellSays) {
  ASSERT_EQ(Cigri({"up", "--embedded"}).code, 0);
  const Home other{home.dir + "o"};
  const std::string conninfo = embedded::StartPostgres(other);
  const std::vector<std::string> shell{"PGHOST=" + other.PostgresSocketDir(), "PGUSER=cigri",
                                       "PGDATABASE=postgres"};
  for (const auto& environment : {shell, {"CIGRI_DB=" + conninfo}}) {
    const auto up = Cigri({"up"}, environment);
    EXPECT_EQ(up.code, 78) << up.output;
    EXPECT_NE(up.output.find(home.grid_file()), std::string::npos) << "how to: " << up.output;
    const auto upgrade = Cigri({"upgrade"}, environment);
    EXPECT_EQ(upgrade.code, 0) << upgrade.output;
    EXPECT_NE(upgrade.output.find("s: own PostgreSQL, "), std::string::npos) << upgrade.output;
    EXPECT_NE(Cigri({"status"}, environment).output.find("database: own PostgreSQL, "),
              std::string::npos);
  }
  db::Connection connection(conninfo, "test");
  EXPECT_EQ(db::InspectSchema(connection).kind, db::SchemaKind::kEmpty) << "never written";
  embedded::StopPostgres(other);
  fs::remove_all(other.dir);
}

TEST_P(CigriTest, ADatabaseThatWasNamedOnceNeedsNotBeNamedAgain) {
  const Home other{home.dir + "o"};
  const std::string conninfo = embedded::StartPostgres(other);
  ASSERT_EQ(Cigri({"up"}, {"CIGRI_DB=" + conninfo}).code, 0);
  EXPECT_EQ(fs::status(home.grid_file()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write)
      << "there may be a password in it";
  const auto up = Cigri({"up"});
  EXPECT_EQ(up.code, 0) << up.output;
  const auto backup = Cigri({"backup"});
  EXPECT_EQ(backup.code, 0) << backup.output;
  EXPECT_NE(backup.output.find(" of the PostgreSQL of $CIGRI_DB"), std::string::npos);
  const auto another_way = Cigri({"up"}, {"CIGRI_DB=" + conninfo + " connect_timeout=7"});
  EXPECT_EQ(another_way.code, 0) << "to the same grid: " << another_way.output;
  EXPECT_EQ(Cigri({"up", "--embedded"}).code, 78);
  EXPECT_EQ(Cigri({"down"}).code, 0);
  EXPECT_EQ(Cigri({"up"}).code, 0);
  EXPECT_FALSE(embedded::HasPostgres(home)) << "no server of its own";
  EXPECT_EQ(Cigri({"down"}).code, 0);
  embedded::StopPostgres(other);
  fs::remove_all(other.dir);
}

TEST_P(CigriTest, APortOfTheShellIsNotTheServers) {
  ASSERT_EQ(Cigri({"up"}, {"PGPORT=6543"}).code, 0);
  const auto status = Cigri({"status"});
  EXPECT_EQ(status.output.find("database: no "), std::string::npos) << status.output;
  EXPECT_EQ(Cigri({"backup"}, {"PGPORT=6544"}).code, 0);
}

TEST_P(CigriTest, AFolderByAnotherNameIsTheSameGrid) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  const std::string link = home.dir + ".link";
  fs::create_directory_symlink(home.dir, link);
  const auto up = Cigri({"up"}, {"CIGRI_HOME=" + link});
  EXPECT_EQ(up.code, 0) << up.output;
  EXPECT_NE(up.output.find("grid is up, checked in"), std::string::npos) << up.output;
  EXPECT_EQ(Cigri({"down"}, {"CIGRI_HOME=" + link}).code, 0);
  EXPECT_TRUE(embedded::GridProcesses(home).empty());
  fs::remove(link);
}

// `down` killed them, and one of another user kept `up` and `down` from their work.
TEST_P(CigriTest, WhatOnlyHasTheNameAndTheVariableIsNoProcessOfTheGrid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string folder = bin.dir() + "/elsewhere";
  fs::create_directories(folder);
  fs::copy_file("/bin/sleep", folder + "/runner");
  fs::rename(bin.dir() + "/nikita", bin.dir() + "/nikita.away");
  fs::copy_file("/bin/sleep", bin.dir() + "/nikita");
  const test::Running ours({"/usr/bin/env", "CIGRI_HOME=" + home.dir, folder + "/runner", "1000"});
  const test::Running stranger({"/usr/bin/env", "CIGRI_HOME=" + home.dir, "setpriv",
                                "--reuid=daemon", "--clear-groups", bin.dir() + "/nikita", "1000"});
  const auto named = [](pid_t pid, const std::string& name) {
    std::string comm;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), comm);
    return comm == name;
  };
  ASSERT_TRUE(
      Await([&] { return named(ours.pid(), "runner") && named(stranger.pid(), "nikita"); }));
  EXPECT_TRUE(embedded::GridProcesses(home).empty());
  EXPECT_EQ(Cigri({"down"}).code, 0);
  EXPECT_TRUE(test::Alive(ours.pid()));
  EXPECT_TRUE(test::Alive(stranger.pid()));
  fs::rename(bin.dir() + "/nikita.away", bin.dir() + "/nikita");
}

TEST_P(CigriTest, AValueThatAProgramRefusesIsReportedBeforeAnythingIsStarted) {
  const std::string file = bin.dir() + "/cigri.conf";
  for (const std::string line : {"LEADER_TERM = \"abc\"", "LEADER_TERM = \"20000000000\"",
                                 "SEND_WINDOW = \"1\"", "LOCAL_PIN = \"perhaps\""}) {
    std::ofstream(file) << line << "\n";
    const auto up = Cigri({"up"}, {"CIGRICONFFILE=" + file});
    EXPECT_EQ(up.code, 78) << line << ": " << up.output;
    EXPECT_NE(up.output.find(line), std::string::npos) << up.output;
    EXPECT_FALSE(embedded::HasPostgres(home));
  }
  for (const std::string& name : {home.dir + "/a,b", home.dir + "/\xff"}) {
    const auto up = Cigri({"up"}, {"CIGRI_HOME=" + name});
    EXPECT_EQ(up.code, 78) << up.output;
    EXPECT_NE(up.output.find("CIGRI_HOME "), std::string::npos) << up.output;
  }
}

TEST_P(CigriTest, AnUpgradeWhoseBackupFailsSaysHowTheGridIs) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  // It looks for the program where the server is.
  std::string version;
  std::getline(std::ifstream(home.data() + "/PG_VERSION"), version);
  const std::string programs = bin.dir() + "/pg/" + version + "/bin";
  fs::create_directories(programs);
  for (const auto& entry :
       fs::directory_iterator(fs::path(embedded::PostgresProgram(&home, "psql")).parent_path()))
    fs::create_symlink(entry.path(), programs + "/" + entry.path().filename().string());
  fs::remove(programs + "/pg_dump");
  std::ofstream(programs + "/pg_dump")
      << "#!/bin/sh\nfor word; do case $word in --file=*) echo half > \"${word#--file=}\";; esac; "
         "done\nexit 1\n";
  fs::permissions(programs + "/pg_dump", fs::perms(0755));
  const auto upgrade = Cigri({"upgrade"}, {"PG_BINDIR=" + programs});
  EXPECT_EQ(upgrade.code, 69) << upgrade.output;
  EXPECT_NE(upgrade.output.find("the grid is down"), std::string::npos) << upgrade.output;
  EXPECT_EQ(embedded::PostgresPid(home), 0);
  EXPECT_TRUE(fs::is_empty(home.dir + "/backup"));
}

// The tables of the backup went where its own schema was, and "restored" was the answer.
TEST_P(CigriTest, ABackupOfAnotherSchemaOrGridReplacesNone) {
  const Home server{home.dir + "o"}, second{home.dir + "b"};
  const std::string conninfo = embedded::StartPostgres(server);
  const auto run = [&](const std::string& statement) {
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    tx.Raw(statement);
    tx.Commit();
  };
  const std::string file = home.dir + "/public.dump", moved = home.dir + "/elsewhere.dump";
  run("CREATE SCHEMA elsewhere");
  for (const auto& [schema, to] : {std::pair{"public", file}, {"elsewhere", moved}}) {
    const std::vector<std::string> named{"CIGRI_DB=" + conninfo +
                                         " options=-csearch_path=" + schema};
    ASSERT_EQ(Cigri({"up"}, named).code, 0);
    ASSERT_EQ(Cigri({"backup", to}).code, 0);
    ASSERT_EQ(Cigri({"down"}).code, 0);
    fs::remove(home.grid_file());
  }
  const std::vector<std::string> ours{"CIGRI_DB=" + conninfo + " options=-csearch_path=public"};
  const auto schema = Cigri({"restore", moved}, ours);
  EXPECT_EQ(schema.code, 78) << schema.output;
  EXPECT_NE(schema.output.find("a backup of the schema elsewhere"), std::string::npos)
      << schema.output;
  EXPECT_EQ(Cigri({"restore", file}, ours).code, 0) << "its own";

  run("UPDATE public.grid SET grid_id = 'another'");
  EXPECT_EQ(Cigri({"restore", file}, ours).code, 0) << "a grid that has not been used";
  run("UPDATE public.grid SET grid_id = 'another'; UPDATE public.clusters SET home = NULL");
  const auto other = Cigri({"restore", file}, ours);
  EXPECT_EQ(other.code, 78) << other.output;
  EXPECT_NE(other.output.find(" has grid another, with campaigns or clusters"), std::string::npos)
      << other.output;
  EXPECT_EQ(Cigri({"restore", "--other-grid", file}, ours).code, 0);
  embedded::StopPostgres(server);
  fs::remove_all(server.dir);
}

// The pieces of a log that could not be kept were lost.
TEST_P(CigriTest, ALogThatCannotBeCopiedIsNotEmptied) {
  fs::create_directories(home.dir + "/log/grid.log.1/full");
  std::ofstream(home.log_file()) << std::string(11u << 20, 'x');
  ASSERT_EQ(Cigri({"up"}).code, 0);
  EXPECT_TRUE(Await([&] { return fs::exists(home.run() + "/logs.lock"); }));
  ASSERT_TRUE(Await([&] { return Whole(); }));
  EXPECT_GT(fs::file_size(home.log_file()), 11u << 20);
}

// high-availability 2: without this a frozen server stops the grid for as long as it is frozen.
TEST_P(CigriTest, ASessionLeavesAServerThatAnswersNobody) {
  const Home server{home.dir + "o"};
  db::Connection connection(embedded::StartPostgres(server), "test");
  db::Tx tx(connection);
  const auto processes = embedded::PostgresProcesses(server);
  for (const auto& process : processes) kill(process.pid, SIGSTOP);
  try {
    tx.Raw("SELECT 1");
    ADD_FAILURE() << "it was answered";
  } catch (const db::Broken& e) {
    EXPECT_STREQ(e.what(), "the database answers nobody") << "and not: for a minute";
  }
  for (const auto& process : processes) kill(process.pid, SIGCONT);
  embedded::StopPostgres(server);
  fs::remove_all(server.dir);
}

// A statement that takes long is not a server that stands still.
TEST_P(CigriTest, ASessionWaitsForALongStatementOfAServerThatAnswers) {
  const Home server{home.dir + "o"};
  db::Connection connection(embedded::StartPostgres(server), "test");
  db::Tx tx(connection);
  EXPECT_NO_THROW(tx.Raw("SELECT pg_sleep(4)"));
  embedded::StopPostgres(server);
  fs::remove_all(server.dir);
}

// The first campaign of a new grid was told that nothing runs on a cluster, which the grid had
// asked before it listened.
TEST_P(CigriTest, UpWaitsUntilTheGridHasAnAnswerOfItsClusters) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  const auto run = [this](const std::string& sql) {
    std::string conninfo;
    std::getline(std::ifstream(home.conninfo_file()) >> std::ws, conninfo);
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    tx.Raw(sql);
    tx.Commit();
  };
  run("INSERT INTO cluster_status (cluster_id, failing_since) SELECT id, now() FROM clusters WHERE "
      "name = 'alpha'");
  const auto up = Cigri({"up", "--timeout", "1"});
  EXPECT_EQ(up.code, 69) << up.output;
  EXPECT_NE(up.output.find("no answer from alpha to the grid"), std::string::npos) << up.output;
  run("UPDATE cluster_status SET failing_since = NULL");
  EXPECT_EQ(Cigri({"up", "--timeout", "1"}).code, 0);
}

TEST_P(CigriTest, ADatabaseOfAnotherBuildIsRefusedAndNothingIsLeftRunning) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  {
    std::string conninfo;
    std::getline(std::ifstream(home.conninfo_file()) >> std::ws, conninfo);
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    tx.Raw("UPDATE schema_migrations SET checksum = 'x' WHERE number = 1");
    tx.Commit();
  }
  ASSERT_EQ(Cigri({"down"}).code, 0);
  const auto up = Cigri({"up"});
  EXPECT_EQ(up.code, 78) << up.output;
  EXPECT_NE(up.output.find("made by another build"), std::string::npos) << up.output;
  EXPECT_TRUE(embedded::GridProcesses(home).empty());
  EXPECT_EQ(embedded::PostgresPid(home), 0);
}

TEST_P(CigriTest, StatusAndDoctorSayWhichModuleDoesNotRunAndWhy) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  EXPECT_EQ(Cigri({"status"}).output.find("DOES NOT RUN"), std::string::npos);
  const std::string program = bin.dir() + "/predictor";
  fs::rename(program, program + ".away");
  std::ofstream(program) << "#!/bin/sh\nexit 7\n";
  fs::permissions(program, fs::perms::all);
  kill(PidOf("predictor"), SIGKILL);
  const auto says = [&](const std::string& text) {
    return Cigri({"status"}).output.find(text) != std::string::npos;
  };
  EXPECT_TRUE(Await([&] { return says("\npredictor DOES NOT RUN: exit code 7\n"); }))
      << Cigri({"status"}).output;
  const auto doctor = Cigri({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_NE(doctor.output.find("predictor does not run: exit code 7"), std::string::npos)
      << doctor.output;
  fs::rename(program + ".away", program);
  EXPECT_TRUE(Await([&] { return !says("DOES NOT RUN"); }));
}

TEST_P(CigriTest, DoctorSaysWhichSecretsThisHostCannotRead) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  EXPECT_EQ(Cigri({"doctor"}).output.find("secrets"), std::string::npos);
  std::string conninfo;
  std::getline(std::ifstream(home.conninfo_file()) >> std::ws, conninfo);
  db::Connection connection(conninfo, "test");
  db::Tx tx(connection);
  tx.Raw(
      "INSERT INTO clusters (name, kind, api_url, api_password, enabled)"
      " VALUES ('froggy', 'oar2', 'http://127.0.0.1:1', 's1:ofAnotherHost', false)");
  tx.Commit();
  const auto doctor = Cigri({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_NE(doctor.output.find("secrets      cluster froggy: cannot decrypt a stored secret: there "
                               "is no key file " +
                               home.dir + "/secret.key on " + HostName() +
                               "; copy the key file of the host"),
            std::string::npos)
      << doctor.output;
}

TEST_P(CigriTest, StatusSaysWhatToDoWithAnOlderSchema) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  {
    std::string conninfo;
    std::getline(std::ifstream(home.conninfo_file()) >> std::ws, conninfo);
    db::Connection connection(conninfo, "test");
    db::Tx tx(connection);
    tx.Raw("DELETE FROM schema_migrations WHERE number = " + std::to_string(db::SchemaVersion()));
    tx.Commit();
  }
  const auto status = Cigri({"status"});
  EXPECT_NE(status.output.find("schema version " + std::to_string(db::SchemaVersion() - 1) +
                               ", this program needs schema version " +
                               std::to_string(db::SchemaVersion()) + "; run `cigri upgrade`"),
            std::string::npos)
      << status.output;
  // These programs could be of that version, here or on another host.
  const auto up = Cigri({"up"});
  EXPECT_EQ(up.code, 75) << up.output;
  EXPECT_NE(up.output.find(" of this host still works with the older schema"), std::string::npos)
      << up.output;
}

TEST_P(CigriTest, ADatabaseThatIsAwayIsNotReplacedByAnEmptyOne) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  const pid_t server = embedded::PostgresPid(home);
  fs::rename(home.data(), home.dir + "/away");
  KillAndSee(server);
  EXPECT_TRUE(Await([&] { return LogTail().find("there is no database in ") != std::string::npos; }));
  EXPECT_FALSE(fs::exists(home.data()));
  const auto doctor = Cigri({"doctor"});
  EXPECT_NE(doctor.output.find("warn  processes"), std::string::npos) << doctor.output;
  EXPECT_EQ(doctor.output.find("fail  processes"), std::string::npos) << doctor.output;
  fs::rename(home.dir + "/away", home.data());
  EXPECT_TRUE(Await([&] { return Whole(); })) << LogTail();
}

TEST_P(CigriTest, AGridWhoseFolderIsDeletedEnds) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  ASSERT_TRUE(Await([&] { return Whole(); }));
  const pid_t server = embedded::PostgresPid(home);
  fs::remove_all(home.dir);
  KillAndSee(server);  // it looks for its folder once a minute
  EXPECT_TRUE(Await([&] { return embedded::GridProcesses(home).empty(); }, std::chrono::seconds(60)));
  EXPECT_FALSE(fs::exists(home.dir));
}

// Named and called as one that SpawnDaemon has just forked; it ends with its input.
TEST_P(CigriTest, DownEndsAnAlmightyThatIsJustBeingStarted) {
  const std::string setsid = bin.dir() + "/setsid";
  std::ofstream(setsid) << "#!/bin/sh\nread -r word\n";
  fs::permissions(setsid, fs::perms::all);
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  const process::Fd read(input[0]), write(input[1]);
  process::SpawnOptions options;
  options.in = read.get();
  const pid_t pid = process::Spawn(
      {"/usr/bin/env", "CIGRI_HOME=" + home.dir, setsid, "--fork", "/nowhere/almighty"}, options);
  EXPECT_TRUE(Await([&] { return embedded::GridProcesses(home).size() == 1; }));
  EXPECT_EQ(Cigri({"down"}).code, 0);
  EXPECT_NE(process::Reap(pid), 0);
}

TEST_P(CigriTest, MigrateMeansTheDatabaseThatIsNamedElseTheGrids) {
  ASSERT_EQ(Cigri({"up"}).code, 0);
  const auto ours = Cigri({"migrate"});
  EXPECT_EQ(ours.code, 0);
  EXPECT_NE(ours.output.find("own PostgreSQL: schema version "), std::string::npos) << ours.output;
  EXPECT_NE(ours.output.find("nothing to do"), std::string::npos) << ours.output;

  const Home other{home.dir + "o"};
  const std::string conninfo = embedded::StartPostgres(other);
  const auto named = Cigri({"migrate"}, {"CIGRI_DB=" + conninfo});
  EXPECT_EQ(named.code, 0);
  EXPECT_NE(named.output.find("the PostgreSQL of $CIGRI_DB: schema version "), std::string::npos)
      << named.output;
  EXPECT_NE(named.output.find(", was 0"), std::string::npos) << named.output;
  EXPECT_NO_THROW(db::RequireSchema(*std::make_unique<db::Connection>(conninfo, "test")));
  embedded::StopPostgres(other);
  fs::remove_all(other.dir);
}

TEST_P(CigriTest, WrongWordsAreUsageErrors) {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"upp"},
                                                                 {"up", "--slots", "a"},
                                                                 {"up", "--slots", "a=0"},
                                                                 {"up", "--slots", "a=1,a=2"},
                                                                 {"up", "--slots", "a/b=1"},
                                                                 {"up", "--clusters", "9"}})
    EXPECT_EQ(Cigri(words).code, 64) << Join(words, " ");
}

TEST(MachineTest, WhatCannotBeKilledIsNamed) {
  static pid_t zombie = 0;
  zombie = process::Spawn({"/bin/true"});
  const auto list = [](const Home&) {
    return std::vector<embedded::Process>{{zombie, 1, "runner", "", 0, 0, 0}};
  };
  try {
    embedded::EndAll(list, Home{"/nowhere"}, 0.05, 0, 0.05);
    ADD_FAILURE() << "it has ended";
  } catch (const Fatal& e) {
    EXPECT_EQ(e.what(), "killed and still there: runner " + std::to_string(zombie));
  }
  process::Reap(zombie);
}

// Root made the folder behind a link of anybody's in /tmp unusable.
TEST(EmbeddedTest, ALinkInPlaceOfTheFolderOfSocketsIsRefused) {
  const Home home{"/tmp/" + RandomHex(8) + std::string(90, 'x')};
  const std::string victim = "/tmp/" + RandomHex(8);
  ASSERT_EQ(home.PostgresSocketDir().rfind("/tmp/cigri-", 0), 0u) << "it is not in /tmp";
  fs::create_directories(home.data());
  std::ofstream(home.data() + "/PG_VERSION");
  fs::create_directory(victim);
  fs::permissions(victim, fs::perms{0755});
  fs::create_symlink(victim, home.PostgresSocketDir());
  try {
    embedded::StartPostgres(home);
    ADD_FAILURE() << "it has started";
  } catch (const Fatal& e) {
    EXPECT_EQ(e.what(), home.PostgresSocketDir() + " belongs to somebody else");
  }
  EXPECT_EQ(fs::status(victim).permissions(), fs::perms{0755});
  for (const auto& path : {home.PostgresSocketDir(), home.dir, victim}) fs::remove_all(path);
}

TEST(MachineTest, AProcessMayUseAtLeastOneCpu) { EXPECT_GE(embedded::UsableCpus(), 1); }

}  // namespace
}  // namespace cigri
