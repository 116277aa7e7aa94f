#include <thread>

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

}  // namespace
}  // namespace cigri::module
