// gridsub as users run it, against an API that notes what it was sent.
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "tests/gridsub/fake_api.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

constexpr char kJdl[] =
    R"({"name":"n","params":["a 1","b 2"],"exec_file":"x","clusters":{"alpha":{}}})";
constexpr char kSubmitted[] = "Campaign successfully submitted\nCAMPAIGN_ID=7\n";

TEST(GridsubTest, AJdlIsSentAsItStandsAndTheIdIsPrintedForScripts) {
  FakeApi api;
  const auto file = api.Write("a.json", kJdl);
  for (const std::string& args : {"-f " + file, file, std::string("--json '") + kJdl + "'"}) {
    const auto ran = Gridsub(api, args);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, kSubmitted);
    EXPECT_EQ(api.Last("/campaigns").body, kJdl);
  }
  EXPECT_EQ(Gridsub(api, "-", kJdl).code, 0);
  const auto piped = Gridsub(api, "-f - -d", kJdl);
  EXPECT_EQ(piped.out,
            std::string(kSubmitted) + "{\n  \"id\": 7,\n  \"state\": \"in_treatment\"\n}\n");
}

TEST(GridsubTest, NotifySubscribesToThisCampaignAlone) {
  FakeApi api;
  const auto file = api.Write("a.json", kJdl);
  const auto ran = Gridsub(api, "--notify a@b.org --notify jabber:a@j.org " + file);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(api.Calls(), "POST /campaigns, POST /notifications/mail, POST /notifications/jabber");
  EXPECT_EQ(json::parse(api.Last("/notifications/mail").body),
            json({{"identity", "a@b.org"}, {"severity", "high"}, {"campaign", 7}}));
  EXPECT_EQ(json::parse(api.Last("/notifications/jabber").body)["identity"], "a@j.org");
  EXPECT_EQ(Gridsub(api, "-c 7 -J '[\"c\"]' --notify a@b.org").code, 64) << "no submission";
}

TEST(GridsubTest, AllFaultsOfAllFilesAreReportedAndNothingIsSent) {
  FakeApi api;
  api.Write("a.json", kJdl);
  api.Write("b.json",
            "{\n \"name\": \"n\",\n \"nb_jobs\": 0,\n \"exec_file\": \"x\",\n"
            " \"walltime\": \"1x\",\n \"clusters\": {\"alpha\": {}}\n}");
  const auto ran = Gridsub(api, "-f a.json -f b.json");
  EXPECT_EQ(ran.code, 65);
  EXPECT_EQ(ran.err,
            "b.json:3:13: nb_jobs: must be a whole number from 1 to 2147483647, not "
            "0\nb.json:5:14: walltime: \"1x\" is no walltime\nHINT: write \"h:mm:ss\" "
            "(\"1:00:00\"), \"90m\" or \"3600s\"\n");
  EXPECT_EQ(api.Calls(), "");
}

TEST(GridsubTest, FaultsThatOnlyTheServerKnowsAreReportedAlike) {
  FakeApi api;
  api.campaign_status = 400;
  api.campaign_answer = {{"status", 400},
                         {"title", "Error"},
                         {"message", "2 faults"},
                         {"faults",
                          {{{"line", 1},
                            {"column", 60},
                            {"key", "clusters.alpha"},
                            {"message", "unknown cluster \"alpha\""},
                            {"hint", "did you mean \"alfa\"?"}}}}};
  const auto ran = Gridsub(api, "-f " + api.Write("a.json", kJdl));
  EXPECT_EQ(ran.code, 65);
  EXPECT_EQ(ran.err, api.folder() +
                         "/a.json:1:60: clusters.alpha: unknown cluster \"alpha\"\n"
                         "HINT: did you mean \"alfa\"?\n");
}

