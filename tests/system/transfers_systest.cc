// Inputs and outputs of jobs, from a JDL through a whole grid.
#include <csignal>
#include <filesystem>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

namespace fs = std::filesystem;

class TransfersTest : public SystemTest {
 protected:
  void SetUp() override {
    SystemTest::SetUp();
    // A folder for "the node" that goes with the test.
    for (const char* cluster : {"alpha", "beta"}) Set(cluster, "transfer_folder", Node());
  }
  void TearDown() override {
    for (const char* cluster : {"alpha", "beta"})
      for (const char* key : {"transfer", "transfer_base", "transfer_tries", "transfer_folder"})
        Set(cluster, key, "");
    SystemTest::TearDown();
  }
  void Set(const std::string& cluster, const std::string& key, const std::string& value) {
    grid().Ok({"gridadmin", "cluster", "set", cluster, "option." + key + "=" + value});
  }
  std::string Node() { return grid().work() + "/node"; }
  json Align(const json& more) {
    json jdl = Jdl(grid(), "align", R"(sh -c 'cat ref "$0.txt" >"$0.out"')", more);
    jdl["inputs"] = {"samples/{}.txt", "ref"};
    jdl["outputs"] = {"{}.out -> out/{CAMPAIGN_ID}/{#}"};
    return jdl;
  }
};

TEST_F(TransfersTest, EachTaskGetsItsInputsAndSendsItsOutputs) {
  fs::create_directory(grid().work() + "/samples");
  for (const char* name : {"a", "b c", "d"})
    grid().Script("samples/" + std::string(name) + ".txt", std::string(name) + "\n");
  grid().Script("ref", "reference\n");
  const int id = grid().Submit(Align({{"params", {{"a"}, {"b c"}, {"d"}}}, {"columns", {"name"}}}));
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Log();
  EXPECT_EQ(grid().Progress(id)["done"], 3)
      << grid().Ok({"gridstat", "-c", std::to_string(id), "-e"});
  const auto full = grid().Ok({"gridstat", "-c", std::to_string(id), "-f"});
  EXPECT_NE(full.find(" s of transfers"), std::string::npos) << full;
  const std::string out = "out/" + std::to_string(id) + "/";
  EXPECT_EQ(grid().Text(out + "2"), "reference\nb c\n");
  EXPECT_EQ(grid().Text(out + "3"), "reference\nd\n");
  EXPECT_TRUE(fs::is_empty(Node() + "/jobs")) << "the folders of jobs go with them";
  EXPECT_FALSE(fs::exists(grid().work() + "/a.out"));
}

// A node that dies sends nothing more: the job's cigri-job is killed with all that it has started.
TEST_F(TransfersTest, ATaskGoesOnFromItsCheckpointWhenItsNodeDies) {
  for (const char* cluster : {"alpha", "beta"})
    Set(cluster, "transfer_base", grid().work() + "/storage");
  const auto program = grid().Script(
      "count",
      "#!/bin/sh\n[ ! -e save ] || exec cat save\necho half >save.new; mv save.new save\n"
      "p=$$; while [ \"$(cat /proc/$p/comm)\" != cigri-job ]; do\n"
      "  p=$(cut -d' ' -f4 /proc/$p/stat)\ndone\n"
      "echo $p >" + grid().work() + "/pid.new; mv " + grid().work() + "/pid.new " +
      grid().work() + "/pid; exec sleep 600\n");
  auto jdl = Jdl(grid(), "count", program, {{"params", {"x"}}});
  jdl["checkpoint"] = {{"files", {"save"}}, {"grace", "1s"}};
  const int id = grid().Submit(jdl);
  const std::string saved = "storage/checkpoints/" + std::to_string(id) + "/1/save";
  ASSERT_TRUE(Await([&] {
    return fs::exists(grid().work() + "/" + saved) && fs::exists(grid().work() + "/pid");
  })) << grid().Log();
  EXPECT_EQ(grid().Text(saved), "half\n");
  ASSERT_EQ(kill(std::stoi(grid().Text("pid")), SIGKILL), 0);
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Log();
  EXPECT_EQ(grid().Progress(id)["done"], 1);
  const auto output = grid().Ok({"gridstat", "-c", std::to_string(id), "-O"});
  EXPECT_NE(output.find("half"), std::string::npos) << output;
}

TEST_F(TransfersTest, AMissingInputIsTheUsersFailureAndIsNamed) {
  grid().Script("ref", "reference\n");
  const int id = grid().Submit(Align({{"params", {"x"}}, {"max_tries", 1}}));
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Log();
  const auto events = grid().Ok({"gridstat", "-c", std::to_string(id), "-e"});
  EXPECT_NE(events.find("INPUT_MISSING"), std::string::npos) << events;
  EXPECT_NE(events.find("there is no input " + grid().work() + "/samples/x.txt"),
            std::string::npos);
}

TEST_F(TransfersTest, AStoreThatCannotBeReachedCostsNoTry) {
  fs::create_directory(grid().work() + "/samples");
  grid().Script("samples/a.txt", "a\n");
  grid().Script("ref", "reference\n");
  EXPECT_NE(grid().Run({"gridadmin", "cluster", "set", "alpha", "option.transfer=scp"}).code, 0);
  grid().Ok({"gridadmin", "cluster", "set", "alpha", "option.transfer=curl",
             "option.transfer_base=http://127.0.0.1:1", "option.transfer_tries=1"});
  grid().Ok({"gridadmin", "cluster", "disable", "beta"});
  const int id = grid().Submit(Align({{"params", {"a"}}, {"max_tries", 1}}));
  EXPECT_TRUE(Await([&] {
    return grid().Ok({"gridevents", "-g"}).find("cannot be moved") != std::string::npos;
  })) << grid().Log();
  grid().Ok({"gridadmin", "cluster", "enable", "beta"});
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Log();
  EXPECT_EQ(grid().Progress(id)["done"], 1);
}

}  // namespace
}  // namespace cigri::test
