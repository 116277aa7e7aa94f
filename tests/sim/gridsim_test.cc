// The program itself: what it prints, writes and ends with.
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>

#include "core/text.h"
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

class GridsimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("gridsim-" + RandomHex(6));
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  // Runs it in a folder of its own; stdout and stderr together.
  std::string Run(const std::string& words, int code = 0, const std::string& input = "") {
    std::ofstream(dir_ / "input") << input;
    const std::string command = "cd " + ShellQuote(dir_.string()) +
                                " && " CIGRI_BIN_DIR "/gridsim " + words + " < input 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    const int status = pclose(pipe);
    EXPECT_EQ(WEXITSTATUS(status), code) << words << "\n" << out;
    return out;
  }
  std::string Text(const std::string& name) { return test::FileText((dir_ / name).string()); }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_))
      if (entry.path().filename() != "input") names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::filesystem::path dir_;
  const std::string first_ = std::string(CIGRI_SOURCE_DIR) + "/examples/scenarios/first.json";
};

TEST_F(GridsimTest, AFileForEachThingThatWasAskedFor) {
  const std::string out = Run(first_ + " --jobs jobs.csv --swf jobs.swf --gantt gantt.svg");
  EXPECT_NE(out.find("500 done, 0 failed"), out.npos) << out;
  EXPECT_EQ(Files(), (std::vector<std::string>{"gantt.svg", "jobs.csv", "jobs.swf"}));
  const auto report = nlohmann::json::parse(Run(first_ + " --json"));
  const std::string csv = Text("jobs.csv"), svg = Text("gantt.svg");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), report["jobs"].get<int>() + 1);
  EXPECT_TRUE(StartsWith(svg, "<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("alice: job 1,"), svg.npos);
}

TEST_F(GridsimTest, ComparesInATableAndAPicture) {
  const std::string out =
      Run(first_ + " --compare fifo,usage,site-default --plot plot.svg --without leia");
  for (const char* policy : {"\nfifo ", "\nusage ", "\nsite-default "})
    EXPECT_NE(out.find(policy), out.npos) << out;
  EXPECT_NE(Text("plot.svg").find("fifo: "), std::string::npos);
  EXPECT_NE(out.find("of bound"), out.npos);
  const auto reports = nlohmann::json::parse(Run(first_ + " --compare fifo --json"));
  ASSERT_EQ(reports.size(), 2u) << "the one who knows the future is run too";
  EXPECT_EQ(reports[1]["label"], "clairvoyant");
  EXPECT_EQ(reports[1]["to_clairvoyant"], 1);
  EXPECT_GE(reports[0]["to_bound"], 1);
  EXPECT_NE(Run(first_ + " --compare fifo,fairshar", 65).find("did you mean \"fairshare\"?"),
            std::string::npos);
}

TEST_F(GridsimTest, TellsWhyAtAMoment) {
  const std::string out = Run(first_ + " --why '2 h'");
  EXPECT_NE(out.find("sweep of alice"), out.npos) << out;
  EXPECT_NE(out.find("[FULL]"), out.npos) << out;
  Run(first_ + " --why soon", 64);
}

TEST_F(GridsimTest, FaultsAreReportedAllAtOnceAndNothingIsLeftBehind) {
  const std::string out =
      Run("- --jobs jobs.csv", 65,
          "{\n \"clusters\": [{\"slot\": 3}],\n \"campaigns\": [{\"tasks\": -1}]\n}");
  EXPECT_NE(out.find("-:2:24: clusters[0].slot: unknown key\nHINT: did you mean \"slots\"?"),
            out.npos)
      << out;
  EXPECT_NE(out.find("-:3:26: campaigns[0].tasks: must be"), out.npos) << out;
  EXPECT_TRUE(Files().empty());
  EXPECT_NE(Run(first_ + " --gantt nowhere/x.svg", 65).find("cannot write nowhere/x.svg"),
            std::string::npos);
  Run("nothing.json", 65);
}

TEST_F(GridsimTest, OptionsThatDoNotGoTogetherAreRefused) {
  for (const char* words :
       {"", "x.json --from-history", "x.json --replay", "x.json --plot p.svg",
        "x.json --compare fifo --gantt g.svg", "x.json --set novalue", "x.json --limit 0"})
    Run(words, 64);
}

TEST_F(GridsimTest, HistoryWithoutAGridSaysThatThereIsNone) {
  Run("--from-history --api unix:" + (dir_ / "none.sock").string(), 69);
}

}  // namespace
}  // namespace cigri::sim
