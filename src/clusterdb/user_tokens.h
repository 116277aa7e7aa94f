// The tokens of users on one cluster: made by its token_command, else given with gridtoken.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace cigri::clusterdb {

/// Thread-safe. Reuses a token until shortly before it expires.
class UserTokens {
 public:
  /// `command`: token_command, "" = none. `given`: the stored token of a user, "" = none.
  UserTokens(std::string command, std::function<std::string(const std::string&)> given)
      : command_(std::move(command)), given_(std::move(given)) {}
  /// "" when there is none; throws std::runtime_error when the command fails and no token is
  /// stored.
  std::string Of(const std::string& user);

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::string token, error;  ///< one of the two, or neither
    Clock::time_point until;
  };
  Kept Make(const std::string& user) const;

  const std::string command_;
  const std::function<std::string(const std::string&)> given_;
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

/// How long a token that expires `left_s` from now is used without asking for another.
double KeepFor(std::optional<double> left_s);

}  // namespace cigri::clusterdb
