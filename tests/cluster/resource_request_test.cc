#include "cluster/resource_request.h"

#include <gtest/gtest.h>

namespace cigri::cluster {
namespace {

std::string Why(const std::string& resources, const std::string& unit = "resource_id") {
  Batch batch;
  batch.resources = resources;
  ClusterConfig config;
  config.name = "alpha";
  config.resource_unit = unit;
  return UnknownLevel(batch, config);
}

// F6: a job that asked for a GPU ran without one on a cluster that had none.
TEST(ResourceRequestTest, ALevelThatMeansNothingWithoutOarIsNamedWithThoseThatAreThere) {
  for (const char* good : {"", "/resource_id=1", "core=2", "/nodes=2/core=4", "/host=1 / cpu=2",
                           "/network_address=1/core=1+/core=2", "/nodes=1/cpu=1/core=2/thread=1"})
    EXPECT_EQ(Why(good), "") << good;
  EXPECT_EQ(Why("/gpu=1"),
            "alpha has no resource level \"gpu\": there are nodes, host, network_address, cpu, "
            "core, thread, resource_id; GPUs are asked for as gpus");
  EXPECT_NE(Why("/core=1+/licence=1").find("no resource level \"licence\""), std::string::npos);
  EXPECT_EQ(Why("/slot=2", "slot"), "") << "the unit that the cluster counts";
  EXPECT_NE(Why("{gpu='YES'}/core=1").find("by a condition"), std::string::npos);
}

}  // namespace
}  // namespace cigri::cluster
