#include <signal.h>
#include <sql/cluster_status.h>
#include <sql/clusters.h>
#include <sql/grid.h>
#include <sql/restores.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "clusterdb/clusterdb.h"
#include "commands.h"
#include "core/config_check.h"
#include "core/error.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"
#include "http/client.h"

namespace cigri::cli {
namespace {

using Clock = std::chrono::steady_clock;
using embedded::Home;

const char* const kNames[] = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"};

// CPUs are shared out; every cluster has at least one slot (jobs are niced).
std::vector<LocalCluster> Shared(int clusters) {
  const int cpus = embedded::UsableCpus();
  std::vector<LocalCluster> out;
  for (int i = 0; i < clusters; ++i)
    out.push_back({kNames[i], std::max(1, cpus / clusters + (i < cpus % clusters ? 1 : 0))});
  return out;
}

std::vector<LocalCluster> ParseSlots(const std::string& text) {
  const Fatal wrong(kExitUsage, "--slots is \"" + text + "\"", "write it as alpha=2,beta=2");
  std::vector<LocalCluster> out;
  std::set<std::string> names;
  for (const auto& part : Split(text, ',')) {
    const auto at = part.find('=');
    if (at == part.npos || at == 0 || at > 16) throw wrong;
    const std::string name = part.substr(0, at), digits = part.substr(at + 1);
    if (name.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != name.npos ||
        digits.empty() || digits.size() > 5 ||
        digits.find_first_not_of("0123456789") != digits.npos || std::stoi(digits) < 1 ||
        !names.insert(name).second)
      throw wrong;
    out.push_back({name, std::stoi(digits)});
  }
  return out;
}

std::vector<LocalCluster> WantedClusters(const UpOptions& options, const Home& home) {
  if (!options.slots.empty()) return ParseSlots(options.slots);
  if (options.clusters > static_cast<int>(std::size(kNames)))
    throw Fatal(kExitUsage, "--clusters goes up to " + std::to_string(std::size(kNames)),
                "name them: --slots a=1,b=1,...");
  if (options.clusters > 0) return Shared(options.clusters);
  const auto known = LocalClusters(home);
  return known.empty() ? Shared(2) : known;
}

// Whether each slot can have a CPU of its own. Below a quota the CPUs are others', too: every
// container of a host would take the first ones.
bool CanPin(const Config& config, const std::vector<LocalCluster>& clusters) {
  int slots = 0;
  for (const auto& cluster : clusters) slots += cluster.slots;
  return config.GetBool("LOCAL_PIN", true) && !embedded::HasCpuQuota() &&
         slots <= embedded::UsableCpus();
}

void WriteServices(const Home& home, const Config& config,
                   const std::vector<LocalCluster>& clusters) {
  const std::string fresh = home.services_file() + ".tmp";
  std::ofstream out(fresh);
  const bool pin = CanPin(config, clusters);
  int first_cpu = 0;
  for (const auto& cluster : clusters) {
    nlohmann::json words{"localcluster",
                         "--name",
                         cluster.name,
                         "--slots",
                         std::to_string(cluster.slots),
                         "--state",
                         home.cluster_state(cluster.name),
                         "--socket",
                         home.user_socket(cluster.name),
                         "--grid-socket",
                         home.grid_socket(cluster.name),
                         "--max-file",
                         std::to_string(config.GetInt("LOCAL_MAX_FILE", 1024))};
    if (pin) words.insert(words.end(), {"--pin-from", std::to_string(first_cpu)});
    first_cpu += cluster.slots;
    out << words.dump() << "\n";
  }
  out.close();
  if (!out || std::rename(fresh.c_str(), home.services_file().c_str()) != 0)
    throw Fatal(kExitNoPermission, "cannot write " + home.services_file());
}

// A cluster of that name that is not ours: its jobs run there, and would run here once more.
[[noreturn]] void RefuseName(db::Tx& tx, const std::string& name) {
  const auto other = tx.First(sql::kHomeOfCluster, name);
  if (!other)
    throw Fatal(kExitConfig, "there is a cluster " + name + " of another kind already",
                "name the local ones otherwise: --slots here=1");
  throw Fatal(kExitConfig,
              "cluster " + name + " of this database belongs to " + other->home.value_or("another"),
              "name the clusters of this host otherwise: cigri up --slots NAME=SLOTS");
}

// `own`: the database is this home's alone, so its clusters are too, also when the host has got
// another name.
void WriteClusters(db::Connection& connection, const Home& home, bool own,
                   const std::vector<LocalCluster>& clusters) {
  db::Tx tx(connection);
  tx.Exec(sql::kMarkEmbedded);
  clusterdb::StoreCapabilities(tx);  // the statements below ask for `dedicated`
  const auto& driver = *cluster::FindDriver("local");
  const std::string place = HostName() + ":" + home.dir;
  std::vector<std::string> names;
  for (const auto& cluster : clusters) {
    names.push_back(cluster.name);
    const std::string url = "unix:" + home.grid_socket(cluster.name);
    clusterdb::AddCluster(tx, driver, cluster.name, url);
    if (tx.Exec(sql::kMoveLocalCluster, cluster.name, url, place, own).empty())
      RefuseName(tx, cluster.name);
  }
  tx.Exec(sql::kRetireLocalClusters, place, names);
  tx.Commit();
}

// Migrates; an older schema only when no program of it works on it any more, on no host: theirs are
// statements for that schema. A session may outlive its program for a moment.
void BringUpToDate(db::Connection& connection) {
  const auto until = Clock::now() + std::chrono::seconds(10);
  while (db::InspectSchema(connection).kind == db::SchemaKind::kOlder) {
    const auto others = db::Tx(connection).Exec(sql::kOtherSessions);
    if (others.empty()) break;
    if (Clock::now() > until)
      throw Fatal(kExitTryLater,
                  others[0].application_name + " of " + others[0].address +
                      " still works with the older schema of this database",
                  "end the older programs on every host first: `cigri upgrade` on this one, `cigri "
                  "down --keep-jobs` or `systemctl stop cigri-almighty cigri-api` on the others");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  db::Migrate(connection);
}

// Calls `undo` when that database cannot be used.
std::unique_ptr<db::Connection> OpenMigrated(const Database& database,
                                             const std::function<void()>& undo) {
  try {
    auto connection = Open(database);
    BringUpToDate(*connection);
    return connection;
  } catch (...) {
    undo();
    throw;
  }
}

bool AlmightyRuns(const Home& home) {
  for (const auto& process : embedded::GridProcesses(home))
    if (process.name == "almighty") return true;
  return false;
}

// The daemons learn about the grid from their environment. Of the shell's own environment they get
// only PATH and the language (jobs of an ordinary user inherit those).
void StartAlmighty(const Home& home, const Config& config, const Database& database) {
  setenv("CIGRI_HOME", home.dir.c_str(), 1);
  if (!database.conninfo.empty()) setenv("CIGRI_DB", database.conninfo.c_str(), 1);
  if (!config.file().empty())
    setenv("CIGRICONFFILE", std::filesystem::absolute(config.file()).c_str(), 1);
  std::vector<std::string> argv{embedded::DaemonFolder() + "/almighty", "--embedded"};
  if (database.own) argv.push_back("--own-postgres");
  if (chdir(home.dir.c_str()) != 0) throw Fatal(kExitNoPermission, "cannot enter " + home.dir);
  embedded::SpawnDaemon(argv, home.log_file());
}

struct Leader {
  std::string host;
  pid_t pid = 0;
};
// Nothing while nobody leads. A leader of this host that has been killed has its lease for some
// seconds more.
std::optional<Leader> LeaderNow(db::Connection& connection) {
  db::Tx tx(connection);
  const auto row = tx.First(sql::kLeader);
  if (!row) return std::nullopt;
  const auto colon = row->leader.rfind(':');
  const Leader leader{row->leader.substr(0, colon), std::atoi(row->leader.c_str() + colon + 1)};
  if (leader.host == HostName() && kill(leader.pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return leader;
}

std::vector<std::string> Silent(const Home& home, const Config& config, db::Connection& connection,
                                const std::vector<LocalCluster>& clusters) {
  std::vector<std::string> silent;
  if (!LeaderNow(connection)) silent.push_back("almighty");
  if (!AnswersHealth(config.Get("API_SOCKET", home.socket("api.sock")))) silent.push_back("api");
  for (const auto& cluster : clusters)
    if (!AnswersHealth(home.grid_socket(cluster.name))) silent.push_back(cluster.name);
  if (!silent.empty()) return silent;
  // The grid may have asked one before it listened. It asks again soon, but until then whoever
  // submits reads that nothing runs there. What a leader of another host sees is not waited for.
  if (!OtherLeader(home, connection).empty()) return silent;
  db::Tx tx(connection);
  for (const auto& row : tx.Exec(sql::kClusterHealth))
    if (row.failing_s && std::any_of(clusters.begin(), clusters.end(),
                                     [&](const auto& ours) { return ours.name == row.name; }))
      silent.push_back(row.name + " to the grid");
  return silent;
}

// `start`: what to do when no almighty is there (any more): one that was seen may have been dying.
void AwaitAnswers(const Home& home, const Config& config, db::Connection& connection,
                  const std::vector<LocalCluster>& clusters, double timeout_s,
                  const std::function<void()>& start) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  std::vector<std::string> silent;
  auto looked = Clock::now();
  while (!(silent = Silent(home, config, connection, clusters)).empty()) {
    if (Clock::now() >= deadline)
      throw Fatal(kExitUnavailable,
                  "the grid does not come up: no answer from " + Join(silent, ", "),
                  "see the end of " + home.log_file() + ", and `cigri doctor`");
    if (Clock::now() - looked > std::chrono::seconds(1)) {
      looked = Clock::now();
      if (!AlmightyRuns(home)) start();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string Slots(const std::vector<LocalCluster>& clusters) {
  std::string text;
  for (const auto& cluster : clusters)
    text += ", " + cluster.name + " " + Pluralize(cluster.slots, "slot");
  return text;
}

std::string Names(const std::vector<RealCluster>& clusters) {
  std::string text;
  for (const auto& cluster : clusters) text += ", " + cluster.name();
  return text;
}

bool Same(const std::vector<LocalCluster>& a, const std::vector<LocalCluster>& b) {
  return Slots(a) == Slots(b);
}

}  // namespace

std::vector<LocalCluster> LocalClusters(const Home& home) {
  std::vector<LocalCluster> out;
  std::ifstream in(home.services_file());
  for (std::string line; std::getline(in, line);) {
    const auto argv = nlohmann::json::parse(line, nullptr, false);
    if (!argv.is_array() || argv.size() < 5 || argv[0] != "localcluster") continue;
    out.push_back({argv[2].get<std::string>(), std::stoi(argv[4].get<std::string>())});
  }
  return out;
}

int HealthOf(const std::string& socket) {
  http::Options options;
  options.connect_timeout = options.read_timeout = std::chrono::milliseconds(2000);
  if (access(socket.c_str(), F_OK) != 0) return 0;
  return http::Client(http::Endpoint::Parse("unix:" + socket), options).Get("/health").status;
}
bool AnswersHealth(const std::string& socket) { return HealthOf(socket) / 100 == 2; }

std::string OtherLeader(const Home& home, db::Connection& connection) {
  const auto leader = LeaderNow(connection);
  if (!leader) return "";
  for (const auto& process : embedded::GridProcesses(home))
    if (leader->host == HostName() && process.pid == leader->pid) return "";
  return leader->host;
}

int Up(const UpOptions& options) {
  const auto began = Clock::now();
  const Config config = Config::Load();
  for (const auto& warning : config.Warnings())
    std::fprintf(stderr, "cigri: WARNING: %s\n", warning.c_str());
  if (!config.file().empty()) std::fprintf(stderr, "configuration: %s\n", config.file().c_str());
  CheckValues(config);
  const Home home = OwnHome();
  home.Make();
  const auto lock = embedded::LockFile(home.dir + "/.up.lock", std::chrono::seconds(120));
  if (!lock)
    throw Fatal(kExitTryLater, "another `cigri up` or `cigri down` is at work in " + home.dir);
  const bool running = AlmightyRuns(home);
  Database database = options.as_it_was ? KnownDatabase(home, config)
                                        : DatabaseForUp(home, config, options.embedded);
  const auto clusters = WantedClusters(options, home);
  const auto real = ClaimReal(home, options.with);
  if (running && !Same(clusters, LocalClusters(home)))
    throw Fatal(kExitUsage, "the grid is up with other clusters" + Slots(LocalClusters(home)),
                "`cigri down` first");
  std::fprintf(stderr, "database: %s (%s)\n", database.name.c_str(), database.why.c_str());
  const bool served = embedded::PostgresPid(home) != 0;
  if (database.own) database.conninfo = embedded::StartPostgres(home);
  const auto connection = OpenMigrated(database, [&] {
    if (database.own && !served) embedded::StopPostgres(home);
  });
  const auto start = [&] {
    WriteClusters(*connection, home, database.own, clusters);
    WriteServices(home, config, clusters);
    Remember(home, database, GridId(*connection));
    StartAlmighty(home, config, database);
  };
  if (running)
    Remember(home, database, GridId(*connection));  // there may be another way to it
  else
    start();
  AwaitAnswers(home, config, *connection, clusters, options.timeout_s, start);
  StartReal(home, config.Get("API_SOCKET", home.socket("api.sock")), real);
  const std::chrono::duration<double> took = Clock::now() - began;
  const std::string other = OtherLeader(home, *connection);
  const std::string stands_by = other.empty() ? "" : "; stands by, " + other + " leads";
  std::printf("grid %s %.1f s: %s%s%s%s\n", running ? "is up, checked in" : "up in", took.count(),
              database.name.c_str(), Slots(clusters).c_str(), Names(real).c_str(),
              stands_by.c_str());
  return kExitOk;
}

int Migrate() {
  const Config config = Config::Load();
  // Who names a database means that one, whichever the grid uses.
  const char* named = std::getenv("CIGRI_DB");
  const auto database = named != nullptr && *named != '\0' ? ChooseDatabase(config, false)
                                                           : KnownDatabase(OwnHome(), config);
  BringToVersion(database);
  return kExitOk;
}

void BringToVersion(const Database& database) {
  const auto connection = Open(database);
  const auto before = db::InspectSchema(*connection);
  BringUpToDate(*connection);
  if (before.version == db::SchemaVersion())
    std::printf("%s: schema version %d, nothing to do\n", database.name.c_str(), before.version);
  else
    std::printf("%s: schema version %d, was %d\n", database.name.c_str(), db::SchemaVersion(),
                before.version);
}

}  // namespace cigri::cli
