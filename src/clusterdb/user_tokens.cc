#include "clusterdb/user_tokens.h"

#include <algorithm>
#include <stdexcept>

#include "clusterdb/token_command.h"
#include "secrets/secrets.h"

namespace cigri::clusterdb {
namespace {

constexpr double kUnknown_s = 60;          // tokens that do not say when they expire
constexpr double kMost_s = 600;            // so a new key of the site is noticed
constexpr double kStored_s = 5;            // so a token given with gridtoken is noticed
constexpr double kRetryAfterError_s = 30;  // a command that failed is not run for each call

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

double KeepFor(std::optional<double> left_s) {
  if (!left_s) return kUnknown_s;
  // A minute before the end, or a tenth of what is left of a shorter one: a call takes its time.
  return std::clamp(*left_s - std::min(60.0, *left_s / 10), 0.0, kMost_s);
}

std::string UserTokens::Of(const std::string& user) {
  std::lock_guard lock(mutex_);
  auto& kept = kept_[user];
  if (kept.until <= Clock::now()) kept = Make(user);
  if (!kept.error.empty()) throw std::runtime_error(kept.error);
  return kept.token;
}

UserTokens::Kept UserTokens::Make(const std::string& user) const {
  Kept kept;
  double keep_s = kStored_s;
  if (!command_.empty() && !user.empty()) {
    try {
      kept.token = RunTokenCommand(command_, user);
      const auto expiry = TokenExpiry(kept.token);
      keep_s = KeepFor(expiry ? std::optional(static_cast<double>(*expiry) - Now()) : std::nullopt);
    } catch (const std::runtime_error& e) {
      kept.error = e.what();
      keep_s = kRetryAfterError_s;
    }
  }
  if (kept.token.empty()) {
    kept.token = given_(user);
    if (!kept.token.empty()) kept.error.clear();
    keep_s = std::min(keep_s, kept.token.empty() ? kStored_s : kRetryAfterError_s);
  }
  // Without a token the command runs again soon, but not for every call.
  kept.until = Clock::now() + std::chrono::milliseconds(static_cast<int>(keep_s * 1000));
  return kept;
}

}  // namespace cigri::clusterdb