TEST(GridsubTest, AParameterThatTheServerRefusesIsReportedWithItsLine) {
  FakeApi api;
  api.campaign_status = 400;
  api.campaign_answer = {{"status", 400},
                         {"message", "parameter 3: it has 1 value for 2 columns"},
                         {"parameter", 3},
                         {"problem", "it has 1 value for 2 columns"}};
  api.other["/campaigns/7/jdl"] = {200, {{"name", "lines"}}};
  api.other["/campaigns/7/jobs"] = {400, api.campaign_answer};
  api.Write("lines", "a\n\nc\n");
  api.Write("rows.csv", "k,v\n\n1,\"two\nlines\"\n2,b\n3,c\n");
  api.Write("a.json",
            R"({"name":"n","param_file":"lines","exec_file":"x","clusters":{"alpha":{}}})");
  const std::string why = ": this parameter cannot be used: it has 1 value for 2 columns\n";
  const struct {
    const char *words, *place;
  } cases[] = {{"a.json", "lines:3"},
               {"-a lines a.json", "lines:3"},
               {"--csv rows.csv -- ./x {k}", "rows.csv:6"},
               {"-c 7 -a lines", "lines:3"},
               {R"(-c 7 -J '["1","2","3"]')", "--jsonjob: parameter 3"}};
  for (const auto& c : cases) {
    const auto ran = Gridsub(api, c.words);
    EXPECT_EQ(ran.code, 65) << c.words;
    EXPECT_NE(ran.err.find(std::string("gridsub: ") + c.place + why), std::string::npos)
        << c.words << ": " << ran.err;
  }
}

TEST(GridsubTest, ANumberBeyondAllRangesIsNoParameter) {
  FakeApi api;
  api.other["/campaigns/7/jdl"] = {200, {{"name", "lines"}}};
  const auto ran = Gridsub(api, "-c 7 -J '[1e999]'");
  EXPECT_EQ(ran.code, 65) << ran.err;
  EXPECT_NE(ran.err.find("--jsonjob"), std::string::npos) << ran.err;
}

TEST(GridsubTest, ARefusalByARuleIsPrintedAsCigri3Did) {
  FakeApi api;
  api.campaign_status = 400;
  api.campaign_answer = {{"title", "Admission rule error"}, {"message", "rule 2 (cap): too long"}};
  const auto ran = Gridsub(api, "-f " + api.Write("a.json", kJdl));
  EXPECT_EQ(ran.code, 65);
  EXPECT_EQ(ran.err, "Admission rule error:\n    rule 2 (cap): too long\n");
}

TEST(GridsubTest, ExitCodesSayWhoCannotDoIt) {
  FakeApi api;
  api.Write("a.json", kJdl);
  const std::pair<int, int> cases[] = {{403, 77}, {503, 75}, {500, 70}, {404, 1}};
  for (const auto& [status, code] : cases) {
    api.campaign_status = status;
    api.campaign_answer = {{"message", "no"}};
    EXPECT_EQ(Gridsub(api, "-f a.json").code, code) << status;
  }
  EXPECT_EQ(Gridsub(api, "--api /nonexistent/api.sock -f a.json").code, 69);
  EXPECT_EQ(Gridsub(api, "--api nonsense -f a.json").code, 78);
  EXPECT_EQ(Gridsub(api, "-f nowhere.json").code, 65);
  EXPECT_EQ(Gridsub(api, "-f .").code, 65);
  for (const char* wrong :
       {"", "--nonsense", "-c 0 -F x", "-c 3", "--resume -- true", "-f a.json -- true",
        "-f a.json wc ::: a", "-t nonsense -f a.json", "--"})
    EXPECT_EQ(Gridsub(api, wrong).code, 64) << wrong;
}

TEST(GridsubTest, AParamFileIsReadByTheUserNextToTheJdlAndStripped) {
  FakeApi api;
  std::filesystem::create_directory(api.folder() + "/sub");
  api.Write("sub/a.json",
            R"({"name":"n","param_file":"${P}.txt","exec_file":"x","clusters":{"alpha":{}}})");
  api.Write("sub/lines.txt", "  one 'x y' $HOME \n\ntwo #\ntwo #");
  const auto ran = Gridsub(api, "sub/a.json", "", "P=lines");
  EXPECT_EQ(ran.out, kSubmitted) << ran.err;
  EXPECT_EQ(api.Uploaded(), (std::vector<std::string>{"one 'x y' $HOME", "", "two #", "two #"}));
  const auto sent = api.Last("/campaigns");
  EXPECT_EQ(sent.query.find("upload")->second, "3");
  EXPECT_EQ(sent.query.find("format")->second, "line");
}

TEST(GridsubTest, AParamFileThatCannotBeReadIsReportedAtItsPlace) {
  FakeApi api;
  api.Write(
      "a.json",
      "{\"name\":\"n\",\n\"param_file\":\"gone\",\"exec_file\":\"x\",\"clusters\":{\"alpha\":{}}}");
  const auto ran = Gridsub(api, "a.json");
  EXPECT_EQ(ran.code, 65);
  EXPECT_EQ(ran.err,
            "gridsub: a.json:2:14: param_file: cannot read gone: No such file or directory\n");
  api.Write("gone", std::string("ok\na\0b\n", 7));
  EXPECT_NE(
      Gridsub(api, "a.json").err.find("gone:2: this parameter cannot be used: it contains a NUL"),
      std::string::npos);
}

