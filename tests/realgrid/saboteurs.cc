#include "tests/realgrid/saboteurs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/realgrid/five_clusters.h"
#include "tests/realgrid/measures.h"

namespace cigri::test {
namespace {

// A process that cannot be taken for another one that has got its number.
class Held {
 public:
  explicit Held(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~Held() { close(fd_); }
  Held(const Held&) = delete;
  void Signal(int signal) const { syscall(SYS_pidfd_send_signal, fd_, signal, nullptr, 0); }

 private:
  int fd_;
};

std::string NetworkOf(pid_t pid) {
  std::error_code gone;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/net", gone);
}

// What a host is made of, by name; cigri-jobs, whose environment is empty, by their network.
std::map<std::string, std::vector<pid_t>> KindsOf(const std::string& home) {
  std::map<std::string, std::vector<pid_t>> kinds;
  for (const auto& part : PartsOf(home)) kinds[part.name].push_back(part.pid);
  if (kinds.empty()) return kinds;
  const auto network = NetworkOf(kinds.begin()->second[0]);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 1 && Trim(Slurp(entry.path().string() + "/comm")) == "cigri-job" &&
        NetworkOf(pid) == network)
      kinds["cigri-job"].push_back(pid);
  }
  return kinds;
}

}  // namespace

void Saboteur::Begin() {
  thread_ = std::thread([this] {
    while (!over_) DoOne();
    UndoUntil(Now() + 1e9);
    Heal();
  });
}

void Saboteur::End() {
  over_ = true;
  thread_.join();
}

std::map<std::string, int> Saboteur::Score() const {
  std::lock_guard lock(mutex_);
  return score_;
}

std::vector<double> Saboteur::Disturbances() const {
  std::lock_guard lock(mutex_);
  return disturbances_;
}

double Saboteur::Between(double least, double most) {
  return std::uniform_real_distribution<>(least, most)(random_);
}

bool Saboteur::Rest(double seconds) {
  const double end = Now() + seconds;
  Await(
      [&] {
        UndoUntil(Now());
        return over_ || Now() >= end;
      },
      Seconds(3600), std::chrono::milliseconds(50));
  return !over_;
}

void Saboteur::Did(const std::string& what, bool disturbs) {
  std::lock_guard lock(mutex_);
  ++score_[what];
  if (disturbs) disturbances_.push_back(Now());
  std::fprintf(stderr, "%.1f %s\n", Now(), what.c_str());
}

void Saboteur::Later(double seconds, std::function<void()> undo) {
  undos_.emplace_back(Now() + seconds, std::move(undo));
}

void Saboteur::UndoUntil(double time) {
  for (auto it = undos_.begin(); it != undos_.end();) {
    if (it->first > time) {
      ++it;
      continue;
    }
    const auto undo = std::move(it->second);
    it = undos_.erase(it);
    undo();
  }
}

HostSaboteur::HostSaboteur(std::uint32_t seed, std::vector<Host> hosts, const Scripted& network,
                           std::string database, std::string clusters)
    : Saboteur(seed),
      hosts_(std::move(hosts)),
      network_(network),
      database_(std::move(database)),
      clusters_(std::move(clusters)) {}

void HostSaboteur::DoOne() {
  switch (Below(10)) {
    case 0:
    case 1:
      Cut();
      break;
    case 2:
      Fill();
      break;
    case 3:
      Preempt();
      break;
    default:
      Strike();
  }
  Rest(Between(1, 5));
}

void HostSaboteur::Strike() {
  const auto kinds = KindsOf(hosts_[Below(hosts_.size())].grid->home());
  if (kinds.empty()) return;
  const auto& [name, pids] = *std::next(kinds.begin(), static_cast<long>(Below(kinds.size())));
  const auto victim = std::make_shared<Held>(pids[Below(pids.size())]);
  const bool kills = Below(2) == 0;
  victim->Signal(kills ? SIGKILL : SIGSTOP);
  Did((kills ? "kill " : "stop ") + name, name == "almighty");
  if (!kills) Later(Between(1, 12), [victim] { victim->Signal(SIGCONT); });
}

