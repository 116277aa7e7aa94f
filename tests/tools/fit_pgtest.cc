// A job that no cluster can ever run is refused when it is submitted.
#include "tests/tools/grid.h"

namespace cigri {
namespace {

using nlohmann::json;

class FitPgTest : public test::GridTest {
 protected:
  http::Response Submit(const std::string& resources) {
    const json jdl = {{"name", "n"},
                      {"nb_jobs", 1},
                      {"exec_file", "true"},
                      {"resources", resources},
                      {"clusters", {{"alpha", json::object()}, {"beta", json::object()}}}};
    return client().Post("/campaigns", jdl.dump(), "application/json", As(me()));
  }
  void GivenSize(int cluster, int slots) {
    Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
        "unavailable_resources, used_by_cigri, jobs_running, jobs_waiting) VALUES (" +
        std::to_string(cluster) + "," + std::to_string(slots) + ",0,0,0,0,0,0)");
  }
};

TEST_F(FitPgTest, AJobWiderThanEveryClusterIsRefusedWithTheNumbers) {
  GivenSize(1, 4);
  EXPECT_EQ(Submit("/nodes=1/core=400").status, 201) << "nobody knows how large beta is";
  GivenSize(2, 8);
  const auto refused = Submit("/nodes=1/core=400");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("one job needs 400 slots, and no cluster of the campaign has more "
                              "than 8 (beta)"),
            std::string::npos)
      << refused.body;
  EXPECT_EQ(Submit("/nodes=1/core=8").status, 201);
}

}  // namespace
}  // namespace cigri
