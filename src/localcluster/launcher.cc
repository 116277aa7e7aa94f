#include "localcluster/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "localcluster/plain_command.h"
#include "localcluster/users.h"

namespace cigri::localcluster {
namespace {

namespace fs = std::filesystem;

std::string Ids(const Account& account) {
  if (geteuid() != 0) return "-";
  std::string text = std::to_string(account.uid) + ":" + std::to_string(account.gid) + ":";
  std::vector<std::string> groups;
  for (gid_t g : account.groups) groups.push_back(std::to_string(g));
  return text + Join(groups, ",");
}

// A file without a name that holds `text`.
process::Fd NamelessFile(const std::string& text) {
  process::Fd file = process::MemoryFile();
  bool written = bool(file);
  for (std::size_t done = 0; written && done < text.size();) {
    const ssize_t k = write(file.get(), text.data() + done, text.size() - done);
    written = k >= 0;
    done += static_cast<std::size_t>(std::max<ssize_t>(k, 0));
  }
  if (!written) throw TryLater(std::string("no memory for a script: ") + std::strerror(errno));
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// What /bin/sh reads. It has opened the file at a number of its own by then: the job inherits none.
std::string ScriptOf(const Job& job) {
  const std::string& setup = job.batch->setup;
  return "exec 9<&-; " + setup + (setup.empty() ? "" : "\n") + job.command + "\n";
}

using Lines = std::vector<std::string>;

// The last line of a variable counts, as it does to a shell.
Lines Environment(const std::vector<const Lines*>& parts) {
  Lines out;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Lines* part : parts)
    for (const auto& line : *part) {
      const auto [at, is_new] =
          places.try_emplace(std::string_view(line).substr(0, line.find('=')), out.size());
      if (is_new)
        out.push_back(line);
      else
        out[at->second] = line;
    }
  return out;
}

// What cigri-job reads: parameters and environment; then, when no shell is needed, an empty line
// and the words of the command.
std::string EnvironmentOf(const Job& job, const Lines& parameters, const std::string& node_file) {
  const Batch& b = *job.batch;
  const std::string& directory = parameters[kDirectory];
  const Lines base = BaseEnvironment(*b.account);
  const Lines own = {"CIGRI_NODE_FILE=" + node_file,
                     "CIGRI_NODEFILE=" + node_file,
                     "CIGRI_WORKDIR=" + directory,
                     "CIGRI_WORKING_DIRECTORY=" + directory,
                     "PWD=" + directory,
                     "CIGRI_LOCAL_ID=" + IdOf(b.seq, job.index)};
  std::vector<const Lines*> parts = {&base, &b.env, &job.env, &own};
  const auto words = b.exports ? PlainWords(job.command) : std::nullopt;
  if (words) parts.push_back(&*b.exports);
  std::string text;
  const auto append = [&text](const Lines& lines) {
    for (const auto& line : lines) text.append(line).push_back('\0');
  };
  append(parameters);
  append(Environment(parts));
  if (words) append({""});
  if (words) append(*words);
  return text;
}

// The CPUs of these slots, "" for any.
std::string Cpus(const std::vector<int>& of_slots, const std::vector<int>& places) {
  std::vector<std::string> cpus;
  for (const int place : places)
    if (place < static_cast<int>(of_slots.size())) cpus.push_back(std::to_string(of_slots[place]));
  return Join(cpus, ",");
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Session of a process, 0 when it is gone.
pid_t SessionOf(const std::string& pid) {
  const std::string stat = ReadFile("/proc/" + pid + "/stat");
  const auto after = stat.rfind(')');
  int session = 0;
  char state = 'Z';
  if (after == stat.npos ||
      std::sscanf(stat.c_str() + after + 1, " %c %*d %*d %d", &state, &session) != 2)
    return 0;
  return state == 'Z' ? 0 : session;
}

// Looks at /proc as a user: without CAP_SYS_PTRACE root may not read the environment of another
// user's process. For this thread alone; its rights to kill stay.
class LookAs {
 public:
  explicit LookAs(const Account& account) {
    if (geteuid() != 0) return;
    setfsgid(account.gid);
    setfsuid(account.uid);
  }
  ~LookAs() {
    if (geteuid() != 0) return;
    setfsuid(0);
    setfsgid(0);
  }
};

// Whether a process runs for `uid`, also one that has taken other rights since (setuid).
bool IsOf(const std::string& pid, uid_t uid) {
  const auto status = ReadFile("/proc/" + pid + "/status");
  const auto at = status.find("\nUid:\t");
  return at != status.npos && std::strtoul(status.c_str() + at + 6, nullptr, 10) == uid;
}

int KillOnce(pid_t wrapper, uid_t uid, const std::string& mark) {
  int found = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid[0] < '1' || pid[0] > '9') continue;
    const pid_t session = SessionOf(pid);
    if (session == 0) continue;
    // The number of a session that is gone may be a stranger's now.
    const bool in_session = session == wrapper && IsOf(pid, uid);
    if (!in_session && ReadFile("/proc/" + pid + "/environ").find(mark) == std::string::npos)
      continue;
    kill(std::stoi(pid), SIGKILL);
    ++found;
  }
  return found;
}

}  // namespace

