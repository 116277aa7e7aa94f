// gridsub: submits campaigns, adds to them, waits for them.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "tools/common/first_grid.h"
#include "tools/common/wait.h"
#include "tools/gridsub/args.h"
#include "tools/gridsub/command_form.h"
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {
namespace {

bool Resumes(const Args& args) { return args.skip.resume || args.skip.resume_failed; }

// Before anything is submitted: what cannot be written in the end has lost the results.
void CheckTargets(const Args& args) {
  const struct {
    const char* option;
    const std::string& path;
    bool folder;
  } targets[] = {{"--joblog", args.joblog, false},
                 {"--results", args.results.folder, true},
                 {"--results-csv", args.results.table, false}};
  for (const auto& target : targets) {
    if (target.path.empty()) continue;
    if (const auto why = tools::WhyNotWritable(target.path, target.folder); !why.empty())
      throw Fatal(kExitUsage, std::string(target.option) + " " + target.path + ": " + why);
  }
}

// With --resume the log goes on where it ended.
void SaveJoblog(const std::string& log, const Args& args, std::int64_t campaign,
                const Skipper* skipper) {
  const auto mode = Resumes(args) ? std::ios::app : std::ios::trunc;
  std::ofstream file(args.joblog, std::ios::binary | mode);
  file.seekp(0, std::ios::end);
  file << (skipper == nullptr ? log : Renumbered(log, *skipper, file.tellp() > 0));
  file.close();
  if (!file)
    throw Fatal(kExitNo, "cannot write the job log to " + args.joblog,
                "gridstat -c " + std::to_string(campaign) + " --joblog prints it");
}

// On Ctrl-C: what has ended until then is in the log, so that --resume leaves it out. An API of its
// own: the other one may be in a call.
std::string LogSoFar(const Args& args, std::int64_t campaign, const Skipper* skipper) try {
  const auto id = std::to_string(campaign);
  std::string said;
  if (!args.joblog.empty()) {
    auto api = tools::Connect(args.common);
    SaveJoblog(tools::Joblog(api, campaign), args, campaign, skipper);
    said = "  " + args.joblog + " has what has ended so far";
    said += Resumes(args)
                ? "\n"
                : "; the rest later:  gridstat -c " + id + " --joblog > " + args.joblog + "\n";
  }
  if (!args.results.folder.empty())
    said += "  all output later:  gridstat " + id + " --fetch FOLDER\n";
  return said;
} catch (const std::exception& e) {
  return "  the job log was not written: " + std::string(e.what()) + "\n";
}

// Waits, when asked to. The worst of the codes.
int AfterSubmission(tools::Api& api, const Args& args, std::int64_t campaign,
                    const Skipper* skipper = nullptr) {
  if (!args.wait || campaign == 0) return kExitOk;
  auto results = args.results;
  results.earlier = skipper == nullptr ? nullptr : skipper->earlier();
  const int code = tools::Wait(api, campaign, results, [&args, campaign, skipper] {
    return LogSoFar(args, campaign, skipper);
  });
  if (!args.joblog.empty()) SaveJoblog(tools::Joblog(api, campaign), args, campaign, skipper);
  return code;
}

int SubmitCommand(tools::Api& api, const Args& args) {
  const auto made = SourceOfCommand(api, args);
  if (!made.source) return made.exit_code;
  const auto outcome = Submit(api, args, *made.source, made.payload);
  return std::max(outcome.exit_code,
                  AfterSubmission(api, args, outcome.campaign, made.skipper.get()));
}

// All are checked before the first is sent, all are sent before the first is waited for.
int SubmitJdls(const Args& args) {
  auto sources = ReadSources(args);
  if (!sources) return kExitBadInput;
  auto api = tools::Connect(args.common);
  std::vector<std::int64_t> campaigns;
  int code = kExitOk;
  for (auto& source : *sources) {
    const auto payload = SendParameters(api, args, source);
    const auto outcome = Submit(api, args, source, payload);
    campaigns.push_back(outcome.campaign);
    code = std::max(code, outcome.exit_code);
  }
  for (const auto campaign : campaigns) code = std::max(code, AfterSubmission(api, args, campaign));
  return code;
}

int ChangeOrAdd(tools::Api& api, const Args& args) {
  int code = args.sets.empty() ? int{kExitOk} : ChangeCampaign(api, args);
  if (code == kExitOk && args.has_params()) code = AddToCampaign(api, args);
  return code == kExitOk ? AfterSubmission(api, args, args.campaign) : code;
}

int Main(int argc, char** argv) {
  Args args;
  if (const auto code = ReadArgs(argc, argv, args)) return *code;
  if (!args.dry_run) CheckTargets(args);
  if (args.campaign == 0 && args.retry == 0) tools::StartGridWhereNoneIs(args.common.api);
  if (!args.command && args.retry == 0 && args.campaign == 0) return SubmitJdls(args);
  auto api = tools::Connect(args.common);
  if (args.command) return SubmitCommand(api, args);
  if (args.campaign != 0) return ChangeOrAdd(api, args);
  RetryFailed(api, args);
  return AfterSubmission(api, args, args.retry);
}

}  // namespace
}  // namespace cigri::gridsub

int main(int argc, char** argv) {
  return cigri::RunMain("gridsub", cigri::gridsub::Main, argc, argv);
}
