// What users of GNU parallel and of Slurm type first.
#include <gtest/gtest.h>

#include <ctime>

#include "core/error.h"
#include "tests/gridsub/fake_api.h"
#include "tools/common/api.h"
#include "tools/gridsub/newcomers.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

json Sent(FakeApi& api) { return json::parse(api.Last("/campaigns").body); }

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Campaigns went to a private grid while the site's API was stopped for a minute.
TEST(NewcomerTest, AHostOfASiteIsKnownByItsConfigurationToo) {
  FakeApi api;
  for (const char* variable : {"CIGRI_API", "CIGRICONFFILE", "CIGRICONFDIR"}) unsetenv(variable);
  setenv("CIGRI_HOME", (api.folder() + "/home").c_str(), 1);
  const std::string own = "unix:" + api.folder() + "/home/run/api.sock";
  tools::Site site{api.folder() + "/cigri.conf", api.folder() + "/away.sock"};
  EXPECT_EQ(tools::ApiAddress("", site), own);
  std::ofstream(site.configuration) << "";
  std::filesystem::permissions(site.configuration, std::filesystem::perms::none);
  EXPECT_EQ(tools::ApiAddress("", site), "unix:" + site.socket);
  setenv("CIGRICONFFILE", "/dev/null", 1);
  EXPECT_EQ(tools::ApiAddress("", site), own) << "another file than the site's is named";
  unsetenv("CIGRICONFFILE");
  unsetenv("CIGRI_HOME");
}

TEST(NewcomerTest, AProgramWithoutDashesIsAnsweredWithTheCommandThatWasMeant) {
  FakeApi api;
  api.Write("prog.sh", "#!/bin/sh\necho hello\n");
  api.Write("prog.json", "{}");
  api.Write("runs", "#!/bin/sh\necho hello\n");
  std::filesystem::permissions(api.folder() + "/runs", std::filesystem::perms::owner_all);
  const struct {
    const char *typed, *answer;
  } cases[] = {
      {"echo hello", "gridsub -- PROGRAM {} ::: VALUES, or --once"},
      {"runs {}", "gridsub -- ./runs {} ::: VALUES"},
      {"./prog.sh", "./prog.sh is a program, and no JDL; it may not be run"},
      {"prog.sh", "chmod +x prog.sh; then gridsub -- ./prog.sh {} ::: VALUES"},
      {"runs 3", "once: gridsub --once -- ./runs 3"},
      {"--job-name x prog.json", "--name NAME"},
      {"--gres gpu:1 -- wc ::: a", "--gpus 1"},
      {"-P4 -- wc ::: a", "--max-jobs 4"},
      {"--slot 4 -- wc ::: a", "--cores 4"},
      {"--output log.txt -- wc ::: a", "\"log.txt\" before -- is a JDL"},
      {"--walltime --wait -- wc ::: a", "--walltime: needs a value"},
      {"--joblog log a.json b.json", "are for one JDL"},
      {"-P 4 wc ::: a", "--max-jobs 4"},
      {"--walltim 9 wc ::: a", "did you mean --walltime"},
      {"prog.json ::: a", "prog.json is no program"},
      {"::: a b", "there is no program"},
      {"'my campaign.json'", "cannot read my campaign.json"},
      {"--results ::: a", "--results needs a value, and ::: is none"},
      {"--pipe -- wc", "split FILE"},
      {"-I , -- wc , ::: a", "a value stands at {}"},
      {"--link -- wc ::: a ::: b", "::: a b :::+ c d"},
      {"--tagstring {} -- wc ::: a", "--tag puts"},
      {"-v -- wc ::: a", "--dry-run"},
      {"-S host -- wc ::: a", "--clusters a,b"},
      {"-- echo hello", "--once for one run without values"},
  };
  for (const auto& c : cases) {
    const auto ran = Gridsub(api, c.typed);
    EXPECT_TRUE(ran.code == 64 || ran.code == 65) << c.typed << ran.code;
    EXPECT_TRUE(Has(ran.err, c.answer)) << c.typed << ":\n" << ran.err;
  }
  EXPECT_FALSE(Has(api.Calls(), "POST /campaigns"));
}

