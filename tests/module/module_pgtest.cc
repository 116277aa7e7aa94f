#include <thread>

#include "module/events.h"
#include "module/module.h"
#include "tests/support/pg.h"

namespace cigri::module {
namespace {

class ModulePgTest : public test::PgTest {
 protected:
  std::int64_t Number(const std::string& sql) { return Sql(sql)[0][0].as<std::int64_t>(); }
};

TEST_F(ModulePgTest, AnEpochThatLeadsNoMoreIsRefused) {
  Sql("UPDATE grid SET epoch = 7");
  auto db = Connect();
  db::Tx tx(*db);
  EXPECT_NO_THROW(CheckEpoch(tx, 7));
  EXPECT_THROW(CheckEpoch(tx, 6), StaleEpoch);
  EXPECT_THROW(CheckEpoch(tx, 8), StaleEpoch);
}

TEST_F(ModulePgTest, ANewLeaderWaitsForWhoHasCheckedTheEpochAndNobodyPassesAfterIt) {
  auto module = Connect(), leader = Connect();
  auto tx = std::make_unique<db::Tx>(*module);
  CheckEpoch(*tx, 0);
  std::thread election([&] {
    db::Tx raise(*leader);
    raise.Raw("UPDATE grid SET epoch = 1");
    raise.Commit();
  });
  while (Number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) std::this_thread::yield();
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 0);
  tx->Commit();
  election.join();
  tx.reset();
  db::Tx late(*module);
  EXPECT_THROW(CheckEpoch(late, 0), StaleEpoch);
}

TEST_F(ModulePgTest, RepeatedEventsAreOneRowUntilItIsClosed) {
  auto db = Connect();
  Event event;
  event.cls = "cluster";
  event.code = "CLUSTER_DOWN";
  event.cluster_id = 3;
  event.sample = {{"answer", "\xff broken"}};
  const auto raise = [&](const std::string& message) {
    db::Tx tx(*db);
    event.message = message;
    const auto id = RaiseEvent(tx, event);
    tx.Commit();
    return id;
  };
  const auto first = raise("no answer");
  EXPECT_EQ(raise("still no answer"), first);
  EXPECT_EQ(Number("SELECT count FROM events"), 2);
  EXPECT_EQ(Sql("SELECT message FROM events")[0][0].as<std::string>(), "still no answer");
  {
    db::Tx tx(*db);
    CloseEvent(tx, event, "updator");
    tx.Commit();
  }
  EXPECT_NE(raise("again"), first);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE state = 'open'"), 1);
}

}  // namespace
}  // namespace cigri::module