TEST(GridsubTest, AValueWithANulIsRefusedWithItsLineFromWhateverSource) {
  const std::string bad("ok\na\0b\n", 7);
  FakeApi api;
  api.Write("bad", bad);
  const struct {
    const char *words, *place;
  } cases[] = {{"-- echo {}", "standard input:2: this parameter"},
               {"-- echo {} :::: bad", "bad:2: this parameter"},
               {"-- echo {} ::: x :::: bad", "bad:2: a value"},
               {"-a bad -- echo {}", "bad:2: this parameter"}};
  for (const auto& c : cases) {
    const auto ran = Gridsub(api, c.words, bad);
    EXPECT_EQ(ran.code, 65) << c.words;
    EXPECT_NE(
        ran.err.find(std::string("gridsub: ") + c.place + " cannot be used: it contains a NUL"),
        std::string::npos)
        << c.words << ": " << ran.err;
  }
  EXPECT_EQ(Gridsub(api, R"(-J '["a\u0000b"]' -- echo {})").code, 65);
  EXPECT_EQ(api.Calls().find("POST /campaigns"), std::string::npos) << api.Calls();
}

TEST(GridsubTest, AFaultInTheCommandLineHasNoLineOfTheTextThatIsMadeOfIt) {
  FakeApi api;
  api.campaign_status = 400;
  api.campaign_answer = {{"title", "Error"},
                         {"faults",
                          {{{"line", 1},
                            {"column", 14},
                            {"key", "clusters.gama"},
                            {"message", "unknown cluster \"gama\""},
                            {"hint", "did you mean \"gamma\"?"}}}}};
  const auto ran = Gridsub(api, "--clusters gama -- true ::: a");
  EXPECT_NE(
      ran.err.find(
          "gridsub: clusters.gama: unknown cluster \"gama\"\nHINT: did you mean \"gamma\"?\n"),
      std::string::npos)
      << ran.err;
}

TEST(GridsubTest, ManyParametersAreStreamedInBlocksThatMayBeRepeated) {
  FakeApi api;
  api.fail_blocks = 1;
  api.lose_answers = 1;
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += "p" + std::to_string(i) + "\n";
  const auto ran = Gridsub(api, "-- echo {}", lines);
  EXPECT_EQ(ran.out, kSubmitted) << ran.err;
  const auto got = api.Uploaded();
  ASSERT_EQ(got.size(), 2500u);
  EXPECT_EQ(got[2499], R"(["p2499"])");
  EXPECT_EQ(api.blocks.size(), 3u);
  EXPECT_FALSE(json::parse(api.Last("/campaigns").body).contains("params"));
}

TEST(GridsubTest, ManyParamsWithinAJdlTravelApartAndTheLinesOfTheTextStay) {
  FakeApi api;
  std::string text = "{\"name\":\"n\",\"params\":[";
  for (int i = 0; i < 1500; ++i) text += "\n\"p" + std::to_string(i) + "\",";
  text += "\n\"last\"],\n\"exec_file\":\"x\",\"clusters\":{\"alpha\":{}}}";
  EXPECT_EQ(Gridsub(api, "-f " + api.Write("a.json", text)).code, 0);
  EXPECT_EQ(api.Uploaded().size(), 1501u);
  const auto body = api.Last("/campaigns").body;
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), 1502);
  EXPECT_EQ(json::parse(body)["params"], json::array());
}

TEST(GridsubTest, ACommandLineOfParallelBecomesAJdlAndItsDefaultsAreSaid) {
  FakeApi api;
  const auto ran = Gridsub(api, "-- /usr/bin/wc -c {} 'a b' ::: 'x y' z ::: 1 2");
  EXPECT_EQ(ran.out, kSubmitted) << ran.err;
  EXPECT_EQ(ran.err,
            "gridsub: clusters alpha (all there are); walltime 1:00:00 (default); "
            "directory " +
                api.folder() + " (here); environment the cluster's\n");
  EXPECT_EQ(json::parse(api.Last("/campaigns").body),
            json::parse(R"({"name":"wc","clusters":{"alpha":{}},"walltime":"1:00:00",
              "exec_directory":")" +
                        api.folder() + R"(","exec_file":"/usr/bin/wc -c {} 'a b'",
              "format":"values","params":[["x y","1"],["x y","2"],["z","1"],["z","2"]]})"));
  EXPECT_EQ(api.Calls(), "GET /clusters, POST /campaigns");
}

