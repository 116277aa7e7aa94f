#include <pwd.h>
#include <sql/grid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "db/conninfo.h"
#include "embedded/postgres.h"

namespace cigri::cli {
namespace {

constexpr const char* kOwnName = "own PostgreSQL";

bool Given(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// What the environment and the configuration name, in the order of DatabaseConninfo.
std::optional<Database> NamedDatabase(const Config& config) {
  const auto named = [](const std::string& conninfo, const std::string& name,
                        const std::string& why, const std::string& file = "") {
    return Database{false, db::WithEnvironment(conninfo), "the PostgreSQL of " + name, why, file};
  };
  if (Given("CIGRI_DB")) return named(std::getenv("CIGRI_DB"), "$CIGRI_DB", "CIGRI_DB is set");
  if (const auto conninfo = ConfiguredDatabase(config); !conninfo.empty())
    return named(conninfo, config.file(), "DATABASE_* is set there",
                 std::filesystem::absolute(config.file()));
  for (const std::string variable : {"PGHOST", "PGSERVICE", "PGDATABASE"})
    if (Given(variable.c_str())) return named("", "$" + variable, variable + " is set");
  return std::nullopt;
}

// What the last `cigri up` has kept. `conninfo` is "" when it is not known: nothing of a private
// server was started, or an older version kept no more.
struct KeptDatabase {
  Database database;
  std::string grid_id;
};
std::optional<KeptDatabase> Kept(const embedded::Home& home) {
  std::ifstream in(home.grid_file());
  const auto known = nlohmann::json::parse(in, nullptr, false);
  if (!known.is_object()) return std::nullopt;
  KeptDatabase kept{
      {known.value("own", false), known.value("conninfo", ""), known.value("name", kOwnName),
       "this grid was started with it", known.value("config", "")},
      known.value("grid_id", "")};
  if (kept.database.own) {
    std::ifstream file(home.conninfo_file());
    std::getline(file, kept.database.conninfo);
  } else if (!kept.database.config.empty()) {
    // Its password may have been changed there since.
    const Config config = Config::LoadFile(kept.database.config);
    const auto conninfo = ConfiguredDatabase(config);
    if (conninfo.empty())
      throw Fatal(
          kExitConfig,
          config.file() + " names no database any more, and the grid in " + home.dir +
              " was started with the one that it named",
          "set DATABASE_* in it; to make another grid of this folder, remove " + home.grid_file());
    kept.database.conninfo = db::WithEnvironment(conninfo);
  }
  return kept;
}

// "" when there is no grid.
std::string GridOf(const Database& database) {
  const auto connection = Open(database);
  using Kind = db::SchemaKind;
  const auto kind = db::InspectSchema(*connection).kind;
  if (kind == Kind::kEmpty || kind == Kind::kForeign || kind == Kind::kCigri3) return "";
  return GridId(*connection);
}

}  // namespace

bool IsOurs(const embedded::Home& home) {
  return access(home.dir.c_str(), F_OK) != 0 || access(home.dir.c_str(), W_OK | X_OK) == 0;
}

embedded::Home OwnHome() {
  auto home = embedded::Home::FromEnvironment();
  if (IsOurs(home)) return home;
  struct stat folder {};
  stat(home.dir.c_str(), &folder);
  const passwd* owner = getpwuid(folder.st_uid);
  const std::string name = owner != nullptr ? owner->pw_name : std::to_string(folder.st_uid);
  throw Fatal(kExitNoPermission, home.dir + " belongs to " + name + " and is not yours to write",
              "run this as " + name + ", or set CIGRI_HOME; gridsub and gridstat need neither");
}

Database ChooseDatabase(const Config& config, bool embedded) {
  if (embedded) return {true, "", kOwnName, "--embedded was given"};
  if (auto named = NamedDatabase(config)) return *named;
  return {true, "", kOwnName, "no DATABASE_* in cigri.conf, no PG* variables"};
}

Database KnownDatabase(const embedded::Home& home, const Config& config) {
  const auto kept = Kept(home);
  if (!kept) return ChooseDatabase(config, false);
  if (kept->database.own || !kept->database.conninfo.empty()) return kept->database;
  // Kept by a version that did not keep how to reach it.
  if (auto named = NamedDatabase(config)) return *named;
  throw Fatal(kExitConfig,
              "the grid in " + home.dir + " has a database outside of it (" + kept->database.name +
                  "), and nothing says where it is",
              "say it once more: CIGRI_DB='host=... dbname=...' cigri up");
}

Database DatabaseForUp(const embedded::Home& home, const Config& config, bool embedded) {
  const auto kept = Kept(home);
  if (!kept) return ChooseDatabase(config, embedded);
  const Database known = KnownDatabase(home, config);
  const auto named = embedded ? ChooseDatabase(config, true) : NamedDatabase(config);
  if (!named || (named->own && known.own) || named->conninfo == known.conninfo) return known;
  // Another way to the same grid: another password, a server more.
  if (!named->own && !known.own && (kept->grid_id.empty() || GridOf(*named) == kept->grid_id))
    return *named;
  throw Fatal(kExitConfig,
              "the grid in " + home.dir + " has " + known.name + "; " + named->name + " (" +
                  named->why + ") has another grid, or none",
              "without that, `cigri up` starts this grid; to make another one of the folder, "
              "remove " +
                  home.grid_file());
}

void Remember(const embedded::Home& home, const Database& database, const std::string& grid_id) {
  nlohmann::json kept{{"own", database.own}, {"name", database.name}, {"grid_id", grid_id}};
  if (!database.config.empty())
    kept["config"] = database.config;
  else if (!database.own)
    kept["conninfo"] = database.conninfo;
  const std::string fresh = home.grid_file() + ".tmp";
  unlink(fresh.c_str());
  const mode_t before = umask(0077);  // there may be a password in it
  std::ofstream out(fresh);
  umask(before);
  out << kept.dump() << "\n";
  out.close();
  if (!out || std::rename(fresh.c_str(), home.grid_file().c_str()) != 0)
    throw Fatal(kExitNoPermission, "cannot write " + home.grid_file());
}

std::string GridId(db::Connection& connection) {
  db::Tx tx(connection);
  return tx.One(sql::kGridId).grid_id;
}

void SayWhichDatabase(const Database& database, const Config& config) {
  const auto named = NamedDatabase(config);
  if (named && (database.own || named->conninfo != database.conninfo))
    std::fprintf(stderr, "database: %s (%s), not %s\n", database.name.c_str(), database.why.c_str(),
                 named->name.c_str());
}

std::unique_ptr<db::Connection> Open(const Database& database) {
  return std::make_unique<db::Connection>(database.conninfo, "cigri");
}

}  // namespace cigri::cli
