#include "tools/gridsub/args.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/text.h"
#include "tools/gridsub/newcomers.h"
#include "tools/gridsub/parallel_form.h"

namespace cigri::gridsub {
namespace {

constexpr char kFooter[] = R"(
Examples:
  gridsub --wait campaign.json                    submit a JDL and watch it
  gridsub -- wc -c {} ::: *.md                    a program and its values, as in GNU parallel
  gridsub -k -- wc -c {} ::: *.md                 the same, and its output in this order
  gridsub --results out --results-csv out.csv -- ./sim {} ::: 1 2 3
  find . -name '*.wav' | gridsub -- flac {}       values from standard input
  gridsub --csv sweep.csv -- ./sim --k {k} {file} a row of a CSV for each job
  gridsub --dry-run -f campaign.json              what would happen, and where
  gridsub -c 12 -a more.txt                       more parameters for campaign 12
  gridsub --retry-failed 12 --wait                its failures again
  gridsub -c 12 --set walltime=2:00:00            change what is not yet sent

Exit codes: 0 done; 1 a job failed (--wait), no such campaign; 64 wrong options; 65 bad JDL or
parameters; 69 no API; 75 try later; 77 not allowed; 130 interrupted (the campaign goes on).)";

void AddInputs(CommandLine& line, Args& args, bool& nul) {
  line.Add({{"-f,--file",
             &args.files,
             "JDL file, - for standard input (may be repeated)",
             {.one_value_each = true}},
            {"-j,--json", &args.jsons, "JDL text (may be repeated)", {.one_value_each = true}},
            {"-c,--campaign",
             &args.campaign,
             "add parameters to this campaign, or --set",
             {.positive = true}},
            {"-F,--jobfile", &args.jobfile,
             "parameters: a JSON array, or one on each line (- for standard input)"},
            {"-J,--jsonjob", &args.jsonjob, "parameters: a JSON array"},
            {"-a,--param-file", &args.param_file, "parameters: one on each line (- too)"},
            {"--csv", &args.csv, "parameters: rows of a CSV with a header, for {column}"},
            {"--delimiter", &args.delimiter, "of --csv, when it is no comma: ';' or tab"},
            {"-0,--null", &nul, "values of a file end with NUL: find -print0 | gridsub -0 -- ..."},
            {"--colsep", &args.rows.colsep, "splits a value into {1} {2}: a character or a regex"},
            {"-N,--max-args", &args.rows.group, "so many values make one task", {.positive = true}},
            {"--once", &args.once, "one run of the program, without values"}});
}

void AddActions(CommandLine& line, Args& args) {
  line.Add({{"-d,--details", &args.details, "print the answer of the API too"},
            {"-t,--type",
             &args.type,
             "default, or test: one job on each cluster",
             {.one_of = {"default", "normal", "test"}}},
            {"-n,--dry-run", &args.dry_run, "show what would happen, submit nothing"},
            {"-q,--quiet", &args.results.quiet,
             "print the number of the campaign alone; with --wait the exit code tells the rest"},
            {"-w,--wait", &args.wait, "wait for the end, show progress, end with 1 on a failure"},
            {"--bar,--eta,--progress", &args.wait, "the same as --wait"},
            {"--notify",
             &args.notify,
             "mail this address when it ends or fails; jabber:ID too (may be repeated)",
             {.one_value_each = true}},
            {"--joblog", &args.joblog, "wait, and write a log in GNU parallel's columns"},
            {"--resume", &args.skip.resume, "with --joblog: leave out the tasks that it has"},
            {"--resume-failed", &args.skip.resume_failed,
             "with --joblog: leave out those that it has as done"},
            {"--creates", &args.skip.creates,
             "leave out tasks whose result is there: --creates 'out/{}.txt'"},
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
       {"--walltime,--timeout", &args.walltime,
        "of one job: 90m, 1:30:00, seconds, auto or auto:90m"},
       {"--time", &args.time, "the same, as Slurm writes it: 1-00:00:00"},
       {"--directory,--wd,--workdir", &args.directory,
        "working directory of the jobs; with a placeholder ('run/{#}') one for each task, made "
        "when missing"},
       {"--resources", &args.resources, "of one job: /nodes=1/core=4"},
       {"--project", &args.project, "project the work is for"},
       {"--max-jobs", &args.max_jobs, "most jobs at once on one cluster", {.positive = true}},
       {"--env",
        &args.env,
        "variables that jobs get: PATH,CONDA_PREFIX or NAME=VALUE (may be repeated)",
        {.one_value_each = true}},
       {"--env-all", &args.env_all, "the whole environment"}});
  AddSettingOptions(line, args.settings);
  const OptionRules each{.one_value_each = true};
  line.Add({{"--input,--inputs", &args.inputs,
             "a file for each job: 'data/{}', 'FROM -> TO' (may be repeated)", each},
            {"--outputs", &args.outputs,
             "a file that each job leaves: 'out -> out/{#}' (may be repeated)", each}});
}

void AddResults(CommandLine& line, Args& args) {
  line.Add({{"-O,--output", &args.results.print, "wait, and print each task's output as it ends"},
            {"-k,--keep-order", &args.results.in_order, "the same, in the order of the values"},
            {"--tag,--tagged", &args.results.tag, "the same, the values before each line"},
            {"--results", &args.results.folder, "wait, and write a file for each task into DIR"},
            {"--results-csv", &args.results.table,
             "wait, and write a table: values, exit code, cluster, seconds"}});
}

// What is done with results happens while gridsub waits for them.
void ImplyWait(Args& args) {
  args.wait = args.wait || !args.joblog.empty();
  auto& results = args.results;
  results.log = !args.joblog.empty();
  results.print = results.print || results.tag || (results.in_order && results.folder.empty());
  args.wait = args.wait || results.any();
}

[[noreturn]] void Usage(const std::string& message, const std::string& hint) {
  throw Fatal(kExitUsage, message, hint + (hint.empty() ? "" : "; ") + "gridsub --help tells more");
}

// What makes sense for `-- PROGRAM` alone.
void CheckParallelOptions(const Args& args) {
  if ((args.skip.resume || args.skip.resume_failed) && args.joblog.empty())
    Usage("--resume needs --joblog FILE", "the log says what is done already");
  const bool lines = args.csv.empty() && args.jobfile.empty() && args.jsonjob.empty();
  if (args.rows.any() && !lines) Usage("--colsep and -N are for lines and ::: alone", "");
  if (!args.delimiter.empty() && args.csv.empty()) Usage("--delimiter goes with --csv", "");
  const bool ours = args.rows.any() || args.skip.any() || args.once || args.rows.end == '\0';
  if (ours && !args.command)
    Usage("-0, --colsep, -N, --once, --creates and --resume need -- PROGRAM", "");
  if (args.once && args.has_params()) Usage("--once is a run without values", "");
}

// In GNU parallel these are a file for each task, and a table.
void CheckFolder(const std::string& folder) {
  const auto brace = folder.find('{');
  if (brace != folder.npos && folder.find('}', brace) != folder.npos)
    Usage("--results " + folder + ": it is one folder for all tasks",
          "--results DIR writes DIR/VALUES.out for each of them");
  if (const auto kind = std::filesystem::path(folder).extension(); kind == ".csv" || kind == ".tsv")
    Usage("--results " + folder + ": it is a folder", "--results-csv FILE writes a table");
}

void CheckTogether(const Args& args) {
  const bool jdl = !args.files.empty() || !args.jsons.empty();
  const int actions = (jdl ? 1 : 0) + (args.command ? 1 : 0) + (args.campaign != 0 ? 1 : 0) +
                      (args.retry != 0 ? 1 : 0);
  const int inputs = (args.jobfile.empty() ? 0 : 1) + (args.jsonjob.empty() ? 0 : 1) +
                     (args.param_file.empty() ? 0 : 1) + (args.csv.empty() ? 0 : 1);
  if (actions == 0) Usage("nothing to submit", "give a JDL file, or -- PROGRAM {} ::: VALUES");
  if (actions > 1 && args.command && !args.plain.empty())
    Usage("\"" + args.plain[0] + "\" before -- is a JDL, which excludes a program",
          "the option before it takes no value");
  if (actions > 1) Usage("a JDL, -c, --retry-failed and -- exclude each other", "");
  if (inputs > 1) Usage("-F, -J, -a and --csv exclude each other", "");
  if (inputs > 0 && args.files.size() + args.jsons.size() > 1)
    Usage("parameters can be given for one JDL only", "");
  const bool in_a_file =
      !args.joblog.empty() || !args.results.folder.empty() || !args.results.table.empty();
  if (in_a_file && args.files.size() + args.jsons.size() > 1)
    Usage("--joblog, --results and --results-csv are for one JDL",
          "each campaign would write over what the one before has written");
  if (!args.notify.empty() && (args.campaign != 0 || args.retry != 0))
    Usage("--notify is for a submission", "gridnotify -c CAMPAIGN subscribes to one that is there");
  if (!args.sets.empty() && args.campaign == 0) Usage("--set needs -c CAMPAIGN", "");
  if (args.campaign != 0 && args.sets.empty() && !args.has_params())
    Usage("-c " + std::to_string(args.campaign) + " has nothing to add",
          "give -F, -J, -a or --set");
  CheckParallelOptions(args);
  CheckFolder(args.results.folder);
}

// What must be a program needs no -- in front of it.
bool IsProgramHere(const std::vector<std::string>& words, const Args& args) {
  if (std::any_of(words.begin(), words.end(), IsSource)) return true;
  const bool values = args.has_params() || args.once || isatty(STDIN_FILENO) == 0;
  return !words.empty() && IsRunnable(words[0]) && values;
}

std::optional<int> ReadLine(CommandLine& line, int argc, char** argv, Args& args) {
  char** const end = argv + argc;
  char** const split = std::find_if(argv, end, [](const std::string& w) { return w == "--"; });
  if (split != end) {
    args.command.emplace(split + 1, end);
    AnswerNewcomers({argv + 1, split});
  } else {
    std::vector<std::string> words;
    line.TakeRest(&words);
    try {
      if (const auto code = line.ReadOrThrow(argc, argv)) return code;
    } catch (const Fatal&) {
      if (!words.empty()) AnswerNewcomers({words[0]});
      throw;
    }
    const auto source = std::find_if(argv + 1, end, IsSource);
    if (source != end && std::none_of(words.begin(), words.end(), IsSource))
      Usage(std::string(source[-1]) + " needs a value, and " + *source + " is none", "");
    if (IsProgramHere(words, args)) return args.command = ProgramOf(words), std::nullopt;
    AnswerPrograms(words);
    AnswerNewcomers(words);
    line.TakeRest(nullptr);
  }
  line.Add({{"jdl", &args.plain, "JDL files"}});
  return line.ReadOrThrow(static_cast<int>(split - argv), argv);
}

}  // namespace

