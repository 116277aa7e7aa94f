// The suite on every driver, without a real batch scheduler: the fake, the local cluster's own
// daemon, and models of OAR, Slurm and Grid Engine.
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "command_cluster.h"
#include "core/text.h"
#include "http/client.h"
#include "http_cluster.h"
#include "oar_model.h"
#include "slurm_model.h"
#include "tests/cluster/fake_cluster.h"
#include "tests/support/await.h"

namespace cigri::conformance {
namespace {

namespace fs = std::filesystem;
using cluster::Batch;

class TestedFake final : public TestedCluster {
 public:
  std::unique_ptr<cluster::Cluster> Connect(std::chrono::milliseconds) override {
    return std::make_unique<test::FakeCluster>(&scheduler_);
  }
  void Break(Fault fault, Which which, const std::string&) override {
    scheduler_.Break(fault, which);
  }
  int JobsWithTag(const std::string& tag) override {
    int n = 0;
    for (const auto& [id, job] : scheduler_.jobs) n += job.ref.tag == tag ? 1 : 0;
    return n;
  }
  std::string user() const override { return "alice"; }
  std::string Stranger() const override { return "bob"; }
  void MakeRefused(Batch* batch) const override { batch->slots = 1000; }

 private:
  test::FakeScheduler scheduler_;
};

// A daemon in a folder of its own, reached through its socket.
class LocalDaemon {
 public:
  LocalDaemon() {
    char name[] = "/tmp/cigri-conformance-XXXXXX";
    dir_ = mkdtemp(name);
    fs::permissions(dir_, fs::perms(0777));
    pid_ = fork();
    if (pid_ == 0) Run();
    http::Client client(http::Endpoint::Parse("unix:" + socket()), {});
    if (!test::Await([&] { return client.Get("/health").ok(); }))
      throw std::runtime_error("no localcluster");
  }
  ~LocalDaemon() {
    kill(pid_, SIGINT);  // it ends its jobs first
    waitpid(pid_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  std::string socket() const { return dir_ + "/socket"; }

 private:
  [[noreturn]] void Run() const {
    const int log = open((dir_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(log, 1);
    dup2(log, 2);
    const std::string program = CIGRI_BIN_DIR "/localcluster", state = dir_ + "/state";
    execl(program.c_str(), program.c_str(), "--name", "alpha", "--slots", "16", "--state",
          state.c_str(), "--socket", socket().c_str(), "--grace", "0.2", nullptr);
    _exit(127);
  }
  std::string dir_;
  pid_t pid_ = 0;
};

cluster::ClusterConfig LocalConfig() {
  cluster::ClusterConfig config;
  config.name = "alpha";
  config.kind = "local";
  return config;
}

class TestedLocal final : private LocalDaemon, public HttpCluster {
 public:
  TestedLocal() : HttpCluster(LocalConfig(), "", "unix:" + socket(), "POST /batches ") {}
  int JobsWithTag(const std::string& tag) override {
    auto config = LocalConfig();
    config.api_url = "unix:" + socket();
    const auto found = cluster::MakeCluster(config)->Find(tag, user(), Lately(), false);
    return static_cast<int>(found.jobs.size());
  }
  std::string user() const override { return getpwuid(geteuid())->pw_name; }
  void MakeRefused(Batch* batch) const override { batch->slots = 1000; }
  std::string UnknownId() const override { return "999999_0"; }
};

std::string Loopback(int port) { return "http://127.0.0.1:" + std::to_string(port); }

template <int kVersion>
class ModelOfOar {
 public:
  OarModel model_{kVersion};
};

cluster::ClusterConfig OarConfig(int version) {
  auto config = test::ConfigOf("oar" + std::to_string(version), 0);
  if (version == 3) config.options["page"] = 2;
  if (version == 3) config.auth_type = "jwt";
  return config;
}

// The token of a user is their name.
std::string TokenOf(const std::string& user) { return user; }

template <int kVersion>
class TestedOar final : private ModelOfOar<kVersion>, public HttpCluster {
 public:
  TestedOar()
      : HttpCluster(OarConfig(kVersion), "/oarapi-cigri", Loopback(this->model_.port()),
                    kVersion == 2 ? "POST /oarapi-cigri/jobs.json " : "POST /oarapi-cigri/jobs ",
                    TokenOf) {}
  int JobsWithTag(const std::string& tag) override { return this->model_.JobsWithTag(tag); }
  std::string user() const override { return "alice"; }
  std::string Stranger() const override { return "bob"; }
  void MakeRefused(Batch* batch) const override { batch->properties = "nosuch='x'"; }
};

template <int kVersion>
struct ModelOfSlurm {
  SlurmModel model{kVersion};
};

cluster::ClusterConfig SlurmConfig(int version) {
  auto config = test::ConfigOf("slurm", 0);
  config.options["api_version"] = "v0.0." + std::to_string(version);
  config.options["best_effort_partition"] = "besteffort";
  return config;
}

template <int kVersion>
class TestedSlurm final : private ModelOfSlurm<kVersion>, public HttpCluster {
 public:
  TestedSlurm()
      : HttpCluster(SlurmConfig(kVersion), "", Loopback(this->model.port()),
                    "POST /slurm/v0.0." + std::to_string(kVersion) + "/job/submit ") {}
  int JobsWithTag(const std::string& tag) override { return this->model.JobsWithTag(tag); }
  std::string user() const override { return "alice"; }
  std::string Stranger() const override { return "bob"; }
  void MakeRefused(Batch* batch) const override { batch->options["partition"] = "nosuch"; }
  std::string UnknownId() const override { return "999999_0"; }
  bool HideHistory() override {
    this->model.Accounting(false);
    return true;
  }
};

cluster::ClusterConfig GridEngineConfig() {
  cluster::ClusterConfig config;
  config.name = "froggy";
  config.kind = "gridengine";
  config.auth_user = "alice";
  config.options = {{"accounting_delay_s", 0}};
  return config;
}

// The commands are gridengine_model.sh.
class TestedGridEngine final : public CommandCluster {
 public:
  TestedGridEngine() : CommandCluster(GridEngineConfig(), "") {
    for (const char* folder : {"/jobs", "/bin"}) fs::create_directory(state() + folder);
    for (const char* command : {"qsub", "qstat", "qacct", "qdel"})
      fs::create_symlink(CIGRI_SOURCE_DIR "/tests/cluster/conformance/gridengine_model.sh",
                         state() + "/bin/" + command);
    Write("last", "3");
    Write("run", "env FAKE_USER=%u STATE=" + state() + " PATH=" + state() + "/bin:/usr/bin:/bin");
  }
  int JobsWithTag(const std::string& tag) override {
    int n = 0;
    for (const auto& file : fs::directory_iterator(state() + "/jobs")) {
      std::string name;
      std::ifstream(file.path()) >> name;
      n += name == tag ? 1 : 0;
    }
    return n;
  }
  std::string user() const override { return "alice"; }
  std::string Stranger() const override { return "bob"; }
  void MakeRefused(Batch* batch) const override { batch->options["queue"] = "nosuch.q"; }
};

template <typename T>
std::unique_ptr<TestedCluster> Make() {
  return std::make_unique<T>();
}

INSTANTIATE_TEST_SUITE_P(
    Drivers, ConformanceTest,
    testing::Values(Kind{"fake", Make<TestedFake>}, Kind{"local", Make<TestedLocal>},
                    Kind{"oar2", Make<TestedOar<2>>}, Kind{"oar3", Make<TestedOar<3>>},
                    Kind{"slurm", Make<TestedSlurm<38>>}, Kind{"slurm24", Make<TestedSlurm<42>>},
                    Kind{"gridengine", Make<TestedGridEngine>}),
    NameOf);

}  // namespace
}  // namespace cigri::conformance
