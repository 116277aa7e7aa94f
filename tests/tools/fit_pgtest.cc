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
  http::Response SubmitWith(const json& keys) {
    json jdl = {{"name", "n"},
                {"nb_jobs", 1},
                {"exec_file", "true"},
                {"clusters", {{"alpha", json::object()}, {"beta", json::object()}}}};
    jdl.merge_patch(keys);
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

TEST_F(FitPgTest, ALevelOrAPropertyThatNoClusterHasIsRefusedWithWhatThereIs) {
  const auto level = Submit("/gpu=1");
  EXPECT_EQ(level.status, 400);
  EXPECT_NE(level.body.find("no cluster can run it: alpha has no resource level"),
            std::string::npos)
      << level.body;
  EXPECT_NE(level.body.find("(the same: beta)"), std::string::npos) << level.body;
  EXPECT_NE(level.body.find("there are nodes, host"), std::string::npos) << level.body;
  const auto property = SubmitWith({{"properties", "gpu='YES'"}});
  EXPECT_EQ(property.status, 400);
  EXPECT_NE(property.body.find("alpha has no properties to choose by"), std::string::npos)
      << property.body;
}

TEST_F(FitPgTest, AClusterThatHasThemRunsTheCampaignAndTheOthersAreLeftOutAloud) {
  Sql("UPDATE clusters SET kind = 'oar2', api_url = 'http://127.0.0.1:1' WHERE id = 2");
  const auto taken = SubmitWith({{"properties", "gpu='YES'"}, {"resources", "/nodes=1/gpu=1"}});
  ASSERT_EQ(taken.status, 201) << taken.body;
  EXPECT_NE(taken.body.find("nothing is sent to alpha: alpha has no properties"),
            std::string::npos)
      << taken.body;
  EXPECT_EQ(Sql("SELECT string_agg(cluster_id::text, ',') FROM campaign_clusters")[0][0]
                .as<std::string>(),
            "2");
}

}  // namespace
}  // namespace cigri
