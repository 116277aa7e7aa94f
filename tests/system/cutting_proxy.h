// Stands between the grid and a cluster, and cuts connections at the worst moment.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cigri::test {

/// A proxy from unix socket to unix socket. Of the submissions (POST /batches) it forwards, each
/// second one is cut after the cluster has answered and before the answer is given on.
class CuttingProxy {
 public:
  CuttingProxy(const std::string& listen, const std::string& server);
  ~CuttingProxy();
  int cuts() const { return cuts_; }

 private:
  void Serve();
  void Relay(int client);

  std::string listen_, server_;
  int socket_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> submissions_{0}, cuts_{0};
  std::mutex mutex_;
  std::vector<std::thread> relays_;
  std::thread server_thread_;
};

}  // namespace cigri::test