// The first things that a user of GNU parallel types. The program's options are not gridsub's.
TEST(NewcomerTest, AProgramWithValuesNeedsNoDashes) {
  FakeApi bare, dashes;
  for (FakeApi* api : {&bare, &dashes}) {
    const std::string split = api == &dashes ? "-- " : "";
    EXPECT_EQ(
        Gridsub(*api, "--name=x -j2 --walltime 9m " + split + "grep -P -c {} ::: a 'b c'").code, 0);
  }
  EXPECT_EQ(Sent(bare)["exec_file"], Sent(dashes)["exec_file"]);
  EXPECT_EQ(Sent(bare)["params"], Sent(dashes)["params"]);
  EXPECT_EQ(Sent(bare)["clusters"], Sent(dashes)["clusters"]);
  EXPECT_EQ(Sent(bare)["params"], json::parse(R"([["a"], ["b c"]])"));
  EXPECT_EQ(Sent(bare)["name"], "x");
  bare.Write("list", "1\n2\n");
  for (const char* typed : {"-a list wc -c", "wc -c", "--csv list --name x wc -c"}) {
    EXPECT_EQ(Gridsub(bare, typed, "1\n2\n").code, 0) << typed;
    EXPECT_EQ(Sent(bare)["exec_file"], "wc -c") << typed;
  }
  bare.Write("runs", "#!/bin/sh\n");
  EXPECT_TRUE(Has(Gridsub(bare, "runs {} ::: a").err, "jobs find it as ./runs"));
  EXPECT_FALSE(Has(Gridsub(bare, "./runs {} ::: a").err, "jobs find it"));
  EXPECT_EQ(Gridsub(bare, "--once wc -c").code, 0);
  EXPECT_EQ(Gridsub(bare, "'sleep 1; wc {}'", "1\n").code, 0);
  EXPECT_EQ(Sent(bare)["exec_file"], "sleep 1; wc {}");
}

// On a terminal, where values may still be missing.
TEST(NewcomerTest, WhatWasMeantCanBeTypedAsItIs) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"sleep 1; ls"}, "gridsub -- 'sleep 1; ls {}' ::: VALUES; once: gridsub --once -- 'sleep"},
      {{"ls {}; ls"}, "gridsub -- 'ls {}; ls' ::: VALUES"},
      {{"ls", "a b"}, "gridsub -- ls 'a b' {} ::: VALUES"}};
  for (const auto& [words, answer] : cases) try {
      AnswerPrograms(words);
      ADD_FAILURE() << words[0];
    } catch (const Fatal& e) {
      EXPECT_TRUE(Has(e.hint(), answer)) << e.hint();
    }
}

// As it does not reach jobs, each task failed with 127.
TEST(NewcomerTest, AFunctionOfTheShellIsNoProgram) {
  FakeApi api;
  const std::string exported = "env 'BASH_FUNC_sim%%=() { echo $1; }'";
  for (const char* typed : {"sim {} ::: a", "-- sim {} ::: a", "--env sim -- true ::: a"}) {
    const auto ran = Gridsub(api, typed, "", exported);
    EXPECT_EQ(ran.code, 64) << typed;
    EXPECT_TRUE(Has(ran.err, "sim is a function of your shell")) << ran.err;
  }
  EXPECT_EQ(Gridsub(api, "-- sim {} ::: a").code, 0);
}

// Found by a user: the campaign ran, and the error came when all was done, or with the code of a
// JDL that was refused.
TEST(NewcomerTest, WhatCannotBeWrittenIsSaidBeforeAnythingIsSubmitted) {
  FakeApi api;
  api.Write("file", "");
  const struct {
    const char *typed, *why;
  } cases[] = {
      {"--results file -- wc ::: a", "--results file: is no folder"},
      {"--results file/out -- wc ::: a", "--results file/out: there is no folder"},
      {"--results-csv . -- wc ::: a", "--results-csv .: is a folder"},
      {"--joblog no/such/log -- wc ::: a", "--joblog no/such/log: there is no folder"},
  };
  for (const auto& c : cases) {
    const auto ran = Gridsub(api, c.typed);
    EXPECT_EQ(ran.code, 64) << c.typed;
    EXPECT_TRUE(Has(ran.err, c.why)) << c.typed << ":\n" << ran.err;
  }
  EXPECT_EQ(api.Calls(), "");
}

