#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded/postgres.h"

namespace cigri::cli {
namespace {

bool Given(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
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
  if (embedded) return {true, "", "own PostgreSQL", "--embedded was given"};
  if (Given("CIGRI_DB"))
    return {false, std::getenv("CIGRI_DB"), "the PostgreSQL of $CIGRI_DB", "CIGRI_DB is set"};
  if (config.Has("DATABASE_HOST") || config.Has("DATABASE_NAME"))
    return {false, DatabaseConninfo(config), "the PostgreSQL of " + config.file(),
            "DATABASE_* is set there"};
  for (const char* name : {"PGHOST", "PGSERVICE", "PGDATABASE"})
    if (Given(name))
      return {false, "", std::string("the PostgreSQL of $") + name, std::string(name) + " is set"};
  return {true, "", "own PostgreSQL", "no DATABASE_* in cigri.conf, no PG* variables"};
}

Database KnownDatabase(const embedded::Home& home, const Config& config) {
  std::ifstream in(home.grid_file());
  const auto known = nlohmann::json::parse(in, nullptr, false);
  if (!known.is_object() || !known.value("own", false)) return ChooseDatabase(config, false);
  std::string conninfo;
  std::ifstream file(home.conninfo_file());
  std::getline(file, conninfo);
  return {true, conninfo, "own PostgreSQL", "this grid was started with it"};
}

void Remember(const embedded::Home& home, const Database& database) {
  const std::string fresh = home.grid_file() + ".tmp";
  std::ofstream(fresh) << nlohmann::json{{"own", database.own}, {"name", database.name}}.dump()
                       << "\n";
  if (std::rename(fresh.c_str(), home.grid_file().c_str()) != 0)
    throw Fatal(kExitNoPermission, "cannot write " + home.grid_file());
}

std::unique_ptr<db::Connection> Open(const Database& database) {
  return std::make_unique<db::Connection>(database.conninfo, "cigri");
}

}  // namespace cigri::cli
