#include <sql/migrations.h>

#include "core/error.h"
#include "core/text.h"
#include "db/native.h"

namespace cigri::db {

int SchemaVersion() { return std::end(sql::kMigrations)[-1].number; }

bool IsOurMigration(int number, const std::string& checksum) {
  for (const auto& migration : sql::kMigrations)
    if (migration.number == number) return migration.checksum == checksum;
  return false;
}

SchemaState InspectSchema(Connection& connection) {
  Tx tx(connection);
  std::set<std::string> tables;
  for (const auto& row : Native(tx).exec("SELECT table_name::text FROM information_schema.tables "
                                         "WHERE table_schema = current_schema() ORDER BY 1"))
    tables.insert(row[0].c_str());
  if (tables.empty()) return {SchemaKind::kEmpty, 0, "empty"};
  if (tables.count("schema_migrations") != 0 && tables.count("grid") != 0) {
    int version = 0;
    std::string why;
    for (const auto& row :
         Native(tx).exec("SELECT number, checksum FROM schema_migrations ORDER BY 1")) {
      version = row[0].as<int>();
      for (const auto& migration : sql::kMigrations)
        if (migration.number == version && row[1].as<std::string>() != migration.checksum)
          why = "migration " + std::to_string(version) + " of another text than this program's";
    }
    if (!why.empty()) return {SchemaKind::kOtherBuild, version, why};
    const SchemaKind kind = version == SchemaVersion()  ? SchemaKind::kOurs
                            : version < SchemaVersion() ? SchemaKind::kOlder
                                                        : SchemaKind::kNewer;
    return {kind, version, "schema version " + std::to_string(version)};
  }
  if (tables.count("bag_of_tasks") != 0 && tables.count("jobs_to_launch") != 0)
    return {SchemaKind::kCigri3, 0, "the database of a CiGri 3"};
  std::vector<std::string> some(tables.begin(), tables.end());
  if (some.size() > 3) some.resize(3);
  return {SchemaKind::kForeign, 0, "tables that are not ours (" + Join(some, ", ") + ")"};
}

namespace {
[[noreturn]] void Refuse(const SchemaState& state) {
  if (state.kind == SchemaKind::kNewer)
    throw Fatal(kExitConfig,
                "the database has " + state.detail + ", this program knows version " +
                    std::to_string(SchemaVersion()),
                "use the programs that wrote it, or newer ones");
  if (state.kind == SchemaKind::kOtherBuild)
    throw Fatal(kExitConfig,
                "the database was made by another build of CiGri-NG (" + state.detail + ")",
                "use the build that made it; or give up its campaigns and begin again: `cigri "
                "down`, then remove $CIGRI_HOME (the first line of `cigri status` names it), or "
                "name an empty database in DATABASE_NAME");
  throw Fatal(kExitConfig, "the database holds " + state.detail + "; nothing was written to it",
              "name an empty database in DATABASE_NAME (or PGDATABASE)");
}

// In another one parameters and names cannot be stored, or are not what their users wrote.
void RequireUnicode(Connection& connection) {
  Tx tx(connection);
  const auto encoding =
      Native(tx).exec("SELECT current_setting('server_encoding')")[0][0].as<std::string>();
  if (encoding == "UTF8") return;
  throw Fatal(kExitConfig, "the database has encoding " + encoding + ", a grid needs UTF8",
              "make another one: createdb -E UTF8 -T template0 --locale=C.UTF-8 NAME, and name it "
              "in DATABASE_NAME (or PGDATABASE)");
}
}  // namespace

void Migrate(Connection& connection) {
  for (;;) {
    const auto state = InspectSchema(connection);
    if (state.kind == SchemaKind::kOurs) return;
    if (state.kind != SchemaKind::kEmpty && state.kind != SchemaKind::kOlder) Refuse(state);
    if (state.kind == SchemaKind::kEmpty) RequireUnicode(connection);
    Tx tx(connection);
    Native(tx).exec("SELECT pg_advisory_xact_lock(hashtext('cigri migrate ' || current_schema()))");
    const bool fresh =
        Native(tx)
            .exec("SELECT to_regclass(current_schema() || '.schema_migrations') IS NULL")[0][0]
            .as<bool>();
    const int version =
        fresh ? 0
              : Native(tx)
                    .exec("SELECT coalesce(max(number), 0) FROM schema_migrations")[0][0]
                    .as<int>();
    for (const auto& migration : sql::kMigrations) {
      if (migration.number != version + 1) continue;
      Native(tx).exec(migration.sql);
      Native(tx).exec_params(
          "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
          migration.number, migration.name, migration.checksum);
      break;
    }
    tx.Commit();
  }
}

void RequireSchema(Connection& connection) {
  const auto state = Translated([&] { return InspectSchema(connection); });
  if (state.kind == SchemaKind::kOurs) return;
  const std::string needed =
      ", this program needs schema version " + std::to_string(SchemaVersion());
  if (state.kind == SchemaKind::kEmpty)
    throw Fatal(kExitConfig, "the database has no grid in it" + needed, "run `cigri migrate`");
  if (state.kind == SchemaKind::kOlder)
    throw Fatal(kExitConfig, "the database has " + state.detail + needed, "run `cigri upgrade`");
  Refuse(state);
}

}  // namespace cigri::db
