// 10,000 `true` jobs on 2 slots through the driver of the local cluster, from the first submission
// to the last end seen, against `parallel -j2 true ::: ...` in the same run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "cluster/cluster.h"
#include "core/error.h"
#include "core/text.h"

namespace cigri {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A daemon of its own in a folder of its own, gone with the object.
class Daemon {
 public:
  Daemon() {
    char name[] = "/tmp/cigri-bench-XXXXXX";
    dir_ = mkdtemp(name);
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "localcluster";
    pid_ = fork();
    if (pid_ == 0) {
      execl(program.c_str(), program.c_str(), "--name", "alpha", "--slots", "2", "--state",
            dir_.c_str(), "--socket", (dir_ + "/s").c_str(), nullptr);
      _exit(127);
    }
  }
  ~Daemon() {
    kill(pid_, SIGINT);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(dir_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  std::unique_ptr<cluster::Cluster> Driver() const {
    cluster::ClusterConfig config;
    config.name = "alpha";
    config.kind = "local";
    config.api_url = "unix:" + dir_ + "/s";
    auto driver = cluster::MakeCluster(config);
    for (int i = 0; i < 500; ++i) {
      try {
        driver->GetResources({});
        return driver;
      } catch (const cluster::CallFailed&) {
        usleep(10000);
      }
    }
    throw Fatal(kExitUnavailable, "localcluster does not answer");
  }

 private:
  std::string dir_;
  pid_t pid_;
};

void Submit(cluster::Cluster& driver, int from, int n) {
  cluster::Batch batch;
  batch.campaign_id = 1;
  batch.tag = "bench." + RandomHex(6);
  batch.cluster_user = std::getenv("USER") != nullptr ? std::getenv("USER") : "root";
  batch.campaign_name = "bench";
  batch.directory = "/tmp";
  for (int i = from; i < from + n; ++i) batch.elements.push_back({i, i, 1, "true"});
  driver.Submit(batch);
}

double RunOurs(int jobs) {
  const Daemon daemon;
  const auto driver = daemon.Driver();
  cluster::PollRequest request;
  request.token = driver->Poll({}).token;
  request.wait = std::chrono::milliseconds(1000);
  const auto begin = Clock::now();
  for (int from = 0; from < jobs; from += 5000) Submit(*driver, from, std::min(5000, jobs - from));
  std::set<std::int64_t> ended;
  while (static_cast<int>(ended.size()) < jobs) {
    const auto answer = driver->Poll(request);
    request.token = answer.token;
    for (const auto& job : answer.jobs)
      if (job.state == cluster::RemoteState::kEnded) ended.insert(job.ref.job_id);
  }
  return jobs / Since(begin);
}

double RunParallel(int jobs) {
  const auto begin = Clock::now();
  const std::string command = "seq " + std::to_string(jobs) + " | parallel -j2 true {} > /dev/null";
  if (std::system(command.c_str()) != 0) throw Fatal(kExitUnavailable, "GNU parallel failed");
  return jobs / Since(begin);
}

int Main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const double ours = RunOurs(jobs), theirs = RunParallel(jobs);
  std::printf("local cluster %.0f jobs/s, parallel -j2 %.0f jobs/s, ratio %.2f\n", ours, theirs,
              ours / theirs);
  return 0;
}

}  // namespace
}  // namespace cigri

int main(int argc, char** argv) {
  return cigri::RunMain("local_throughput", cigri::Main, argc, argv);
}
