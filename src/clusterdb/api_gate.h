// The gate before a remote cluster's API: its row of api_load, shared by every process.
#pragma once
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "db/db.h"

namespace cigri::clusterdb {

/// Who calls. Looking at jobs comes before sending new ones: a submission leaves some calls over.
/// Only the updator tries an API whose breaker is open; people (the api) always may.
enum class Caller { kUpdator, kRunner, kNikita, kApi };

/// A gate of cluster `id`, whose row names its `api`. `pool` outlives no gate by itself.
std::shared_ptr<cluster::CallGate> MakeGate(std::shared_ptr<db::Pool> pool, std::int64_t id,
                                            const std::string& name, const std::string& api,
                                            Caller caller);

/// What a ceiling of `per_min` calls is as a token bucket: at most so many at once, and so many
/// tokens a minute, that no minute ever holds more than the ceiling.
struct Bucket {
  double burst, per_min;
};
Bucket BucketOf(int per_min);

/// How long the breaker is open after so many failures in a row, in s; 0 = it is not.
double ShutFor(int failures);

}  // namespace cigri::clusterdb
