// What callers see of a session that the server has ended.
#include <poll.h>

#include "core/error.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class ConnectionPgTest : public test::PgTest {
 protected:
  // Returns when the end has arrived at our side of the socket, unread.
  void EndSession(db::Connection& c) {
    Sql("SELECT pg_terminate_backend(" + std::to_string(c.backend_pid()) + ")");
    pollfd fd{c.socket(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, 20000), 1);
  }
};

// The server says 57P01 (57P02 after a crash) before it closes: that must not look like an SQL
// error, on which a module gives up its work and not its session.
TEST_F(ConnectionPgTest, ASessionThatTheServerEndedIsBroken) {
  auto begins = Connect();
  EndSession(*begins);
  EXPECT_THROW(db::Tx(*begins).Raw("SELECT 1"), db::Broken);
  EXPECT_FALSE(begins->alive());

  auto asks = Connect();
  db::Tx tx(*asks);
  EndSession(*asks);
  EXPECT_THROW(tx.Raw("SELECT 1"), db::Broken);

  auto prepares = Connect();
  db::Tx other(*prepares);
  EndSession(*prepares);
  EXPECT_THROW(other.Exec(db::Command{"one", "SELECT 1"}), db::Broken);

  auto commits = Connect();
  db::Tx last(*commits);
  last.Raw("SELECT 1");
  EndSession(*commits);
  EXPECT_THROW(last.Commit(), db::InDoubt) << "nobody knows whether it was committed";
}

TEST_F(ConnectionPgTest, AnErrorInAStatementIsNotALostSession) {
  auto c = Connect();
  db::Tx tx(*c);
  EXPECT_THROW(tx.Raw("SELECT nonsense"), db::SqlError);
  EXPECT_TRUE(c->alive());
}

}  // namespace
}  // namespace cigri
