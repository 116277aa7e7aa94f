#include "clusterdb/options.h"

#include "cluster/transfer.h"

namespace cigri::clusterdb {

std::string OptionsProblem(const nlohmann::json& options) {
  return options.is_object() ? cluster::TransferProblem(options) : "";
}

}  // namespace cigri::clusterdb
