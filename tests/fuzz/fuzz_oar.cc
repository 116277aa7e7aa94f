// Any bytes as the answers of OAR 2.5 and OAR 3.
#include "fuzz/answers.h"
#include "fuzz/need.h"

namespace {

void Try(std::string_view text) {
  for (const char* kind : {"oar2", "oar3"}) {
    cigri::cluster::ClusterConfig config;
    config.name = "oar";
    config.kind = kind;
    config.api_url = "http://oar/oarapi";
    config.properties = "cluster='luke' OR core > 0";
    cigri::fuzz::CallAll(config, text);
  }
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
