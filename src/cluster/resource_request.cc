#include "cluster/resource_request.h"

#include <cmath>

#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

// "2G", "512M", "1.5GB": units of 1024, in MB.
std::int64_t Megabytes(const nlohmann::json& value) {
  if (!value.is_string()) return static_cast<std::int64_t>(std::ceil(NumberIn(value)));
  const auto& text = value.get_ref<const std::string&>();
  char* end = nullptr;
  double n = std::strtod(text.c_str(), &end);
  switch (*end) {
    case 'K':
      n /= 1024;
      break;
    case 'G':
      n *= 1024;
      break;
    case 'T':
      n *= 1024.0 * 1024;
      break;
    default:
      break;
  }
  return static_cast<std::int64_t>(std::ceil(n));
}

}  // namespace

ResourceRequest ResourceRequestOf(const Batch& batch) {
  ResourceRequest w;
  w.cores = static_cast<int>(NumberIn(At(batch.options, "cores")));
  w.gpus = static_cast<int>(NumberIn(At(batch.options, "gpus")));
  w.mem_mb = Megabytes(At(batch.options, "mem"));
  w.plain = batch.resources.empty() || batch.resources == "/resource_id=1" ||
            (w.cores > 0 && batch.resources == "/core=" + std::to_string(w.cores));
  return w;
}

}  // namespace cigri::cluster
