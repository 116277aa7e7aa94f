#include "core/error.h"
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
