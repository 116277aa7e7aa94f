// almighty: starts, sequences, watches and restarts the modules of the grid.
#include "almighty/almighty.h"
#include "core/command_line.h"
#include "core/error.h"
#include "core/log.h"
#include "embedded/process.h"

static int Main(int argc, char** argv) {
  cigri::CommandLine line("almighty",
                          "Starts, sequences, watches and restarts the modules of the grid.");
  cigri::almighty::Options options;
  options.bin_dir = cigri::embedded::OwnFolder();
  bool standby = false;
  line.Add({{"--standby", &standby, "says in process lists that it was started to stand by"},
            {"--embedded", &options.embedded, "a grid of `cigri up`: its services, and a standby"},
            {"--own-postgres", &options.own_postgres, "keep its private PostgreSQL alive"},
            {"--modules-only", &options.modules_only, "start no API: the service manager does"},
            {"--bin-dir", &options.bin_dir, "where the programs of the modules are"}});
  if (const auto code = line.Read(argc, argv)) return *code;
  cigri::log::Init("almighty");
  options.home = cigri::embedded::Home::FromEnvironment();
  options.home.Make();
  return cigri::almighty::Run(options);
}

int main(int argc, char** argv) { return cigri::RunMain("almighty", Main, argc, argv); }
