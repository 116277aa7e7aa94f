// What users get of the results while gridsub waits: -O, -k, --tag, --results, --results-csv.
#include "tools/common/results.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "tests/gridsub/fake_api.h"
#include "tools/common/result_sinks.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

json Progress(int done, int failed, bool over) {
  return {{"token", std::to_string(done)},
          {"state", over ? "terminated" : "in_treatment"},
          {"total", 2},
          {"done", done},
          {"failed", failed},
          {"clusters", json::array()},
          {"over", over}};
}

std::string Piece(int task, const char* stream, const std::string& bytes) {
  return json({{"task", task}, {"stream", stream}, {"bytes", bytes.size()}}).dump() + "\n" + bytes;
}

// The failed one has measured nothing.
std::string End(int task, const json& values, int exit = 0) {
  const auto measured = [exit](double value) { return exit == 0 ? json(value) : json(); };
  return json({{"task", task},
               {"cpu_s", measured(0.21)},
               {"peak_mb", measured(3.5)},
               {"read_mb", measured(0)},
               {"written_mb", measured(1)},
               {"transfer_s", measured(0.5)},
               {"end", true},
               {"values", values},
               {"exit", exit},
               {"signal", 0},
               {"state", exit == 0 ? "done" : "failed"},
               {"node", "n1"},
               {"job", 40 + task},
               {"cluster", "alpha"},
               {"seconds", 1.25},
               {"attempts", 1},
               {"code", ""}})
             .dump() +
         "\n";
}

// Task 1 ends before task 0, and fails.
void GivenTwoTasks(FakeApi& api) {
  api.progress = {Progress(0, 1, false), Progress(1, 1, true)};
  api.results = {Piece(1, "stdout", "b1\nb2") + Piece(1, "stderr", "oops\n") +
                     End(1, json::array({"b/x", "2"}), 3),
                 Piece(0, "stdout", "a\n") + End(0, json::array({"a", "1"}))};
}

