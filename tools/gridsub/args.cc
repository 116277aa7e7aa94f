#include "tools/gridsub/args.h"

#include <algorithm>

#include "core/text.h"

namespace cigri::gridsub {
namespace {

constexpr char kFooter[] = R"(
Examples:
  gridsub --wait campaign.json                    submit a JDL and watch it
  gridsub -- wc -c {} ::: *.md                    a program and its values, as in GNU parallel
  find . -name '*.wav' | gridsub -- flac {}       values from standard input
  gridsub --csv sweep.csv -- ./sim --k {k} {file} a row of a CSV for each job
  gridsub --dry-run -f campaign.json              what would happen, and where
  gridsub -c 12 -a more.txt                       more parameters for campaign 12
  gridsub --retry-failed 12 --wait                its failures again
  gridsub -c 12 --set walltime=2:00:00            change what is not yet sent

Exit codes: 0 done; 1 a job failed (--wait), no such campaign; 64 wrong options; 65 bad JDL or
parameters; 69 no API; 75 try later; 77 not allowed; 130 interrupted (the campaign goes on).)";

void AddInputs(CommandLine& line, Args& args) {
  line.Add({{"-f,--file",
             &args.files,
             "JDL file, - for standard input (may be repeated)",
             {.one_value_each = true}},
            {"jdl", &args.plain, "JDL files"},
            {"-j,--json", &args.jsons, "JDL text (may be repeated)", {.one_value_each = true}},
            {"-c,--campaign",
             &args.campaign,
             "add parameters to this campaign, or --set",
             {.positive = true}},
            {"-F,--jobfile", &args.jobfile,
             "parameters: a JSON array, or one on each line (- for standard input)"},
            {"-J,--jsonjob", &args.jsonjob, "parameters: a JSON array"},
            {"-a,--param-file", &args.param_file, "parameters: one on each line (- too)"},
            {"--csv", &args.csv, "parameters: rows of a CSV with a header, for {column}"}});
}

void AddActions(CommandLine& line, Args& args) {
  line.Add({{"-d,--details", &args.details, "print the answer of the API too"},
            {"-t,--type",
             &args.type,
             "default, or test: one job on each cluster",
             {.one_of = {"default", "normal", "test"}}},
            {"-n,--dry-run", &args.dry_run, "show what would happen, submit nothing"},
            {"-w,--wait", &args.wait, "wait for the end, show progress, end with 1 on a failure"},
            {"--joblog", &args.joblog, "with --wait: a log in GNU parallel's columns"},
            {"--retry-failed",
             &args.retry,
             "run the failed tasks of this campaign again",
             {.positive = true}},
            {"--set",
             &args.sets,
             "with -c: key=value for what is not yet sent: walltime, max_jobs, clusters, "
             "exec_file, priority (may be repeated)",
             {.one_value_each = true}}});
}

void AddSettings(CommandLine& line, Args& args) {
  line.Add(
      {{"--name", &args.name, "name of the campaign"},
       {"--clusters", &args.clusters, "clusters to use: alpha,beta"},
       {"--walltime", &args.walltime, "of one job: seconds or h:mm:ss"},
       {"--directory", &args.directory, "working directory of the jobs"},
       {"--resources", &args.resources, "of one job: /nodes=1/core=4"},
       {"--project", &args.project, "project the work is for"},
       {"--max-jobs", &args.max_jobs, "most jobs at once on one cluster", {.positive = true}}});
}

[[noreturn]] void Usage(const std::string& message, const std::string& hint) {
  throw Fatal(kExitUsage, message, hint + (hint.empty() ? "" : "; ") + "gridsub --help tells more");
}

void CheckTogether(const Args& args) {
  const bool jdl = !args.files.empty() || !args.jsons.empty();
  const int actions = (jdl ? 1 : 0) + (args.command ? 1 : 0) + (args.campaign != 0 ? 1 : 0) +
                      (args.retry != 0 ? 1 : 0);
  const int inputs = (args.jobfile.empty() ? 0 : 1) + (args.jsonjob.empty() ? 0 : 1) +
                     (args.param_file.empty() ? 0 : 1) + (args.csv.empty() ? 0 : 1);
  if (std::find(args.files.begin(), args.files.end(), ":::") != args.files.end())
    Usage("::: without a program", "write -- before it: gridsub -- wc -c {} ::: *.md");
  if (actions == 0) Usage("nothing to submit", "give a JDL file, or -- PROGRAM {} ::: VALUES");
  if (actions > 1) Usage("a JDL, -c, --retry-failed and -- exclude each other", "");
  if (inputs > 1) Usage("-F, -J, -a and --csv exclude each other", "");
  if (inputs > 0 && args.files.size() + args.jsons.size() > 1)
    Usage("parameters can be given for one JDL only", "");
  if (!args.sets.empty() && args.campaign == 0) Usage("--set needs -c CAMPAIGN", "");
  if (args.campaign != 0 && args.sets.empty() && !args.has_params())
    Usage("-c " + std::to_string(args.campaign) + " has nothing to add",
          "give -F, -J, -a or --set");
  if (!args.joblog.empty() && !args.wait) Usage("--joblog needs --wait", "");
}

}  // namespace

std::optional<int> ReadArgs(int argc, char** argv, Args& args) {
  CommandLine line("gridsub",
                   "Submits campaigns: one program, many parameters.\n"
                   "  gridsub [OPTIONS] [JDL...]\n"
                   "  gridsub [OPTIONS] -- PROGRAM {} ::: VALUES...");
  AddInputs(line, args);
  AddActions(line, args);
  AddSettings(line, args);
  tools::AddCommonOptions(line, args.common);
  line.AddFooter(kFooter);
  char** const split =
      std::find_if(argv, argv + argc, [](const char* w) { return std::string_view(w) == "--"; });
  if (split != argv + argc) args.command.emplace(split + 1, argv + argc);
  if (const auto code = line.ReadOrThrow(static_cast<int>(split - argv), argv)) return code;
  args.files.insert(args.files.end(), args.plain.begin(), args.plain.end());
  CheckTogether(args);
  return std::nullopt;
}

}  // namespace cigri::gridsub
