// A real local cluster for a test: its own folder, its own daemon, its driver.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster.h"
#include "core/text.h"
#include "http/client.h"
#include "tests/support/await.h"
#include "tests/support/for_others.h"

namespace cigri::localcluster {

namespace fs = std::filesystem;
using cluster::Batch;
using cluster::EndCause;
using cluster::RemoteJob;
using cluster::RemoteState;
using test::Await;

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline pid_t Spawn(std::vector<std::string> words, const std::string& log = "",
                   const std::function<void()>& in_child = {}) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (in_child) in_child();
  if (!log.empty()) {
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(fd, 1);
    dup2(fd, 2);
  }
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cigri-local-XXXXXX";
    dir_ = mkdtemp(name);
    fs::permissions(dir_, fs::perms(0777));
  }
  void TearDown() override {
    if (pid_ > 0) Stop(SIGINT);
    if (HasFailure()) std::fprintf(stderr, "%s", Slurp(dir_ + "/log").c_str());
    driver_.reset();
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  /// Starts the daemon and waits until it answers.
  void Start(int slots = 2, std::vector<std::string> more = {},
             std::vector<std::string> before = {}) {
    std::vector<std::string> words = std::move(before);
    for (const std::string& w :
         {test::ForOthers(CIGRI_BIN_DIR) + "/localcluster", std::string("--name"),
          std::string("alpha"), std::string("--slots"), std::to_string(slots),
          std::string("--state"), dir_ + "/state", std::string("--socket"), socket(),
          std::string("--grid-socket"), grid_socket()})
      words.push_back(w);
    words.insert(words.end(), {"--grace", grace_});
    words.insert(words.end(), more.begin(), more.end());
    pid_ = Spawn(words, dir_ + "/log", in_child_);
    http::Client client(http::Endpoint::Parse("unix:" + socket()), {});
    ASSERT_TRUE(Await([&] { return client.Get("/health").ok(); })) << Slurp(dir_ + "/log");
  }
  void Stop(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
  }
  std::string socket() const { return dir_ + "/socket"; }
  std::string grid_socket() const { return dir_ + "/grid"; }
  const std::string& dir() const { return dir_; }
  pid_t daemon() const { return pid_; }

  std::unique_ptr<cluster::Cluster> NewDriver() const {
    cluster::ClusterConfig config;
    config.name = "alpha";
    config.kind = "local";
    config.api_url = "unix:" + grid_socket();
    return cluster::MakeCluster(config);
  }
  cluster::Cluster& driver() {
    if (!driver_) driver_ = NewDriver();
    return *driver_;
  }
  http::Response Call(const std::string& path, const std::string& body = "") {
    http::Client client(http::Endpoint::Parse("unix:" + socket()), {});
    return body.empty() ? client.Get(path) : client.Post(path, body);
  }

  static std::string Me() { return getpwuid(geteuid())->pw_name; }
  /// Of tasks that no batch before it had: two jobs of one task and attempt would want the same
  /// names for their output.
  Batch GivenBatch(const std::vector<std::string>& commands) {
    Batch b;
    b.campaign_id = 7;
    b.tag = "cigri.7.test." + RandomHex(6);
    b.grid_user = b.cluster_user = Me();
    b.campaign_name = "test";
    b.directory = dir_;
    b.walltime_s = 600;
    for (const auto& command : commands) {
      b.elements.push_back({1000 + tasks_, tasks_, 1, command});
      ++tasks_;
    }
    return b;
  }
  /// All jobs of the batch, by index, as soon as all have ended.
  std::map<int, RemoteJob> AwaitEnds(const Batch& b) {
    std::map<int, RemoteJob> jobs;
    const bool over = Await(
        [&] {
          jobs.clear();
          for (const auto& job : driver().Find(b.tag, Me(), 0, false).jobs)
            if (job.state == RemoteState::kEnded) jobs[job.ref.index] = job;
          return jobs.size() == b.elements.size();
        },
        std::chrono::seconds(60));
    EXPECT_TRUE(over) << jobs.size() << " of " << b.elements.size() << " jobs ended";
    return jobs;
  }
  std::map<int, RemoteJob> Run(const Batch& b) {
    driver().Submit(b);
    return AwaitEnds(b);
  }
  RemoteJob RunOne(const std::string& command) { return Run(GivenBatch({command}))[0]; }
  bool AwaitFile(const std::string& name) {
    return Await([&] { return fs::exists(dir_ + "/" + name); });
  }
  std::string FileText(const std::string& name) const { return Slurp(dir_ + "/" + name); }
  /// True when no process has `word` in its command line.
  static bool NoProcess(const std::string& word) {
    for (const auto& entry : fs::directory_iterator("/proc"))
      if (Slurp(entry.path() / "cmdline").find(word) != std::string::npos &&
          entry.path().filename() != std::to_string(getpid()))
        return false;
    return true;
  }

  std::string grace_ = "0.5";
  std::function<void()> in_child_{};  ///< what the daemon does before anything else

 private:
  std::string dir_;
  std::int64_t tasks_ = 0;
  pid_t pid_ = 0;
  std::unique_ptr<cluster::Cluster> driver_;
};

}  // namespace cigri::localcluster
