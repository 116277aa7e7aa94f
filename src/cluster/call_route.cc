#include "cluster/call_route.h"

namespace cigri::cluster {

http::Response CallRoute::Send(const RelayedCall& call,
                               const std::function<http::Response()>& from_here) {
  constexpr std::chrono::minutes kThereFor{1};
  if (!other_.call) return from_here();
  http::Response here;
  const auto try_from_here = [&] {
    here = from_here();
    return reached_from_here_ = here.outcome != http::Outcome::kNotSent;
  };
  const bool here_first = reached_from_here_ ? !other_.calls_first || !other_.calls_first()
                                             : CallLimiter::Clock::now() >= from_here_again_;
  if (here_first && try_from_here()) return here;
  auto there = other_.call(call);
  if (there.outcome != http::Outcome::kNotSent) {
    if (here_first) from_here_again_ = CallLimiter::Clock::now() + kThereFor;
    if (!reached_from_here_ && other_.report && there.outcome == http::Outcome::kAnswered)
      other_.report(true);
    return there;
  }
  from_here_again_ = {};
  if (!here_first && try_from_here()) return here;
  if (other_.report) other_.report(false);
  if (!there.error.empty()) here.error += "; " + there.error;
  return here;
}

}  // namespace cigri::cluster
