#include "db/events.h"
#include "tests/support/pg.h"

namespace cigri::db {
namespace {

class EventsPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    test::PgTest::SetUp();
    connection_ = Connect();
  }
  std::int64_t Raise(const Event& event) {
    Tx tx(*connection_);
    const auto id = RaiseEvent(tx, event);
    tx.Commit();
    return id;
  }
  std::size_t Close(const EventFilter& filter) {
    Tx tx(*connection_);
    const auto n = CloseEvents(tx, "ann", filter);
    tx.Commit();
    return n;
  }
  std::string Text(const std::string& sql) { return Sql(sql)[0][0].as<std::string>(); }
  // The messages of what is open, in the order of their ids.
  std::string Open() {
    return Text(
        "SELECT coalesce(string_agg(message, ' ' ORDER BY id), '') FROM events "
        "WHERE state = 'open'");
  }
  // Five events that differ in one thing from the first.
  void RaiseFive() {
    Raise({.cls = "job",
           .code = "EXIT_ERROR",
           .message = "one",
           .campaign_id = 7,
           .cluster_id = 3,
           .fingerprint = "f"});
    Raise({.cls = "job",
           .code = "EXIT_ERROR",
           .message = "campaign",
           .campaign_id = 8,
           .cluster_id = 3,
           .fingerprint = "f"});
    Raise({.cls = "job",
           .code = "EXIT_ERROR",
           .message = "global",
           .cluster_id = 3,
           .fingerprint = "f"});
    Raise({.cls = "log",
           .code = "WALLTIME",
           .message = "code",
           .campaign_id = 7,
           .cluster_id = 3,
           .fingerprint = "f"});
    Raise({.cls = "job",
           .code = "EXIT_ERROR",
           .message = "print",
           .campaign_id = 7,
           .fingerprint = "g"});
  }

 private:
  std::unique_ptr<Connection> connection_;
};

TEST_F(EventsPgTest, RepeatedEventsAreOneRowUntilItIsClosed) {
  Event event{.cls = "cluster", .code = "CLUSTER_DOWN", .message = "no answer"};
  event.cluster_id = 3;
  event.sample = {{"answer", "\xff broken"}};
  const auto first = Raise(event);
  event.message = "still no answer";
  EXPECT_EQ(Raise(event), first);
  EXPECT_EQ(Text("SELECT count || ' ' || message FROM events"), "2 still no answer");
  {
    auto db = Connect();
    Tx tx(*db);
    CloseEvent(tx, "updator", event);
    tx.Commit();
  }
  EXPECT_NE(Raise(event), first);
  EXPECT_EQ(Text("SELECT string_agg(state, ' ' ORDER BY id) FROM events"), "closed open");
}

TEST_F(EventsPgTest, AnEventThatSomebodyHasClosedIsARowOfItsOwn) {
  Event event{.cls = "log", .code = "TASKS_ADDED", .message = "5 tasks added"};
  event.campaign_id = 7;
  const auto open = Raise(event);
  event.closed_by = "ann";
  EXPECT_NE(Raise(event), open);
  EXPECT_NE(Raise(event), open);
  EXPECT_EQ(Text("SELECT string_agg(state || ':' || count || ':' || coalesce(closed_by, '') || ':' "
                 "|| (date_closed IS NOT NULL), ' ' ORDER BY id) FROM events"),
            "open:1::false closed:1:ann:true closed:1:ann:true");
}

TEST_F(EventsPgTest, EachFilterNarrowsWhatIsClosed) {
  const struct {
    EventFilter filter;
    std::string left;
  } cases[] = {
      {{.campaign_id = 7}, "campaign global"},
      {{.campaign_id = EventFilter::kNone}, "one campaign code print"},
      {{.cluster_id = 3}, "print"},
      {{.cluster_id = EventFilter::kNone}, "one campaign global code"},
      {{.codes = {"EXIT_ERROR", "NODE_FAILED"}}, "code"},
      {{.classes = {"log"}}, "one campaign global print"},
      {{.fingerprint = "g"}, "one campaign global code"},
      {{.fingerprint = ""}, "one campaign global code print"},
      {{.campaign_id = 7, .cluster_id = 3, .codes = {"EXIT_ERROR"}, .fingerprint = "f"},
       "campaign global code print"},
      {{.campaign_id = 7, .ids = std::vector<std::int64_t>{}}, "one campaign global code print"},
      {{.unseen_s = 3600}, "one campaign global code print"},
  };
  for (const auto& c : cases) {
    Sql("TRUNCATE events");
    RaiseFive();
    const auto closed = Close(c.filter);
    EXPECT_EQ(Open(), c.left);
    EXPECT_EQ(Text("SELECT count(*) FROM events WHERE state = 'closed' AND closed_by = 'ann' "
                   "AND date_closed IS NOT NULL"),
              std::to_string(closed));
  }
}

TEST_F(EventsPgTest, AnEventIsClosedByItsIdAndByItsAge) {
  RaiseFive();
  const auto id = Sql("SELECT id FROM events WHERE message = 'code'")[0][0].as<std::int64_t>();
  EXPECT_EQ(Close({.campaign_id = 8, .ids = std::vector{id}}), 0u);
  EXPECT_EQ(Close({.ids = std::vector{id}}), 1u);
  EXPECT_EQ(Close({.ids = std::vector{id}}), 0u) << "it was closed already";
  Sql("UPDATE events SET date_update = now() - interval '2 hours' WHERE message = 'global'");
  EXPECT_EQ(Close({.unseen_s = 3600}), 1u);
  EXPECT_EQ(Open(), "one campaign print");
}

}  // namespace
}  // namespace cigri::db
