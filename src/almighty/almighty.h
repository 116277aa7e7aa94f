// Starts, sequences, watches and restarts the modules. It schedules no jobs.
#pragma once
#include <string>
#include <vector>

#include "embedded/home.h"

namespace cigri::almighty {

struct Options {
  std::string bin_dir;    ///< where the programs of the modules are
  bool embedded = false;  ///< a grid of `cigri up`: has local clusters, keeps a standby alive
  bool modules_only = false;  ///< starts no services: systemd has units for them
  bool own_postgres = false;  ///< and its private PostgreSQL
  embedded::Home home;
};

/// Waits to lead, leads, and waits again when it has lost its session, until SIGTERM or SIGINT.
/// With `embedded`, two processes keep each other running: a third one exits at once. Returns the
/// exit code.
int Run(const Options& options);

}  // namespace cigri::almighty
