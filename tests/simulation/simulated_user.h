// A user of the grid who is its operator, too: requests through the API's own routes, by the seed.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/config.h"
#include "tests/simulation/simulated_site.h"

namespace cigri::test {

/// What is to be carried out once, whatever becomes of its answers: a campaign, or tasks for one.
struct Order {
  std::string path, key;  ///< Idempotency-Key
  nlohmann::json body;
  int tasks = 0;
  bool last = false;          ///< after which there are no others
  std::int64_t campaign = 0;  ///< of the answer; 0: none has come yet
};

/// What a user has asked for, also before its process was killed.
class Orders {
 public:
  std::vector<Order> all;
  /// Tasks of each campaign that the answers name.
  std::map<std::int64_t, int> Tasks() const;
  Order* Unanswered();  ///< nullptr: each is answered
  /// The first campaign has ended and been given another task, if there is one.
  bool Complete() const;
};

class UserRequests;

/// A process of the world (scheduler.h) with sessions of its own, as the API's.
class SimulatedUser {
 public:
  /// Ends jobs, pauses, resumes and retries both campaigns, empties clusters; cancels `given_up`;
  /// submits others, gives them more tasks and other clusters; sets what may be set of clusters,
  /// the policy and campaigns. An order without an answer is repeated, at the latest when the world
  /// is calm, and all that was set is reset then; one of its campaigns gets another task when it
  /// has ended.
  SimulatedUser(std::string conninfo, SimulatedSite& site, const Config& config,
                std::int64_t campaign, std::int64_t given_up, Orders& orders);
  /// Its process is killed.
  ~SimulatedUser();
  bool ended() const { return ended_; }

 private:
  void Main();
  void Act(UserRequests& requests);
  void Calm(UserRequests& requests, bool& reset);
  const std::string conninfo_;
  SimulatedSite& site_;
  const Config& config_;
  const std::int64_t campaign_, given_up_;
  Orders& orders_;
  bool ended_ = false;
  const int process_;
  std::thread thread_;
};

}  // namespace cigri::test
