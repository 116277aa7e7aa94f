#include "tools/gridstat/options.h"

#include <unistd.h>

#include "tools/common/terminal.h"

namespace cigri::gridstat {
namespace {

// CiGri's letters, with long options for all.
void AddCigriOptions(CommandLine& line, GridstatOptions& o, std::string& argument) {
  line.Add({{"id", &argument, "the same as -c ID"},
            {"-c,--campaign", &o.campaign, "one campaign"},
            {"-f,--full", &o.full, "with -c: its jobs, all of them"},
            {"-o,--offset", &o.offset, "with -f: begin the list at this task"},
            {"-j,--job", &o.job, "one job: its id, or CLUSTER:REMOTE_ID"},
            {"-C,--cinfos", &o.cinfos, "with -j: what its cluster says of it"},
            {"-O,--stdout", &o.out, "the output of job -j, or of all jobs of campaign -c"},
            {"-E,--stderr", &o.err, "the same of what went to stderr"},
            {"-J,--jdl", &o.jdl, "with -c: the expanded JDL"},
            {"-e,--events", &o.events, "with -c: open events"},
            {"-d,--dump", &o.dump, "the API's JSON as it is"},
            {"-p,--pretty", &o.pretty, "with -d: indented"},
            {"-H,--headerless", &o.headerless, "no titles of columns"},
            {"-u,--username", &o.user, "only campaigns of this user"}});
}

void AddOurOptions(CommandLine& line, GridstatOptions& o) {
  line.Add(
      {{"-a,--all", &o.all, "finished and cancelled campaigns too"},
       {"-s,--summary",
        &o.summary,
        "waiting, running, terminated, needing attention; of campaigns N, N-M, N-* or *-M",
        {.value_optional = true}},
       {"--by-user", &o.by_user, "with -s: a line per user"},
       {"--usage", &o.usage, "what ended jobs have used, by user, project, cluster ..."},
       {"--by",
        &o.by,
        "with --usage: a line for each of these",
        {.one_of = {"user", "project", "campaign", "cluster", "day", "month"}}},
       {"--since", &o.since, "with --usage: 3d, 18:00, 2026-12-24 or \"2026-12-24 18:00\""},
       {"--until", &o.until, "the same"},
       {"--csv", &o.csv, "with --usage: comma-separated values, in seconds"},
       {"--json", &o.json, "JSON, indented on a terminal"},
       {"--watch",
        &o.watch_s,
        "again every so many seconds (2), until it is over",
        {.range = {{0.2, 86400.0}}, .value_optional = true}},
       {"--params",
        &o.params,
        "with -c: parameters that are waiting, failed or done",
        {.one_of = {"waiting", "running", "failed", "done"}}},
       {"--joblog", &o.joblog, "with -c: tasks that are over, in GNU parallel's columns"},
       {"--why", &o.why, "with -c or -j: why it is where it is, and what you can do"},
       {"-v,--verbose", &o.verbose,
        "with --why: the numbers behind it, what to expect, and what would change it"},
       {"--history", &o.history, "with -c and --why: what held it back, from when to when"},
       {"--wait", &o.wait, "with -c: wait for its end; exit code 1 when a task failed"},
       {"-q,--quiet", &o.quiet, "with --wait: say nothing"},
       {"--fetch", &o.fetch, "with -c: the output of each task into this folder, only new ones"},
       {"--archive", &o.archive, "with -c: the same into one archive, FILE.tar.zst"},
       {"--follow", &o.follow,
        "with -O, -E, --fetch, --archive: go on until the end of the campaign or job"},
       {"-k,--keep-order", &o.in_order, "with --follow: in the order of the parameters"},
       {"--tag", &o.tag, "with --follow: the parameter before each line"},
       {"--task", &o.task, "with -c: one task, by its index from 0"}});
}

Fatal Usage(const std::string& message) {
  return Fatal(kExitUsage, message, "`gridstat --help` lists the options");
}

void CheckFetch(const GridstatOptions& o) {
  if (o.fetch.empty() && o.archive.empty()) return;
  if (o.campaign.empty()) throw Usage("--fetch and --archive need a campaign (-c ID)");
  if (!o.fetch.empty() && !o.archive.empty()) throw Usage("--fetch and --archive exclude each other");
  if (o.out || o.err || o.watched || o.full || o.dump || o.json || o.wait || o.why || o.task)
    throw Usage("--fetch and --archive go with --follow, with no other way to look");
  if (!o.archive.empty() && !o.archive.ends_with(".tar.zst"))
    throw Usage("--archive takes a name that ends with .tar.zst, not \"" + o.archive + "\"");
}

void CheckTogether(const GridstatOptions& o) {
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
  if (!o.usage && (o.csv || !o.since.empty() || !o.until.empty()))
    throw Usage("--csv, --since and --until go with --usage");
  if (o.usage && (!o.job.empty() || o.summed || o.watched || o.full))
    throw Usage("--usage goes with --by, --since, --until, -u, -c and --csv");
  if (o.history && (!o.why || o.campaign.empty() || o.task))
    throw Usage("--history goes with -c ID --why");
  if (o.out && o.err) throw Usage("--stdout and --stderr cannot be mixed in one output");
  if (!o.job.empty() && !o.campaign.empty()) throw Usage("-c and -j exclude each other");
  if (o.wait && o.campaign.empty()) throw Usage("--wait needs a campaign: gridstat --wait N");
  if (o.quiet && !o.wait) throw Usage("-q goes with --wait");
  CheckFetch(o);
  if (o.follow && !o.out && !o.err && o.fetch.empty() && o.archive.empty())
    throw Usage("--follow goes with -O, -E, --fetch or --archive");
  if ((o.in_order || o.tag) && (!o.follow || o.campaign.empty() || o.task))
    throw Usage("-k and --tag go with -c ID -O --follow");
  if ((o.out || o.err) && (o.watched || o.full || o.dump || o.json || o.wait))
    throw Usage("-O and -E go with --follow and --task, with no other way to look");
  if (o.campaign.find_first_not_of("0123456789") != std::string::npos)
    throw Usage("\"" + o.campaign + "\" is no number of a campaign");
}

}  // namespace

std::optional<int> ReadOptions(int argc, char** argv, GridstatOptions& o) {
  CommandLine line("gridstat", "Shows campaigns, tasks and jobs of the grid.");
  std::string argument;
  tools::AddCommonOptions(line, o.common);
  AddCigriOptions(line, o, argument);
  AddOurOptions(line, o);
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.summed = line.Given("--summary") || o.by_user;
  o.watched = line.Given("--watch");
  if (o.campaign.empty() && o.job.empty()) o.campaign = argument;
  o.terminal = tools::IsTerminal(STDOUT_FILENO);
  o.colour = tools::UseColour(o.common.color, STDOUT_FILENO);
  CheckTogether(o);
  return std::nullopt;
}

}  // namespace cigri::gridstat
