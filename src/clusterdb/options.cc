#include "clusterdb/options.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "cluster/transfer.h"
#include "core/text.h"

namespace cigri::clusterdb {
namespace {

using nlohmann::json;

enum class Form { kText, kNumber, kFlag, kObject };
struct Known {
  const char* key;
  Form form;
  double least = 0;
};
// docs/clusters.md says what they mean; those that begin with transfer are checked with each other.
constexpr Known kOptions[] = {
    {"max_array", Form::kNumber, 1},
    {"max_bytes", Form::kNumber, 1},
    {"max_line", Form::kNumber, 1},
    {"max_walltime", Form::kNumber, 1},
    {"start_limit_s", Form::kNumber, 1},
    {"page", Form::kNumber, 1},
    {"accounting_delay_s", Form::kNumber},
    {"records", Form::kFlag},
    {"stress", Form::kFlag},
    {"not_preemptible", Form::kFlag},
    {"check_best_effort", Form::kFlag},
    {"verify_tls", Form::kFlag},
    {"environment", Form::kObject},
    {"check_options", Form::kObject},
    {"job_folder", Form::kText},
    {"shared_folder", Form::kText},
    {"shell", Form::kText},
    {"partition", Form::kText},
    {"best_effort_partition", Form::kText},
    {"account", Form::kText},
    {"qos", Form::kText},
    {"constraint", Form::kText},
    {"api_version", Form::kText},
    {"node_unit", Form::kText},
    {"core_unit", Form::kText},
    {"gpu_unit", Form::kText},
    {"mem_property", Form::kText},
    {"queue", Form::kText},
    {"best_effort_queue", Form::kText},
    {"pe", Form::kText},
    {"mem_resource", Form::kText},
    {"gpu_resource", Form::kText},
    {"verify", Form::kText},
    {"ssh_options", Form::kText},
    {"command_wrapper", Form::kText},
    {"client_cert_file", Form::kText},
    {"client_key_file", Form::kText},
    {"ca_file", Form::kText},
};

std::string FormProblem(const Known& option, const json& value) {
  constexpr double kMost = 2147483647;
  switch (option.form) {
    case Form::kNumber:
      if (value.is_number() && value.get<double>() >= option.least && value.get<double>() <= kMost)
        return "";
      return option.least > 0 ? " is a number from 1 on" : " is a number";
    case Form::kFlag:
      return value.is_boolean() ? "" : " is true or false";
    case Form::kObject:
      return value.is_object() ? "" : " is an object, {\"KEY\": VALUE}";
    case Form::kText:
      break;
  }
  return value.is_string() ? "" : " is a text";
}

std::string OptionProblem(const std::string& key, const json& value) {
  std::vector<std::string> keys;
  for (const auto& option : kOptions) {
    keys.emplace_back(option.key);
    if (key != option.key) continue;
    const auto problem = FormProblem(option, value);
    return problem.empty() ? "" : key + problem + ", not " + value.dump();
  }
  const auto near = DidYouMean(key, keys);
  return "there is no option " + key + (near ? ", did you mean " + *near + "?" : "");
}

}  // namespace

std::string OptionsProblem(const json& options) {
  if (!options.is_object()) return "";
  for (const auto& [key, value] : options.items()) {
    if (value.is_null() || StartsWith(key, "transfer")) continue;  // null takes one away
    if (const auto problem = OptionProblem(key, value); !problem.empty()) return problem;
  }
  return "";
}

std::string TransferOptionsProblem(const json& options) {
  return options.is_object() ? cluster::TransferProblem(options) : "";
}

}  // namespace cigri::clusterdb