std::optional<int> ReadArgs(int argc, char** argv, Args& args) {
  CommandLine line("gridsub",
                   "Submits campaigns: one program, many parameters.\n"
                   "  gridsub [OPTIONS] [JDL...]\n"
                   "  gridsub [OPTIONS] -- PROGRAM {} ::: VALUES...    (-- may be left out)");
  bool nul = false;
  AddInputs(line, args, nul);
  AddActions(line, args);
  AddResults(line, args);
  AddSettings(line, args);
  tools::AddCommonOptions(line, args.common);
  line.AddFooter(kFooter);
  if (const auto code = ReadLine(line, argc, argv, args)) return code;
  if (nul) args.rows.end = '\0';
  args.settings["inputs"] = Join(args.inputs, "\n");
  args.settings["outputs"] = Join(args.outputs, "\n");
  SayHowWalltimeIsRead(args.walltime);
  if (!args.time.empty()) args.walltime = WalltimeOfTime(args.time);
  args.walltime = WithUnit(std::move(args.walltime));
  if (args.command) TakeJobCount(args.jsons, args.max_jobs);
  args.files.insert(args.files.end(), args.plain.begin(), args.plain.end());
  ImplyWait(args);
  CheckTogether(args);
  return std::nullopt;
}

}  // namespace cigri::gridsub
