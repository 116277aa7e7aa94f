#include "module/term.h"

#include <algorithm>

namespace cigri::module {

Term TermOf(const Config& config) {
  return {std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * std::max(1.0, config.GetDouble("LEADER_TERM", 8))))};
}

}  // namespace cigri::module
