#include <sql/cluster_status.h>
#include <sql/clusters.h>
#include <sql/grid.h>
#include <sql/servers.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"
#include "secrets/secrets.h"

namespace cigri::cli {
namespace {

// One line a check: what, ok/warn/fail, and what to do about it.
class Report {
 public:
  void Ok(const std::string& what, const std::string& seen) { Line("ok", what, seen, ""); }
  void Warn(const std::string& what, const std::string& seen, const std::string& todo) {
    Line("warn", what, seen, todo);
  }
  void Fail(const std::string& what, const std::string& seen, const std::string& todo) {
    Line("fail", what, seen, todo);
    ++failures_;
  }
  int failures() const { return failures_; }

 private:
  static void Line(const char* verdict, const std::string& what, const std::string& seen,
                   const std::string& todo) {
    std::printf("%-4s  %-12s %s%s%s\n", verdict, what.c_str(), seen.c_str(),
                todo.empty() ? "" : "; ", todo.c_str());
  }
  int failures_ = 0;
};

void CheckPrograms(Report& report) {
  const std::string folder = embedded::DaemonFolder();
  std::vector<std::string> missing;
  for (const char* name : {"almighty", "updator", "predictor", "metascheduler", "runner", "nikita",
                           "notifier", "api", "localcluster", "cigri-job"})
    if (access((folder + "/" + name).c_str(), X_OK) != 0) missing.push_back(name);
  if (missing.empty())
    report.Ok("programs", "all in " + folder);
  else
    report.Fail("programs", "not in " + folder + ": " + Join(missing, ", "),
                "build or install them all");
}

void CheckDisk(Report& report, const std::string& folder) {
  struct statvfs fs {};
  if (statvfs(folder.c_str(), &fs) != 0)
    return report.Fail("disk", folder + " cannot be looked at", "check that it exists");
  const double mb = static_cast<double>(fs.f_bavail) * static_cast<double>(fs.f_frsize) / 1048576;
  const double inodes =
      fs.f_files == 0 ? 1 : static_cast<double>(fs.f_favail) / static_cast<double>(fs.f_files);
  const std::string seen = std::to_string(static_cast<long long>(mb)) + " MB free in " + folder;
  if (mb < 200) return report.Fail("disk", seen, "make room: the database stops when it is full");
  if (mb < 2000 || inodes < 0.02)
    return report.Warn("disk", seen, "make room before a big campaign");
  report.Ok("disk", seen);
}

void CheckHome(Report& report, const embedded::Home& home) {
  if (access(home.dir.c_str(), F_OK) != 0)
    return report.Warn("home", home.dir + " is not there yet", "`cigri up` makes it");
  if (!IsOurs(home))
    return report.Fail("home", home.dir + " is not yours to write",
                       "run as its owner, or set CIGRI_HOME");
  report.Ok("home", home.dir);
  CheckDisk(report, home.dir);
  struct stat database {}, jobs {};
  const std::string clusters = home.dir + "/clusters";
  if (stat(home.data().c_str(), &database) != 0 || stat(clusters.c_str(), &jobs) != 0) return;
  if (database.st_dev != jobs.st_dev)
    CheckDisk(report, clusters);
  else if (geteuid() == 0)  // jobs of all users
    report.Warn("disk", "the output of jobs and the database share a disk",
                "mount another one at " + clusters);
}

bool OfLeader(const std::string& program) {
  return program != "almighty" && program != "runner" && program != "api";
}

// Nothing when the database cannot be asked: its own line says why, and nobody leads.
std::optional<std::string> OtherLeaderOf(const embedded::Home& home, const Database& database) {
  try {
    const auto connection = Open(database);
    db::RequireSchema(*connection);
    return database.own ? "" : OtherLeader(home, *connection);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// `leader`: the host of another home that leads, and so has the modules; "" when none does.
void CheckProcesses(Report& report, const embedded::Home& home,
                    const std::optional<std::string>& leader) {
  std::map<std::string, int> count;
  for (const auto& process : embedded::GridProcesses(home)) ++count[process.name];
  if (count.empty()) return report.Fail("processes", "the grid is down", "`cigri up`");
  for (const char* name :
       {"almighty", "updator", "predictor", "metascheduler", "runner", "nikita", "notifier",
        "api"})
    if (count[name] == 0 && (leader == "" || !OfLeader(name)))
      report.Fail("processes", std::string(name) + " does not run",
                  "see the end of " + home.log_file());
  if (count["almighty"] == 1)
    report.Warn("processes", "no almighty stands by",
                "it comes back within a second or two; if not, see " + home.log_file());
  const std::string seen = std::to_string(count.size()) + " kinds run";
  if (!leader)
    report.Warn("processes", seen, "without the database nobody leads, and no module runs");
  else
    report.Ok("processes", seen + (leader->empty() ? "" : "; stands by, " + *leader + " leads"));
}

void CheckClock(Report& report, double database_clock) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const double skew = std::fabs(database_clock - static_cast<double>(now.tv_sec) -
                                static_cast<double>(now.tv_nsec) / 1e9);
  if (skew > 5)
    report.Warn("clock",
                "the database's clock is " + HumanDuration(skew) + " away from this host's",
                "set up time synchronisation");
  else
    report.Ok("clock", "agrees with the database's");
}

void CheckClusters(Report& report, db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kClusterHealth)) {
    const std::string what = "cluster", name = row.name;
    if (!row.enabled) continue;
    const std::string url = row.api_url;
    const bool here = !row.home || StartsWith(*row.home, HostName() + ":");
    if (row.drained)
      report.Warn(what, name + " is drained: " + row.drain_reason.value_or(""),
                  "`gridadmin resume " + name + "`");
    else if (here && url.rfind("unix:", 0) == 0 && !AnswersHealth(url.substr(5)))
      report.Fail(what, name + " does not answer on " + url,
                  "its daemon is restarted automatically; see the log");
    else if (row.failing_s)
      report.Fail(what, name + " has failed for " + HumanDuration(*row.failing_s) + ": " +
                            row.error.value_or("no reason given"),
                  "`gridadmin cluster check " + name + "`");
    else if (!row.polled_s || *row.polled_s > 120)
      report.Warn(what, name + " has not been polled lately", "is the updator at work?");
    else
      report.Ok(what, name + ", polled " + HumanDuration(*row.polled_s) + " ago");
  }
}

void CheckModules(Report& report, db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kModuleStatus)) {
    const double idle = row.idle_s.value_or(0);
    if (idle > 90)
      report.Warn("module",
                  std::string(row.name) + " made its last pass " + HumanDuration(idle) + " ago",
                  "see the log");
  }
  for (const auto& row : tx.Exec(sql::kModuleEnds))
    report.Fail("module", row.name + " does not run: " + row.why, "see the log");
}