TEST(NewcomerTest, EmptyLinesAndLeadingBlanksOfAFileAreValuesToo) {
  for (const char* option : {"-F", "-a"}) {
    FakeApi uploads;
    uploads.Write("lines", "\n\n  a\n b\n");
    const auto ran = Gridsub(uploads, std::string(option) + " lines -- echo {}");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(Sent(uploads)["params"], json::parse(R"([[""], [""], ["  a"], [" b"]])")) << option;
  }
}

TEST(NewcomerTest, OneRunWithoutValues) {
  FakeApi api;
  EXPECT_EQ(Gridsub(api, "--once -- echo hello").code, 0);
  EXPECT_EQ(Sent(api)["exec_file"], "echo hello");
  EXPECT_EQ(Sent(api)["format"], "line");
  EXPECT_EQ(Sent(api)["params"], json::array({""}));
}

TEST(NewcomerTest, OptionsOfParallelWork) {
  FakeApi api;
  const auto jobs = Gridsub(api, "-j4 -- echo {} ::: a");
  EXPECT_EQ(jobs.code, 0) << jobs.err;
  EXPECT_TRUE(Has(jobs.err, "--max-jobs"));
  EXPECT_EQ(Sent(api)["max_jobs"], 4);

  const std::vector<std::string> wants[] = {
      {"--colsep , -- echo {2} {1}", "a,b\nc,d\n", R"(["a","b"])", R"(["c","d"])"},
      {"--colsep , -- echo {2} {1}", "a , b\r\n\tc,d \r\n", R"(["a","b"])", R"(["c","d"])"},
      {"--colsep ' +' -- echo {2} {1}", "a   b\nc d\n", R"(["a","b"])", R"(["c","d"])"},
      {"--colsep '[ \\t]+' -- echo {2} {1}", "a" + std::string(90'000, ' ') + "b\nc\td\n",
       R"(["a","b"])", R"(["c","d"])"},
      {"-N 2 -- echo {} ::: 1 2 3", "", R"(["1","2"])", R"(["3"])"}};
  for (const auto& want : wants) {
    FakeApi uploads;
    const auto ran = Gridsub(uploads, want[0], want[1]);
    EXPECT_EQ(ran.code, 0) << want[0] << ran.err;
    EXPECT_EQ(uploads.Uploaded(), (std::vector<std::string>{want[2], want[3]})) << want[0];
  }
  Gridsub(api, "-0 -- wc {}", std::string("a\nb\0c\0", 6));
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["a\nb"],["c"]])"));
}

TEST(NewcomerTest, AFileNameThatIsNoTextIsSentByteForByte) {
  FakeApi api;
  const auto ran = Gridsub(api, "-0 -- wc {}", std::string("caf\xE9\0\xC3\xA9\0", 8));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(api.blocks, std::vector<std::string>{"[\"caf\\xE9\"]\n[\"\xC3\xA9\"]\n"});
  EXPECT_EQ(api.Uploaded()[0], "[\"caf\xE9\"]");
  const auto word = Gridsub(api, "-- cat caf\xE9 {} ::: a");
  EXPECT_EQ(word.code, 65);
  EXPECT_TRUE(Has(word.err, "is given as a value")) << word.err;
}

// F14: the API's socket got the number of what was closed; values were read from its answers.
TEST(NewcomerTest, ClosedDescriptorsAreNotTheSockets) {
  FakeApi api;
  const auto in = Gridsub(api, "-- echo {} <&- >out 2>err #");
  EXPECT_EQ(in.code, 65) << in.err;
  EXPECT_TRUE(Has(in.err, "there are no values")) << in.err;
  const auto out = Gridsub(api, "-- echo {} ::: 1 </dev/null >&- 2>err #");
  EXPECT_EQ(out.code, 1);
  EXPECT_TRUE(Has(out.err, "cannot write to standard output")) << out.err;
  const auto err = Gridsub(api, "-- echo {} ::: 1 </dev/null >out 2>&- #");
  EXPECT_EQ(err.code, 0) << err.out;
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["1"]])"));
}

TEST(NewcomerTest, ANulInAValueNamesTheOption) {
  FakeApi api;
  const auto ran = Gridsub(api, "-- wc {}", std::string("a\0b\0", 4));
  EXPECT_EQ(ran.code, 65);
  EXPECT_TRUE(Has(ran.err, "standard input:1: ")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "-0")) << ran.err;
}

