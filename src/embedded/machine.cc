#include "embedded/machine.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "embedded/postgres.h"

namespace cigri::embedded {
namespace {
namespace fs = std::filesystem;

// Every program that the grid itself is made of.
const std::set<std::string> kOurs{"almighty",      "updator",      "predictor",
                                  "metascheduler", "runner",       "nikita",
                                  "notifier",      "localcluster", "api"};

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int AffinityCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

// "max 100000" or "150000 100000".
double QuotaOf(const std::string& cpu_max) {
  std::istringstream in(cpu_max);
  double quota = 0, period = 0;
  if (in >> quota >> period && quota > 0 && period > 0) return quota / period;
  return INFINITY;
}

double CgroupCpus() {
  double cpus = INFINITY;
  for (const auto& line : Split(ReadAll("/proc/self/cgroup"), '\n')) {
    if (line.rfind("0::", 0) != 0) continue;
    for (fs::path group = line.substr(3); !group.empty(); group = group.parent_path()) {
      cpus = std::min(cpus, QuotaOf(ReadAll("/sys/fs/cgroup" + group.string() + "/cpu.max")));
      if (group == group.parent_path()) break;
    }
  }
  const std::string v1 = "/sys/fs/cgroup/cpu/cpu.cfs_";
  return std::min(cpus, QuotaOf(ReadAll(v1 + "quota_us") + " " + ReadAll(v1 + "period_us")));
}

double UptimeS() { return std::atof(ReadAll("/proc/uptime").c_str()); }

// Fields of /proc/<pid>/stat after the name, from "state" on. Empty when it has gone.
std::vector<std::string> StatOf(pid_t pid) {
  const std::string stat = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(") ");
  if (end == stat.npos) return {};
  return Split(stat.substr(end + 2), ' ');
}

std::string NameOf(pid_t pid) {
  return std::string(Trim(ReadAll("/proc/" + std::to_string(pid) + "/comm")));
}

std::int64_t PssOf(pid_t pid) {
  const std::string rollup = ReadAll("/proc/" + std::to_string(pid) + "/smaps_rollup");
  const auto at = rollup.find("\nPss:");
  return at == rollup.npos ? 0 : std::atoll(rollup.c_str() + at + 5);
}

Process Describe(pid_t pid, const std::vector<std::string>& stat) {
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  Process process;
  process.pid = pid;
  process.parent = std::atoi(stat[1].c_str());
  process.name = NameOf(pid);
  process.command =
      ReplaceAll(ReadAll("/proc/" + std::to_string(pid) + "/cmdline"), std::string(1, '\0'), " ");
  process.cpu_s = (std::atof(stat[11].c_str()) + std::atof(stat[12].c_str())) / ticks;
  process.age_s = UptimeS() - std::atof(stat[19].c_str()) / ticks;
  process.pss_kb = PssOf(pid);
  return process;
}

std::vector<Process> Scan(const std::function<bool(pid_t, const std::string& name)>& wanted) {
  std::vector<Process> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1 || pid == getpid() || !wanted(pid, NameOf(pid))) continue;
    const auto stat = StatOf(pid);
    if (stat.size() > 20 && stat[0] != "Z" && stat[0] != "X") found.push_back(Describe(pid, stat));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

// Of its environment, by whatever name it was started with.
bool HasHome(pid_t pid, const Home& home) {
  const std::string variable = "CIGRI_HOME=";
  for (const auto& line : Split(ReadAll("/proc/" + std::to_string(pid) + "/environ"), '\0')) {
    if (line.rfind(variable, 0) != 0) continue;
    std::error_code failed;
    const auto dir = fs::weakly_canonical(line.substr(variable.size()), failed);
    return !failed && dir == home.dir;
  }
  return false;
}

// Who may run the grid of this home: anybody may give a process its name and its environment.
bool MayBeOurs(pid_t pid, const Home& home) {
  struct stat process {
  }, folder{};
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &process) != 0) return false;
  if (process.st_uid == 0 || process.st_uid == geteuid()) return true;
  return stat(home.dir.c_str(), &folder) == 0 && process.st_uid == folder.st_uid;
}

