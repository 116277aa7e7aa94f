#include "api/submit/param_file.h"

#include <pwd.h>
#include <unistd.h>

#include "api/submit/admit.h"
#include "core/text.h"
#include "jdl/document.h"
#include "process/run.h"

namespace cigri::api {
namespace {

constexpr std::size_t kLongestFile = jdl::kMaxText;
constexpr auto kLongestRead = std::chrono::seconds(20);  // a file system that hangs, a FIFO

struct Account {
  std::string home;
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<Account> AccountOf(const std::string& user) {
  char buffer[16384];
  passwd row{}, *found = nullptr;
  if (getpwnam_r(user.c_str(), &row, buffer, sizeof buffer, &found) != 0 || found == nullptr)
    return std::nullopt;
  return Account{found->pw_dir, found->pw_uid, found->pw_gid};
}

// A reader that is the user and nothing more.
std::vector<std::string> CommandOfReader(const Account& account, const std::string& path) {
  std::vector<std::string> argv;
  if (account.uid != geteuid())
    argv = {"/usr/bin/setpriv",
            "--reuid",
            std::to_string(account.uid),
            "--regid",
            std::to_string(account.gid),
            "--init-groups",
            "--no-new-privs",
            "--"};
  argv.insert(argv.end(), {"/bin/cat", "--", path});
  return argv;
}

[[noreturn]] void RefuseFile(const jdl::Result& read, const std::string& why,
                             const std::string& hint) {
  RequireNoFaults({{read.param_file_line, read.param_file_column, "param_file", why, hint}});
  std::abort();  // never reached: there is a fault
}

constexpr char kGridsub[] = "gridsub reads the file as you, where you are";

// CiGri 3's ways to write a home. Other variables would be the server's.
std::string PathOfFile(const jdl::Result& read, const Account& account) {
  std::string path = ReplaceAll(read.campaign.param_file, "{HOME}", "$HOME");
  if (path == "~" || StartsWith(path, "~/")) path.replace(0, 1, "$HOME");
  if (path == "$HOME" || StartsWith(path, "$HOME/")) path.replace(0, 5, account.home);
  if (path.empty() || path[0] != '/')
    RefuseFile(read,
               "\"" + jdl::Shown(path) +
                   "\" is no path from the root: the server has no folder "
                   "of yours that it could begin at",
               std::string("write it from / on, or ") + kGridsub);
  return path;
}

std::string TextOfFile(const std::string& user, const jdl::Result& read) {
  const auto account = AccountOf(user);
  if (!account || account->uid == 0)
    RefuseFile(read, "the server reads no files of " + jdl::Shown(user), kGridsub);
  if (account->uid != geteuid() && geteuid() != 0)
    RefuseFile(read, "the server does not run as root, so it cannot read as " + jdl::Shown(user),
               kGridsub);
  process::Command command;
  command.argv = CommandOfReader(*account, PathOfFile(read, *account));
  command.environment = process::Environment{"PATH=/usr/bin:/bin", "LC_ALL=C"};
  command.directory = "/";
  command.time_limit = kLongestRead;
  command.output_limit = kLongestFile;
  auto result = process::Run(command);
  if (result.Succeeded()) return std::move(result.out);
  if (result.outcome == process::Outcome::kOutputTooLong)
    RefuseFile(read, "has more than " + std::to_string(kLongestFile) + " bytes",
               "gridsub sends it in blocks");
  const std::string said(Trim(ReplaceAll(result.err, "/bin/cat: ", "")));
  RefuseFile(read,
             "you cannot read it: " + (said.empty() ? process::HowItEnded(command, result) : said),
             kGridsub);
}

}  // namespace

void ReadParamFile(const std::string& user, jdl::Result* read) {
  const std::string text = TextOfFile(user, *read);
  jdl::Lines lines;
  const bool values = read->campaign.format == jdl::kFormatValues;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string line(Trim(std::string_view(text).substr(at, end - at)));
    at = end + 1;
    ++number;
    const auto problem = jdl::LineProblem(line);
    if (!problem.empty())
      RefuseFile(*read, "line " + std::to_string(number) + " of it: " + problem, "");
    lines.Add(values ? jdl::EncodeValues({line}) : line);
  }
  if (lines.empty()) RefuseFile(*read, "is empty: there is nothing to run", "");
  read->campaign.source = jdl::Source::kParams;
  read->campaign.count = lines.size();
  read->campaign.params = std::move(lines);
}

}  // namespace cigri::api