std::string Behind(const sql::DatabaseStandbysRow& standby) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f MB", standby.behind_bytes.value_or(0) / 1048576);
  return text + (standby.behind_s ? " and " + HumanDuration(*standby.behind_s) : "") + " behind";
}

// With standbys there may be a fail-over: what a synchronous one has is not lost then.
void CheckStandbys(Report& report, const sql::DatabaseServerRow& server,
                   const std::vector<sql::DatabaseStandbysRow>& standbys) {
  constexpr double kFarBehindBytes = 64.0 * 1048576, kFarBehindS = 30;
  bool synchronous = false;
  for (const auto& standby : standbys) {
    synchronous = synchronous || standby.synchronous;
    const std::string seen = standby.name + " of " + standby.address + ", " +
                             (standby.synchronous ? "synchronous, " : "asynchronous, ") +
                             standby.state + ", " + Behind(standby);
    if (standby.state != "streaming" || standby.behind_bytes.value_or(0) > kFarBehindBytes ||
        standby.behind_s.value_or(0) > kFarBehindS)
      report.Warn("standby", seen, "look at its log, its disk and the network to it");
    else
      report.Ok("standby", seen);
  }
  if (!standbys.empty() && !synchronous)
    report.Warn("standby", "none is synchronous: a fail-over loses the last commits",
                "set synchronous_standby_names (Patroni: synchronous_mode)");
  if (standbys.empty() && !server.synchronous_names.empty())
    report.Warn("standby", "none is connected, and commits wait for one of " +
                               server.synchronous_names,
                "start a standby");
}

