// What the jobs of a batch with inputs and outputs run.
#include "runner/transfers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster/job_environment.h"

namespace cigri::runner {
namespace {

using nlohmann::json;

cluster::Batch BatchOf(const json& options) {
  cluster::Batch batch;
  batch.options = options;
  batch.setup = "module load x";
  batch.elements = {{7, 0, 1, "run"}};
  return batch;
}

TEST(TransfersTest, FilesOfATaskAreNamedByItsValues) {
  auto batch = BatchOf({{"cores", 1}, {"inputs", {"ref", "in/{k}"}}, {"outputs", {"o -> {#}/{n}"}}});
  ASSERT_TRUE(MovesFiles(batch.options));
  AddTransfers({}, {"values", {"k", "n"}}, {{0, R"(["a b","2"])"}}, batch);
  EXPECT_EQ(batch.elements[0].command,
            "cigri_start\n"
            "cigri_in -c \"$cigri_home\"/ref ref\n"
            "cigri_in - \"$cigri_home\"'/in/a b' 'a b'\n"
            "cigri_run run\n"
            "cigri_out - o \"$cigri_home\"/1/2\n"
            "cigri_end");
  EXPECT_EQ(batch.setup.find("module load x\n"), 0u);
  EXPECT_EQ(batch.options, json({{"cores", 1}, {cluster::kMovesFiles, true}}));
  EXPECT_FALSE(MovesFiles(batch.options));
}

TEST(TransfersTest, NamesThatCannotBeEndTheJobWithTheReason) {
  const auto command = [](const char* from, const std::string& line) {
    auto batch = BatchOf({{"inputs", {from}}});
    AddTransfers({}, {"line", {}}, {{0, line}}, batch);
    return batch.elements[0].command;
  };
  EXPECT_EQ(command("{}", ""), "cigri_die 217 'the name of a file is empty'");
  const std::string marks = "{}{}{}{}{}{}{}{}{}{}";
  EXPECT_EQ(command(marks.c_str(), std::string(16000, 'x')),
            "cigri_die 217 'its names of files are too long'");
  EXPECT_EQ(command("{}", std::string(1 << 20, 'x')),
            "cigri_die 217 'the parameter is too long for names'");
}

}  // namespace
}  // namespace cigri::runner
