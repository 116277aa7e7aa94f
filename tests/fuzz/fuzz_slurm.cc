// Any bytes as the answers of slurmrestd, of each version of its API.
#include "fuzz/answers.h"
#include "fuzz/need.h"

namespace {

void Try(std::string_view text) {
  for (const char* version : {"v0.0.38", "v0.0.40", "v0.0.41", "v0.0.42"}) {
    cigri::cluster::ClusterConfig config;
    config.name = "slurm";
    config.kind = "slurm";
    config.api_url = "http://slurm";
    config.auth_type = "jwt";
    config.options = {{"api_version", version}};
    cigri::fuzz::CallAll(config, text);
  }
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
