// Campaigns as users submit them, from the command line to what their jobs wrote.
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

// Appends its arguments, each in <>, as one line and by one write: jobs append side by side.
constexpr const char* kRecord =
    "#!/bin/sh\nline=$(printf '<%s>' \"$@\")\nprintf '%s\\n' \"$line\" >> out\n";

class SubmitTest : public SystemTest {
 protected:
  Result Values(const Arguments& more, const std::string& input = "") {
    grid().Script("record", kRecord);
    Arguments words{"gridsub", "--wait"};
    words.insert(words.end(), more.begin(), more.end());
    return grid().Run(words, input);
  }
};

TEST_F(SubmitTest, AProgramAndItsValuesRunOnceEachAndTheExitCodeIsZero) {
  const auto done = Values({"--", "./record", "{}", ":::", "a", "b", "c", "d", "e"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(grid().SortedLines("out"), (Arguments{"<a>", "<b>", "<c>", "<d>", "<e>"}));
}

TEST_F(SubmitTest, ExitCodesAreTruthful) {
  const struct {
    const char* when;
    Arguments words;
    int code;
  } cases[] = {
      {"a task fails", {"gridsub", "--wait", "--", "test", "{}", "=", "1", ":::", "1", "2"}, 1},
      {"no such campaign", {"gridsub", "-c", "999999", "-J", "[\"a\"]"}, 1},
      {"an unknown option", {"gridsub", "--nonsense"}, 64},
      {"a JDL without a program", {"gridsub", "-j", R"({"name": "x", "nb_jobs": 1})"}, 65},
      {"no API", {"gridsub", "--api", "unix:/nowhere", "--", "true", ":::", "1"}, 69},
      {"gridstat of no campaign", {"gridstat", "-c", "999999"}, 1},
  };
  for (const auto& c : cases) {
    const auto result = grid().Run(c.words);
    EXPECT_EQ(result.code, c.code) << c.when << ": " << result.out << result.err;
    EXPECT_TRUE(c.code == 1 || !result.err.empty()) << c.when;
  }
}

TEST_F(SubmitTest, CtrlCLeavesTheCampaignRunningAndSaysHowToStopIt) {
  auto waiting = grid().Start({"gridsub", "--wait", "--", "sleep", "{}", ":::", "300"});
  int id = 0;
  ASSERT_TRUE(Await([&] {
    const auto at = waiting->Out().find("CAMPAIGN_ID=");
    if (at != std::string::npos) id = std::atoi(waiting->Out().c_str() + at + 12);
    return id != 0 && grid().Progress(id).value("running", 0) == 1;
  }));
  waiting->Signal(SIGINT);
  const auto result = waiting->Wait(Seconds(20));
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE((result.out + result.err).find("griddel " + std::to_string(id)), std::string::npos)
      << result.out << result.err;
  EXPECT_EQ(grid().Progress(id).value("state", ""), "in_treatment");
  EXPECT_EQ(grid().Progress(id).value("running", 0), 1);
}

TEST_F(SubmitTest, ALineIsReadOnceByTheShell) {
  grid().Script("record", kRecord);
  const json jdl = Jdl(grid(), "line", "./record",
                       {{"params",
                         {"a 'x y' \"p q\"", "\\$HOME 'it'\\''s'", "$USER",
                          "'a;b' '$x' \"#\" # and a comment", "été '☃ 日本'"}}});
  ASSERT_TRUE(grid().AwaitOver(grid().Submit(jdl)));
  Arguments want{"<a><x y><p q>", "<$HOME><it's>",
                 std::string("<") + getpwuid(geteuid())->pw_name + ">", "<a;b><$x><#>",
                 "<été><☃ 日本>"};
  std::sort(want.begin(), want.end());
  EXPECT_EQ(grid().SortedLines("out"), want);
}

TEST_F(SubmitTest, ValuesFromStandardInputReachTheProgramByteForByte) {
  Arguments values{"it's \"quoted\"",
                   "$HOME $(id) `id`",
                   "# no comment",
                   "été ☃ 日本",
                   "two  blanks",
                   "a\\b\\\\c",
                   "*",
                   "-n",
                   "{}",
                   ";exit 1",
                   "&",
                   "a\tb",
                   "%s",
                   "!x"};
  std::string input;
  for (const auto& value : values) input += value + "\n";
  const auto done = Values({"--", "./record", "{}"}, input);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  for (auto& value : values) value = "<" + value + ">";
  std::sort(values.begin(), values.end());
  EXPECT_EQ(grid().SortedLines("out"), values);
}

// F9: find -print0 finds names that are no text.
TEST_F(SubmitTest, FileNamesThatAreNotUtf8ReachTheProgram) {
  const auto done = Values({"-0", "-O", "-k", "--", "printf '%s' {} | od -An -tx1"},
                           std::string("caf\xE9\0\xFF\xFE\0\xC3\xA9\0", 11));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find(" 63 61 66 e9\n ff fe\n c3 a9\n"), std::string::npos) << done.out;
  const std::string said = done.out + done.err, name = "CAMPAIGN_ID=";
  const auto id = std::to_string(std::atoi(said.c_str() + said.find(name) + name.size()));
  const auto shown = grid().Run({"gridstat", "-c", id, "--task", "0"});
  EXPECT_NE(shown.out.find("caf\xEF\xBF\xBD"), std::string::npos) << shown.out << shown.err;
}

TEST_F(SubmitTest, RowsOfACsvFillTheirColumns) {
  grid().Script("sweep.csv", "k,file\n1,\"a, \"\"b\"\"\"\n2,x y\n");
  const auto done = Values({"--csv", "sweep.csv", "--", "./record", "--k={k}", "{file}"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(grid().SortedLines("out"), (Arguments{"<--k=1><a, \"b\">", "<--k=2><x y>"}));
}

TEST_F(SubmitTest, AddedTasksReopenACampaignButNotACancelledOne) {
  grid().Script("record", kRecord);
  const int id = grid().Submit(Jdl(grid(), "grows", "./record", {{"params", {"a", "b"}}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  grid().Script("more", "c\nd\n");
  grid().Ok({"gridsub", "-c", std::to_string(id), "-a", "more"});
  EXPECT_EQ(grid().Progress(id).value("total", 0), 4);
  EXPECT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().SortedLines("out"), (Arguments{"<a>", "<b>", "<c>", "<d>"}));

  const int cancelled = grid().Submit(Jdl(grid(), "gone", "sleep 300 #", {{"nb_jobs", 1}}));
  grid().Ok({"griddel", std::to_string(cancelled)});
  const auto refused = grid().Run({"gridsub", "-c", std::to_string(cancelled), "-a", "more"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("cancelled"), std::string::npos) << refused.err;
}

TEST_F(SubmitTest, SetChangesOnlyWhatIsNotYetSent) {
  grid().Script("old", "#!/bin/sh\necho old >> out\nwhile [ ! -e go ]; do sleep 0.05; done\n");
  grid().Script("new", "#!/bin/sh\necho new >> out\n");
  const int id = grid().Submit(
      Jdl(grid(), "set", "./old", {{"nb_jobs", 3}, {"clusters", {{"alpha", {{"max_jobs", 1}}}}}}));
  ASSERT_TRUE(Await([&] { return grid().Lines("out").size() == 1; }));
  grid().Ok({"gridsub", "-c", std::to_string(id), "--set", "exec_file=./new"});
  grid().Script("go", "");
  EXPECT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().Lines("out"), (Arguments{"old", "new", "new"}));
}

TEST_F(SubmitTest, AllOutputComesInTheOrderOfTheParameters) {
  grid().Script("talk", "#!/bin/sh\nsleep 0.$((8 - $1))\necho \"out $1\"\necho \"err $1\" >&2\n");
  const int id = grid().Submit(Jdl(grid(), "talk", "./talk", {{"nb_jobs", 6}}));
  const std::string campaign = std::to_string(id);
  ASSERT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().Ok({"gridstat", "-c", campaign, "-O"}),
            "out 0\nout 1\nout 2\nout 3\nout 4\nout 5\n");
  EXPECT_EQ(grid().Ok({"gridstat", "-c", campaign, "-E"}),
            "err 0\nerr 1\nerr 2\nerr 3\nerr 4\nerr 5\n");
  const std::string joblog = grid().Ok({"gridstat", "-c", campaign, "--joblog"});
  EXPECT_EQ(std::count(joblog.begin(), joblog.end(), '\n'), 7) << joblog;
  EXPECT_EQ(joblog.rfind(
                "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n", 0),
            0u)
      << joblog;
}

// T-29, CIG-45: the nine variables of the note and their aliases.
TEST_F(SubmitTest, AJobHasTheVariablesOfTheNoteAndTheirAliases) {
  grid().Script("vars",
                "#!/bin/sh\nenv | grep ^CIGRI_ > env.txt\ncat \"$CIGRI_NODE_FILE\" > nodes\n");
  const int id = grid().Submit(Jdl(grid(), "T-29", "./vars", {{"nb_jobs", 1}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  std::map<std::string, std::string> env;
  for (const auto& line : grid().Lines("env.txt"))
    env[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  for (const char* name :
       {"CIGRI_NODE_FILE", "CIGRI_JOB_ID", "CIGRI_CAMPAIGN_ID", "CIGRI_JOB_NAME", "CIGRI_USER",
        "CIGRI_WORKDIR", "CIGRI_RESOURCES", "CIGRI_WALLTIME", "CIGRI_WALLTIME_SECONDS"})
    EXPECT_NE(env[name], "") << name;
  const std::pair<const char*, const char*> aliases[] = {
      {"CIGRI_NODEFILE", "CIGRI_NODE_FILE"},
      {"CIGRI_JOBID", "CIGRI_JOB_ID"},
      {"CIGRI_CAMPAIGNID", "CIGRI_CAMPAIGN_ID"},
      {"CIGRI_JOBNAME", "CIGRI_JOB_NAME"},
      {"CIGRI_WORKING_DIRECTORY", "CIGRI_WORKDIR"}};
  for (const auto& [alias, name] : aliases) EXPECT_EQ(env[alias], env[name]) << alias;
  EXPECT_EQ(env["CIGRI_CAMPAIGN_ID"], std::to_string(id));
  EXPECT_EQ(env["CIGRI_JOB_NAME"], "T-29");
  EXPECT_EQ(env["CIGRI_WORKDIR"], grid().work());
  EXPECT_EQ(env["CIGRI_WALLTIME_SECONDS"], "300");
  EXPECT_EQ(env["CIGRI_TASK_INDEX"], "0");
  EXPECT_EQ(grid().Lines("nodes").size(), 1u);
}

TEST_F(SubmitTest, OutputIsPrintedAsTasksEndOrInOrder) {
  grid().Script("talk", "#!/bin/sh\nsleep 0.$((4 - $1))\necho \"out $1\"\necho \"err $1\" >&2\n");
  const Arguments values{"--", "./talk", "{}", ":::", "1", "2", "3"};
  const auto ordered = Values(values, "");
  EXPECT_NE(ordered.out.find("output: gridstat "), std::string::npos) << ordered.out;
  Arguments words{"-k", "--tag", "--results", "res", "--results-csv", "res.csv"};
  words.insert(words.end(), values.begin(), values.end());
  const auto tagged = Values(words);
  EXPECT_EQ(tagged.code, 0) << tagged.err;
  EXPECT_EQ(tagged.out, "1\tout 1\n2\tout 2\n3\tout 3\n");
  EXPECT_NE(tagged.err.find("2\terr 2\n"), std::string::npos) << tagged.err;
  EXPECT_EQ(grid().Text("res/3.out"), "out 3\n");
  EXPECT_EQ(grid().Text("res/3.err"), "err 3\n");
  EXPECT_EQ(grid().Lines("res.csv").size(), 4u);
}

TEST_F(SubmitTest, AJobHasTheEnvironmentOfItsUser) {
  grid().Script("show", "#!/bin/sh\necho \"$CONDA_PREFIX $N $PATH\"\n");
  const auto ran = grid().Run({"/usr/bin/env", "CONDA_PREFIX=/my conda", "PATH=/mine:/usr/bin:/bin",
                               CIGRI_BIN_DIR "/gridsub", "-O", "--env-all", "--env", "N=7", "--",
                               "./show", ":::", "1"});
  EXPECT_EQ(ran.out, "/my conda 7 /mine:/usr/bin:/bin\n") << ran.err;
}

TEST_F(SubmitTest, EachTaskHasADirectoryOfItsOwn) {
  const auto ran = Values(
      {"--directory", "run/{1}", "--", "echo {2} > result", ":::", "a", "b c", ":::+", "1", "2"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(grid().Text("run/a/result"), "1\n");
  EXPECT_EQ(grid().Text("run/b c/result"), "2\n");
}

TEST_F(SubmitTest, FinishedWorkIsNotDoneAgain) {
  const Arguments words{"--creates", "{}.txt", "--", "echo {} >> all; echo {} > {}.txt",
                        ":::",       "a",      "b",  "c"};
  EXPECT_EQ(Values(words).code, 0);
  std::filesystem::remove(grid().work() + "/b.txt");
  EXPECT_EQ(Values(words).code, 0);
  EXPECT_EQ(Values(words).code, 0);
  EXPECT_EQ(grid().SortedLines("all"), (Arguments{"a", "b", "b", "c"}));
}

TEST_F(SubmitTest, AProgramRunsOnceWithoutValues) {
  const auto ran = Values({"-O", "--once", "--", "echo", "hello"});
  EXPECT_EQ(ran.out, "hello\n") << ran.err;
}

}  // namespace
}  // namespace cigri::test
