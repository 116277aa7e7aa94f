// Any bytes as the answers of a local cluster: its feed, its lists, its slots.
#include "fuzz/answers.h"
#include "fuzz/need.h"

namespace {

void Try(std::string_view text) {
  cigri::cluster::ClusterConfig config;
  config.name = "local";
  config.kind = "local";
  config.api_url = "unix:/nowhere";
  cigri::fuzz::CallAll(config, text);
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