// Whether it executes a program of a grid, also of a build that has been replaced: not a script or
// a program of that name from elsewhere.
bool IsProgramOfGrid(pid_t pid, const std::string& name) {
  std::error_code failed;
  const fs::path link = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed);
  if (failed) return false;
  const std::string gone = " (deleted)";
  std::string path = link.string();
  const bool deleted =
      path.size() > gone.size() && path.compare(path.size() - gone.size(), gone.size(), gone) == 0;
  if (deleted) path.resize(path.size() - gone.size());
  // An installation that replaces it gives it another ending for a moment.
  const fs::path program = path;
  return StartsWith(program.filename().string() + ".", name + ".") &&
         (deleted || fs::exists(program.parent_path() / "almighty", failed));
}

// SpawnDaemon has just forked it.
bool WillBeOurs(pid_t pid, const std::string& name) {
  if (name != "setsid") return false;
  const auto words = Split(ReadAll("/proc/" + std::to_string(pid) + "/cmdline"), '\0');
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return kOurs.count(fs::path(word).filename()) != 0;
  });
}

}  // namespace

int UsableCpus() {
  return std::max(1, static_cast<int>(std::min<double>(AffinityCpus(), CgroupCpus())));
}

bool HasCpuQuota() { return CgroupCpus() < AffinityCpus(); }

std::vector<Process> GridProcesses(const Home& home) {
  return Scan([&](pid_t pid, const std::string& name) {
    const bool named = kOurs.count(name) != 0 ? IsProgramOfGrid(pid, name) : WillBeOurs(pid, name);
    return named && MayBeOurs(pid, home) && HasHome(pid, home);
  });
}

std::vector<Process> JobProcesses(const Home& home) {
  // A job's environment is its user's: its records tell whose it is.
  const std::string state = home.dir + "/clusters/";
  return Scan([&](pid_t pid, const std::string& name) {
    if (name != "cigri-job") return false;
    std::error_code failed;
    const auto records = fs::read_symlink("/proc/" + std::to_string(pid) + "/fd/3", failed);
    return !failed && records.string().rfind(state, 0) == 0;
  });
}

std::vector<Process> PostgresProcesses(const Home& home) {
  const pid_t server = PostgresPid(home);
  if (server == 0) return {};
  return Scan([&](pid_t pid, const std::string& name) {
    if (name != "postgres") return false;
    const auto stat = StatOf(pid);
    return pid == server || (stat.size() > 1 && std::atoi(stat[1].c_str()) == server);
  });
}

int EndAll(std::vector<Process> (*list)(const Home&), const Home& home, double grace_s, int why,
           double kill_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(grace_s);
  const auto last = deadline + std::chrono::duration<double>(kill_s);
  constexpr int kLooks = 2;  // for a moment in its start a process has no environment to read
  std::set<pid_t> asked;
  for (int empty = 0; empty < kLooks;) {
    const auto left = list(home);
    empty = left.empty() ? empty + 1 : 0;
    if (!left.empty() && Clock::now() >= last) {
      std::string names;
      for (const auto& process : left)
        names += (names.empty() ? "" : ", ") + process.name + " " + std::to_string(process.pid);
      throw Fatal(kExitUnavailable, "killed and still there: " + names,
                  "look at them: `ps -o pid,user,stat,wchan,args -p PID`; then do this again");
    }
    const bool kill_now = Clock::now() >= deadline;
    for (const auto& process : left)
      if (asked.insert(process.pid).second || kill_now)
        sigqueue(process.pid, kill_now ? SIGKILL : SIGTERM, sigval{.sival_int = why});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return static_cast<int>(asked.size());
}

}  // namespace cigri::embedded
