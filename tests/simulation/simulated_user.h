// A user of the grid who is its operator, too: requests through the API's own routes, by the seed.
#pragma once
#include <cstdint>
#include <string>
#include <thread>

#include "core/config.h"
#include "tests/simulation/simulated_site.h"

namespace cigri::test {

/// A process of the world (scheduler.h) with sessions of its own, as the API's.
class SimulatedUser {
 public:
  /// Ends jobs, pauses, resumes and retries both campaigns, empties clusters; cancels `given_up`.
  SimulatedUser(std::string conninfo, SimulatedSite& site, const Config& config,
                std::int64_t campaign, std::int64_t given_up);
  /// Its process is killed.
  ~SimulatedUser();
  bool ended() const { return ended_; }

 private:
  void Main();
  const std::string conninfo_;
  SimulatedSite& site_;
  const Config& config_;
  const std::int64_t campaign_, given_up_;
  bool ended_ = false;
  const int process_;
  std::thread thread_;
};

}  // namespace cigri::test
