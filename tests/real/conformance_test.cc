// The conformance suite (tests/cluster/conformance) on a real OAR 2.5 and a real Slurm 22.05.
#include "core/text.h"
#include "real_cluster.h"
#include "tests/cluster/conformance/http_cluster.h"

namespace cigri::conformance {
namespace {

using cluster::Batch;

// The scripts that stop what these tests have started.
std::vector<std::string>& DownScripts() {
  static std::vector<std::string> scripts;
  return scripts;
}

class DownAtTheEnd : public testing::Environment {
  void TearDown() override {
    if (std::getenv("CIGRI_REAL_KEEP") != nullptr) return;
    for (const auto& script : DownScripts()) real::RunScript(script);
  }
};
const auto* const kDownAtTheEnd = testing::AddGlobalTestEnvironment(new DownAtTheEnd);

// Starts a cluster and returns what the script says.
std::string Up(const std::string& up, const std::string& down) {
  DownScripts().push_back(down);
  return real::RunScript(up);
}

// The pause, and a look behind the proxy.
class RealHttpCluster : public HttpCluster {
 public:
  RealHttpCluster(const cluster::ClusterConfig& config, const std::string& prefix,
                  const std::string& server, const std::string& submission,
                  const cluster::TokenSource& tokens = {})
      : HttpCluster(config, prefix, server, submission, tokens) {
    auto direct = config;
    direct.api_url = server + prefix;
    direct_ = cluster::MakeCluster(direct, tokens);
  }
  int JobsWithTag(const std::string& tag) override {
    return static_cast<int>(direct_->Find(tag, user(), 0, false).jobs.size());
  }
  std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(300); }

 private:
  std::unique_ptr<cluster::Cluster> direct_;
};

cluster::ClusterConfig OarConfig() {
  cluster::ClusterConfig config;
  config.name = "froggy";
  config.kind = "oar2";
  config.auth_type = "header";
  config.auth_user = "alice";
  return config;
}

class RealOar final : public RealHttpCluster {
 public:
  RealOar()
      : RealHttpCluster(OarConfig(), "/oarapi-cigri", "http://127.0.0.1:6668",
                        "POST /oarapi-cigri/jobs.json ") {}
  std::string user() const override { return "alice"; }
  std::string Stranger() const override { return "bob"; }
  void MakeRefused(Batch* batch) const override { batch->properties = "nosuch='x'"; }
};

cluster::ClusterConfig SlurmConfig() {
  cluster::ClusterConfig config;
  config.name = "luke";
  config.kind = "slurm";
  config.auth_type = "jwt";
  config.auth_user = "grid";
  config.options = {{"best_effort_partition", "besteffort"}, {"partition", "normal"}};
  return config;
}

std::string TokenIn(const std::string& lines) {
  const std::string key = "SLURM_REST_TOKEN=";
  for (const auto& line : Split(lines, '\n'))
    if (StartsWith(line, key)) return line.substr(key.size());
  return "";
}

class RealSlurm final : public RealHttpCluster {
 public:
  explicit RealSlurm(const std::string& token)
      : RealHttpCluster(SlurmConfig(), "", "http://127.0.0.1:6820",
                        "POST /slurm/v0.0.38/job/submit ",
                        [token](const std::string&) { return token; }) {}
  std::string user() const override { return "grid"; }
  void MakeRefused(Batch* batch) const override { batch->options["partition"] = "nosuch"; }
  std::string UnknownId() const override { return "999999_0"; }
};

std::unique_ptr<TestedCluster> MakeOar() {
  if (!real::Allowed()) return nullptr;
  static const std::string started = Up("oar-up", "oar-down");
  return std::make_unique<RealOar>();
}

std::unique_ptr<TestedCluster> MakeSlurm() {
  if (!real::Allowed()) return nullptr;
  static const std::string token = TokenIn(Up("slurm-up alpha 6817", "slurm-down alpha"));
  return std::make_unique<RealSlurm>(token);
}

INSTANTIATE_TEST_SUITE_P(Real, ConformanceTest,
                         testing::Values(Kind{"oar2", MakeOar}, Kind{"slurm", MakeSlurm}), NameOf);

}  // namespace
}  // namespace cigri::conformance
