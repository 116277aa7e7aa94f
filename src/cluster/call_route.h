// From which host a call to a remote cluster is made.
#pragma once
#include <functional>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// What cannot be sent from here goes through the host that has the cluster's lease. For a while the
/// next calls go there at once, since to find out may take the time of a connection. A caller whose
/// calls are to be made there first gets them from here when that host cannot send them.
class CallRoute {
 public:
  explicit CallRoute(OtherHost other) : other_(std::move(other)) {}
  /// The answer to `call`, which `from_here` makes from here.
  http::Response Send(const RelayedCall& call, const std::function<http::Response()>& from_here);

 private:
  OtherHost other_;
  bool reached_from_here_ = false;
  CallLimiter::Clock::time_point from_here_again_{};  // else: until then nothing is tried from here
};

}  // namespace cigri::cluster
