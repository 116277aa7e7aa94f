// `cigri status` and `cigri doctor` on a server with a real standby.
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "embedded/postgres.h"
#include "embedded/process.h"
#include "tests/support/await.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;

class StandbyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cigri-standby-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    if (geteuid() == 0) {
      const passwd* pw = getpwnam("postgres");
      ASSERT_NE(pw, nullptr);
      ASSERT_EQ(chown(name, pw->pw_uid, pw->pw_gid), 0);
    }
    fs::permissions(folder_, fs::perms(0755));
    Postgres({"initdb", "-D", folder_ + "/primary", "-U", "cigri", "-A", "trust", "-N"});
    Postgres({"pg_ctl", "-D", folder_ + "/primary", "-s", "-w", "-l", folder_ + "/primary.log", "-o",
              Options("5432") + " -c synchronous_standby_names=two", "start"});
    Postgres({"pg_basebackup", "-h", folder_, "-p", "5432", "-U", "cigri", "-D",
              folder_ + "/standby", "-R", "-N", "-d", "application_name=two"});
  }
  void TearDown() override {
    for (const std::string server : {"/standby", "/primary"})
      if (fs::exists(folder_ + server + "/postmaster.pid"))
        Postgres({"pg_ctl", "-D", folder_ + server, "-s", "-w", "-m", "immediate", "stop"});
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void StartStandby() {
    Postgres({"pg_ctl", "-D", folder_ + "/standby", "-s", "-w", "-l", folder_ + "/standby.log", "-o",
              Options("5433"), "start"});
  }
  std::string Options(const std::string& port) const {
    return "-c listen_addresses='' -c fsync=on -c shared_buffers=16MB -c port=" + port +
           " -c unix_socket_directories=" + folder_;
  }
  void Postgres(std::vector<std::string> argv) {
    argv[0] = embedded::PostgresProgram(nullptr, argv[0]);
    if (geteuid() == 0) {
      const std::vector<std::string> as{"setpriv", "--reuid=postgres", "--regid=postgres",
                                        "--init-groups", "--"};
      argv.insert(argv.begin(), as.begin(), as.end());
    }
    const auto result = embedded::RunCommand(argv, std::chrono::seconds(60));
    ASSERT_EQ(result.code, 0) << Join(argv, " ") << "\n" << result.output;
  }
  embedded::CommandResult Cigri(const std::vector<std::string>& words) {
    std::vector<std::string> argv{
        "env", "CIGRI_HOME=" + folder_ + "/home", "CIGRICONFFILE=/dev/null",
        "CIGRI_DB=host=" + folder_ + " port=5432 user=cigri dbname=postgres",
        std::string(CIGRI_BIN_DIR) + "/cigri"};
    argv.insert(argv.end(), words.begin(), words.end());
    return embedded::RunCommand(argv, std::chrono::seconds(60));
  }
  std::string LinesOf(const std::string& what) {
    std::string lines;
    for (const auto& line : Split(Cigri({"doctor"}).output, '\n'))
      if (line.find("  " + what + " ") != line.npos) lines += line + "\n";
    return lines;
  }

  std::string folder_;
};

TEST_F(StandbyTest, StatusAndDoctorSayWhoFollowsAndHow) {
  StartStandby();
  const auto migrated = Cigri({"migrate"});
  ASSERT_EQ(migrated.code, 0) << migrated.output;
  nlohmann::json status;
  EXPECT_TRUE(test::Await([&] {
    status = nlohmann::json::parse(Cigri({"status", "--json"}).output, nullptr, false);
    return status.is_object() && status.contains("standbys") &&
           status["standbys"][0].value("state", "") == "streaming" &&
           status["standbys"][0].value("synchronous", false);
  })) << status;
  EXPECT_EQ(status["standbys"][0]["name"], "two");
  EXPECT_TRUE(status["standbys"][0]["behind_bytes"].is_number());
  EXPECT_EQ(status["server"]["address"], "the socket in " + folder_);
  EXPECT_NE(LinesOf("server").find("ok "), std::string::npos) << LinesOf("server");
  const auto seen = LinesOf("standby");
  EXPECT_NE(seen.find("ok "), std::string::npos) << seen;
  EXPECT_NE(seen.find("two of this host, synchronous, streaming"), std::string::npos) << seen;

  // Nobody waits for it any more.
  Postgres({"pg_ctl", "-D", folder_ + "/primary", "-s", "-w", "-m", "fast", "-l",
            folder_ + "/primary.log", "-o", Options("5432"), "restart"});
  EXPECT_TRUE(test::Await([&] {
    return LinesOf("standby").find("none is synchronous") != std::string::npos;
  })) << LinesOf("standby");
}

// The commit waits for a standby that is not there, until the session is ended.
TEST_F(StandbyTest, ACommandWhoseDatabaseFailsOverSaysSoAndReportsNoBug) {
  auto migrating = std::async(std::launch::async, [this] { return Cigri({"migrate"}); });
  EXPECT_TRUE(test::Await([&] {
    return embedded::RunCommand({"psql", "-h", folder_, "-p", "5432", "-U", "cigri", "-d",
                                 "postgres", "-XqAt", "-c",
                                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                                 "wait_event = 'SyncRep'"},
                                std::chrono::seconds(60))
               .output.find("t") == 0;
  }));
  const auto result = migrating.get();
  EXPECT_EQ(result.code, 75) << result.output;
  EXPECT_NE(result.output.find("the database was lost"), std::string::npos) << result.output;
}

// Promoted, it has to serve every table: what is not logged is there, and empty.
TEST_F(StandbyTest, AStandbyThatBecomesPrimaryTakesACallForAnotherHost) {
  StartStandby();
  ASSERT_EQ(Cigri({"migrate"}).code, 0);
  const auto on_standby = [this](const std::string& sql) {
    return embedded::RunCommand({"psql", "-h", folder_, "-p", "5433", "-U", "cigri", "-d",
                                 "postgres", "-XqAt", "-c", sql},
                                std::chrono::seconds(60));
  };
  ASSERT_TRUE(test::Await([&] { return on_standby("SELECT epoch FROM grid").code == 0; }));
  Postgres({"pg_ctl", "-D", folder_ + "/standby", "-s", "-w", "promote"});
  const auto taken = on_standby(
      "INSERT INTO clusters (name, kind, api_url) VALUES ('c', 'local', 'unix:/nowhere');"
      "INSERT INTO relayed_calls (cluster_id, caller, method, path, body, timeout_ms) "
      "SELECT id, 1, 'GET', '/', '', 1 FROM clusters");
  EXPECT_EQ(taken.code, 0) << taken.output;
}

}  // namespace
}  // namespace cigri
