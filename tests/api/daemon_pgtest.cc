// The daemon as a process: it starts, serves its kernel-known caller, and ends cleanly.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/text.h"
#include "http/client.h"
#include "tests/support/pg.h"

namespace cigri::test {
namespace {

class DaemonPgTest : public PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    home_ = std::filesystem::temp_directory_path() / ("cigri-home-" + RandomHex(6));
    std::filesystem::create_directories(home_);
  }
  void TearDown() override {
    for (pid_t pid : started_) ::kill(pid, SIGKILL);
    std::filesystem::remove_all(home_);
    PgTest::TearDown();
  }
  /// `by`: a program that starts it.
  pid_t Start(const std::vector<std::string>& args = {}, const std::vector<std::string>& by = {}) {
    std::vector<std::string> env = {"CIGRI_HOME=" + home_.string(), "CIGRI_DB=" + conninfo(),
                                    "PATH=/usr/bin:/bin"};
    std::vector<std::string> words = by;
    words.push_back(std::string(CIGRI_BIN_DIR) + "/api");
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv, envp;
    for (auto& word : words) argv.push_back(word.data());
    for (auto& word : env) envp.push_back(word.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execve(argv[0], argv.data(), envp.data());
      ::_exit(127);
    }
    started_.push_back(pid);
    return pid;
  }
  int ExitOf(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    std::erase(started_, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  http::Response Get(const std::string& path) {
    return http::Client(http::Endpoint::Parse("unix:" + (home_ / "run/api.sock").string()), {})
        .Get(path);
  }
  bool AwaitServing() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      if (Get("/health").ok()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::filesystem::path home_;
  std::vector<pid_t> started_;
};

TEST_F(DaemonPgTest, ItServesEndsOnSigtermAndLeavesNoSocket) {
  const pid_t pid = Start();
  ASSERT_TRUE(AwaitServing());
  EXPECT_EQ(Get("/campaigns").status, 200) << "the kernel says who we are";
  EXPECT_EQ(std::filesystem::status(home_ / "run/api.sock").permissions() &
                std::filesystem::perms::others_all,
            std::filesystem::perms::others_read | std::filesystem::perms::others_write);
  EXPECT_EQ(ExitOf(Start()), 69) << "a second one on the same socket";
  EXPECT_TRUE(Get("/health").ok()) << "does not disturb the first";
  ::kill(pid, SIGTERM);
  EXPECT_EQ(ExitOf(pid), 0);
  EXPECT_FALSE(std::filesystem::exists(home_ / "run/api.sock"));
}

// It answered on its socket, so that `cigri up` said that the grid was up, and ended.
TEST_F(DaemonPgTest, WhereItCannotListenOnItsAddressItServesNobody) {
  std::ofstream(home_ / "cigri.conf") << "API_LISTEN = \"no.such.host.invalid:8080\"\n";
  const std::string says = home_ / "says";
  const pid_t pid =
      Start({}, {"/bin/sh", "-c",
                 "CIGRICONFFILE=" + (home_ / "cigri.conf").string() + " exec \"$0\" 2> " + says});
  EXPECT_EQ(ExitOf(pid), 69);
  std::stringstream text;
  text << std::ifstream(says).rdbuf();
  EXPECT_NE(text.str().find("cannot listen on no.such.host.invalid: "), std::string::npos)
      << text.str();
  EXPECT_EQ(text.str().find("serving on"), std::string::npos) << text.str();
}

// Among 50 users who submit, 200 readers waited ten times as long as alone (bench/crowd.py).
TEST_F(DaemonPgTest, WhereItMayItGoesFirstWithItsReadersAndSubmissionsDoNot) {
  const auto nice_of = [](pid_t pid) { return getpriority(PRIO_PROCESS, static_cast<id_t>(pid)); };
  const int ours = nice_of(getpid());
  const pid_t pid = Start();
  ASSERT_TRUE(AwaitServing());
  ASSERT_TRUE(Get("/campaigns").ok());
  bool may = false;  // a container may leave root without it
  std::thread([&] { may = setpriority(PRIO_PROCESS, 0, ours - 5) == 0; }).join();
  EXPECT_EQ(nice_of(pid), may ? ours - 5 : ours);
  EXPECT_EQ(getsid(pid) == pid, may);
  std::set<int> sessions;
  for (const auto& row :
       Sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'cigri api'"))
    sessions.insert(nice_of(row[0].as<int>()));
  EXPECT_EQ(sessions, (std::set<int>{nice_of(pid), ours + 5}));
  std::ifstream file("/proc/" + std::to_string(pid) + "/autogroup");
  std::string group;
  const bool knows_groups = static_cast<bool>(std::getline(file, group));
  EXPECT_TRUE(!may || !knows_groups || group.ends_with("nice " + std::to_string(ours - 5)))
      << group;
}

// As a service of an ordinary user, 200 readers waited 15 ms in place of 8
// (systemd/cigri-api.service).
TEST_F(DaemonPgTest, AServiceThatMayDoNothingElseGoesFirst) {
  const auto nice_of = [](pid_t pid) { return getpriority(PRIO_PROCESS, static_cast<id_t>(pid)); };
  const int ours = nice_of(getpid());
  const std::vector<std::string> by{"/usr/bin/setpriv", "--securebits=+noroot",
                                    "--inh-caps=-all,+sys_nice", "--ambient-caps=-all,+sys_nice"};
  bool may = geteuid() == 0;
  std::thread([&] { may = may && setpriority(PRIO_PROCESS, 0, ours - 5) == 0; }).join();
  if (!may) GTEST_SKIP() << "only root gives it the right to";
  const std::filesystem::path sockets = Sql("SHOW unix_socket_directories")[0][0].c_str();
  std::filesystem::permissions(sockets, std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const pid_t pid = Start({}, by);
  ASSERT_TRUE(AwaitServing());
  ASSERT_TRUE(Get("/campaigns").ok());
  EXPECT_EQ(nice_of(pid), ours - 5);
  std::set<int> sessions;
  for (const auto& row :
       Sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'cigri api'"))
    sessions.insert(nice_of(row[0].as<int>()));
  EXPECT_EQ(sessions, (std::set<int>{ours - 5, ours + 5}));
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  std::map<std::string, std::string> has;
  for (std::string name, value; file >> name && std::getline(file, value);) has[name] = value;
  EXPECT_EQ(has["CapEff:"], "\t0000000000800000") << "CAP_SYS_NICE";
  EXPECT_EQ(has["CapAmb:"], "\t0000000000000000") << "not for what it starts";
}

TEST_F(DaemonPgTest, AfterAKillTheNextOneTakesTheSocket) {
  const pid_t pid = Start();
  ASSERT_TRUE(AwaitServing());
  ::kill(pid, SIGKILL);
  ExitOf(pid);
  Start();
  EXPECT_TRUE(AwaitServing());
}

class ForeignDaemonPgTest : public DaemonPgTest {
 protected:
  bool Migrated() const override { return false; }
};

TEST_F(ForeignDaemonPgTest, ADatabaseThatIsNotOursIsRefusedAndNotWritten) {
  Sql("CREATE TABLE payroll (id int)");
  EXPECT_EQ(ExitOf(Start()), 78);
  EXPECT_EQ(
      Sql("SELECT string_agg(table_name, ' ') FROM information_schema.tables WHERE table_schema = "
          "current_schema()")[0][0]
          .as<std::string>(),
      "payroll");
}

TEST_F(DaemonPgTest, ArgumentsAreUsageErrors) { EXPECT_EQ(ExitOf(Start({"--help-me"})), 64); }

}  // namespace
}  // namespace cigri::test
