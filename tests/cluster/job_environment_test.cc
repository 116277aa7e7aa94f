#include "cluster/job_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace cigri::cluster {
namespace {

// F6: a job of four cores found neither the number nor a limit for its threads.
TEST(JobEnvironmentTest, AJobKnowsTheCoresThatItsThreadsMayUse) {
  const struct {
    const char *resources, *options;
    int slots;
    const char* want;
  } cases[] = {{"/core=4", "{}", 4, "4"},
               {"/nodes=2/core=8", "{}", 16, "8"},
               {"/resource_id=3", "{}", 3, "3"},
               {"/nodes=1/core=2", R"({"cores": 5})", 5, "5"},
               {"", "{}", 1, "1"}};
  for (const auto& c : cases) {
    Batch batch;
    batch.resources = c.resources;
    batch.options = nlohmann::json::parse(c.options);
    batch.slots = c.slots;
    std::map<std::string, std::string> environment;
    for (const auto& [name, value] : JobEnvironment(batch, {})) environment[name] = value;
    EXPECT_EQ(environment["CIGRI_CORES"], c.want) << c.resources;
    EXPECT_EQ(environment["OMP_NUM_THREADS"], c.want) << c.resources;
  }
}

TEST(JobEnvironmentTest, TheIntervalOfCheckpointsIsYoungsUnlessTheUserSaysOne) {
  const auto every = [](const char* checkpoint) {
    Batch batch;
    batch.options["checkpoint"] = nlohmann::json::parse(checkpoint);
    std::map<std::string, std::string> environment;
    for (const auto& [name, value] : JobEnvironment(batch, {})) environment[name] = value;
    return environment["CIGRI_CHECKPOINT_EVERY"] + " " + environment["CIGRI_CHECKPOINT_LIFETIME"];
  };
  EXPECT_EQ(every(R"({"grace": 60})"), " ");
  EXPECT_EQ(every(R"({"grace": 60, "every": 3600})"), "3600 ");
  EXPECT_EQ(every(R"({"grace": 50, "every": "auto", "lifetime": 10000})"), "1000 10000");
  EXPECT_EQ(every(R"({"grace": 50, "every": "auto"})"), " ") << "the API looks before the runner";
  EXPECT_EQ(CheckpointInterval(1, 1), 10) << "not all the time";
}

}  // namespace
}  // namespace cigri::cluster
