// GET /campaigns/N/results and what gridstat makes of it: -O --follow, --task -O, --wait.
#include "core/text.h"
#include "tests/tools/grid.h"

namespace cigri {
namespace {

using nlohmann::json;

class ResultsPgTest : public test::GridTest {
 protected:
  // Tasks 0 and 2 are done, 1 failed twice, 3 runs, 4 has failed once and is retried.
  void GivenFiveTasks(const std::string& state = "in_treatment") {
    GivenCampaign(
        {.state = state,
         .next_idx = 5,
         .format = "values",
         .params = {R"(["a","1"])", R"(["b","2"])", R"(["c","3"])", R"(["d","4"])", R"(["e","5"])"},
         .columns = {"k", "n"}});
    const auto job = GivenBatch(1, 1, 0, 5);  // 41 to 45
    const test::DoneRow failure = {.counted = false,
                                   .state = "event",
                                   .exit_class = "program",
                                   .code = "EXIT_ERROR",
                                   .wait_status = 3 << 8};
    GivenDone(1, job, 0, 1);
    GivenDone(1, job + 1, 1, 1, failure);
    GivenDone(1, job + 2, 2, 1, {.took_s = 1.5});
    GivenLive(1, job + 3, 3, 1, "running");
    GivenDone(1, job + 4, 4, 1, failure);
    Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 4, 'EXIT_ERROR')");
    Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (1, 1, 42)");
    GivenCounter(1, 1, "terminated", 2);
    output_ = {{"r41", "zero\n"},
               {"r42", "one\n"},
               {"r42.err", "no\nfile"},
               {"r43", "two\n"},
               {"r44", "so far\n"}};
  }
  /// The tasks of an answer, in its order, as "0 1 2".
  std::string Tasks(const std::string& query) {
    std::vector<std::string> tasks;
    for (const auto& line : Split(GetText("/campaigns/1/results?" + query), '\n'))
      if (const auto frame = json::parse(line, nullptr, false);
          frame.is_object() && frame.contains("end"))
        tasks.push_back(frame["task"].dump());
    return Join(tasks, " ");
  }
};

TEST_F(ResultsPgTest, OnlyTasksThatAreOverAreResults) {
  GivenFiveTasks();
  EXPECT_EQ(Tasks(""), "0 1 2") << "3 runs and 4 is retried";
  EXPECT_EQ(Tasks("after=0"), "1 2");
  EXPECT_EQ(Tasks("among=1,3-4"), "1");
  Sql("DELETE FROM done WHERE idx = 0");
  EXPECT_EQ(Tasks("in_order=1"), "") << "task 0 is not over";
  EXPECT_EQ(Tasks("in_order=1&after=0"), "1 2");
  for (const char* wrong : {"among=x", "among=3-1", "among=2,2", "among=0-99999", "streams=all"})
    Get(std::string("/campaigns/1/results?") + wrong, 400);
}

TEST_F(ResultsPgTest, AResultHasItsValuesItsEndAndItsOutput) {
  GivenFiveTasks();
  const auto text = GetText("/campaigns/1/results?among=1&streams=stdout,stderr");
  const std::string head =
      "{\"campaign\":1,\"columns\":[\"k\",\"n\"]}\n"
      "{\"bytes\":4,\"stream\":\"stdout\",\"task\":1}\none\n"
      "{\"bytes\":7,\"stream\":\"stderr\",\"task\":1}\nno\nfile";
  ASSERT_EQ(text.substr(0, head.size()), head);
  const auto end = json::parse(text.substr(head.size()));
  EXPECT_EQ(end["values"], json::array({"b", "2"}));
  EXPECT_EQ(end["state"], "failed");
  EXPECT_EQ(end["code"], "EXIT_ERROR");
  EXPECT_EQ(end["exit"], 3);
  EXPECT_EQ(end["cluster"], "alpha");
  EXPECT_EQ(end["seconds"], 2.0);
}

TEST_F(ResultsPgTest, OutputThatCannotBeReadDoesNotHideTheOthers) {
  GivenFiveTasks("terminated");
  Sql("UPDATE done SET remote_id = 'lost' WHERE job_id = 41");
  const auto ran = Run("gridstat", {"1", "-O", "--follow"});
  EXPECT_EQ(ran.out, "one\ntwo\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("job 41: alpha does not answer"), std::string::npos) << ran.err;
}

TEST_F(ResultsPgTest, NobodyElseSeesResults) {
  GivenFiveTasks();
  EXPECT_EQ(client().Get("/campaigns/1/results", As("mallory")).status, 403);
  EXPECT_EQ(client().Get("/campaigns/9/results", As(me())).status, 404);
}

TEST_F(ResultsPgTest, FollowPrintsEachTaskOnceAndTagged) {
  GivenFiveTasks("terminated");
  EXPECT_EQ(Run("gridstat", {"1", "-O", "--follow"}).out, "zero\none\ntwo\n");
  EXPECT_EQ(Run("gridstat", {"1", "-E", "--follow", "--tag"}).out, "b 2\tno\nb 2\tfile\n");
}

TEST_F(ResultsPgTest, TheOutputOfOneTaskAlsoWhileItRuns) {
  GivenFiveTasks();
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--task", "1", "-O"}).out, "one\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "--task", "3", "-O"}).out, "so far\n");
  EXPECT_EQ(Run("gridstat", {"-j", "41", "-O", "--follow"}).out, "zero\n");
  EXPECT_EQ(GetText("/jobs/41/stdout?raw=1&offset=2"), "ro\n");
}

TEST_F(ResultsPgTest, WaitHasTheExitCodesOfGridsubWait) {
  GivenCampaign({.state = "terminated", .ntasks = 1, .next_idx = 1});
  GivenCounter(1, 1, "terminated", 1);
  const auto good = Run("gridstat", {"--wait", "1"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(good.out, "1 of 1 done\noutput: gridstat 1 -O\n");
  GivenCampaign({.state = "cancelled", .ntasks = 1});
  const auto bad = Run("gridstat", {"2", "--wait", "-q"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.out + bad.err, "");
  EXPECT_EQ(Run("gridstat", {"9", "--wait"}).code, 1);
}

TEST_F(ResultsPgTest, OptionsThatDoNotGoTogetherAreRefused) {
  for (const auto& args : std::vector<std::vector<std::string>>{{"1", "-O", "--json"},
                                                                {"1", "-O", "--watch", "1"},
                                                                {"1", "--follow"},
                                                                {"1", "-O", "--tag"},
                                                                {"--wait"},
                                                                {"1", "-q"},
                                                                {"--fetch", "x"},
                                                                {"1", "--fetch", "x", "-O"},
                                                                {"1", "--archive", "x.zip"}})
    EXPECT_EQ(Run("gridstat", args).code, 64) << args.back();
}

}  // namespace
}  // namespace cigri
