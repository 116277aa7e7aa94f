// Where an embedded grid keeps what: everything is below $CIGRI_HOME.
#pragma once
#include <string>

namespace cigri::embedded {

/// Paths of one embedded grid.
struct Home {
  std::string dir;  ///< absolute, without a slash at its end

  /// Of CigriHome(). Throws Fatal(kExitConfig) when it is not an absolute path, or too long for
  /// the kernel's socket names.
  static Home FromEnvironment();
  std::string data() const { return dir + "/pg"; }
  std::string run() const { return dir + "/run"; }
  std::string log_file() const { return dir + "/log/grid.log"; }
  std::string postgres_log() const { return dir + "/log/postgresql.log"; }
  std::string conninfo_file() const { return dir + "/conninfo"; }
  std::string services_file() const { return dir + "/services"; }
  std::string grid_file() const { return dir + "/grid.json"; }
  std::string cluster_state(const std::string& cluster) const {
    return dir + "/clusters/" + cluster;
  }
  /// The unix socket called `name` ("api.sock"); for others to open.
  std::string socket(const std::string& name) const { return run() + "/" + name; }
  /// The sockets of a local cluster: for its users, and for the grid alone.
  std::string user_socket(const std::string& cluster) const { return socket(cluster + ".sock"); }
  std::string grid_socket(const std::string& cluster) const { return socket(cluster + ".grid"); }
  /// Where the private PostgreSQL has its socket: a folder of its own, that only it may enter; in
  /// /tmp when the name would be too long below `dir`.
  std::string PostgresSocketDir() const;
  /// Makes the folders. Throws Fatal(kExitNoPermission).
  void Make() const;
};

}  // namespace cigri::embedded
