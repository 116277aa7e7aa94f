// A tested cluster behind HTTP: its driver speaks to it through a proxy that can break.
#pragma once
#include "tests/cluster/conformance/conformance.h"
#include "tests/cluster/conformance/fault_proxy.h"

namespace cigri::conformance {

class HttpCluster : public TestedCluster {
 public:
  /// `config` is that of the driver but for its api_url, which is `prefix` on the proxy. `server`
  /// and `submission` are those of FaultProxy.
  HttpCluster(cluster::ClusterConfig config, const std::string& prefix, const std::string& server,
              const std::string& submission, cluster::TokenSource tokens = {})
      : config_(std::move(config)), tokens_(std::move(tokens)), proxy_(server, submission) {
    config_.api_url = "http://127.0.0.1:" + std::to_string(proxy_.port()) + prefix;
  }
  std::unique_ptr<cluster::Cluster> Connect(std::chrono::milliseconds timeout) override {
    auto config = config_;
    config.call_timeout = timeout;
    return cluster::MakeCluster(config, tokens_);
  }
  void Break(Fault fault, Which which, const std::string& garbage) override {
    proxy_.Break(fault, which, garbage);
  }

 private:
  cluster::ClusterConfig config_;
  cluster::TokenSource tokens_;
  FaultProxy proxy_;
};

}  // namespace cigri::conformance