TEST(NewcomerTest, APlaceholderThatIsNoColumnIsAnErrorWithASuggestion) {
  FakeApi api;
  api.Write("p.csv", "name,alpha,file\na,0.1,f\n");
  for (const char* wrong : {"{nome}", "{Name}", "{nothing}", "{nome.}"}) {
    const auto ran = Gridsub(api, std::string("--csv p.csv -- echo ") + wrong);
    EXPECT_EQ(ran.code, 64) << wrong;
    EXPECT_TRUE(Has(ran.err, std::string(wrong) + " is no column of p.csv")) << ran.err;
    EXPECT_TRUE(Has(ran.err, "name, alpha, file")) << ran.err;
  }
  EXPECT_TRUE(Has(Gridsub(api, "--csv p.csv -- echo {nome}").err, "did you mean {name}?"));
  EXPECT_EQ(Gridsub(api, "--csv p.csv -- awk '{print}' {file}").code, 0)
      << "awk has its own braces";
}

TEST(NewcomerTest, OtherDelimitersOfACsvAreTakenOrNamed) {
  FakeApi api;
  api.Write("semi.csv", "a;b\n1;2\n");
  api.Write("tabs.csv", "a\tb\n1\t2\n");
  const auto semi = Gridsub(api, "--csv semi.csv -- echo {a}");
  EXPECT_EQ(semi.code, 65);
  EXPECT_TRUE(Has(semi.err, "--delimiter ';'")) << semi.err;
  EXPECT_TRUE(Has(Gridsub(api, "--csv tabs.csv -- echo {a}").err, "--delimiter tab"));
  EXPECT_EQ(Gridsub(api, "--delimiter ';' --csv semi.csv -- echo {b}").code, 0);
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["1","2"]])"));
  EXPECT_EQ(Gridsub(api, "--delimiter tab --csv tabs.csv -- echo {b}").code, 0);
}

TEST(NewcomerTest, FinishedWorkIsLeftOut) {
  FakeApi api;
  api.Write("b.txt", "");
  const auto ran = Gridsub(api, "--creates {}.txt -- ./p {} ::: a b c");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["a"],["c"]])"));
  EXPECT_TRUE(Has(ran.err, "1 task is done already, left: 2")) << ran.err;
  const auto all = Gridsub(api, "--creates {}.txt -- ./p {} ::: b");
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(Has(all.err, "nothing to run")) << all.err;
  EXPECT_EQ(Gridsub(api, "--creates {}.txt -- './p > {#}' ::: b").code, 64);
}

TEST(NewcomerTest, ResumeGoesOnWhereTheJobLogEnds) {
  FakeApi api;
  const std::string title =
      "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
  const std::string before = title + "1\ta\t1\t1\t0\t0\t0\t0\tp a\n3\ta\t1\t1\t0\t0\t7\t0\tp c\n";
  api.Write("log", before);
  api.progress = {{{"token", "1"},
                   {"state", "terminated"},
                   {"total", 2},
                   {"done", 2},
                   {"failed", 0},
                   {"over", true}}};
  api.joblog = title + "1\tb\t1\t1\t0\t0\t0\t0\tp b\n2\tb\t1\t1\t0\t0\t0\t0\tp d\n";
  const auto resumed = Gridsub(api, "--joblog log --resume -- p ::: a b c d");
  EXPECT_EQ(resumed.code, 0);
  EXPECT_TRUE(Has(resumed.err,
                  "1 task is done already, 1 task has failed (--resume-failed runs it again), "
                  "left: 2"))
      << resumed.err;
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["b"],["d"]])"));
  EXPECT_EQ(Slurp(api.folder() + "/log"),
            before + "2\tb\t1\t1\t0\t0\t0\t0\tp b\n4\tb\t1\t1\t0\t0\t0\t0\tp d\n");
  api.Write("log", before);
  Gridsub(api, "--joblog log --resume-failed -- p ::: a b c d");
  EXPECT_EQ(Sent(api)["params"], json::parse(R"([["b"],["c"],["d"]])"));
}

