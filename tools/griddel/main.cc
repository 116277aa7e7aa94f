// Cancels, pauses, resumes and purges campaigns, and cancels single jobs.
#include <unistd.h>

#include <cstdio>

#include "core/text.h"
#include "tools/common/options.h"

namespace cigri::griddel {
namespace {

struct GriddelOptions {
  tools::CommonOptions common;
  std::vector<std::string> campaigns, jobs;
  bool pause = false, resume = false, purge = false, verbose = false;
};

// CiGri takes lists with commas, and lists with blanks.
std::vector<std::string> Ids(const std::vector<std::string>& words, const char* what) {
  std::vector<std::string> ids;
  for (const auto& word : words)
    for (const auto& id : Split(word, ',')) {
      if (id.empty()) continue;
      if (id.size() > 18 || id.find_first_not_of("0123456789") != std::string::npos)
        throw Fatal(kExitUsage, "\"" + id + "\" is no number of a " + what);
      ids.push_back(id);
    }
  return ids;
}

std::optional<int> Read(int argc, char** argv, GriddelOptions& o) {
  CommandLine line("griddel", "Cancels, pauses, resumes or purges campaigns; cancels jobs.");
  std::vector<std::string> arguments;
  tools::AddCommonOptions(line, o.common);
  line.Add({{"ids", &arguments, "campaigns, as -c"},
            {"-c,--campaigns,--campaign", &o.campaigns, "campaigns: 1,2,3"},
            {"-j,--job", &o.jobs, "cancel these jobs; their tasks then wait for you"},
            {"-p,--pause,--hold", &o.pause, "pause: nothing new is sent, what runs goes on"},
            {"-r,--resume,--release", &o.resume, "resume what is paused", {.excludes = {"-p"}}},
            {"--purge",
             &o.purge,
             "forget campaigns that are over, with all their rows",
             {.excludes = {"-p", "-r"}}},
            {"-v,--verbose", &o.verbose, "say what was done, as on a terminal"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.verbose = o.verbose || isatty(STDOUT_FILENO) == 1;
  o.campaigns.insert(o.campaigns.end(), arguments.begin(), arguments.end());
  o.campaigns = Ids(o.campaigns, "campaign");
  o.jobs = Ids(o.jobs, "job");
  if (o.campaigns.empty() && o.jobs.empty())
    throw Fatal(kExitUsage, "no campaign and no job given", "griddel 12, griddel -j 4711");
  if (!o.jobs.empty() && (o.pause || o.resume || o.purge))
    throw Fatal(kExitUsage, "a job can only be cancelled: -p, -r and --purge are for campaigns");
  return std::nullopt;
}

const char* Verb(const GriddelOptions& o) {
  if (o.pause) return "pause";
  if (o.resume) return "resume";
  return o.purge ? "purge" : "cancel";
}

std::string Query(const GriddelOptions& o) {
  if (o.pause) return "?hold=1";
  if (o.resume) return "?resume=1";
  return o.purge ? "?purge=1" : "";
}

// Sends one request; an error is printed, and the next requests are sent all the same. `worst`
// becomes the exit code: a campaign that is not found or has another state is an answer, "no".
void Ask(tools::Api& api, const std::string& path, const std::string& what, bool verbose,
         int& worst) {
  const auto answer = api.Delete(path);
  if (answer.ok()) {
    if (verbose && answer.body.is_object())
      std::printf("%s.\n", answer.body.value("message", "done").c_str());
    return;
  }
  const Fatal refused = tools::Refused(answer, what);
  std::string why = refused.what();
  why = StartsWith(why, "cannot ") ? why.substr(7) : why;
  std::fprintf(stderr, "griddel: failed to %s\n", why.c_str());
  if (!refused.hint().empty()) std::fprintf(stderr, "HINT: %s\n", refused.hint().c_str());
  // The command line was right: that the campaign does not allow it is no error of usage.
  worst = std::max<int>(worst, refused.code() == kExitBadInput ? kExitNo : refused.code());
}

int Main(int argc, char** argv) {
  GriddelOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  int worst = kExitOk;
  for (const auto& id : o.campaigns)
    Ask(api, "/campaigns/" + id + Query(o), std::string(Verb(o)) + " campaign " + id, o.verbose,
        worst);
  for (const auto& id : o.jobs) Ask(api, "/jobs/" + id, "cancel job " + id, o.verbose, worst);
  return worst;
}

}  // namespace
}  // namespace cigri::griddel

int main(int argc, char** argv) {
  return cigri::RunMain("griddel", cigri::griddel::Main, argc, argv);
}
