// cigri backup, restore, upgrade (docs/operations.md).
#include <sql/restores.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "db/conninfo.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"

namespace cigri::cli {
namespace {

namespace fs = std::filesystem;
using embedded::Home;

constexpr auto kLongest = std::chrono::hours(6);

// The output names what is wrong in its last lines. Only the environment of the program names the
// database: all users see arguments, and `cigri up` after it would take ours for the operator's.
std::string Run(const Database& database, const Home& home, std::vector<std::string> argv) {
  argv[0] = embedded::PostgresProgram(database.own ? &home : nullptr, argv[0]);
  const auto result = embedded::RunCommand(argv, kLongest, db::EnvironmentOf(database.conninfo));
  if (result.code == 0) return result.output;
  const auto words = Trim(result.output);
  const auto last = words.substr(words.size() - std::min<std::size_t>(words.size(), 600));
  throw Fatal(kExitUnavailable, argv[0] + " failed: " + std::string(last));
}

Database Reachable(const Home& home) {
  const Config config = Config::Load();
  Database database = KnownDatabase(home, config);
  SayWhichDatabase(database, config);
  if (database.own && !embedded::HasPostgres(home))
    throw Fatal(kExitUnavailable, "there is no database in " + home.dir, "`cigri up` makes one");
  if (database.own) database.conninfo = embedded::StartPostgres(home);
  return database;
}

std::string CurrentSchema(db::Connection& connection) {
  db::Tx tx(connection);
  return tx.One(sql::kCurrentSchema).name;
}

std::string DefaultFile(const Home& home) {
  const auto folder = home.dir + "/backup";
  fs::create_directories(folder);
  chmod(folder.c_str(), 0700);
  char name[64];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(name, sizeof name, "/cigri-%Y%m%dT%H%M%SZ.dump", &utc);
  return folder + name;
}

std::string MegaBytes(const std::string& file) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(fs::file_size(file)) / 1048576);
  return text;
}

// Written under another name first: a file that is there is whole.
void WriteBackup(const Home& home, const Database& database, const std::string& file) {
  const auto connection = Open(database);
  umask(0077);
  const std::string fresh = file + ".tmp";
  const auto clean = [&](const char*) {  // of one that failed
    std::error_code ignored;
    fs::remove(fresh, ignored);
  };
  const std::unique_ptr<const char, decltype(clean)> guard("", clean);
  Run(database, home,
      {"pg_dump", "--format=custom", "--schema=" + CurrentSchema(*connection), "--no-owner",
       "--no-privileges", "--file=" + fresh});
  fs::rename(fresh, file);
}

// A schema of this program's version, as the backup's own list of migrations says.
void RequireOurs(const Home& home, const Database& database, const std::string& file) {
  const auto text = Run(database, home,
                        {"pg_restore", "--data-only", "--table=schema_migrations", "--file=-", file});
  int version = 0;
  for (const auto& line : Split(text, '\n')) {
    const auto columns = Split(line, '\t');
    if (columns.size() != 4) continue;
    version = std::atoi(columns[0].c_str());
    if (!db::IsOurMigration(version, columns[2]))
      throw Fatal(kExitConfig,
                  file + " is a backup of another build of CiGri-NG (migration " + columns[0] + ")",
                  "restore it with the programs that made it, then `cigri upgrade`");
  }
  if (version != db::SchemaVersion())
    throw Fatal(kExitConfig, file + " is no backup of a grid of this version",
                "`cigri backup` makes one");
}

// The objects of a backup are named with the schema that they were in.
void RequireSameSchema(const Home& home, const Database& database, const std::string& file,
                       const std::string& schema) {
  for (const auto& line : Split(Run(database, home, {"pg_restore", "--list", file}), '\n')) {
    const auto begin = line.find(" TABLE "), end = line.find(" schema_migrations ");
    if (begin == line.npos || end == line.npos || line.find(" TABLE DATA ") != line.npos) continue;
    const auto theirs = line.substr(begin + 7, end - begin - 7);
    if (theirs == schema) return;
    throw Fatal(kExitConfig,
                file + " is a backup of the schema " + theirs + ", the grid's is " + schema +
                    "; nothing was written",
                "restore it where the schema has that name: options=-csearch_path=" + theirs +
                    " in the connection string");
  }
}

std::string GridOfBackup(const Home& home, const Database& database, const std::string& file) {
  std::vector<std::string> names;
  const auto text =
      Run(database, home, {"pg_restore", "--data-only", "--table=grid", "--file=-", file});
  for (const auto& line : Split(text, '\n')) {
    // "COPY public.grid (one, grid_id, ...) FROM stdin;", and the row.
    if (const auto open = line.find('('); line.rfind("COPY ", 0) == 0 && open != line.npos) {
      names = Split(line.substr(open + 1, line.find(')') - open - 1), ',');
    } else if (const auto columns = Split(line, '\t');
               !names.empty() && columns.size() == names.size()) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (Trim(names[i]) == "grid_id") return columns[i];
    }
  }
  throw Fatal(kExitConfig, file + " holds no grid", "`cigri backup` makes one");
}

// A grid that has been used is not replaced by another one through a slip, and of one that still
// runs elsewhere there are not two.
void RequireSameGrid(const Home& home, const Database& database, const std::string& file,
                     db::Connection& connection) {
  if (db::InspectSchema(connection).kind == db::SchemaKind::kEmpty) return;
  const auto theirs = GridOfBackup(home, database, file), ours = GridId(connection);
  db::Tx tx(connection);
  if (theirs == ours || !tx.One(sql::kHasBeenUsed).used) return;
  throw Fatal(kExitConfig,
              file + " is a backup of grid " + theirs + "; " + database.name + " has grid " + ours +
                  ", with campaigns or clusters of its own",
              "to replace that one for good: cigri restore --other-grid FILE (docs/operations.md)");
}

