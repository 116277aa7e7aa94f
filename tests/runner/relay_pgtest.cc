// Calls of other hosts to the local clusters of this home.
#include "clusterdb/relay.h"
#include "runner/relay_server.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri::runner {
namespace {

class RelayServerPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    Sql("INSERT INTO clusters (name, kind, api_url, dedicated, home) "
        "VALUES ('alpha', 'local', 'unix:/nowhere', true, 'here:/home')");
  }
  void Call(const std::string& path, const std::string& age, const std::string& taken = "NULL") {
    Sql("INSERT INTO relayed_calls (cluster_id, caller, method, path, body, timeout_ms, asked_at, "
        "taken_at) SELECT id, 1, 'GET', '" +
        path + "', '', 1000, now() - interval '" + age + "', " + taken + " FROM clusters");
  }
  std::string Outcome(const std::string& path) {
    return Sql("SELECT coalesce(outcome, '') FROM relayed_calls WHERE path = '" + path + "'")[0][0]
        .c_str();
  }
};

TEST_F(RelayServerPgTest, AClusterThatIsNotThereGotNothing) {
  RelayServer server(conninfo(), "here:/home");
  const auto relay =
      clusterdb::RelayToHome(Sql("SELECT id FROM clusters")[0][0].as<std::int64_t>(), conninfo());
  const auto r = relay({"GET", "/health", "", std::chrono::milliseconds(1000)});
  EXPECT_EQ(r.outcome, http::Outcome::kNotSent);
  EXPECT_NE(r.error.find("/nowhere"), std::string::npos) << r.error;
}

TEST_F(RelayServerPgTest, WhatNobodyWaitsForIsNotMade) {
  Call("/before-a-backup", "1 hour");
  Call("/given-up", "11 seconds");
  Call("/of-the-runner-before", "1 second", "now()");
  Call("/waited-for", "0 seconds");
  RelayServer server(conninfo(), "here:/home");
  EXPECT_TRUE(test::Await([&] { return Outcome("/waited-for") == "not_sent"; }));
  EXPECT_EQ(Outcome("/given-up"), "");
  EXPECT_EQ(Outcome("/of-the-runner-before"), "maybe_sent");
  EXPECT_EQ(Sql("SELECT FROM relayed_calls WHERE path = '/before-a-backup'").size(), 0);
}

}  // namespace
}  // namespace cigri::runner
