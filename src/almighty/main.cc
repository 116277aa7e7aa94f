#include <CLI/CLI.hpp>

#include "almighty/almighty.h"
#include "core/error.h"
#include "core/log.h"
#include "embedded/process.h"

namespace {

int Main(int argc, char** argv) {
  CLI::App app("Starts, sequences, watches and restarts the modules of the grid.", "almighty");
  cigri::almighty::Options options;
  options.bin_dir = cigri::embedded::OwnFolder();
  bool standby = false;
  app.add_flag("--standby", standby, "says in process lists that it was started to stand by");
  app.add_flag("--embedded", options.embedded, "a grid of `cigri up`: its services, and a standby");
  app.add_flag("--own-postgres", options.own_postgres, "keep its private PostgreSQL alive");
  app.add_option("--bin-dir", options.bin_dir, "where the programs of the modules are");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? cigri::kExitOk : cigri::kExitUsage;
  }
  cigri::log::Init("almighty");
  if (options.embedded) options.home = cigri::embedded::Home::FromEnvironment();
  return cigri::almighty::Run(options);
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("almighty", Main, argc, argv); }
