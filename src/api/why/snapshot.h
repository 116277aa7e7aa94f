// The last decision whose snapshot was stored, read once for all who ask.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "api/http/context.h"
#include "policy/model.h"

namespace cigri::api {

/// Use under `turn`: a snapshot takes ten times its size while it is read, so one asks at a time.
class SnapshotCache {
 public:
  struct Stored {
    std::int64_t plan = 0;
    double at = 0;  ///< epoch s: the moment of the decision
    std::uint64_t seed = 0;
    policy::Snapshot snapshot;
    policy::State state;  ///< carried into it
  };
  std::timed_mutex turn;
  /// Null, and `fault` says why, when there is none that can be used.
  std::shared_ptr<const Stored> Newest(Context& context, std::string* fault);

 private:
  std::shared_ptr<const Stored> last_;
};

}  // namespace cigri::api
