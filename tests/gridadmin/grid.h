// A database, an API in this process, and the real gridadmin as a child that speaks to it.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/http/context.h"
#include "api/http/server.h"
#include "core/text.h"
#include "tests/support/pg.h"

namespace cigri::test {

/// What Check() answers of the cluster that tests register; everything else is never called.
class CheckedCluster : public cluster::Cluster {
 public:
  explicit CheckedCluster(std::vector<cluster::CheckItem> items) : items_(std::move(items)) {}
  cluster::Capabilities capabilities() const override { return {}; }
  std::vector<std::string> Submit(const cluster::Batch&) override { return {}; }
  void Release(const cluster::Batch&, const std::vector<std::string>&) override {}
  cluster::FindResult Find(const std::string&, const std::string&, double, bool) override {
    return {};
  }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&, const JobFilter&) override {
    return {};
  }
  cluster::PollResult Poll(const cluster::PollRequest&) override { return {}; }
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>&) override { return {}; }
  cluster::Resources GetResources(const std::vector<std::string>&) override { return {}; }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override { return items_; }

 private:
  std::vector<cluster::CheckItem> items_;
};

class GridadminPgTest : public PgTest {
 protected:
  struct Ran {
    int code;
    std::string out, err;
  };

  void SetUp() override {
    PgTest::SetUp();
    char name[] = "/tmp/cigri-gridadmin-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
    Config config;
    config.Set("SECRET_KEY_FILE", File("secret.key"));
    context_ = std::make_unique<api::Context>(config, conninfo(), 4);
    server_ = std::make_unique<api::ApiServer>(*context_, api::AllRoutes());
    server_->ListenUnix(File("api.sock"));
  }
  void TearDown() override {
    server_.reset();
    context_.reset();
    std::filesystem::remove_all(dir_);
    PgTest::TearDown();
  }

  std::string File(const std::string& name) const { return dir_ + "/" + name; }
  std::string Written(const std::string& name, const std::string& text) const {
    std::ofstream(File(name)) << text;
    return File(name);
  }
  static std::string Read(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  /// Runs `gridadmin WORDS` as a shell would, without a terminal.
  Ran Admin(const std::string& words, const std::string& environment = "") const {
    static std::atomic<int> number{0};
    const std::string base = File("run" + std::to_string(++number));
    const std::string command = "CIGRI_API=unix:" + File("api.sock") + " " + environment + " " +
                                CIGRI_BIN_DIR "/gridadmin " + words + " </dev/null >" + base +
                                ".out 2>" + base + ".err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read(base + ".out"), Read(base + ".err")};
  }
  std::string One(const std::string& sql) {
    const auto rows = Sql(sql);
    return rows.empty() || rows[0][0].is_null() ? "" : rows[0][0].as<std::string>();
  }
  void GivenCluster(const std::string& name) {
    Sql("INSERT INTO clusters (name, kind, api_url) VALUES ('" + name + "', 'local', 'unix:/x')");
  }

  std::string dir_;
  std::unique_ptr<api::Context> context_;
  std::unique_ptr<api::ApiServer> server_;
};

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace cigri::test
