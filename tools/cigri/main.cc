#include "commands.h"
#include "core/command_line.h"
#include "core/error.h"
#include "core/log.h"
#include "db/db.h"

namespace {

using namespace cigri::cli;
using cigri::CommandLine;

int Main(int argc, char** argv) {
  CommandLine line("cigri", "A whole grid on this machine: start it, end it, look after it.");
  UpOptions up;
  bool keep_jobs = false, json = false;
  line.DescribeHelp("print this help and end");
  line.AddVersion("cigri " CIGRI_VERSION, "print the version and end");
  line.AddFooter(
      "\nExamples:\n"
      "  cigri up                          start a grid on this machine\n"
      "  cigri up --slots here=8           with one cluster of 8 slots\n"
      "  cigri status                      what runs\n"
      "  cigri doctor                      what is wrong, and what to do\n"
      "  cigri down --keep-jobs            running jobs go on\n");
  CommandLine& up_command = line.AddCommand("up", "start the grid; does nothing when it is up");
  up_command.Add(
      {{"--embedded", &up.embedded, "use its own PostgreSQL whatever cigri.conf and PG* say"},
       {"--slots", &up.slots, "the local clusters and their slots: alpha=2,beta=2"},
       {"--clusters",
        &up.clusters,
        "number of local clusters that share the CPUs",
        {.range = {{1, 8}}}},
       {"--with", &up.with,
        "real batch schedulers next to them, as root: " + RealClusterKinds() +
            ", oar=2,slurm=2, none"},
       {"--timeout", &up.timeout_s, "seconds to wait for its answers"}});
  CommandLine& down =
      line.AddCommand("down", "end the grid: its processes, running jobs and PostgreSQL");
  down.Add(
      {{"--keep-jobs", &keep_jobs, "let running jobs go on; the next `cigri up` adopts them"}});
  CommandLine& status = line.AddCommand("status", "processes, database, clusters, disk");
  status.Add({{"--json", &json, "the same as JSON"}});
  CommandLine& doctor =
      line.AddCommand("doctor", "check everything; one line each, with what to do");
  line.AddCommand("migrate", "bring the database to the version of these programs");
  std::string backup_file, restore_file;
  CommandLine& backup = line.AddCommand("backup", "write the database into a file");
  backup.Add({{"file", &backup_file, "default: backup/cigri-TIME.dump in $CIGRI_HOME"}});
  CommandLine& restore =
      line.AddCommand("restore", "replace the database by a backup; what ran since runs no more");
  bool other_grid = false;
  restore.Add({{"file", &restore_file, "what `cigri backup` wrote", {.required = true}},
               {"--other-grid", &other_grid, "also when it is of another grid than the one here"}});
  CommandLine& upgrade =
      line.AddCommand("upgrade", "go on with these programs: down, backup, migrate, up; jobs go on");
  std::string from;
  bool dry_run = false;
  CommandLine& import =
      line.AddCommand("import-cigri3", "take over users, clusters and campaigns of a CiGri 3");
  import.Add({{"--from", &from, "its database, as for psql: 'host=grid dbname=cigri3'"},
              {"--dry-run", &dry_run, "say what would be done, and store nothing"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return *code;
  cigri::log::Init("cigri", "warn");
  if (up_command.Chosen()) return Up(up);
  if (down.Chosen()) return Down(keep_jobs);
  if (status.Chosen()) return Status(json);
  if (doctor.Chosen()) return Doctor();
  if (backup.Chosen()) return Backup(backup_file);
  if (restore.Chosen()) return Restore(restore_file, other_grid);
  if (upgrade.Chosen()) return Upgrade();
  if (import.Chosen()) return ImportCigri3(from, dry_run);
  return Migrate();
}

// A database that fails over meanwhile is no bug of ours.
int Truthful(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const cigri::db::InDoubt& e) {
    throw cigri::Fatal(cigri::kExitTryLater, std::string("the database was lost: ") + e.what(),
                       "do it again: what was done already is kept");
  } catch (const cigri::db::Broken& e) {
    throw cigri::Fatal(cigri::kExitUnavailable, std::string("the database was lost: ") + e.what(),
                       "do it again when the database answers");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return cigri::RunMain("cigri", Truthful, argc, argv);
}