TEST(NewcomerTest, FilesOfJobsAreOptionsThatMayBeRepeated) {
  FakeApi api;
  const auto ran = Gridsub(api,
                           "--input 'data/{}.fq' --input 'ref.fa' --outputs 'out -> out/{#}' "
                           "-- ./p {} ::: a");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Sent(api)["inputs"], json({"data/{}.fq", "ref.fa"}));
  EXPECT_EQ(Sent(api)["outputs"], json({"out -> out/{#}"}));
  // The job runs in a folder of its own: a program that is here was not found there.
  api.Write("prog", "#!/bin/sh\n");
  Gridsub(api, "--outputs out -- ./prog {} ::: a");
  EXPECT_EQ(Sent(api)["exec_file"], api.folder() + "/prog {}");
  Gridsub(api, "--input prog -- ./prog {} ::: a");
  EXPECT_EQ(Sent(api)["exec_file"], "./prog {}") << "it comes along";
  EXPECT_EQ(Gridsub(api, "-- ./p {} ::: a").code, 0);
  EXPECT_FALSE(Sent(api).contains("inputs"));
}

TEST(NewcomerTest, SlurmsSpellingsBecomeKeysOfTheJdl) {
  FakeApi api;
  const auto ran = Gridsub(api,
                           "--cpus-per-task 4 --mem 2G --gpus 1 --time 1-00:00:00 --priority high "
                           "--dependency afterok:3 --tries 5 --licences matlab:2,idl "
                           "-- ./p {} ::: a");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto jdl = Sent(api);
  EXPECT_EQ(jdl["cores"], 4);
  EXPECT_EQ(jdl["mem"], "2G");
  EXPECT_EQ(jdl["gpus"], 1);
  EXPECT_EQ(jdl["walltime"], "1-00:00:00");
  EXPECT_EQ(jdl["priority"], "high");
  EXPECT_EQ(jdl["after"], json::array({3}));
  EXPECT_EQ(jdl["max_tries"], 5);
  EXPECT_EQ(jdl["licences"], json({{"matlab", 2}, {"idl", 1}}));
  const auto any = Gridsub(api,
                           "--dependency afterok:3:4,afterany:5 --begin 2026-11-23T20:00Z "
                           "-- ./p {} ::: a");
  EXPECT_EQ(any.code, 0) << any.err;
  EXPECT_EQ(Sent(api)["after"], json::array({3, 4}));
  EXPECT_EQ(Sent(api)["after_any"], json::array({5}));
  EXPECT_EQ(Sent(api)["not_before"], "2026-11-23T20:00Z");
  EXPECT_EQ(Gridsub(api, "--not-before now+2h -- ./p {} ::: a").code, 0);
  EXPECT_NEAR(Sent(api)["not_before"].get<double>(), std::time(nullptr) + 7200, 120);
  EXPECT_EQ(Gridsub(api, "--not-before 20:00 -- ./p {} ::: a").code, 0);
  EXPECT_GT(Sent(api)["not_before"].get<double>(), std::time(nullptr) - 120);
  EXPECT_LT(Sent(api)["not_before"].get<double>(), std::time(nullptr) + 90000);
  EXPECT_EQ(Gridsub(api, "--deadline 30m -- ./p {} ::: a").code, 0);
  EXPECT_NEAR(Sent(api)["deadline"].get<double>(), std::time(nullptr) + 1800, 120);
  EXPECT_EQ(Gridsub(api, "--not-before soon -- ./p {} ::: a").code, 64);
  EXPECT_EQ(Gridsub(api, "--not-before '2026-02-30 10:00' -- ./p {} ::: a").code, 64);
  const auto yesterday = Gridsub(api, "--deadline yesterday -- ./p {} ::: a");
  EXPECT_EQ(yesterday.code, 64);
  EXPECT_TRUE(Has(yesterday.err, "--deadline yesterday is no time")) << yesterday.err;
  EXPECT_EQ(Gridsub(api, "--walltime auto:90 -- ./p {} ::: a").code, 0);
  EXPECT_EQ(Sent(api)["walltime"], "auto:90s") << "an option's number is seconds";
  EXPECT_EQ(Gridsub(api, "--after afternotok:3 -- ./p {} ::: a").code, 64);
  const auto ambiguous = Gridsub(api, "--time 30 -- ./p {} ::: a");
  EXPECT_EQ(ambiguous.code, 64);
  EXPECT_TRUE(Has(ambiguous.err, "--time 30m or --time 30s")) << ambiguous.err;
  EXPECT_EQ(Gridsub(api, "--time 90:30 -- ./p {} ::: a").code, 0);
  EXPECT_EQ(Sent(api)["walltime"], "1:30:30") << "Slurm's minutes and seconds";
  EXPECT_EQ(Gridsub(api, "--time 2-12:30 -- ./p {} ::: a").code, 0);
  EXPECT_EQ(Sent(api)["walltime"], "2-12:30");
  const auto hours = Gridsub(api, "--walltime 1:30 -- ./p {} ::: a");
  EXPECT_TRUE(Has(hours.err, "--walltime 1:30 is read as 1:30:00")) << hours.err;
}