TEST(GridsubTest, OptionsReplaceTheDefaults) {
  FakeApi api;
  const auto ran = Gridsub(api,
                           "--clusters b,c --walltime 90 --directory /d --name N "
                           "--resources /core=2 --max-jobs 3 --project p -t test -- true ::: 1");
  EXPECT_EQ(ran.err,
            "gridsub: clusters b, c; walltime 90s; directory /d; environment the cluster's\n");
  const auto sent = api.Last("/campaigns");
  const auto body = json::parse(sent.body);
  EXPECT_EQ(body["clusters"], json::parse(R"({"b":{},"c":{}})"));
  EXPECT_EQ(body["max_jobs"], 3);
  EXPECT_EQ(sent.query.find("type")->second, "test");
  EXPECT_EQ(Gridsub(api, "--walltime soon -- true ::: 1").code, 65);
}

TEST(GridsubTest, OptionsWinOverAJdlAndItsClusters) {
  FakeApi api;
  const auto file = api.Write("a.json", R"({"name":"n","nb_jobs":2,"Walltime":60,"exec_file":"x",
     "clusters":{"alpha":{"walltime":5},"beta":{}}})");
  EXPECT_EQ(Gridsub(api, "--walltime 2:00:00 --clusters alpha,gamma " + file).code, 0);
  const auto body = json::parse(api.Last("/campaigns").body);
  EXPECT_EQ(body["walltime"], "2:00:00");
  EXPECT_EQ(body["clusters"], json::parse(R"({"alpha":{},"gamma":{}})"));
}

TEST(GridsubTest, FilesOfValuesCombineWithOthers) {
  FakeApi api;
  api.Write("f", "one\ntwo words\n");
  EXPECT_EQ(Gridsub(api, "-- p ::: a :::: f").code, 0);
  EXPECT_EQ(json::parse(api.Last("/campaigns").body)["params"],
            json::parse(R"([["a","one"],["a","two words"]])"));
  EXPECT_EQ(Gridsub(api, "-- p :::: f").code, 0);
  EXPECT_EQ(json::parse(api.Last("/campaigns").body)["params"],
            json::parse(R"([["one"],["two words"]])"));
  EXPECT_EQ(Gridsub(api, "-- p :::: gone").code, 65);
  EXPECT_EQ(Gridsub(api, "-- p", "").code, 65);
}

TEST(GridsubTest, ACsvGivesNamedColumns) {
  FakeApi api;
  api.Write("f.csv", "k,file\n3,\"a b.txt\"\n5,c\n");
  EXPECT_EQ(Gridsub(api, "--csv f.csv -- ./sim --k {k} {file.}").code, 0);
  const auto body = json::parse(api.Last("/campaigns").body);
  EXPECT_EQ(body["columns"], json::parse(R"(["k","file"])"));
  EXPECT_EQ(body["exec_file"], "./sim --k {k} {file.}");
  EXPECT_EQ(body["params"], json::parse(R"([["3","a b.txt"],["5","c"]])"));

  const auto jdl =
      api.Write("a.json", R"({"name":"n","exec_file":"x {k}","clusters":{"alpha":{}}})");
  EXPECT_EQ(Gridsub(api, "--csv f.csv " + jdl).code, 0);
  const auto query = api.Last("/campaigns").query;
  EXPECT_EQ(query.find("format")->second, "values");
  EXPECT_EQ(query.find("columns")->second, "k,file");
  EXPECT_EQ(api.Uploaded()[0], R"(["3","a b.txt"])");
}

TEST(GridsubTest, ADryRunShowsWhatWouldHappenAndSubmitsNothing) {
  FakeApi api;
  api.campaign_status = 200;
  api.campaign_answer = {{"jdl", {{"name", "n"}}},
                         {"changes", {"rule cap changed walltime 7200 -> 3600"}},
                         {"clusters",
                          {{{"name", "alpha"}, {"matched", true}, {"why", ""}},
                           {{"name", "beta"}, {"matched", false}, {"why", "drained"}}}},
                         {"commands", {"x a 1", "x b 2"}},
                         {"total_jobs", 2}};
  const auto ran = Gridsub(api, "--dry-run -f " + api.Write("a.json", kJdl));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(api.Last("/campaigns").query.find("dry_run")->second, "1");
  EXPECT_EQ(ran.out,
            "JDL as it would be stored:\n{\n  \"name\": \"n\"\n}\n"
            "Changed by admission rules:\n  rule cap changed walltime 7200 -> 3600\n"
            "Clusters:\n  alpha: yes\n  beta: no, drained\n"
            "First commands, as the job's shell gets them:\n  x a 1\n  x b 2\n"
            "2 parameters. Nothing was submitted.\n");
}

