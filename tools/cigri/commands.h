// The commands of `cigri`, the only tool that opens the database (docs/cigri.md).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "db/db.h"
#include "embedded/home.h"

namespace cigri::cli {

/// The database of this grid, and why this one.
struct Database {
  bool own = true;       ///< the private server below home
  std::string conninfo;  ///< of the private one: "" before it is started
  std::string name;      ///< for messages: "own PostgreSQL", "the PostgreSQL of $CIGRI_DB"
  std::string why;
  std::string config = "";  ///< the file whose DATABASE_* name it; "" when none does
};

/// Whether it is ours to write, or not there yet.
bool IsOurs(const embedded::Home& home);
/// Home::FromEnvironment(), when it is ours to write or not there yet. Throws
/// Fatal(kExitNoPermission) with its owner.
embedded::Home OwnHome();
/// Which database a new grid gets: with `embedded` its own; else $CIGRI_DB, else DATABASE_* of
/// cigri.conf, else PG* variables, else its own. Starts nothing.
Database ChooseDatabase(const Config& config, bool embedded);
/// The one that the last `cigri up` chose, whatever the environment says now; ChooseDatabase when
/// there was none. Throws Fatal(kExitConfig) when an older `cigri up` has not kept enough.
Database KnownDatabase(const embedded::Home& home, const Config& config);
/// The one for `cigri up`: KnownDatabase. Throws Fatal(kExitConfig) when `embedded`, the
/// environment or cigri.conf names one that has another grid.
Database DatabaseForUp(const embedded::Home& home, const Config& config, bool embedded);
/// Keeps the choice: this database has the grid `grid_id`.
void Remember(const embedded::Home& home, const Database& database, const std::string& grid_id);
/// What distinguishes its grid from others. REQUIRES: a schema of ours.
std::string GridId(db::Connection& connection);
/// On stderr, when the environment or cigri.conf names another one than `database`.
void SayWhichDatabase(const Database& database, const Config& config);
std::unique_ptr<db::Connection> Open(const Database& database);

struct UpOptions {
  bool embedded = false;
  std::string slots;  ///< "alpha=2,beta=2"; "" = CPUs shared among the clusters
  int clusters = 0;   ///< 0: two, or as they are
  std::string with;   ///< "oar,slurm=2": real batch schedulers; "" = as they were, "none"
  double timeout_s = 60;
  bool as_it_was = false;  ///< with the database that the grid has, whatever the environment says
};
int Up(const UpOptions& options);
int Down(bool keep_jobs);
int Status(bool json);
int Doctor();
int Migrate();
/// Migrates its schema to the version of these programs, and says so.
void BringToVersion(const Database& database);
/// Writes the database into `file` ("": one in $CIGRI_HOME/backup, named by the time).
int Backup(const std::string& file);
/// Replaces the database by a backup; refused while a program of the grid uses it, on any host, and
/// without `other_grid` when a grid that has been used would go for another.
int Restore(const std::string& file, bool other_grid);
/// Ends the grid, backs its database up, migrates it and starts the grid again, all with these
/// programs; jobs go on.
int Upgrade();
/// Takes over what the CiGri 3 in database `from` has: docs/from-cigri3.md. Prints a line for each
/// cluster and campaign; a dry run stores nothing.
int ImportCigri3(const std::string& from, bool dry_run);

/// One of the embedded clusters.
struct LocalCluster {
  std::string name;
  int slots = 1;
};
/// Those of the services file; empty when there is none.
std::vector<LocalCluster> LocalClusters(const embedded::Home& home);
/// A real batch scheduler that belongs to this grid.
struct RealCluster {
  std::string kind;  ///< one of RealClusterKinds
  int instance = 1;  ///< of this machine: OAR_INSTANCE, or the number in Slurm's ClusterName
  std::string name() const { return kind + std::to_string(instance); }
  bool operator==(const RealCluster& other) const = default;
};
/// What `--with` can start: "oar, slurm".
std::string RealClusterKinds();
/// Those that `cigri up --with` gave to the grid, started or not.
std::vector<RealCluster> RealClusters(const embedded::Home& home);
/// Checks what `--with` says and takes places on this machine for it; starts nothing. Throws Fatal:
/// kExitUsage, kExitNoPermission (not root), kExitUnavailable (packages are missing).
std::vector<RealCluster> ClaimReal(const embedded::Home& home, const std::string& with);
/// Starts `wanted`, adds them to the grid through its API and opens them; stops the grid's others.
void StartReal(const embedded::Home& home, const std::string& socket,
               const std::vector<RealCluster>& wanted);
/// Stops the grid's, and says how many; they are started again by the next `cigri up`.
int StopReal(const embedded::Home& home);
/// The host of the leader, when that is an almighty of another home; else "".
std::string OtherLeader(const embedded::Home& home, db::Connection& connection);
/// The status with which an HTTP server answers GET /health on the socket; 0 when none answers.
int HealthOf(const std::string& socket);
bool AnswersHealth(const std::string& socket);

}  // namespace cigri::cli