// One host at a time, so that the others can go on.
void HostSaboteur::Cut() {
  if (cut_) return;
  const auto host = std::to_string(1 + Below(hosts_.size()));
  const auto from = Below(3);
  Arguments which{host};
  if (from != 0) which.push_back(from == 1 ? database_ : clusters_);
  const auto call = [this, which](const std::string& verb) {
    Arguments words{verb};
    words.insert(words.end(), which.begin(), which.end());
    network_.Do(words);
  };
  call("cut");
  cut_ = true;
  Did(from == 0   ? "cut a host from all"
      : from == 1 ? "cut a host from the database"
                  : "cut a host from the clusters",
      from != 2);
  Later(Between(3, 20), [this, call] {
    call("heal");
    cut_ = false;
  });
}

void HostSaboteur::Fill() {
  if (filled_) return;
  const auto file = hosts_[Below(hosts_.size())].grid->home() + "/filler";
  // Closed on exec: a daemon of OAR that is started just now would keep the room for ever.
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (off_t size = 0, step = 1 << 24; step >= 4096;)
    if (posix_fallocate(fd, size, step) == 0)
      size += step;
    else
      step /= 2;
  close(fd);
  filled_ = true;
  Did("fill a disk");
  Later(Between(2, 8), [this, file] {
    unlink(file.c_str());
    filled_ = false;
  });
}

void HostSaboteur::Preempt() {
  const auto& host = hosts_[Below(hosts_.size())];
  host.grid->Run({"localsub", "-c", host.cluster, "--", "sleep", "1"}, "", Seconds(5));
  Did("a user on a local cluster");
}

void DatabaseSaboteur::DoOne() {
  if (!Rest(Between(5, 20))) return;
  servers_.Settle();
  const std::string verb = std::vector<std::string>{"kill", "freeze", "switchover"}[Below(3)];
  Did(verb + " the primary", true);
  servers_.Break(verb);
  if (verb == "switchover") return;
  Rest(Between(1, 10));
  servers_.Break(verb == "kill" ? "revive" : "wake");
  Did(verb == "kill" ? "revive a server" : "wake a server", true);
}

void ClusterSaboteur::DoOne() {
  auto* proxy = proxies_[Below(proxies_.size())];
  switch (Below(6)) {
    case 0:
      proxy->CutAll(true);
      Did("cut all answers of a cluster");
      Later(Between(2, 8), [proxy] { proxy->CutAll(false); });
      break;
    case 1:
    case 2:
      proxy->CutEachSecond("POST ");
      Did("cut each second POST to a cluster");
      Later(Between(5, 15), [proxy] { proxy->CutEachSecond(""); });
      break;
    case 3:
      RunScript("oar-down", "", "OAR_DOWN_ONLY=server");
      Did("stop OAR's server");
      Rest(Between(1, 10));
      RunScript("oar-up");
      break;
    case 4:
      RunScript("slurm-down", "--only slurmctld " + SlurmName(1));
      Did("stop slurmctld");
      Rest(Between(1, 10));
      RunScript("slurm-up", SlurmName(1) + " 6817");
      break;
    default:
      Shell(AtSlurm(1, "runuser -u grid -- sbatch -p normal -c 4 -D /tmp -o /dev/null --wrap "
                       "'sleep 1' >/dev/null 2>&1 || true") +
            "; cd /tmp; runuser -u carol -- oarsub -l /core=2,walltime=0:01 'sleep 1' >/dev/null "
            "2>&1 || true");
      Did("users on OAR and Slurm");
  }
  Rest(Between(3, 10));
}

void ClusterSaboteur::Heal() {
  RunScript("oar-up");
  RunScript("slurm-up", SlurmName(1) + " 6817");
}

}  // namespace cigri::test
