// Stands between a driver and an HTTP server, and spoils what passes.
#pragma once
#include <memory>
#include <string>

#include "tests/cluster/conformance/fault.h"

namespace cigri::conformance {

/// Listens on a port of 127.0.0.1 and passes each request on, one per connection. Unlike
/// test::CuttingProxy it changes answers and can stop listening.
class FaultProxy {
 public:
  /// `server` as http::Endpoint reads it, without a prefix: "unix:/run/x", "http://127.0.0.1:6668".
  /// A request that begins with `submission` ("POST /jobs.json ") is a submission.
  FaultProxy(const std::string& server, const std::string& submission);
  ~FaultProxy();
  /// From now on, until the next call. `garbage` is the body of the answer with Fault::kGarbage.
  void Break(Fault fault, Which which, const std::string& garbage);
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cigri::conformance
