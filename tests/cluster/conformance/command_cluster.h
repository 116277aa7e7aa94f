// A tested cluster behind commands: its driver runs them through broken_commands.sh.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/cluster/conformance/conformance.h"

namespace cigri::conformance {

class CommandCluster : public TestedCluster {
 public:
  /// `run`: the words that run a command as %u.
  CommandCluster(cluster::ClusterConfig config, const std::string& run)
      : config_(std::move(config)) {
    char name[] = "/tmp/cigri-commands-XXXXXX";
    state_ = mkdtemp(name);
    std::filesystem::permissions(state_, std::filesystem::perms(0777));
    config_.api_url = "local:";
    config_.options["command_wrapper"] =
        CIGRI_SOURCE_DIR "/tests/cluster/conformance/broken_commands.sh " + state_ + " %u";
    Write("run", run);
    Break(Fault::kNone, Which::kAll, "");
  }
  ~CommandCluster() override {
    std::error_code ignored;
    std::filesystem::remove_all(state_, ignored);
  }
  std::unique_ptr<cluster::Cluster> Connect(std::chrono::milliseconds timeout) override {
    auto config = config_;
    config.call_timeout = timeout;
    return cluster::MakeCluster(config);
  }
  void Break(Fault fault, Which which, const std::string& garbage) override {
    static const char* const kNames[] = {
        "none", "no_connection", "answer_lost", "answer_cut", "server_error", "garbage", "silence"};
    Write("garbage", garbage);
    Write("which", which == Which::kAll ? "all" : "submissions");
    Write("fault", kNames[static_cast<int>(fault)]);
  }
  std::string UnknownId() const override { return "999999.1"; }

 protected:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(state_ + "/" + name) << text << "\n";
  }
  const std::string& state() const { return state_; }
  const cluster::ClusterConfig& config() const { return config_; }

 private:
  cluster::ClusterConfig config_;
  std::string state_;
};

}  // namespace cigri::conformance
