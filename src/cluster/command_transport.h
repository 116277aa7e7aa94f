// Runs the commands of a batch scheduler, here or on another host, for drivers of schedulers
// without a REST API. Says of each whether it was done, certainly not begun, or is in doubt.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "cluster/call_route.h"
#include "cluster/cluster.h"

namespace cigri::cluster {

struct CommandResult {
  enum class Outcome {
    kDone,      ///< it ran to its end: `code`, `out` and `err` are whole
    kNotBegun,  ///< it has certainly not been run
    kUnknown    ///< it may have been run: the connection or the time was over before its end
  } outcome = Outcome::kUnknown;
  int code = 0;
  std::string out, err;
  std::string why;  ///< of the other outcomes, in words
  bool denied = false;  ///< kNotBegun: the host does not let this user in
};

/// ClusterConfig::api_url says where: "local:", or "ssh://host[:port]" (BatchMode: keys, no
/// passwords). As whom: as the user of each call; locally through runuser where we are root, else
/// sudo -n. Options: command_wrapper (words put before the shell that runs a command, with %u for
/// the user, in place of all this), environment (an object, set for each command), ssh_options.
class CommandTransport {
 public:
  explicit CommandTransport(const ClusterConfig& config);
  /// Runs `argv` as `user` ("" = ClusterConfig::auth_user), waiting call_timeout at most and not
  /// beginning after `begin_by`. Throws CallFailed only before it begins:
  /// kBusy at the limiter, kAuth for a user whose name could be an option of ssh.
  CommandResult Run(
      const std::vector<std::string>& argv, const std::string& user, const std::string& input = "",
      CallLimiter::Clock::time_point begin_by = CallLimiter::Clock::time_point::max());
  /// The exception for a command that was not done, or whose answer says nothing of use.
  CallFailed Failed(const std::string& what, const CommandResult& result) const;
  /// Cluster::Relayed(): a command that another host's transport has sent here, if it is one of
  /// `programs`: who may write to the table of calls gets no shell.
  http::Response Relayed(const RelayedCall& call, const std::set<std::string>& programs) const;
  int calls() const { return calls_; }
  const ClusterConfig& config() const { return config_; }

 private:
  http::Response RunFromHere(const RelayedCall& call) const;
  std::vector<std::string> Words(const std::string& script, const std::string& user) const;
  ClusterConfig config_;
  CallRoute route_;
  int calls_ = 0;
};

}  // namespace cigri::cluster
