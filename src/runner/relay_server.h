// What other hosts ask of clusters that they cannot reach and this home can: polls, kills, output
// (clusterdb/relay.h).
#pragma once
#include <memory>
#include <string>

namespace cigri::runner {

/// A thread with a session of its own takes the calls of the table relayed_calls; each is made in a
/// thread of its own, since a poll may wait for news. When the RelayServer is destroyed a call may
/// still be under way: its answer is not written.
class RelayServer {
 public:
  /// `home`: HOST:FOLDER, as in clusters.home.
  RelayServer(std::string conninfo, std::string home);
  ~RelayServer();
  RelayServer(const RelayServer&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cigri::runner
