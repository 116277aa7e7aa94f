// Any bytes as what Grid Engine's commands print: qstat's XML, qacct's blocks, qsub's number.
#include "fuzz/answers.h"
#include "fuzz/need.h"

namespace {

void Try(std::string_view text) {
  cigri::cluster::ClusterConfig config;
  config.name = "sge";
  config.kind = "gridengine";
  config.api_url = "local:";
  config.auth_user = "grid";
  cigri::fuzz::CallAll(config, text);
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