TEST(NewcomerTest, TheEnvironmentIsCarriedWhereItCanBeAndElseItsAbsenceIsSaid) {
  FakeApi api;
  const std::string conda = "CONDA_PREFIX=/c MYVAR=\"a 'b\" SECRET_TOKEN=x";
  const auto remote = Gridsub(api, "-- ./p {} ::: a", "", conda);
  EXPECT_TRUE(Has(remote.err, "without your conda (/c) (--env-all carries it)")) << remote.err;
  EXPECT_FALSE(Sent(api).contains("setup"));
  Gridsub(api, "--env MYVAR,CONDA_PREFIX --env N=1,2 --setup 'module load x' -- ./p {} ::: a", "",
          conda);
  EXPECT_EQ(Sent(api)["setup"],
            "export MYVAR='a '\\''b'\nexport CONDA_PREFIX=/c\nexport N=1,2\nmodule load x");
  api.clusters = {{{"name", "alpha"}, {"kind", "local"}}};
  Gridsub(api, "-- ./p {} ::: a", "", conda);
  const std::string setup = Sent(api)["setup"];
  EXPECT_TRUE(Has(setup, "export CONDA_PREFIX=/c\n")) << setup;
  EXPECT_TRUE(Has(setup, "export PATH=")) << setup;
  EXPECT_FALSE(Has(setup, "SECRET_TOKEN")) << "nobody asked for it";
  EXPECT_FALSE(Has(setup, "export HOME"));
  EXPECT_EQ(Gridsub(api, "--env NOT_SET_HERE -- ./p {} ::: a").code, 64);
}

// It was an "unexpected error, please report it".
TEST(NewcomerTest, AWorkingDirectoryThatIsGoneIsNamed) {
  FakeApi api;
  const std::string command =
      "cd " + api.folder() +
      " && mkdir gone && cd gone && rmdir ../gone && CIGRI_API=" + api.socket() +
      " CIGRICONFFILE= " CIGRI_BIN_DIR "/gridsub -- true ::: a 2>" + api.folder() + "/err";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 65);
  EXPECT_TRUE(Has(Slurp(api.folder() + "/err"), "the working directory cannot be used"))
      << Slurp(api.folder() + "/err");
}

TEST(NewcomerTest, DirectoriesAreRelativeToHere) {
  FakeApi api;
  api.Write("prog", "#!/bin/sh\n");
  std::filesystem::create_directory(api.folder() + "/wd");
  Gridsub(api, "--directory wd -- ./prog {} ::: a");
  EXPECT_EQ(Sent(api)["exec_directory"], api.folder() + "/wd");
  EXPECT_EQ(Sent(api)["exec_file"], api.folder() + "/prog {}");
  Gridsub(api, "--directory 'run/{#}' -- ./prog ::: a");
  EXPECT_EQ(Sent(api)["exec_directory"], api.folder());
  EXPECT_EQ(Sent(api)["exec_file"],
            "mkdir -p -- \"run/{#}\" && cd -- \"run/{#}\" || exit 1; " + api.folder() + "/prog {}");
  api.clusters = {{{"name", "alpha"}, {"kind", "local"}}};
  const auto missing = Gridsub(api, "--directory nope -- ./prog {} ::: a");
  EXPECT_EQ(missing.code, 65);
  EXPECT_TRUE(Has(missing.err, "mkdir -p nope")) << missing.err;
  // It was an "unexpected error, please report it", as in a folder of somebody else.
  const auto closed = Gridsub(api, "--directory " + std::string(300, 'x') + " -- ./prog {} ::: a");
  EXPECT_EQ(closed.code, 65);
  EXPECT_TRUE(Has(closed.err, ": cannot look there: File name too long")) << closed.err;
  const auto file = Gridsub(api, "--directory prog -- ./prog {} ::: a");
  EXPECT_EQ(file.code, 65);
  EXPECT_TRUE(Has(file.err, "--directory prog: " + api.folder() + "/prog is no folder"))
      << file.err;
}

}  // namespace
}  // namespace cigri::gridsub
