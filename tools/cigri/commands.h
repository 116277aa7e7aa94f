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
  std::string conninfo;  ///< "" for PG* variables
  std::string name;      ///< for people: "own PostgreSQL", "PostgreSQL of /etc/cigri/cigri.conf"
  std::string why;
};

/// Which database a grid that is started now gets: with `embedded` its own; else DATABASE_* of
/// cigri.conf, else PG* variables, else its own. Starts nothing.
Database ChooseDatabase(const Config& config, bool embedded);
/// The one that the last `cigri up` chose; ChooseDatabase when there was none.
Database KnownDatabase(const embedded::Home& home, const Config& config);
void Remember(const embedded::Home& home, const Database& database);
std::unique_ptr<db::Connection> Open(const Database& database);

struct UpOptions {
  bool embedded = false;
  std::string slots;  ///< "alpha=2,beta=2"; "" = CPUs shared among the clusters
  int clusters = 0;   ///< 0: two, or as they are
  double timeout_s = 60;
};
int Up(const UpOptions& options);
int Down(bool keep_jobs);
int Status(bool json);
int Doctor();
int Migrate();

/// One of the embedded clusters.
struct LocalCluster {
  std::string name;
  int slots = 1;
};
/// Those of the services file; empty when there is none.
std::vector<LocalCluster> LocalClusters(const embedded::Home& home);
/// True when an HTTP server answers GET /health on the socket.
bool AnswersHealth(const std::string& socket);

}  // namespace cigri::cli
