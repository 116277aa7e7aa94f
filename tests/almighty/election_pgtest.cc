// Two candidates at once.
#include <sql/grid.h>

#include <atomic>
#include <thread>

#include "almighty/election.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri::almighty {
namespace {

class ElectionPgTest : public test::PgTest {};

// The one with the lock waits for a module of the last leader, which holds the epoch. Its lease is
// not written yet, and the last leader's is over.
TEST_F(ElectionPgTest, ACandidateThatCannotBeginYetIsNotEndedByAnother) {
  db::Connection module(conninfo(), "cigri runner");
  db::Tx held(module);
  held.Exec(sql::kHoldEpoch, std::int64_t{0});
  // It waits for a quarter of this before it ends the module.
  const Term term{std::chrono::seconds(16)};
  std::optional<Leadership> first, second;
  std::atomic<bool> over{false};
  std::string failed;
  std::thread begins([&] {
    try {
      first = Candidate(conninfo(), term).Try();
    } catch (const std::exception& e) {
      failed = e.what();
    }
    over = true;
  });
  EXPECT_TRUE(test::Await([&] {
    return Sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cigri almighty' "
               "AND wait_event_type = 'Lock'")[0][0]
               .as<int>() == 1;
  }));
  Candidate stands_by(conninfo(), term);
  EXPECT_TRUE(test::Await([&] {
    if (!over && !second) second = stands_by.Try();
    return over.load();
  }));
  begins.join();
  EXPECT_EQ(failed, "") << "its session was ended";
  EXPECT_FALSE(second) << "it took the lead from one that was just beginning";
  ASSERT_TRUE(first);
  EXPECT_EQ(first->epoch, 1);
  EXPECT_FALSE(stands_by.Try());
}

// A leader that stood still led for ever where nobody saw since when its session did nothing.
TEST_F(ElectionPgTest, ALeaderThatStandsStillIsReplacedAlsoWhereTheServerTracksNoActivities) {
  Sql("ALTER ROLE CURRENT_USER SET track_activities = off");
  const Term term{std::chrono::seconds(1)};
  const auto first = Candidate(conninfo(), term).Try();
  Candidate stands_by(conninfo(), term);
  std::optional<Leadership> second;
  EXPECT_TRUE(test::Await([&] { return (second = stands_by.Try()).has_value(); }));
  Sql("ALTER ROLE CURRENT_USER RESET track_activities");
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->epoch, first->epoch + 1);
}

}  // namespace
}  // namespace cigri::almighty
