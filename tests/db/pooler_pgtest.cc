// A real pgbouncer between us and the server: what it does to a session decides whether we take it.
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

namespace fs = std::filesystem;
constexpr char kPgbouncer[] = "/usr/sbin/pgbouncer";

class PoolerPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    if (!fs::exists(kPgbouncer)) GTEST_SKIP() << "apt install pgbouncer";
    PgTest::SetUp();
    char name[] = "/tmp/cigri-pooler-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
    if (!IsSkipped()) PgTest::TearDown();
  }
  /// Starts it; the conninfo through it.
  std::string GivenPooler(const std::string& mode) {
    const auto server = TestServerFolder();
    std::ofstream(folder_ + "/ini")
        << "[databases]\npostgres = host=" << server << " user=cigri dbname=postgres\n"
        << "[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = " << folder_
        << "\nauth_type = any\npool_mode = " << mode << "\nlogfile = " << folder_ << "/log\n";
    pid_ = fork();
    if (pid_ == 0) {
      if (geteuid() == 0) {  // it refuses to run as root
        const passwd* pw = getpwnam("postgres");
        if (chown(folder_.c_str(), pw->pw_uid, pw->pw_gid) != 0 || setgid(pw->pw_gid) != 0 ||
            setuid(pw->pw_uid) != 0)
          _exit(126);
      }
      execl(kPgbouncer, "pgbouncer", "-q", (folder_ + "/ini").c_str(), nullptr);
      _exit(127);
    }
    EXPECT_TRUE(test::Await([&] { return Listens(folder_ + "/.s.PGSQL.6432"); }));
    return "host=" + folder_ + " port=6432 user=cigri dbname=postgres";
  }
  // The socket exists before anybody listens at it.
  static bool Listens(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool yes = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return yes;
  }
  static std::string TestServerFolder() {
    const auto server = test::TestServer();
    const auto at = server.find("host=") + 5;
    return server.substr(at, server.find(' ', at) - at);
  }

  std::string folder_;
  pid_t pid_ = 0;
};

TEST_F(PoolerPgTest, ThatSharesSessionsIsRefusedByName) {
  const auto through = GivenPooler("transaction");
  for (int i = 0; i < 3; ++i) try {
      db::Connection connection(through, "test");
      FAIL() << "it was taken";
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitConfig) << e.what();
      EXPECT_NE(std::string(e.what()).find("pooler in transaction mode"), std::string::npos)
          << e.what();
      EXPECT_NE(e.hint().find("pool_mode = session"), std::string::npos) << e.hint();
    }
}

TEST_F(PoolerPgTest, ThatKeepsSessionsIsTaken) {
  const auto through = GivenPooler("session");
  for (int i = 0; i < 3; ++i) {
    db::Connection connection(through, "test");
    db::Tx tx(connection);
    EXPECT_EQ(db::Native(tx).exec("SELECT pg_backend_pid()")[0][0].as<int>(),
              connection.backend_pid());
  }
}

}  // namespace
}  // namespace cigri
