#include "localcluster/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
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

// A file without a name that holds `text`, at a number that cigri-job's own cannot meet.
process::Fd NamelessFile(const std::string& text) {
  const process::Fd file = process::MemoryFile();
  bool written = bool(file);
  for (std::size_t done = 0; written && done < text.size();) {
    const ssize_t k = write(file.get(), text.data() + done, text.size() - done);
    written = k >= 0;
    done += static_cast<std::size_t>(std::max<ssize_t>(k, 0));
  }
  if (!written) throw TryLater(std::string("no memory for a script: ") + std::strerror(errno));
  lseek(file.get(), 0, SEEK_SET);
  return process::Fd(fcntl(file.get(), F_DUPFD_CLOEXEC, 10));
}

// What /bin/sh reads. It has opened the file at a number of its own by then: the job inherits none.
std::string ScriptOf(const Job& job) {
  const std::string& setup = job.batch->setup;
  return "exec 9<&-; " + setup + (setup.empty() ? "" : "\n") + job.command + "\n";
}

// Descriptors, signals and session of a cigri-job.
process::SpawnOptions OptionsOf(int null_fd, std::vector<std::pair<int, int>> descriptors) {
  process::SpawnOptions options;
  options.in = options.out = options.err = null_fd;
  options.descriptors = std::move(descriptors);
  // A program of root's starts with nothing of what users say: LD_PRELOAD is a variable too.
  options.environment.emplace();
  options.own_session = true;
  options.blocked = {SIGCHLD, SIGTERM};  // a kill that comes before cigri-job is ready waits for it
  return options;
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

// What cigri-job reads: the environment; then, when no shell is needed, an empty line and the words
// of the command.
std::string EnvironmentOf(const Job& job, const std::string& node_file,
                          const std::string& directory) {
  const Batch& b = *job.batch;
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

pid_t Spawned(const std::vector<std::string>& arguments, const process::SpawnOptions& options) {
  try {
    return process::Spawn(arguments, options);
  } catch (const process::StartError& e) {
    const int why = e.code().value();
    if (why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE)
      throw TryLater(e.code().message());
    throw LaunchError(Cause::kLaunchFailed, e.what());
  }
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

int KillOnce(pid_t wrapper, const std::string& mark) {
  int found = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = entry.path().filename();
    if (pid[0] < '1' || pid[0] > '9') continue;
    const pid_t session = SessionOf(pid);
    if (session == 0) continue;
    if (session != wrapper && ReadFile("/proc/" + pid + "/environ").find(mark) == std::string::npos)
      continue;
    kill(std::stoi(pid), SIGKILL);
    ++found;
  }
  return found;
}

}  // namespace

Launcher::Launcher(LauncherOptions options)
    : options_(std::move(options)), null_(open("/dev/null", O_RDWR | O_CLOEXEC)) {
  program_ = fs::read_symlink("/proc/self/exe").parent_path() / "cigri-job";
  if (access(program_.c_str(), X_OK) != 0)
    throw Fatal(kExitConfig, "cannot start jobs: no program " + program_,
                "cigri-job is installed next to localcluster");
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
  if (folders_.count(path) != 0) return;
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

pid_t Launcher::Start(Job* started, const std::vector<std::string>& lines, int records_fd,
                      int birth_fd) {
  const Job& job = *started;
  const Batch& b = *job.batch;
  if (b.account == nullptr)
    throw LaunchError(Cause::kLaunchFailed, "user \"" + b.user + "\" is not known on this machine");
  const std::string stem = OutputStem(b, {job.index, job.attempt, job.job_id, job.task_index});
  MakeFolder(fs::path(stem).parent_path());
  const std::string directory = ExpandHome(b.directory, *b.account);
  const process::Fd script = NamelessFile(ScriptOf(job));
  std::vector<std::string> places;
  for (int p : job.places) places.push_back(std::to_string(p));
  // Beyond what a start mark holds it is left out: an adopting daemon then finds other slots.
  if (places.size() > 500) places.clear();
  std::vector<std::string> arguments = {"cigri-job",
                                        IdOf(b.seq, job.index),
                                        std::to_string(b.walltime_s),
                                        std::to_string(options_.grace_ms),
                                        std::to_string(options_.nice),
                                        std::to_string(options_.max_file_mb << 20),
                                        Ids(*b.account),
                                        stem,
                                        directory,
                                        Join(places, " "),
                                        Cpus(options_.cpus, job.places)};
  const process::Fd environment = NamelessFile(EnvironmentOf(job, NodeFile(lines), directory));
  OutputFile out = outputs_.Open(stem + ".out", *b.account), err;
  try {
    err = outputs_.Open(stem + ".err", *b.account);
    auto options = OptionsOf(null_.get(), {{kRecordsFd, records_fd},
                                           {kOutFd, out.fd.get()},
                                           {kErrFd, err.fd.get()},
                                           {kBirthFd, birth_fd},
                                           {kEnvironmentFd, environment.get()},
                                           {kScriptFd, script.get()}});
    options.program = program_;
    const pid_t pid = Spawned(arguments, options);
    started->out = std::move(out);
    started->err = std::move(err);
    return pid;
  } catch (const std::exception&) {
    outputs_.Discard(std::move(out), stem + ".out");
    outputs_.Discard(std::move(err), stem + ".err");
    throw;
  }
}

void KillRemains(pid_t wrapper, const std::string& id, const Account& account) {
  const LookAs user(account);
  const std::string mark = "CIGRI_LOCAL_ID=" + id + std::string(1, '\0');
  for (int i = 0; i < 100 && KillOnce(wrapper, mark) > 0; ++i) usleep(10000);
}

bool IsWrapperOf(pid_t pid, const std::string& id) {
  const std::string line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");
  return StartsWith(line, std::string("cigri-job") + '\0' + id + '\0');
}

}  // namespace cigri::localcluster