Launcher::Launcher(LauncherOptions options) : options_(std::move(options)) {
  fs::create_directories(options_.state_dir + "/nodes");
}

std::string Launcher::OutputStem(const Batch& batch, const Numbers& job) const {
  // A thousand tasks a folder; jobs that belong to no task are distinguished by their id. Of a job
  // that is not the grid's nothing that its user says goes into the name.
  const std::string top = options_.output_dir + "/";
  if (batch.campaign == 0)
    return top + "local-" + batch.user + "/" + std::to_string(batch.seq / 1000) + "/job-" +
           IdOf(batch.seq, job.index);
  const bool task = job.task_index >= 0;
  const std::int64_t number = task ? job.task_index : job.job_id;
  return top + std::to_string(batch.campaign) + "/" + std::to_string(number / 1000) + "/" +
         (task ? "" : "job-") + std::to_string(number) + "." + std::to_string(job.attempt);
}

void Launcher::MakeFolder(const std::string& path) {
  // Whoever cleans up removes folders, too.
  if (folders_.count(path) != 0 && access(path.c_str(), F_OK) == 0) return;
  // Owned by the daemon, root's when root's: a user who could rename here would lead a file that
  // cigri-job names to anywhere. The files are their users'.
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw LaunchError(Cause::kBadOutput, "cannot make " + path + ": " + error.message());
  if (folders_.size() > 1000) folders_.clear();
  folders_.insert(path);
}

std::string Launcher::NodeFile(const std::vector<std::string>& lines) {
  // Jobs on equal places share a file: there are few kinds, and most jobs need one line.
  std::string name, text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t n = 1;
    while (i + n < lines.size() && lines[i + n] == lines[i]) ++n;
    name += (name.empty() ? "" : ",") + lines[i].substr(lines[i].rfind('-') + 1) + "x" +
            std::to_string(n);
    i += n;
  }
  if (name.size() > 200) name = "h" + std::to_string(std::hash<std::string>()(name));
  const std::string path = options_.state_dir + "/nodes/" + name;
  if (node_files_.count(path) != 0) return path;
  for (const auto& line : lines) text += line + "\n";
  std::ofstream out(path + ".new");
  out << text << std::flush;
  if (!out || std::rename((path + ".new").c_str(), path.c_str()) != 0)
    throw LaunchError(Cause::kLaunchFailed,
                      "cannot write the node file " + path + ": " + std::strerror(errno));
  node_files_.insert(path);
  return path;
}

void Launcher::Start(Job* started, const std::vector<std::string>& lines, int records_fd,
                     int birth_fd) {
  const Job& job = *started;
  const Batch& b = *job.batch;
  if (b.account == nullptr)
    throw LaunchError(Cause::kLaunchFailed, "user \"" + b.user + "\" is not known on this machine");
  const std::string stem = OutputStem(b, {job.index, job.attempt, job.job_id, job.task_index});
  MakeFolder(fs::path(stem).parent_path());
  const process::Fd script = NamelessFile(ScriptOf(job));
  std::vector<std::string> places;
  for (int p : job.places) places.push_back(std::to_string(p));
  // Beyond what a start mark holds it is left out: an adopting daemon then finds other slots.
  if (places.size() > 500) places.clear();
  Lines parameters(kParameters);
  parameters[kId] = IdOf(b.seq, job.index);
  parameters[kWalltime] = std::to_string(b.walltime_s);
  parameters[kGrace] = std::to_string(options_.grace_ms);
  parameters[kNice] = std::to_string(options_.nice);
  parameters[kFile] = std::to_string(options_.max_file_mb << 20);
  parameters[kIds] = Ids(*b.account);
  parameters[kOutput] = stem;
  parameters[kDirectory] = ExpandHome(b.directory, *b.account);
  parameters[kPlaces] = Join(places, " ");
  parameters[kCpus] = Cpus(options_.cpus, job.places);
  const process::Fd environment = NamelessFile(EnvironmentOf(job, parameters, NodeFile(lines)));
  OutputFile out = outputs_.Open(stem + ".out", *b.account), err;
  try {
    err = outputs_.Open(stem + ".err", *b.account);
    started->wrapper = wrappers_.Start(
        {records_fd, out.fd.get(), err.fd.get(), birth_fd, environment.get(), script.get()});
    started->out = std::move(out);
    started->err = std::move(err);
  } catch (const std::exception&) {
    outputs_.Discard(std::move(out), stem + ".out");
    outputs_.Discard(std::move(err), stem + ".err");
    throw;
  }
}

void KillRemains(pid_t wrapper, const std::string& id, const Account& account) {
  const LookAs user(account);
  const std::string mark = "CIGRI_LOCAL_ID=" + id + std::string(1, '\0');
  for (int i = 0; i < 100 && KillOnce(wrapper, account.uid, mark) > 0; ++i) usleep(10000);
}

bool IsWrapperOf(pid_t pid, const std::string& id) {
  const std::string line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
  return StartsWith(line, std::string("cigri-job") + '\0' + id + '\0');
}

}  // namespace cigri::localcluster
