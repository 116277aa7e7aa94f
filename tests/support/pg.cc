#include "tests/support/await.h"
#include "tests/support/pg.h"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "db/native.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

std::string PgBin() {
  for (int version = 20; version >= 12; --version) {
    const std::string bin = "/usr/lib/postgresql/" + std::to_string(version) + "/bin";
    if (fs::exists(bin + "/initdb")) return bin;
  }
  throw std::runtime_error("no PostgreSQL server found: apt install postgresql-15");
}

// A server for this process alone. It lives in a temporary directory, is owned by `postgres` when
// the tests run as root, and ends with the process.
class PrivateServer {
 public:
  PrivateServer() {
    const char* folder = std::getenv("CIGRI_TEST_FOLDER");
    dir_ = std::string(folder != nullptr ? folder : "/tmp") + "/cigri-test-XXXXXX";
    if (mkdtemp(dir_.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    const std::string bin = PgBin();
    std::string as;
    if (geteuid() == 0) {
      const passwd* pw = getpwnam("postgres");
      if (pw == nullptr) throw std::runtime_error("no user postgres");
      if (chown(dir_.c_str(), pw->pw_uid, pw->pw_gid) != 0) throw std::runtime_error("chown");
      as = "setpriv --reuid=postgres --regid=" + std::to_string(pw->pw_gid) + " --clear-groups -- ";
    }
    Run(as + bin + "/initdb -D " + dir_ + "/pg -U cigri -A trust -N -E UTF8 --locale=C.UTF-8");
    // One process, no fork of ours to outlive us: `postgres` ends when its stdin's owner kills it.
    Run(as + bin + "/pg_ctl -D " + dir_ + "/pg -s -w -l " + dir_ +
        "/log -o \"-c listen_addresses='' " + "-c unix_socket_directories=" + dir_ +
        " -c fsync=off -c shared_buffers=64MB -c max_connections=200 -c autovacuum=off\" start");
    conninfo_ = "host=" + dir_ + " user=cigri dbname=postgres";
    std::ifstream in(dir_ + "/pg/postmaster.pid");
    in >> pid_;
  }
  ~PrivateServer() {
    if (pid_ > 1) kill(pid_, SIGQUIT);
    Await([&] { return kill(pid_, 0) != 0; }, std::chrono::seconds(2));
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  const std::string& conninfo() const { return conninfo_; }

 private:
  void Run(const std::string& command) {
    const int rc = std::system(("cd / && " + command + " >" + dir_ + ".out 2>&1").c_str());
    if (rc != 0) throw std::runtime_error("failed, see " + dir_ + ".out: " + command);
    std::error_code ignored;
    fs::remove(dir_ + ".out", ignored);
  }
  std::string dir_, conninfo_;
  pid_t pid_ = 0;
};

}  // namespace

std::string TestServer() {
  if (const char* given = std::getenv("CIGRI_TEST_DB"); given != nullptr && *given != '\0')
    return given;
  static PrivateServer server;
  return server.conninfo();
}

void PgTest::SetUp() {
  schema_ = "t_" + RandomHex(6);
  {
    db::Connection admin(TestServer(), "test");
    db::Tx tx(admin);
    tx.Raw("CREATE SCHEMA " + schema_);
    tx.Commit();
  }
  conninfo_ = TestServer() + " options=-csearch_path=" + schema_;
  if (!Before().empty()) conninfo_ += ",pg_catalog";
  connection_ = Connect();
  if (!Before().empty()) Sql(Before());
  if (Migrated()) db::Migrate(*connection_);
}

void PgTest::TearDown() {
  connection_.reset();
  db::Connection admin(TestServer(), "test");
  // A thread of the test's subject may still read: PostgreSQL then ends one of the two.
  for (int tries = 0;; ++tries) try {
      db::Tx tx(admin);
      db::Native(tx).exec("DROP SCHEMA " + schema_ + " CASCADE");
      return tx.Commit();
    } catch (const pqxx::deadlock_detected&) {
      if (tries == 9) throw;
    }
}

std::unique_ptr<db::Connection> PgTest::Connect(const std::string& who) {
  return std::make_unique<db::Connection>(conninfo_, who);
}

pqxx::result PgTest::Sql(const std::string& sql) {
  db::Tx tx(*connection_);
  auto result = db::Native(tx).exec(sql);
  tx.Commit();
  return result;
}

}  // namespace cigri::test