TEST(GridsubTest, ParametersAreAddedToACampaign) {
  FakeApi api;
  api.other["/campaigns/7/jobs"] = {201, {{"id", 7}}};
  api.other["/campaigns/7/jdl"] = {200, {{"name", "n"}}};
  const auto ran = Gridsub(api, "-c 7 -J '[\"a\", 2]'");
  EXPECT_EQ(ran.out, "Jobs successfully added to campaign 7\n") << ran.err;
  EXPECT_EQ(api.Last("/campaigns/7/jobs").body, R"(["a","2"])");
  EXPECT_EQ(Gridsub(api, "-c 7 -F -", "[\"x\",\n\"y\"]").code, 0);
  EXPECT_EQ(api.Last("/campaigns/7/jobs").body, R"(["x","y"])");
  EXPECT_EQ(Gridsub(api, "-c 7 -F -", " l1\nl2").code, 0);
  EXPECT_EQ(api.Last("/campaigns/7/jobs").body, R"(["l1","l2"])");
  EXPECT_EQ(Gridsub(api, "-c 7 -J '[\"a\", null]'").code, 65);
  EXPECT_EQ(Gridsub(api, "-c 7 -J '[\"a\"'").code, 65);
  EXPECT_EQ(Gridsub(api, "-c 8 -J '[\"a\"]'").code, 1);
}

TEST(GridsubTest, LinesAddedToACampaignOfValuesAreOneValueEach) {
  FakeApi api;
  api.other["/campaigns/7/jdl"] = {200, {{"format", "values"}}};
  api.other["/campaigns/7/jobs"] = {201, {{"id", 7}}};
  EXPECT_EQ(Gridsub(api, "-c 7 -a -", " a b \n").code, 0);
  EXPECT_EQ(json::parse(api.Last("/campaigns/7/jobs").body), json({R"([" a b "])"}));
  // Nothing could be added to a campaign of {1} {2}.
  EXPECT_EQ(Gridsub(api, "-c 7 -J '[[\"a\", 1], \"b\"]'").code, 0);
  EXPECT_EQ(json::parse(api.Last("/campaigns/7/jobs").body), json({R"(["a","1"])", R"(["b"])"}));
  EXPECT_EQ(Gridsub(api, "-c 7 -J '[[[1]]]'").code, 65);
  const auto csv = Gridsub(api, "-c 7 --csv " + api.Write("x.csv", "a,b\n1,2\n"));
  EXPECT_EQ(csv.code, 65);
  EXPECT_NE(csv.err.find("the values of campaign 7 have no names"), std::string::npos) << csv.err;
}

TEST(GridsubTest, RowsThatAreAddedMustHaveTheColumnsOfTheCampaign) {
  FakeApi api;
  api.other["/campaigns/7/jdl"] = {200, {{"format", "values"}, {"columns", {"a", "b"}}}};
  api.other["/campaigns/8/jdl"] = {200, {{"name", "lines"}}};
  api.other["/campaigns/7/jobs"] = {201, {{"id", 7}, {"notes", {"rule cap changed it"}}}};
  const auto good = Gridsub(api, "-c 7 --csv " + api.Write("good.csv", "a,b\n1,2\n"));
  EXPECT_EQ(good.out, "Jobs successfully added to campaign 7\n") << good.err;
  EXPECT_EQ(good.err, "gridsub: note: rule cap changed it\n");
  const struct {
    const char *words, *why;
  } cases[] = {
      {"-c 7 --csv other.csv", "other.csv:1: the columns are b,a, those of campaign 7 are a,b"},
      {"-c 7 -a lines", "campaign 7 has the columns a,b"},
      {"-c 8 --csv other.csv", "campaign 8 takes lines, not the columns of a CSV"}};
  api.Write("other.csv", "b,a\n1,2\n");
  api.Write("lines", "1\n2\n");
  for (const auto& c : cases) {
    const auto ran = Gridsub(api, c.words);
    EXPECT_EQ(ran.code, 65) << c.words;
    EXPECT_NE(ran.err.find(c.why), std::string::npos) << ran.err;
  }
}

