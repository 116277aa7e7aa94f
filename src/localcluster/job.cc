#include "localcluster/job.h"

#include <charconv>
#include <chrono>

namespace cigri::localcluster {

bool ParseId(const std::string& id, std::int64_t* seq, int* index) {
  const char* end = id.data() + id.size();
  const auto a = std::from_chars(id.data(), end, *seq);
  if (a.ec != std::errc() || a.ptr == end || *a.ptr != '_') return false;
  const auto b = std::from_chars(a.ptr + 1, end, *index);
  return b.ec == std::errc() && b.ptr == end && *seq > 0 && *index >= 0;
}

double WallClock() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace cigri::localcluster
