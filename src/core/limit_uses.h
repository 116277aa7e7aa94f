// How near users and addresses are to the limits (limits.h).
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "core/limits.h"

namespace cigri::limits {

/// What the one who has most of it has now; `by` "": it counts for all together.
struct Use {
  std::int64_t most = 0;
  std::string by;
};

/// By the name of the limit.
class Uses {
 public:
  /// `by` has `n` now. Of several servers, as of several callers, the greatest counts.
  void Add(const Limit& limit, std::int64_t n, const std::string& by = "") {
    Use& use = uses_[limit.name];
    if (n > use.most) use = {n, by};
  }
  const std::map<std::string, Use>& all() const { return uses_; }

 private:
  std::map<std::string, Use> uses_;
};

}  // namespace cigri::limits