TEST(GridsubTest, ARefusedOrDryRunLeavesNoUploadBehind) {
  const std::string with_file = R"({"name":"n","exec_file":"x","clusters":{"alpha":{}}})";
  for (const int status : {201, 400}) {
    FakeApi api;
    api.campaign_status = status;
    api.Write("a.json", with_file);
    Gridsub(api, "-f a.json -a -", "p1\np2\n");
    EXPECT_EQ(api.Calls().find("DELETE /uploads/3") != std::string::npos, status == 400)
        << api.Calls();
  }
  FakeApi api;
  api.Write("a.json", with_file);
  Gridsub(api, "-f a.json --dry-run -a -", "p1\np2\n");
  EXPECT_NE(api.Calls().find("DELETE /uploads/3"), std::string::npos) << api.Calls();
  std::string lines;
  for (int i = 0; i < 2500; ++i) lines += "p" + std::to_string(i) + "\n";
  FakeApi broken;
  broken.Write("a.json", with_file);
  EXPECT_EQ(Gridsub(broken, "-f a.json -a -", lines + std::string("a\0b\n", 4)).code, 65);
  EXPECT_NE(broken.Calls().find("DELETE /uploads/3"), std::string::npos) << "it was on its way";
  EXPECT_EQ(broken.Calls().find("POST /campaigns"), std::string::npos);
}

TEST(GridsubTest, WhatIsNotYetSentCanBeChanged) {
  FakeApi api;
  api.other["/campaigns/7"] = {202, {{"changes", {"walltime 3600 -> 7200"}}}};
  const auto ran = Gridsub(api,
                           "-c 7 --set walltime=2:00:00 --set max_jobs=3 --set clusters=a,b "
                           "--set 'after=[]'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(api.Last("/campaigns/7").method, "PATCH");
  EXPECT_EQ(json::parse(api.Last("/campaigns/7").body),
            json::parse(
                R"({"set":{"walltime":"2:00:00","max_jobs":3,"clusters":["a","b"],"after":[]}})"));
  EXPECT_EQ(Gridsub(api, "-c 7 --set walltime").code, 64);
}

TEST(GridsubTest, FailuresAreRunAgain) {
  FakeApi api;
  api.other["/campaigns/7/retry"] = {202, {{"tasks", 2}}};
  const auto ran = Gridsub(api, "--retry-failed 7");
  EXPECT_EQ(ran.out, "2 failed tasks of campaign 7 run again\n");
  EXPECT_EQ(json::parse(api.Last("/campaigns/7/retry").body), json({{"failed", true}}));
}

json Progress(const char* state, int done, int failed, bool over) {
  return {{"token", done},      {"state", state},   {"total", 4},
          {"done", done},       {"failed", failed}, {"clusters", json::array()},
          {"ends_in", nullptr}, {"over", over}};
}

TEST(GridsubTest, WaitEndsWithTheTruth) {
  const struct {
    json last;
    int code;
    const char* summary;
  } cases[] = {{Progress("terminated", 4, 0, true), 0, "4 of 4 done\noutput: gridstat 7 -O\n"},
               {Progress("cancelled", 1, 0, true), 1,
                "1 of 4 done, the campaign was cancelled\noutput: gridstat 7 -O\n"}};
  for (const auto& c : cases) {
    FakeApi api;
    api.progress = {Progress("in_treatment", 1, 0, false), c.last};
    const auto ran = Gridsub(api, "--wait -f " + api.Write("a.json", kJdl));
    EXPECT_EQ(ran.code, c.code);
    EXPECT_EQ(ran.out, std::string(kSubmitted) + c.summary);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(api.Last("/campaigns/7/progress").query.find("seen")->second, "1");
  }
}

TEST(GridsubTest, FailuresAreShownGroupedWithASample) {
  FakeApi api;
  api.progress = {Progress("terminated", 3, 1, true)};
  api.other["/campaigns/7/failures"] = {200,
                                        {{"items",
                                          {{{"message", "exit code 2"},
                                            {"code", "EXIT_ERROR"},
                                            {"count", 1},
                                            {"sample",
                                             {{"task", 9},
                                              {"params", "b 2"},
                                              {"cluster", "alpha"},
                                              {"stderr", "no such \x1b[31mfile\n"}}}}}}}};
  api.joblog = "Seq\tHost\n";
  const auto ran = Gridsub(api, "--wait --joblog log -f " + api.Write("a.json", kJdl));
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, std::string(kSubmitted) +
                         "3 of 4 done, 1 failed\n  1 x exit code 2  [EXIT_ERROR]\n"
                         "       e.g. task 9 (b 2) on alpha\n       | no such ?[31mfile\n"
                         "  again: gridsub --retry-failed 7\noutput: gridstat 7 -O\n");
  EXPECT_EQ(Slurp(api.folder() + "/log"), api.joblog);
}

