// The API itself on a unix socket and a real database, and a client that may be anybody: the test
// is the trusted proxy that names its user.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/http/server.h"
#include "core/text.h"
#include "http/client.h"
#include "jdl/blocks.h"
#include "tests/support/pg.h"

namespace cigri::test {

struct Answer {
  int status = 0;
  nlohmann::json body;
  std::multimap<std::string, std::string> headers;
};

class ApiTest : public PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    dir_ = std::filesystem::temp_directory_path() / ("cigri-api-" + RandomHex(6));
    std::filesystem::create_directories(dir_);
    Config config;
    config.Set("API_TRUSTED_PROXY", "unix:" + Me());
    config.Set("API_OPERATORS", "oscar");
    config.Set("SECRET_KEY_FILE", dir_ / "secret.key");
    config.Set("API_BASE", "/cigri-api");
    Configure(config);
    context_ = std::make_unique<api::Context>(config, conninfo(), 4);
    context_->rule_limits.program = std::string(CIGRI_BIN_DIR) + "/gridadmit";
    server_ = std::make_unique<api::ApiServer>(*context_, api::AllRoutes());
    server_->ListenUnix(Socket());
    Sql("INSERT INTO clusters (name, kind, api_url, mode) VALUES ('alpha', 'local', "
        "'unix:/nowhere', 'unlimited'), ('beta', 'local', 'unix:/nowhere', 'unlimited')");
  }
  void TearDown() override {
    server_.reset();
    context_.reset();
    std::filesystem::remove_all(dir_);
    PgTest::TearDown();
  }
  virtual void Configure(Config&) {}

  static std::string Me();
  std::string Socket() const { return dir_ / "api.sock"; }
  http::Client Http() const {
    return http::Client(http::Endpoint::Parse("unix:" + Socket()), http::Options());
  }
  /// One request of `user` ("" = anonymous). A body that is no text is sent as JSON.
  Answer Ask(const std::string& user, const std::string& method, const std::string& path,
             const nlohmann::json& body = nullptr, http::Client::Headers headers = {},
             const std::string& type = "application/json");
  /// A campaign of alice's on alpha and beta; its number.
  std::int64_t Submit(const nlohmann::json& more = {{"nb_jobs", 5}}, const std::string& query = "");
  /// An upload of alice's with these lines in one block.
  std::int64_t Upload(const std::vector<std::string>& lines);
  std::string One(const std::string& sql) { return Sql(sql)[0][0].c_str(); }
  /// The conservation of tasks for one campaign: every task is in exactly one place.
  void ExpectConservation(std::int64_t campaign);

  std::filesystem::path dir_;
  std::unique_ptr<api::Context> context_;
  std::unique_ptr<api::ApiServer> server_;
};

}  // namespace cigri::test