void CheckServer(Report& report, db::Tx& tx) {
  const auto server = tx.One(sql::kDatabaseServer);
  const std::string seen = server.address + ", PostgreSQL " + server.version + ", started " +
                           HumanDuration(server.up_s) + " ago";
  if (server.keeps_commits)
    report.Ok("server", seen);
  else
    report.Warn("server", seen + ", answers commits before they are on its disk",
                "set fsync = on, synchronous_commit = on: a crash runs tasks twice");
  const auto standbys = tx.Exec(sql::kDatabaseStandbys);
  if (!server.sees_standbys && !standbys.empty())
    return report.Warn("standby", "this role may not see the state of the standbys",
                       "GRANT pg_monitor TO the role of DATABASE_USER");
  CheckStandbys(report, server, standbys);
}

// Each host decrypts them, and only the host that has set the first one has made a key.
void CheckSecrets(Report& report, db::Tx& tx, const std::string& key_file) {
  int readable = 0, others = 0;
  std::string first, why, todo;
  for (const auto& row : tx.Exec(sql::kStoredSecrets)) try {
      SecretBox(key_file).Decrypt(row.secret);
      ++readable;
    } catch (const Fatal& e) {
      if (others++ == 0) first = row.name, why = e.what(), todo = e.hint();
    }
  if (others > 0)
    report.Fail(
        "secrets",
        first + (others > 1 ? " and " + std::to_string(others - 1) + " more" : "") + ": " + why,
        todo);
  else if (readable > 0)
    report.Ok("secrets", std::to_string(readable) + " can be read with " + key_file);
}

void CheckDatabase(Report& report, const Database& database, const std::string& key_file) {
  try {
    const auto connection = Open(database);
    report.Ok("database", database.name + " answers (" + database.why + ")");
    db::RequireSchema(*connection);
    report.Ok("schema", "version " + std::to_string(db::SchemaVersion()));
    db::Tx tx(*connection);
    CheckServer(report, tx);
    CheckClock(report, tx.One(sql::kGridStatus).clock);
    CheckClusters(report, tx);
    CheckModules(report, tx);
    CheckSecrets(report, tx, key_file);
  } catch (const Fatal& e) {
    report.Fail("database", e.what(), e.hint());
  }
}

}  // namespace

int Doctor() {
  Report report;
  const auto home = embedded::Home::FromEnvironment();
  const Config config = Config::Load();
  for (const auto& warning : config.Warnings()) report.Warn("config", warning, "fix or remove the line");
  CheckPrograms(report);
  CheckHome(report, home);
  const bool ours = IsOurs(home);
  std::optional<Database> database;
  std::string why_unknown, hint;
  if (ours) try {
      database = KnownDatabase(home, config);
    } catch (const Fatal& e) {
      why_unknown = e.what(), hint = e.hint();
    }
  if (ours) CheckProcesses(report, home, database ? OtherLeaderOf(home, *database) : std::nullopt);
  const std::string api = config.Get("API_SOCKET", home.socket("api.sock"));
  const int health = HealthOf(api);
  if (health == 200)
    report.Ok("api", "answers on " + api);
  else if (health == 503)
    report.Warn("api", "answers on " + api + " that it has no database",
                "it goes on when there is one");
  else
    report.Fail("api", "no answer on " + api, "`cigri up`, or see the log");
  if (!ours) return kExitNo;  // who owns it sees the rest
  if (!database)
    report.Fail("database", why_unknown, hint);
  else if (database->own && !embedded::HasPostgres(home))
    report.Fail("database", "there is none in " + home.dir, "`cigri up` makes one");
  else
    CheckDatabase(report, *database, SecretKeyFile(config));
  return report.failures() == 0 ? kExitOk : kExitNo;
}

}  // namespace cigri::cli
