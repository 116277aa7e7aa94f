#include "cluster/resource_request.h"

#include <algorithm>
#include <cmath>

#include "cluster/rest_api.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

// "2G", "512M", "1.5GB": units of 1024, in MB.
std::int64_t Megabytes(const nlohmann::json& value) {
  if (!value.is_string()) return Whole<std::int64_t>(std::ceil(NumberIn(value)));
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
  return Whole<std::int64_t>(std::ceil(n));
}

// The levels of an OAR hierarchy that mean the same where there is no OAR.
const std::vector<std::string> kLevels = {"nodes", "host", "network_address", "cpu",
                                          "core",  "thread", "resource_id"};

}  // namespace

std::string UnknownLevel(const Batch& batch, const ClusterConfig& config) {
  if (batch.resources.find('{') != std::string::npos)
    return config.name + " cannot choose resources by a condition (\"" + batch.resources +
           "\"): leave it out there";
  for (const auto& hierarchy : Split(batch.resources, '+'))
    for (const auto& level : Split(hierarchy, '/')) {
      const std::string name(Trim(level.substr(0, level.find('='))));
      if (name.empty() || name == config.resource_unit ||
          std::find(kLevels.begin(), kLevels.end(), name) != kLevels.end())
        continue;
      return config.name + " has no resource level \"" + name + "\": there are " +
             Join(kLevels, ", ") + (name == "gpu" ? "; GPUs are asked for as gpus" : "");
    }
  return "";
}

ResourceRequest ResourceRequestOf(const Batch& batch) {
  ResourceRequest w;
  w.cores = Whole<int>(NumberIn(At(batch.options, "cores")));
  w.gpus = Whole<int>(NumberIn(At(batch.options, "gpus")));
  w.mem_mb = Megabytes(At(batch.options, "mem"));
  w.plain = batch.resources.empty() || batch.resources == "/resource_id=1" ||
            (w.cores > 0 && batch.resources == "/core=" + std::to_string(w.cores));
  return w;
}

NodeChoice NodesOf(const Batch& batch) {
  NodeChoice choice;
  if (!batch.options.is_object()) return choice;
  if (const auto it = batch.options.find(kNode); it != batch.options.end() && it->is_string())
    choice.only = *it;
  if (const auto it = batch.options.find(kExcludedNodes);
      it != batch.options.end() && it->is_array())
    for (const auto& node : *it)
      if (node.is_string()) choice.excluded.push_back(node);
  return choice;
}

}  // namespace cigri::cluster
