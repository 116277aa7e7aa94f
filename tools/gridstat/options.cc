#include "tools/gridstat/options.h"

#include <unistd.h>

#include "tools/common/terminal.h"

namespace cigri::gridstat {
namespace {

// CiGri's letters, with long options for all.
void AddCigriOptions(CLI::App& app, Options& o, std::string& argument) {
  app.add_option("id", argument, "the same as -c ID");
  app.add_option("-c,--campaign", o.campaign, "one campaign");
  app.add_flag("-f,--full", o.full, "with -c: its jobs, all of them");
  app.add_option("-o,--offset", o.offset, "with -f: begin the list at this task");
  app.add_option("-j,--job", o.job, "one job: its id, or CLUSTER:REMOTE_ID");
  app.add_flag("-C,--cinfos", o.cinfos, "with -j: what its cluster says of it");
  app.add_flag("-O,--stdout", o.out, "the output of job -j, or of all jobs of campaign -c");
  app.add_flag("-E,--stderr", o.err, "the same of what went to stderr");
  app.add_flag("-J,--jdl", o.jdl, "with -c: the expanded JDL");
  app.add_flag("-e,--events", o.events, "with -c: open events");
  app.add_flag("-d,--dump", o.dump, "the API's JSON as it is");
  app.add_flag("-p,--pretty", o.pretty, "with -d: indented");
  app.add_flag("-H,--headerless", o.headerless, "no titles of columns");
  app.add_option("-u,--username", o.user, "only campaigns of this user");
}

void AddOurOptions(CLI::App& app, Options& o) {
  app.add_flag("-a,--all", o.all, "finished and cancelled campaigns too");
  app.add_option("-s,--summary", o.summary,
                 "waiting, running, terminated, to fix; of campaigns N, N-M, N-* or *-M")
      ->expected(0, 1);
  app.add_flag("--by-user", o.by_user, "with -s: a line per user");
  app.add_flag("--json", o.json, "JSON, indented on a terminal");
  app.add_option("--watch", o.watch_s, "again every so many seconds (2), until it is over")
      ->expected(0, 1)
      ->check(CLI::Range(0.2, 86400.0));
  app.add_option("--params", o.params, "with -c: parameters that are waiting, failed or done")
      ->check(CLI::IsMember({"waiting", "running", "failed", "done"}));
  app.add_flag("--joblog", o.joblog, "with -c: ended jobs in GNU parallel's columns");
  app.add_flag("--why", o.why, "with -c or -j: why it is where it is, and what you can do");
  app.add_flag("-v,--verbose", o.verbose,
               "with --why: the numbers behind it, what to expect, and what would change it");
  app.add_flag("--history", o.history, "with -c and --why: what held it back, from when to when");
  app.add_option("--task", o.task, "with -c: one task, by its index from 0");
}

Fatal Usage(const std::string& message) {
  return Fatal(kExitUsage, message, "`gridstat --help` lists the options");
}

void CheckTogether(const Options& o) {
  if (o.campaign.empty()) {
    if (o.full) throw Usage("You must provide a campaign id with --full!");
    if (o.events) throw Usage("You must give a campaign id to print the events!");
    if (o.jdl) throw Usage("You must provide a campaign id with --jdl!");
    if (o.joblog || o.task || !o.params.empty())
      throw Usage("--joblog, --params and --task need a campaign (-c ID)");
  }
  if (o.job.empty() && o.cinfos) throw Usage("You must provide a job id with --cinfos!");
  if (o.job.empty() && o.campaign.empty() && (o.out || o.err || o.why))
    throw Usage("--stdout, --stderr and --why need a job (-j ID) or a campaign (-c ID)");
  if (o.history && (!o.why || o.campaign.empty() || o.task))
    throw Usage("--history goes with -c ID --why");
  if (o.out && o.err) throw Usage("--stdout and --stderr cannot be mixed in one output");
  if (!o.job.empty() && !o.campaign.empty()) throw Usage("-c and -j exclude each other");
  if (o.campaign.find_first_not_of("0123456789") != std::string::npos)
    throw Usage("\"" + o.campaign + "\" is no number of a campaign");
}

}  // namespace

std::optional<int> ReadOptions(int argc, char** argv, Options& o) {
  CLI::App app("Shows campaigns, tasks and jobs of the grid.", "gridstat");
  std::string argument;
  tools::AddCommonOptions(app, o.common);
  AddCigriOptions(app, o, argument);
  AddOurOptions(app, o);
  if (const auto code = tools::Parse(app, argc, argv)) return code;
  o.summed = app.count("--summary") > 0 || o.by_user;
  o.watched = app.count("--watch") > 0;
  if (o.campaign.empty() && o.job.empty()) o.campaign = argument;
  o.terminal = tools::IsTerminal(STDOUT_FILENO);
  o.colour = tools::UseColour(o.common.color, STDOUT_FILENO);
  CheckTogether(o);
  return std::nullopt;
}

}  // namespace cigri::gridstat
