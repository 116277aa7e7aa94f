// The rate limiter and circuit breaker before a remote cluster's API: its row of api_load, shared
// by every process.
#pragma once
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "db/db.h"

namespace cigri::clusterdb {

/// Who calls. Polling and killing jobs comes before submitting new ones: a submission leaves some
/// calls for them. Only the updator tries an API whose circuit breaker is open; users and operators
/// (the api) always may.
enum class Caller { kUpdator, kRunner, kNikita, kApi };

/// The rate limiter and circuit breaker of cluster `id`, whose row names its `api`. Keeps `pool`.
std::shared_ptr<cluster::CallLimiter> MakeLimiter(std::shared_ptr<db::Pool> pool, std::int64_t id,
                                                  const std::string& name, const std::string& api,
                                                  Caller caller);

/// A ceiling of `per_min` calls as a token bucket: its size and its rate are such that no minute
/// ever holds more calls than the ceiling.
struct Bucket {
  double burst, per_min;
};
Bucket BucketOf(int per_min);

/// How long the breaker is open after `failures` failures in a row, in s; 0 = it is closed.
double BreakerOpenFor(int failures);

}  // namespace cigri::clusterdb