TEST(ResultsTest, OutputIsPrintedAsTasksEndAndNothingElseIsOnStdout) {
  FakeApi api;
  GivenTwoTasks(api);
  const auto ran = Gridsub(api, "-O -- ./p {} ::: a b/x :::+ 1 2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "b1\nb2a\n");
  EXPECT_NE(ran.err.find("CAMPAIGN_ID=7\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("oops\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("1 of 2 done, 1 failed\n"), std::string::npos) << ran.err;
}

TEST(ResultsTest, HolesAreAskedForAgainAndInOrderTheGapIsNot) {
  FakeApi api;
  GivenTwoTasks(api);
  Gridsub(api, "-O -- ./p {} ::: a b");
  // Behind the highest comes last; the hole before it was asked for by its number.
  EXPECT_EQ(api.Last("/campaigns/7/results").query.find("after")->second, "1");
  EXPECT_NE(api.Calls().find("results, GET /campaigns/7/progress, GET /campaigns/7/results, GET "
                             "/campaigns/7/results"),
            std::string::npos)
      << api.Calls();
  FakeApi ordered;
  GivenTwoTasks(ordered);
  ordered.results.clear();
  Gridsub(ordered, "-k -- ./p {} ::: a b");
  EXPECT_EQ(ordered.Last("/campaigns/7/results").query.find("after")->second, "-1");
}

// It said "cannot write" and ended with 1, where gridstat -O | head ended with 0.
TEST(ResultsTest, AReaderThatHasGoneEndsItQuietly) {
  for (const char* option : {"-O", "-k --tag", "-O --joblog log --results res"}) {
    FakeApi api;
    api.progress = {Progress(1, 0, false), Progress(2, 0, true)};
    // More than a pipe holds, and than what is read at once.
    const std::string much(1 << 20, 'x');
    api.results = {Piece(0, "stdout", "first\n" + much) + End(0, json::array({"a"})),
                   Piece(1, "stdout", much) + End(1, json::array({"b"}))};
    api.joblog = "Seq\tHost\n";
    const std::string command = "cd " + api.folder() + " && { CIGRI_API=" + api.socket() +
                                " CIGRICONFFILE= " CIGRI_BIN_DIR "/gridsub -q " + option +
                                " -- p ::: a b 2>err; echo $? >code; } | head -c 3 >out";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(Slurp(api.folder() + "/code"), "0\n") << option;
    EXPECT_EQ(Slurp(api.folder() + "/err"), "7\n") << option;
    const bool files = std::string(option).find("res") != std::string::npos;
    EXPECT_EQ(Slurp(api.folder() + "/res/b.out"), files ? much : "") << option;
    EXPECT_EQ(Slurp(api.folder() + "/log"), files ? api.joblog : "") << option;
  }
}

TEST(ResultsTest, ATagStandsBeforeEachLine) {
  FakeApi api;
  GivenTwoTasks(api);
  EXPECT_EQ(Gridsub(api, "--tag -- ./p {} ::: a b").out, "b/x 2\tb1\nb/x 2\tb2\na 1\ta\n");
}

TEST(ResultsTest, AFileForEachTaskAndATable) {
  FakeApi api;
  GivenTwoTasks(api);
  const auto ran = Gridsub(api, "--results res --results-csv res.csv -- ./p {} ::: a b");
  EXPECT_EQ(Slurp(api.folder() + "/res/a,1.out"), "a\n");
  EXPECT_EQ(Slurp(api.folder() + "/res/b%2Fx,2.out"), "b1\nb2");
  EXPECT_EQ(Slurp(api.folder() + "/res/b%2Fx,2.err"), "oops\n");
  EXPECT_FALSE(std::filesystem::exists(api.folder() + "/res/a,1.err"));
  EXPECT_EQ(Slurp(api.folder() + "/res.csv"),
            "seq,value1,value2,state,exit_code,signal,cluster,node,seconds,attempts,"
            "cpu_s,peak_mb,read_mb,written_mb,transfer_s\n"
            "2,b/x,2,failed,3,,alpha,n1,1.250,1,,,,,\n"
            "1,a,1,done,0,,alpha,n1,1.250,1,0.210,3.500,0.000,1.000,0.500\n");
  EXPECT_NE(ran.out.find("\noutput: res\n"), std::string::npos) << ran.out;
}

// They were folders of these names.
TEST(ResultsTest, WhatIsNoFolderForAllTasksIsRefused) {
  FakeApi api;
  const auto each = Gridsub(api, "--results 'out/{1}' -- ./p {} ::: a");
  EXPECT_EQ(each.code, 64);
  EXPECT_NE(each.err.find("it is one folder for all tasks"), std::string::npos) << each.err;
  const auto table = Gridsub(api, "--results out.csv -- ./p {} ::: a");
  EXPECT_EQ(table.code, 64);
  EXPECT_NE(table.err.find("--results-csv FILE"), std::string::npos) << table.err;
  EXPECT_EQ(api.Calls(), "");
}

TEST(ResultsTest, QuietPrintsTheNumberAlone) {
  FakeApi api;
  EXPECT_EQ(Gridsub(api, "-q -- ./p {} ::: a").out, "7\n");
  EXPECT_EQ(Gridsub(api, "-q -- ./p {} ::: a").err, "");
}

TEST(ResultFilesTest, NamesAreUniqueAndHoldEveryValue) {
  using tools::ResultFiles;
  EXPECT_EQ(ResultFiles::FileName({"a b", "\xC3\xA9"}), "a b,\xC3\xA9");
  EXPECT_EQ(ResultFiles::FileName({"../x", "1,2%"}), "%2E.%2Fx,1%2C2%25");
  EXPECT_EQ(ResultFiles::FileName({std::string(300, 'x')}).size(), 201u);
}

tools::TaskOutcome OutcomeOf(std::int64_t task, std::vector<std::string> values) {
  tools::TaskOutcome outcome;
  outcome.task = task, outcome.values = std::move(values), outcome.done = true;
  return outcome;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.insert(file.path().filename());
  return names;
}

// The third task's file was that of the second: two files for three tasks.
TEST(ResultFilesTest, ANameThatWasMadeOfANumberIsTakenToo) {
  FakeApi api;
  const auto folder = api.folder() + "/res";
  tools::ResultFiles files(folder);
  std::int64_t task = 0;
  for (const char* value : {"a", "a", "a.2"}) {
    files.Output(task, tools::Printed::kStdout, std::to_string(task));
    files.Outcome(OutcomeOf(task, {value}));
    ++task;
  }
  EXPECT_EQ(Slurp(folder + "/a.out") + Slurp(folder + "/a.2.out") + Slurp(folder + "/a.2.3.out"),
            "012");
}

// Two gridsub with one folder wrote into the same file before it had its name.
TEST(ResultFilesTest, TwoWriteIntoOneFolder) {
  FakeApi api;
  const auto folder = api.folder() + "/res";
  {
    tools::ResultFiles one(folder), other(folder), cut(folder);
    one.Output(0, tools::Printed::kStdout, "one");
    other.Output(0, tools::Printed::kStdout, "the other");
    cut.Output(0, tools::Printed::kStderr, "never whole");
    one.Outcome(OutcomeOf(0, {"1"}));
    other.Outcome(OutcomeOf(0, {"2"}));
  }
  EXPECT_EQ(Slurp(folder + "/1.out"), "one");
  EXPECT_EQ(Slurp(folder + "/2.out"), "the other");
  EXPECT_EQ(NamesIn(folder), (std::set<std::string>{"1.out", "2.out"}));
}

// A Ctrl-C left `.partial.*` in the folder.
TEST(ResultFilesTest, NothingHalfWrittenOutlivesAProcessThatIsInterrupted) {
  FakeApi api;
  const auto folder = api.folder() + "/res";
  const pid_t pid = fork();
  if (pid == 0) {
    tools::ResultFiles files(folder);
    files.Output(0, tools::Printed::kStdout, "whole");
    files.Outcome(OutcomeOf(0, {"1"}));
    files.Output(1, tools::Printed::kStdout, "never");
    files.Output(1, tools::Printed::kStderr, "whole");
    const bool began = NamesIn(folder).size() == 3;
    tools::AbandonPartialFiles();
    _exit(began ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(NamesIn(folder), std::set<std::string>{"1.out"});
}

// The header had as many values as the task that ended first.
TEST(ResultTableTest, RowsOfSeveralLengthsAreOneTable) {
  FakeApi api;
  const auto file = api.folder() + "/res.csv";
  tools::ResultTable table(file);
  table.Outcome(OutcomeOf(2, {"5"}));
  table.Outcome(OutcomeOf(0, {"1\n,", "2"}));
  table.Outcome(OutcomeOf(1, {"3", "4", "x"}));
  table.Outcome(OutcomeOf(3, {"6"}));
  EXPECT_EQ(Slurp(file),
            "seq,value1,value2,value3,state,exit_code,signal,cluster,node,seconds,attempts,"
            "cpu_s,peak_mb,read_mb,written_mb,transfer_s\n"
            "3,5,,,done,0,,,,,0,,,,,\n"
            "1,\"1\n,\",2,,done,0,,,,,0,,,,,\n"
            "2,3,4,x,done,0,,,,,0,,,,,\n"
            "4,6,,,done,0,,,,,0,,,,,\n");
}

// --resume wrote over the table and, for equal values, over a file of the run before.
TEST(ResultsTest, ResumeKeepsTheResultsOfTheRunBefore) {
  FakeApi api;
  const std::string title =
      "seq,value1,state,exit_code,signal,cluster,node,seconds,attempts,"
      "cpu_s,peak_mb,read_mb,written_mb,transfer_s\n";
  const std::string before = "1,x,done,0,,beta,n2,1.250,1,,,,,\n";
  std::filesystem::create_directory(api.folder() + "/res");
  api.Write("res/x.out", "old");
  api.Write("res.csv", title + before);
  api.Write("log", "1\ta\t1\t1\t0\t0\t0\t0\tp x\n");
  api.progress = {Progress(2, 0, true)};
  api.results = {Piece(0, "stdout", "2") + End(0, json::array({"x"})) + Piece(1, "stdout", "3") +
                 End(1, json::array({"y"}))};
  Gridsub(api, "--joblog log --resume --results res --results-csv res.csv -- p ::: x x y");
  EXPECT_EQ(Slurp(api.folder() + "/res/x.out"), "old");
  EXPECT_EQ(Slurp(api.folder() + "/res/x.2.out"), "2");
  EXPECT_EQ(Slurp(api.folder() + "/res/y.out"), "3");
  const std::string measured = "1.250,1,0.210,3.500,0.000,1.000,0.500\n";
  EXPECT_EQ(Slurp(api.folder() + "/res.csv"), title + before + "2,x,done,0,,alpha,n1," + measured +
                                                  "3,y,done,0,,alpha,n1," + measured);
}

TEST(ResultTableTest, RowsBelowThoseOfAnEarlierRunHaveItsColumns) {
  FakeApi api;
  const auto file = api.folder() + "/res.csv";
  tools::EarlierRun earlier;
  earlier.seq = [](std::int64_t n) { return n + 10; };
  earlier.table = true;
  const std::string rest =
      ",state,exit_code,signal,cluster,node,seconds,attempts,"
      "cpu_s,peak_mb,read_mb,written_mb,transfer_s\n";
  tools::ResultTable(file, &earlier).Outcome(OutcomeOf(0, {"1", "2"}));
  tools::ResultTable(file, &earlier).Outcome(OutcomeOf(1, {"3"}));
  const std::string two =
      "seq,value1,value2" + rest + "11,1,2,done,0,,,,,0,,,,,\n" + "12,3,,done,0,,,,,0,,,,,\n";
  EXPECT_EQ(Slurp(file), two);
  {
    tools::ResultTable table(file, &earlier);
    table.Outcome(OutcomeOf(2, {"4"}));
    table.Outcome(OutcomeOf(3, {"5", "6", "7"}));
  }
  EXPECT_EQ(Slurp(file + "~"), two + "13,4,,done,0,,,,,0,,,,,\n");
  EXPECT_EQ(Slurp(file), "seq,value1,value2,value3" + rest + "13,4,,,done,0,,,,,0,,,,,\n" +
                             "14,5,6,7,done,0,,,,,0,,,,,\n");
  std::ofstream(file) << "something else\n";
  tools::ResultTable(file, &earlier).Outcome(OutcomeOf(0, {"1"}));
  EXPECT_EQ(Slurp(file + "~"), "something else\n");
  EXPECT_EQ(Slurp(file), "seq,value1" + rest + "11,1,done,0,,,,,0,,,,,\n");
}

TEST(FrameReaderTest, FramesMayBeCutAnywhere) {
  const std::string text = Piece(3, "stdout", "one\ntwo") + End(3, json::array({"v"}));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::string got;
    tools::FrameReader frames([&](const json& head, std::string_view bytes) {
      got += head.contains("end") ? "end" : std::string(bytes) + "|";
    });
    frames.Feed(text.substr(0, cut));
    frames.Feed(text.substr(cut));
    EXPECT_EQ(got, "one\ntwo|end") << cut;
  }
  tools::FrameReader broken([](const json&, std::string_view) {});
  EXPECT_THROW(broken.Feed("no frame\n"), Fatal);
}

}  // namespace
}  // namespace cigri::gridsub
