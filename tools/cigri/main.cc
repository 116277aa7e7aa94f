#include <CLI/CLI.hpp>

#include "commands.h"
#include "core/error.h"
#include "core/log.h"

namespace {

using namespace cigri::cli;

int Main(int argc, char** argv) {
  CLI::App app("A whole grid on this machine: start it, end it, look after it.", "cigri");
  app.require_subcommand(1);
  UpOptions up;
  bool keep_jobs = false, json = false;
  auto* up_command = app.add_subcommand("up", "start the grid; does nothing when it is up");
  up_command->add_flag("--embedded", up.embedded,
                       "use its own PostgreSQL whatever cigri.conf and PG* say");
  up_command->add_option("--slots", up.slots, "the local clusters and their slots: alpha=2,beta=2");
  up_command->add_option("--clusters", up.clusters, "number of local clusters that share the CPUs")
      ->check(CLI::Range(1, 8));
  up_command->add_option(
      "--with", up.with,
      "real batch schedulers beside them, as root: oar, slurm, oar=2,slurm=2, none");
  up_command->add_option("--timeout", up.timeout_s, "seconds to wait for its answers");
  auto* down =
      app.add_subcommand("down", "end the grid: its processes, running jobs and PostgreSQL");
  down->add_flag("--keep-jobs", keep_jobs,
                 "let running jobs go on; the next `cigri up` adopts them");
  auto* status = app.add_subcommand("status", "processes, database, clusters, disk");
  status->add_flag("--json", json, "the same as JSON");
  auto* doctor = app.add_subcommand("doctor", "check everything; one line each, with what to do");
  app.add_subcommand("migrate", "bring the database to the version of these programs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? cigri::kExitOk : cigri::kExitUsage;
  }
  cigri::log::Init("cigri", "warn");
  if (up_command->parsed()) return Up(up);
  if (down->parsed()) return Down(keep_jobs);
  if (status->parsed()) return Status(json);
  if (doctor->parsed()) return Doctor();
  return Migrate();
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("cigri", Main, argc, argv); }
