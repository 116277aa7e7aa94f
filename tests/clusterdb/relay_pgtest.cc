// How calls to the clusters of another host end when that host does not answer.
#include <future>

#include "clusterdb/clusterdb.h"
#include "clusterdb/relay.h"
#include "http/client.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri::clusterdb {
namespace {

using http::Outcome;
using test::Await;

class RelayPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    const auto db = Connect();
    db::Tx tx(*db);
    id_ = *AddCluster(tx, *cluster::FindDriver("local"), "alpha", "unix:/nowhere");
    tx.Commit();
    Sql("UPDATE clusters SET home = 'elsewhere:/home'");
    relay_ = RelayToHome(id_, conninfo());
  }
  std::future<http::Response> Call() {
    return std::async(std::launch::async, [this] {
      return relay_({"GET", "/changes", "", std::chrono::milliseconds(100)});
    });
  }
  bool AwaitAsked() {
    return Await([&] { return Sql("SELECT FROM relayed_calls").size() == 1; });
  }

  std::int64_t id_ = 0;
  cluster::Relay relay_;
};

TEST_F(RelayPgTest, ACallThatNobodyTakesWasNotSent) {
  const auto r = Call().get();
  EXPECT_EQ(r.outcome, Outcome::kNotSent);
  EXPECT_EQ(r.error, "host elsewhere, which serves it, is not there");
  EXPECT_TRUE(Sql("SELECT FROM relayed_calls").empty()) << "nobody makes it later";
}

TEST_F(RelayPgTest, ACallThatWasTakenMayHaveBeenSent) {
  auto call = Call();
  ASSERT_TRUE(AwaitAsked());
  Sql("UPDATE relayed_calls SET taken_at = now()");
  EXPECT_EQ(call.get().outcome, Outcome::kMaybeSent);
  EXPECT_TRUE(Sql("SELECT FROM relayed_calls").empty());
}

TEST_F(RelayPgTest, ACallWhoseDatabaseIsLostMayHaveBeenSent) {
  auto call = Call();
  ASSERT_TRUE(AwaitAsked());
  Sql("SELECT pg_terminate_backend(caller) FROM relayed_calls");
  EXPECT_EQ(call.get().outcome, Outcome::kMaybeSent);
  auto again = Call();
  ASSERT_TRUE(Await([&] { return Sql("SELECT FROM relayed_calls").size() == 2; })) << "it connects";
  EXPECT_EQ(again.get().outcome, Outcome::kNotSent);
}

TEST_F(RelayPgTest, TheAnswerIsTheClustersByteForByte) {
  auto call = Call();
  ASSERT_TRUE(AwaitAsked());
  Sql("UPDATE relayed_calls SET taken_at = now(), outcome = 'answered', status = 404, "
      "headers = E'x-output-size: 3\\n', answer = '\\x00ff0a'");
  Sql("SELECT pg_notify('relay_' || caller, '') FROM relayed_calls");
  const auto r = call.get();
  EXPECT_EQ(r.outcome, Outcome::kAnswered);
  EXPECT_EQ(r.status, 404);
  EXPECT_EQ(r.body, std::string("\0\xff\n", 3));
  EXPECT_EQ(r.headers.find("x-output-size")->second, "3");
}

}  // namespace
}  // namespace cigri::clusterdb
