// Snapshots of sessions that only read: what goes to the server together, and what they see.
#include <poll.h>

#include "core/text.h"
#include "db/native.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

struct TextRow {
  std::string text;
  static TextRow Read(db::RowReader& reader) { return {reader.Get<std::string>()}; }
};

const db::Query<TextRow> kSeen{"Seen", "SELECT coalesce(string_agg(word, ' '), '') FROM words",
                               true};
const db::Query<TextRow> kEcho{"Echo", "SELECT coalesce($1::text, 'nothing') || $2::int", true};
const db::Query<TextRow> kPlans{"Plans", "SELECT current_setting('plan_cache_mode')"};
const db::Query<TextRow> kGenericPlans{"GenericPlans", kPlans.sql, true};
const db::Query<TextRow> kDivide{"Divide", "SELECT (1 / $1::int)::text", true};

class ReadsPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    test::PgTest::SetUp();
    Sql("CREATE TABLE words (word text)");
    session_ = std::make_unique<db::Connection>(conninfo(), "test", db::kStatementLimit, 0,
                                                db::SessionKind::kReads);
  }
  db::Connection& session() { return *session_; }
  /// The messages with statements that `body` sends, one in a line.
  std::string Messages(const std::function<void(db::Tx&)>& body) {
    std::FILE* const trace = std::tmpfile();
    db::Tx tx(session(), db::Tx::Snapshot{});
    auto& connection = db::Native(tx).conn();
    connection.trace(trace);
    body(tx);
    connection.trace(nullptr);
    std::rewind(trace);
    std::string sent;
    for (char line[1000]; std::fgets(line, sizeof line, trace) != nullptr;)
      if (const auto at = std::string(line).find("\tQuery\t"); at != std::string::npos)
        sent += std::string(Trim(line + at + 7)) + "\n";
    std::fclose(trace);
    return sent;
  }

 private:
  std::unique_ptr<db::Connection> session_;
};

// Each message waits for a processor on either side when the machine is busy.
TEST_F(ReadsPgTest, WhatIsReadTogetherIsOneMessage) {
  {
    db::Tx prepares(session(), db::Tx::Snapshot{});
    prepares.Exec(kEcho, "x", 1);
    prepares.Exec(kSeen);
    prepares.Commit();
  }
  const auto at_once = [](db::Tx& tx) {
    tx.Ahead(kEcho, "O'Neill; DROP", 1);
    tx.Ahead(kEcho, std::optional<std::string>(), 2);
    tx.NothingFollows();
    EXPECT_EQ(tx.One(kSeen).text, "");
    EXPECT_EQ(tx.One(kEcho, std::optional<std::string>(), 2).text, "nothing2");
    EXPECT_EQ(tx.One(kEcho, "O'Neill; DROP", 1).text, "O'Neill; DROP1");
    tx.Commit();
  };
  EXPECT_EQ(Messages(at_once),
            "\"SELECT 1; BEGIN; EXECUTE \"Echo\"('O''Neill; DROP', '1'); "
            "EXECUTE \"Echo\"(NULL, '2'); EXECUTE \"Seen\"; COMMIT\"\n");
  const auto in_turn = [](db::Tx& tx) {
    tx.Exec(kEcho, "first", 1);
    tx.NothingFollows();
    tx.Exec(kEcho, "last", 2);
    tx.Commit();
  };
  EXPECT_EQ(Messages(in_turn),
            "\"SELECT 1; BEGIN; EXECUTE \"Echo\"('first', '1')\"\n"
            "\"SELECT 1; EXECUTE \"Echo\"('last', '2'); COMMIT\"\n");
  EXPECT_EQ(Messages([](db::Tx& tx) { tx.Commit(); }), "") << "of nothing";
}

TEST_F(ReadsPgTest, AllOfItIsOneSnapshot) {
  db::Tx tx(session(), db::Tx::Snapshot{});
  EXPECT_EQ(tx.One(kEcho, "begins", 1).text, "begins1");
  Sql("INSERT INTO words VALUES ('late')");
  EXPECT_EQ(tx.One(kSeen).text, "");
  tx.Commit();
  db::Tx next(session(), db::Tx::Snapshot{});
  EXPECT_EQ(next.One(kSeen).text, "late");
}

TEST_F(ReadsPgTest, ASessionThatDoesNotOnlyReadGivesNoSnapshot) {
  auto any = Connect();
  EXPECT_THROW(db::Tx(*any, db::Tx::Snapshot{}), std::logic_error);
}

TEST_F(ReadsPgTest, NothingIsWritten) {
  db::Tx tx(session(), db::Tx::Snapshot{});
  EXPECT_THROW(tx.Exec(db::Command{"Write", "INSERT INTO words VALUES ('x')"}), db::SqlError);
}

TEST_F(ReadsPgTest, APlanIsMadeAsItsStatementSays) {
  const auto plans = [&] {
    db::Tx tx(session(), db::Tx::Snapshot{});
    tx.Ahead(kGenericPlans);
    EXPECT_EQ(tx.One(kPlans).text, "force_custom_plan");
    EXPECT_EQ(tx.One(kGenericPlans).text, "force_generic_plan");
    throw std::runtime_error("whoever reads gives up");
  };
  EXPECT_THROW(plans(), std::runtime_error);
  EXPECT_THROW(plans(), std::runtime_error) << "the same after a transaction that was given up";
}

TEST_F(ReadsPgTest, AnErrorIsThatOfItsStatementAndTheSessionGoesOn) {
  for (const bool last : {true, false}) {
    db::Tx tx(session(), db::Tx::Snapshot{});
    tx.Ahead(kEcho, "before", 1);
    tx.Ahead(kDivide, 0);
    if (last) tx.NothingFollows();
    try {
      tx.Exec(kSeen);
      ADD_FAILURE() << "one divided by nothing";
    } catch (const db::SqlError& e) {
      EXPECT_EQ(e.sqlstate(), "22012") << e.what();
    }
  }
  EXPECT_TRUE(session().alive());
  db::Tx tx(session(), db::Tx::Snapshot{});
  EXPECT_EQ(tx.One(kDivide, 1).text, "1");
}

TEST_F(ReadsPgTest, AStatementAfterTheLastOneIsRefusedByName) {
  db::Tx tx(session(), db::Tx::Snapshot{});
  tx.NothingFollows();
  tx.Exec(kSeen);
  try {
    tx.Exec(kEcho, "late", 1);
    ADD_FAILURE() << "it would see another snapshot";
  } catch (const db::Error& e) {
    EXPECT_STREQ(e.what(), "Echo follows the last statement of its snapshot");
  }
}

TEST_F(ReadsPgTest, ASessionThatTheServerEndedIsBroken) {
  {
    db::Tx prepares(session(), db::Tx::Snapshot{});
    prepares.Exec(kSeen);
    prepares.Commit();
  }
  Sql("SELECT pg_terminate_backend(" + std::to_string(session().backend_pid()) + ")");
  pollfd fd{session().socket(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 20000), 1);
  db::Tx tx(session(), db::Tx::Snapshot{});
  tx.Ahead(kSeen);
  tx.NothingFollows();
  EXPECT_THROW(tx.Exec(kSeen), db::Broken);
  EXPECT_FALSE(session().alive());
}

}  // namespace
}  // namespace cigri
