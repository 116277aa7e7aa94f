#include <sql/migrations.h>

#include "core/error.h"
#include "core/text.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class MigratePgTest : public test::PgTest {
 protected:
  bool Migrated() const override { return false; }
};

TEST_F(MigratePgTest, AnEmptySchemaBecomesOursAndASecondTimeChangesNothing) {
  auto c = Connect();
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kEmpty);
  db::Migrate(*c);
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kOurs);
  const auto before = Sql("SELECT count(*) FROM schema_migrations")[0][0].as<int>();
  db::Migrate(*c);
  EXPECT_EQ(Sql("SELECT count(*) FROM schema_migrations")[0][0].as<int>(), before);
  EXPECT_NO_THROW(db::RequireSchema(*c));
}

// `cigri upgrade` of a grid whose campaigns run.
TEST_F(MigratePgTest, TheFirstSchemaWithWhatRunsInItIsBroughtUpToDate) {
  auto c = Connect();
  {
    const auto& first = sql::kMigrations[0];
    db::Tx tx(*c);
    tx.Raw(first.sql);
    tx.Raw("INSERT INTO schema_migrations (number, name, checksum) VALUES (1, '', '" +
           std::string(first.checksum) + "')");
    tx.Raw(
        "INSERT INTO clusters (name, kind, api_url) VALUES ('alpha', 'local', 'unix:/none');"
        "INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) VALUES "
        "(1, 'ann', 'c', 5, 1, '{\"after\": [2]}'), (2, 'ann', 'c', 5, 1, '{}');"
        "UPDATE campaigns SET wanted = 'cancelled', state = 'cancelled' WHERE id = 2;"
        "INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
        "cluster_login) VALUES (1, 1, 'true', '/resource_id=1', 60, 'ann');"
        "INSERT INTO retry (campaign_id, idx, why) VALUES (1, 3, '');"
        "INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (2, 0, 1);"
        "INSERT INTO uploads (id, grid_user, blocks) VALUES (1, 'ann', 2), (2, 'ann', 1);"
        "INSERT INTO params_chunk SELECT u, 0, 0, 1, 1, 'x' FROM generate_series(1, 2) AS u");
    tx.Commit();
  }
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kOlder);
  db::Migrate(*c);
  EXPECT_NO_THROW(db::RequireSchema(*c));
  EXPECT_EQ(
      Sql("SELECT string_agg(id::text, ' ') FROM uploads WHERE dropped")[0][0].as<std::string>(),
      "1")
      << "one with holes";
  EXPECT_EQ(Sql("SELECT count(*) FROM campaign_clusters WHERE left_at IS NULL")[0][0].as<int>(), 1);
  const auto before = Sql("SELECT * FROM campaigns, predecessors_of(jdl) WHERE id = 1")[0];
  EXPECT_EQ(before["after_failed"].as<int>(), 2);
  EXPECT_EQ(before["failed_tasks"].as<int>(), 0) << "nobody can retry tasks of a cancelled one";
}

TEST_F(MigratePgTest, ADatabaseThatIsNotOursIsNeverWritten) {
  Sql("CREATE TABLE payroll (id int)");
  auto c = Connect();
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kForeign);
  EXPECT_THROW(db::Migrate(*c), Fatal);
  EXPECT_EQ(Sql("SELECT count(*) FROM information_schema.tables WHERE table_schema = "
                "current_schema()")[0][0]
                .as<int>(),
            1);
}

// As a server has it that was made without a locale, or long ago.
TEST_F(MigratePgTest, ADatabaseOfAnotherEncodingIsRefusedWithTheWayToMakeOne) {
  for (const std::string encoding : {"SQL_ASCII", "LATIN1"}) {
    pqxx::connection server(test::TestServer());
    const std::string name = "d_" + RandomHex(6);
    const auto now = [&](const std::string& sql) { pqxx::nontransaction(server).exec(sql); };
    now("CREATE DATABASE " + name + " ENCODING '" + encoding + "' LOCALE 'C' TEMPLATE template0");
    try {
      db::Connection other(test::TestServer() + " dbname=" + name, "test");
      db::Migrate(other);
      ADD_FAILURE() << encoding;
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitConfig);
      EXPECT_EQ(e.what(), "the database has encoding " + encoding + ", a grid needs UTF8");
      EXPECT_NE(e.hint().find("createdb -E UTF8"), std::string::npos);
    }
    now("DROP DATABASE " + name);
  }
}

TEST_F(MigratePgTest, ACigri3DatabaseIsRefusedByName) {
  Sql("CREATE TABLE bag_of_tasks (id int); CREATE TABLE jobs_to_launch (id int)");
  auto c = Connect();
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kCigri3);
  EXPECT_THROW(db::RequireSchema(*c), Fatal);
}

TEST_F(MigratePgTest, ASchemaOfAnotherBuildIsRefusedAndTheWayOutIsNamed) {
  auto c = Connect();
  db::Migrate(*c);
  Sql("UPDATE schema_migrations SET checksum = 'x' WHERE number = 1");
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kOtherBuild);
  try {
    db::RequireSchema(*c);
    FAIL() << "it was taken";
  } catch (const Fatal& e) {
    EXPECT_EQ(std::string(e.what()),
              "the database was made by another build of CiGri-NG (migration 1 of another text "
              "than this program's)");
    EXPECT_NE(e.hint().find("begin again: `cigri down`"), std::string::npos) << e.hint();
  }
}

TEST_F(MigratePgTest, ANewerSchemaIsRefused) {
  auto c = Connect();
  db::Migrate(*c);
  Sql("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'later', 'x')");
  EXPECT_EQ(db::InspectSchema(*c).kind, db::SchemaKind::kNewer);
  EXPECT_THROW(db::Migrate(*c), Fatal);
}

}  // namespace
}  // namespace cigri