TEST(GridsubTest, WhoseTasksHadTooLittleTimeIsShownHowToGiveThemMore) {
  FakeApi api;
  api.progress = {Progress("terminated", 3, 1, true)};
  api.other["/campaigns/7/failures"] = {
      200, {{"items", {{{"message", "walltime exceeded"}, {"code", "WALLTIME"}, {"count", 1}}}}}};
  const auto ran = Gridsub(api, "--wait -f " + api.Write("a.json", kJdl));
  EXPECT_NE(ran.out.find("  more time first: gridsub -c 7 --set walltime=...\n"
                         "  again: gridsub --retry-failed 7\n"),
            std::string::npos)
      << ran.out;
}

TEST(GridsubTest, FailedTasksOfACancelledCampaignCannotBeTriedAgain) {
  FakeApi api;
  api.progress = {Progress("cancelled", 3, 1, true)};
  api.other["/campaigns/7/failures"] = {200, {{"items", nlohmann::json::array()}}};
  const auto ran = Gridsub(api, "--wait -f " + api.Write("a.json", kJdl));
  EXPECT_EQ(ran.out.find("--retry-failed"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("it is cancelled: to run them again, submit another campaign"),
            std::string::npos)
      << ran.out;
}

// The exit code of `gridsub --wait`, which a signal ends as soon as it has asked for the progress.
int InterruptedGridsub(FakeApi& api, std::vector<std::string> options, int signal = SIGINT) {
  api.progress = {Progress("in_treatment", 1, 0, false)};
  options.insert(options.begin(), {"gridsub", "--api", api.socket(), "--wait"});
  options.push_back(api.Write("a.json", kJdl));
  std::vector<char*> words;
  for (auto& option : options) words.push_back(option.data());
  words.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    std::freopen((api.folder() + "/err").c_str(), "w", stderr);
    std::freopen((api.folder() + "/out").c_str(), "w", stdout);
    std::signal(SIGHUP, SIG_DFL);  // whatever runs the tests
    execv(CIGRI_BIN_DIR "/gridsub", words.data());
    _exit(127);
  }
  while (api.Last("/campaigns/7/progress").path.empty()) std::this_thread::yield();
  kill(pid, signal);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WEXITSTATUS(status);
}

TEST(GridsubTest, CtrlCLeavesTheCampaignRunningAndSaysHowToStopIt) {
  FakeApi api;
  EXPECT_EQ(InterruptedGridsub(api, {}), 130);
  EXPECT_EQ(Slurp(api.folder() + "/err"),
            "Campaign 7 goes on without you.\n  look at it:  gridstat -c 7 -f\n"
            "  stop it:     griddel 7\n");
  EXPECT_EQ(Slurp(api.folder() + "/out"), kSubmitted);
}

// There was no log then, and --resume ran everything again.
TEST(GridsubTest, CtrlCLeavesAJobLogOfWhatHasEnded) {
  FakeApi api;
  api.joblog = "Seq\tHost\n1\talpha\n";
  const auto log = api.folder() + "/log";
  EXPECT_EQ(InterruptedGridsub(api, {"--joblog", log}), 130);
  EXPECT_EQ(Slurp(log), api.joblog);
  const auto said = Slurp(api.folder() + "/err");
  EXPECT_NE(said.find("gridstat -c 7 --joblog > " + log), said.npos) << said;
}

// A terminal that was closed, a connection that broke.
TEST(GridsubTest, AHangupLeavesAJobLogToo) {
  FakeApi api;
  api.joblog = "Seq\tHost\n1\talpha\n";
  const auto log = api.folder() + "/log";
  EXPECT_EQ(InterruptedGridsub(api, {"--joblog", log}, SIGHUP), 129);
  EXPECT_EQ(Slurp(log), api.joblog);
}