// Nobody may go on with what the backup does not know.
void RequireAlone(const Home& home, db::Connection& connection) {
  for (const auto& process : embedded::GridProcesses(home))
    throw Fatal(kExitUsage, "the grid is up (" + process.name + ")", "`cigri down --keep-jobs` first");
  db::Tx tx(connection);
  for (const auto& other : tx.Exec(sql::kOtherSessions))
    throw Fatal(kExitUsage,
                other.application_name + " of " + other.address + " still uses this database",
                "`cigri down --keep-jobs` on every host of the grid first");
}

sql::LostStateRow LostState(db::Connection& connection) {
  const auto state = db::InspectSchema(connection);
  if (state.kind == db::SchemaKind::kEmpty) return {};
  if (state.kind != db::SchemaKind::kOurs)
    throw Fatal(kExitConfig, "the database holds " + state.detail + "; nothing was written to it",
                "restore into an empty database, or one of this version");
  db::Tx tx(connection);
  return tx.One(sql::kLostState);
}

// The schema stays: only what is in it is replaced.
void WithoutSchema(const std::string& list) {
  std::ifstream in(list);
  std::string kept;
  for (std::string line; std::getline(in, line);)
    if (line.find(" SCHEMA - ") == line.npos && line.find(" - SCHEMA ") == line.npos)
      kept += line + "\n";
  std::ofstream(list, std::ios::trunc) << kept;
}

// What was there goes and the backup comes in one transaction, with the note that the runner has to
// ask the clusters: a restore without that note would run tasks twice.
void Load(const Home& home, const Database& database, const std::string& file,
          const std::string& schema, const sql::LostStateRow& lost) {
  umask(0077);
  const std::string list = home.dir + "/restore.list", script = home.dir + "/restore.sql";
  const auto clean = [&](const char*) {
    std::error_code ignored;
    fs::remove(list, ignored);
    fs::remove(script, ignored);
  };
  const std::unique_ptr<const char, decltype(clean)> files("", clean);
  Run(database, home, {"pg_restore", "--list", "--file=" + list, file});
  WithoutSchema(list);
  Run(database, home,
      {"pg_restore", "--use-list=" + list, "--clean", "--if-exists", "--no-owner",
       "--no-privileges", "--file=" + script, file});
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  Run(database, home,
      {"psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
       "--output=/dev/null", "--file=" + script, "--command=SET search_path = \"" + schema + "\"",
       "--command=SELECT end_restore(" + number(lost.campaign) + ", " + number(lost.job) + ", " +
           number(lost.task) + ", " + number(lost.epoch) + ")"});
}

}  // namespace

int Backup(const std::string& file) {
  const auto home = OwnHome();
  const auto database = Reachable(home);
  db::RequireSchema(*Open(database));
  const auto path = file.empty() ? DefaultFile(home) : fs::absolute(file).string();
  WriteBackup(home, database, path);
  std::printf("%s: %s of %s\n", path.c_str(), MegaBytes(path).c_str(), database.name.c_str());
  return kExitOk;
}

int Restore(const std::string& file, bool other_grid) {
  const auto home = OwnHome();
  home.Make();
  const auto path = fs::absolute(file).string();
  if (access(path.c_str(), R_OK) != 0) throw Fatal(kExitUsage, "cannot read " + path);
  const auto lock = embedded::LockFile(home.dir + "/.up.lock", std::chrono::seconds(120));
  if (!lock)
    throw Fatal(kExitTryLater, "another `cigri up` or `cigri down` is at work in " + home.dir);
  const bool served = embedded::PostgresPid(home) != 0;
  const auto database = Reachable(home);
  const auto connection = Open(database);
  RequireAlone(home, *connection);
  RequireOurs(home, database, path);
  RequireSameSchema(home, database, path, CurrentSchema(*connection));
  if (!other_grid) RequireSameGrid(home, database, path, *connection);
  const auto lost = LostState(*connection);
  Load(home, database, path, CurrentSchema(*connection), lost);
  if (access(home.grid_file().c_str(), F_OK) == 0) Remember(home, database, GridId(*connection));
  if (database.own && !served) embedded::StopPostgres(home);
  std::printf("%s: restored from %s; after `cigri up` the runner asks each cluster what it ran "
              "since, before old campaigns go on\n",
              database.name.c_str(), path.c_str());
  return kExitOk;
}

int Upgrade() {
  const auto home = OwnHome();
  const auto database = Reachable(home);
  {
    const auto connection = Open(database);
    const auto state = db::InspectSchema(*connection);
    if (state.kind != db::SchemaKind::kOlder) db::RequireSchema(*connection);
    std::printf("%s: schema version %d, these programs have %d\n", database.name.c_str(),
                state.version, db::SchemaVersion());
  }
  const auto file = DefaultFile(home);
  if (const int code = Down(true); code != kExitOk) return code;
  const auto again = Reachable(home);  // `down` has stopped the private server
  try {
    WriteBackup(home, again, file);
    std::printf("backup: %s, %s\n", file.c_str(), MegaBytes(file).c_str());
    BringToVersion(again);
  } catch (const Fatal& e) {
    if (again.own) embedded::StopPostgres(home);
    throw Fatal(e.code(), std::string("the grid is down and its jobs go on: ") + e.what(),
                (e.hint().empty() ? "fix this" : e.hint()) + ", then `cigri upgrade` again");
  }
  return Up({.as_it_was = true});
}

}  // namespace cigri::cli