TEST(GridsubTest, TheApiOfAnotherHostIsReachedThroughSsh) {
  FakeApi api;
  std::filesystem::create_directory(api.folder() + "/bin");
  // Stands for ssh: "forwards" by a link, and ends when it is reported to.
  api.Write("bin/ssh",
            "#!/bin/sh\necho \"$@\" >ssh.args\nwhile [ \"$1\" != -L ]; do shift; done\n"
            "ln -s \"${2#*:}\" \"${2%%:*}\"\nexec sleep 60\n");
  std::filesystem::permissions(api.folder() + "/bin/ssh", std::filesystem::perms::owner_all);
  const auto before = "PATH=" + api.folder() + "/bin:$PATH";
  const auto file = api.Write("a.json", kJdl);
  const auto ran = Gridsub(api, "--api ssh://me@far" + api.socket() + " " + file, "", before);
  EXPECT_EQ(ran.out, kSubmitted) << ran.err;
  EXPECT_NE(Slurp(api.folder() + "/ssh.args").find(" -- ssh://me@far"), std::string::npos);

  api.Write("bin/ssh", "#!/bin/sh\necho 'host unknown' >&2\nexit 255\n");
  const auto refused = Gridsub(api, "--api ssh://far " + file, "", before);
  EXPECT_EQ(refused.code, 69);
  EXPECT_NE(refused.err.find("host unknown"), std::string::npos);
  EXPECT_EQ(Gridsub(api, "--api 'ssh://-oProxyCommand=id' " + file, "", before).code, 78);
}

// Who says no socket reaches the packaged API, else that of a grid that root has started.
TEST(GridsubTest, TheUsualSocketsOfAnotherHostAreFound) {
  FakeApi api;
  std::filesystem::create_directory(api.folder() + "/bin");
  // As ssh does: takes each connection, and closes it when there is no socket at the other end.
  api.Write("bin/ssh", R"(#!/usr/bin/python3
import os, socket, sys, threading
def copy(a, b):
    for data in iter(lambda: a.recv(65536), b""):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
def serve(near, path):
    while True:
        one, far = near.accept()[0], socket.socket(socket.AF_UNIX)
        try:
            far.connect("far" + path)
        except OSError:
            one.close()
            continue
        threading.Thread(target=copy, args=(one, far), daemon=True).start()
        threading.Thread(target=copy, args=(far, one), daemon=True).start()
for flag, forward in zip(sys.argv, sys.argv[1:]):
    if flag == "-L":
        near = socket.socket(socket.AF_UNIX)
        near.bind(forward.split(":")[0])
        near.listen()
        threading.Thread(target=serve, args=(near, forward.split(":")[1]), daemon=True).start()
threading.Event().wait()
)");
  std::filesystem::permissions(api.folder() + "/bin/ssh", std::filesystem::perms::owner_all);
  const auto file = api.Write("a.json", kJdl);
  const auto far = api.folder() + "/far", before = "PATH=" + api.folder() + "/bin:$PATH";
  for (const std::string path : {"/run/cigri", "/var/lib/cigri/run"}) {
    std::filesystem::remove_all(far);
    std::filesystem::create_directories(far + path);
    std::filesystem::create_symlink(api.socket(), far + path + "/api.sock");
    const auto ran = Gridsub(api, "--api ssh://far " + file, "", before);
    EXPECT_EQ(ran.out, kSubmitted) << path << ran.err;
  }
  std::filesystem::remove_all(far);
  const auto none = Gridsub(api, "--api ssh://far " + file, "", before);
  EXPECT_EQ(none.code, 69);
  EXPECT_NE(none.err.find("neither /run/cigri/api.sock nor /var/lib/cigri/run/api.sock answers"),
            std::string::npos)
      << none.err;
}

// The database failed over while it stored the campaign.
TEST(GridsubTest, ASubmissionOfWhichNobodyKnowsIsSentAgainWithItsKey) {
  FakeApi api;
  api.doubts = 2;
  const auto ran = Gridsub(api, "-q -- echo {} ::: a");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto keys = api.Keys("/campaigns");
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_GE(keys[0].size(), 16u);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1u);
  EXPECT_EQ(Gridsub(api, "-q -- echo {} ::: a").code, 0);
  EXPECT_NE(api.Keys("/campaigns").back(), keys[0]) << "another submission";
}

// A refusal is none, also one that says that there is no database.
TEST(GridsubTest, ASubmissionThatIsRefusedIsSentOnce) {
  FakeApi api;
  api.campaign_status = 503;
  api.campaign_answer = {{"message", "no database"}};
  EXPECT_EQ(Gridsub(api, "-- echo {} ::: a").code, 75);
  EXPECT_EQ(api.Keys("/campaigns").size(), 1u);
}

}  // namespace
}  // namespace cigri::gridsub
