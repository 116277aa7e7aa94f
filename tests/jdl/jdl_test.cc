#include "jdl/jdl.h"

#include <gtest/gtest.h>

#include "jdl/files.h"
#include "jdl/values.h"

namespace cigri::jdl {
namespace {

Defaults Grid() {
  Defaults defaults;
  defaults.clusters["alpha"] = {};
  defaults.clusters["beta"] = {.resources = "/core=2", .walltime_s = 60, .resource_unit = "core"};
  return defaults;
}

std::string Faults(const Result& result) {
  std::string out;
  for (const auto& fault : result.faults) out += Text(fault, "f") + "\n";
  return out;
}

// The campaign of a JDL without faults.
Campaign Good(std::string_view text, const Options& options = {.may_read_files = true}) {
  const Result result = Parse(text, Grid(), options);
  EXPECT_TRUE(result.ok()) << text << "\n" << Faults(result);
  return result.campaign;
}

// `body` within a JDL that is good without it.
std::string With(const std::string& body) {
  return R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}},)" + body + "}";
}

TEST(JdlTest, TheExamplesOfCigri3AreReadWithTheirPrecedence) {
  const auto campaign = Good(R"({ "name": "montecarlo", "nb_jobs": 5000, "resources": "core=1",
    "walltime": "00:20:00", // a comment
    "exec_file": "{HOME}/mc/run.sh", "exec_directory": "{HOME}/mc/out/{CAMPAIGN_ID}", /* and one */
    "prologue": ["mkdir -p {HOME}/mc/out/{CAMPAIGN_ID}"],
    "clusters": { "alpha": {}, "beta": { "walltime": "00:40:00", "max_jobs": 200 } } })");
  EXPECT_EQ(campaign.source, Source::kCount);
  EXPECT_EQ(campaign.count, 5000);
  ASSERT_EQ(campaign.clusters.size(), 2u);
  const auto& alpha = campaign.clusters[0];
  const auto& beta = campaign.clusters[1];
  EXPECT_EQ(alpha.exec_file, "$HOME/mc/run.sh");
  EXPECT_EQ(alpha.exec_directory, "$HOME/mc/out/{CAMPAIGN_ID}");
  EXPECT_EQ(alpha.prologue[0], "mkdir -p $HOME/mc/out/$CIGRI_CAMPAIGN_ID");
  EXPECT_EQ(alpha.walltime_s, 1200);
  EXPECT_FALSE(alpha.max_jobs.has_value());
  EXPECT_TRUE(alpha.best_effort);
  EXPECT_EQ(beta.walltime_s, 2400);
  EXPECT_EQ(beta.max_jobs, 200);
}

// The sample of CiGri's README. "\$" is no escape of JSON, and "\\$" reaches the script.
TEST(JdlTest, TheReadmeOfCigri3IsReadAsCigri3ReadsIt) {
  const auto result = Parse(R"({
  "name": "povray_demo",
  "resources": "core=1",
  "exec_file": "\$HOME/povray/start.bash",
  "exec_directory": "\$HOME/povray",
  "param_file": "/home/deamon/povray_params.txt",
  "test_mode": "true",
  "type": "best-effort",
  "prologue": [
    "set -e",
    "cd \\$HOME",
    "imkdir -p povray_results/\\$CIGRI_CAMPAIGN_ID"
  ],
  "clusters": {
    "alpha": { "walltime": "00:10:00", "max_jobs": 50 },
    "fontaine": { "walltime": "00:10:00" },
    "beta": { "project": "test", "walltime": "00:5:00" }
  }
})",
                            Grid(), {.may_read_files = true});
  ASSERT_TRUE(result.ok()) << Faults(result);
  ASSERT_EQ(result.campaign.clusters.size(), 2u);
  const auto& alpha = result.campaign.clusters[0];
  EXPECT_EQ(alpha.exec_file, "$HOME/povray/start.bash");
  EXPECT_EQ(alpha.exec_directory, "$HOME/povray");
  EXPECT_EQ(alpha.prologue[1], "cd $HOME");
  EXPECT_EQ(alpha.prologue[2], "imkdir -p povray_results/$CIGRI_CAMPAIGN_ID");
  std::string warnings;
  for (const auto& warning : result.warnings) warnings += Text(warning, "f") + "\n";
  EXPECT_EQ(warnings,
            "f:4:17: \"\\$\" is no escape of JSON: it is read without the backslash (1 more like "
            "it)\nHINT: leave the backslash out\n"
            "f:9:3: prologue: \"\\$\" is read as $, as in CiGri 3: the job's shell expands it\n"
            "HINT: write $ without a backslash\n"
            "f:16:5: clusters.fontaine: unknown cluster \"fontaine\": the campaign runs on the "
            "others\nHINT: `gridclusters` lists them\n");
}

TEST(JdlTest, AnUnknownEscapeIsItsCharacterAndPlacesStayTrue) {
  const auto result = Parse(
      "{\"name\":\"n\", // a comment with \"\\q\n"
      "\"params\":[\"\\$a \\\\$b\", \"\\%\\é \\\"\\'x\"], "
      "\"exec_file\":\"x\\!\",\"clusters\":{\"alpha\":1}}",
      Grid());
  EXPECT_EQ(result.campaign.params.First(2), (std::vector<std::string>{"$a \\$b", "%é \"'x"}));
  ASSERT_EQ(result.faults.size(), 1u) << Faults(result);
  EXPECT_EQ(result.faults[0].line, 2);
  EXPECT_EQ(result.faults[0].column, 76);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].message.find("(4 more like it)"), std::string::npos)
      << result.warnings[0].message;
}

TEST(JdlTest, DollarsOfScriptsArePlainWhereTheyBeginAnExpansion) {
  EXPECT_EQ(WithPlainDollars(R"(cd \$HOME; awk '{print \$1}' \${x} \$(date))"),
            "cd $HOME; awk '{print $1}' ${x} $(date)");
  EXPECT_EQ(WithPlainDollars(R"(sed 's/\$//' a\\$b \)"), R"(sed 's/\$//' a\\$b \)");
}

// In OAR "2" is two hours; so it is in a JDL, and the user is told.
TEST(JdlTest, AWalltimeWithoutAUnitIsHoursAndSaysSo) {
  const struct {
    const char* walltime;
    int seconds;
    const char* hint;
  } cases[] = {{"\"2\"", 7200, "write \"2:00:00\", or \"2s\" for seconds"},
               {"300", 1080000, "write \"300:00:00\", or \"300s\" for seconds"},
               {"\"1:30\"", 5400, "write \"1:30:00\""},
               {"\"300s\"", 300, nullptr},
               {"\"0:00:02\"", 2, nullptr}};
  for (const auto& c : cases) {
    const auto result = Parse(With("\"walltime\":" + std::string(c.walltime)), Grid());
    ASSERT_TRUE(result.ok()) << Faults(result);
    EXPECT_EQ(result.campaign.clusters[0].walltime_s, c.seconds) << c.walltime;
    EXPECT_EQ(result.warnings.size(), c.hint == nullptr ? 0u : 1u) << c.walltime;
    if (c.hint != nullptr) {
      EXPECT_EQ(result.warnings[0].hint, c.hint);
    }
  }
}

TEST(JdlTest, TheExpandedJdlIsReadAgainWithTheSameWalltimes) {
  const auto campaign =
      Good(With(R"("walltime":"0:00:05","prologue":["x"],"prologue_walltime":"2h")"));
  const auto shown = WithWalltimesAsText(ToJson(campaign));
  EXPECT_EQ(shown["clusters"]["alpha"]["walltime"], "0:00:05");
  auto again = shown;
  again["nb_jobs"] = 1;
  const auto read = Good(again.dump()).clusters[0];
  EXPECT_EQ(read.walltime_s, 5);
  EXPECT_EQ(read.prologue_walltime_s, 7200);
}

TEST(JdlTest, AnAutomaticWalltimeHasAMaximumAndSaysSoAgainWhenItIsShown) {
  const struct {
    const char* given;
    int most;
    bool is_auto;
    const char* shown;
  } cases[] = {
      {R"("walltime":"auto")", 3600, true, "auto:1:00:00"},
      {R"("walltime":"auto:90m")", 5400, true, "auto:1:30:00"},
      {R"("walltime":"90m","auto_walltime":true)", 5400, true, "auto:1:30:00"},
      {R"("walltime":"90m")", 5400, false, "1:30:00"},
  };
  for (const auto& c : cases) {
    const auto campaign = Good(With(c.given));
    EXPECT_EQ(campaign.clusters[0].walltime_s, c.most) << c.given;
    const auto json = ToJson(campaign);
    const auto& block = json["clusters"]["alpha"];
    EXPECT_EQ(block["walltime"], c.most) << "a number: admission rules compare it";
    EXPECT_EQ(block.contains("auto_walltime"), c.is_auto) << c.given;
    const auto shown = WithWalltimesAsText(json)["clusters"]["alpha"];
    EXPECT_EQ(shown["walltime"], c.shown);
    EXPECT_FALSE(shown.contains("auto_walltime"));
    const auto again = FromJson(json, Grid()).campaign.clusters[0];
    EXPECT_EQ(again.walltime_s, c.most) << c.given;
    EXPECT_EQ(again.options, campaign.clusters[0].options) << c.given;
  }
  EXPECT_FALSE(Parse(With(R"("walltime":"auto:")"), Grid()).ok());
  EXPECT_FALSE(Parse(With(R"("walltime":"auto:soon")"), Grid()).ok());
}

TEST(JdlTest, TheWalltimeOfAClusterCountsMoreThanAnAutomaticOneForAll) {
  const auto campaign = Good(
      R"({"name":"n","nb_jobs":1,"exec_file":"x","walltime":"auto:2h",)"
      R"("clusters":{"alpha":{"walltime":"10m"},"beta":{}}})");
  EXPECT_EQ(campaign.clusters[0].walltime_s, 600);
  EXPECT_FALSE(campaign.clusters[0].options.contains("auto_walltime"));
  EXPECT_EQ(campaign.clusters[1].walltime_s, 7200);
  EXPECT_TRUE(campaign.clusters[1].options.contains("auto_walltime"));
}

TEST(JdlTest, TopLevelKeysAreWrittenInAnyCaseAndThoseOfAClusterAreNot) {
  const auto text =
      R"({"NAME":"n","Nb_Jobs":2,"Exec_File":"x","clusters":{"alpha":{"Walltime":5}}})";
  const Result result = Parse(text, Grid());
  EXPECT_TRUE(result.ok()) << Faults(result);
  EXPECT_EQ(result.campaign.clusters[0].walltime_s, 3600);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(result.warnings[0].key, "clusters.alpha.Walltime");
  EXPECT_EQ(result.warnings[0].hint, "did you mean \"walltime\"?");
}

// Each task ran with "{tempertaure}" in its command, and nobody said so.
TEST(JdlTest, APlaceholderThatIsNearlyAColumnIsWarnedAbout) {
  const auto of = [](const std::string& exec_file) {
    const Result result =
        Parse(R"({"name":"n","columns":["temperature","k"],"params":[["1","2"]],"exec_file":")" +
                  exec_file + R"(","clusters":{"alpha":{},"beta":{}}})",
              Grid());
    EXPECT_TRUE(result.ok()) << Faults(result);
    return result.warnings;
  };
  const auto warnings = of("p {temperature} {k}{tempertaure/.}");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].key, "exec_file");
  EXPECT_EQ(warnings[0].message, "{tempertaure/.} is no column: it stays as it is");
  EXPECT_EQ(warnings[0].hint, "did you mean {temperature}?");
  EXPECT_TRUE(of("p ${temperatur} {HOME} {other} {x} a{b,c}").empty());
}

TEST(JdlTest, DefaultsComeFromTheClusterThenFromTheGrid) {
  const auto campaign =
      Good(R"({"name":"n","nb_jobs":2,"exec_file":"x","clusters":{"alpha":{},"beta":{}}})");
  EXPECT_EQ(campaign.clusters[0].resources, "/resource_id=1");
  EXPECT_EQ(campaign.clusters[0].walltime_s, 3600);
  EXPECT_EQ(campaign.clusters[0].exec_directory, "$HOME");
  EXPECT_EQ(campaign.clusters[1].resources, "/core=2");
  EXPECT_EQ(campaign.clusters[1].walltime_s, 60);
}

TEST(JdlTest, ParamsWinOverNbJobsAndTheseOverParamFile) {
  const std::string head = R"({"name":"n","exec_file":"x","clusters":{"alpha":{}})";
  const auto all = head + R"(,"param_file":"f","nb_jobs":3,"params":["a 1",7,1.50,"a 1",""]})";
  const auto campaign = Good(all);
  EXPECT_EQ(campaign.source, Source::kParams);
  EXPECT_EQ(campaign.params.First(9), (std::vector<std::string>{"a 1", "7", "1.50", "a 1", ""}));
  EXPECT_EQ(Parse(all, Grid()).warnings.size(), 2u);
  EXPECT_EQ(Good(head + R"(,"param_file":"f","nb_jobs":3})").source, Source::kCount);
  EXPECT_EQ(Good(head + R"(,"param_file":"f"})").param_file, "f");
  EXPECT_EQ(Good(all, {.uploaded = true}).source, Source::kUpload);
}

TEST(JdlTest, NullAndFalseAreAsGoodAsNotGivenAlsoOverAGlobalValue) {
  const auto campaign = Good(
      R"({"name":"n","nb_jobs":1,"exec_file":"x","max_jobs":4,"project":null,
          "clusters":{"alpha":{"max_jobs":false},"beta":{}}})");
  EXPECT_FALSE(campaign.clusters[0].max_jobs.has_value());
  EXPECT_EQ(campaign.clusters[1].max_jobs, 4);
}

TEST(JdlTest, AllFaultsAreFoundInOnePassAtTheirPlaces) {
  const auto result = Parse(R"({
  "name": "é", "name": "y",
  "nb_jobs": 0,
  "exec_file": "x",
  "prologue": "mkdir x",
  "clusters": {
    "alpa": {},
    "beta": { "walltime": "1x", "type": "besteffort",
              "resources": "/nodes=x" }
  }
})",
                            Grid());
  EXPECT_EQ(
      Faults(result),
      "f:2:16: name: key \"name\" is given twice\nHINT: keep one of them\nf:3:14: nb_jobs: must be "
      "a whole number from 1 to 2147483647, not 0\nf:5:15: prologue: must be an array of texts, "
      "not \"mkdir x\"\nHINT: write it as [\"mkdir x\"]\nf:8:27: "
      "clusters.beta.walltime: \"1x\" is no walltime\nHINT: write \"h:mm:ss\" (\"1:00:00\"), "
      "\"90m\" or \"3600s\"\nf:9:28: clusters.beta.resources: \"nodes=x\" is not a "
      "number of "
      "resources that can be counted\nHINT: give a whole number of at least 1\n");
}

TEST(JdlTest, AFaultOfAGlobalValueIsReportedOnceForAllClusters) {
  const auto result = Parse(
      R"({"name":"n","nb_jobs":1,"walltime":"5x","exec_file":"x","clusters":{"alpha":{},"beta":{}}})",
      Grid());
  EXPECT_EQ(result.faults.size(), 1u) << Faults(result);
}

TEST(DurationTest, IsReadAsUsersOfEveryToolWriteIt) {
  const struct {
    const char* text;
    int seconds;  // 0: it is none
  } cases[] = {{"90", 90},       {"1:00:00", 3600},   {"1h", 3600},     {"90m", 5400},
               {"1h30m", 5400},  {"2d", 172800},      {"45s", 45},      {"1-00:00:00", 86400},
               {"1-12", 129600}, {"1-12:30", 131400}, {"", 0},          {"h", 0},
               {"1x", 0},        {"30m1h", 0},        {"1.5h", 0},      {"0m", 0},
               {"-1h", 0},       {"1-25", 0},         {"1-1:1:1:1", 0}, {"99999999d", 0}};
  for (const auto& c : cases) EXPECT_EQ(ParseDuration(c.text).value_or(0), c.seconds) << c.text;
}

TEST(JdlTest, WrongInputIsRefusedWithTheKeyThatIsWrong) {
  const struct {
    std::string text;
    const char* key;
    const char* part;
  } cases[] = {
      {"", "", "end of input"},
      {"[]", "", "a JDL is an object"},
      {"7", "", "a JDL is an object"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x"})", "", "\"clusters\" is missing"},
      {R"({"nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}}})", "", "\"name\" is missing"},
      {R"({"name":"n","exec_file":"x","clusters":{"alpha":{}}})", "", "no parameters"},
      {R"({"name":"n","nb_jobs":1,"clusters":{"alpha":{}}})", "clusters.alpha", "exec_file"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":{}})", "clusters", "names no"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":["alpha"]})", "clusters", "object"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":{"a b":{}}})", "clusters.a b", "name"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":{"alpha":3}})", "clusters.alpha", ""},
      {R"({"name":"n","nb_jobs":-1,"exec_file":"x","clusters":{"alpha":{}}})", "nb_jobs", ""},
      {R"({"name":"n","nb_jobs":2147483648,"exec_file":"x","clusters":{"alpha":{}}})", "nb_jobs",
       ""},
      {R"({"name":"n","nb_jobs":1e99,"exec_file":"x","clusters":{"alpha":{}}})", "nb_jobs", ""},
      {R"({"name":"n","nb_jobs":"7","exec_file":"x","clusters":{"alpha":{}}})", "nb_jobs", "text"},
      {R"({"name":"n","params":[],"exec_file":"x","clusters":{"alpha":{}}})", "params", "empty"},
      {R"({"name":"n","params":"a","exec_file":"x","clusters":{"alpha":{}}})", "params", "array"},
      {R"({"name":"n","params":["a",null],"exec_file":"x","clusters":{"alpha":{}}})", "params[1]",
       ""},
      {R"({"name":"n","params":["a",{}],"exec_file":"x","clusters":{"alpha":{}}})", "params[1]",
       ""},
      {R"({"name":"n","params":["a\u0000"],"exec_file":"x","clusters":{"alpha":{}}})", "params[0]",
       "NUL"},
      {R"({"name":"n","params":[["a"],["b","c"]],"exec_file":"x","clusters":{"alpha":{}}})",
       "params[1]", "2 values"},
      {R"({"name":"n","params":["a",["b"]],"exec_file":"x","clusters":{"alpha":{}}})", "params[1]",
       ""},
      {R"({"name":"","nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}}})", "name", "empty"},
      {R"({"name":12,"nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}}})", "name", "text"},
      {R"({"name":"a\nb","nb_jobs":1,"exec_file":"x","clusters":{"alpha":{}}})", "name", "control"},
      {R"({"name":"n","nb_jobs":1,"exec_file":" ","clusters":{"alpha":{}}})", "exec_file", "empty"},
      {With(R"("exec_directory":"a\u0000")"), "exec_directory", "NUL"},
      {With(R"("type":"bestefort")"), "type", "best-effort or normal"},
      {With(R"("jobs_type":"tset")"), "jobs_type", ""},
      {With(R"("jobs_type":"desktop_computing")"), "jobs_type", "not supported"},
      {With(R"("walltime":"1:60")"), "walltime", "walltime"},
      {With(R"("walltime":0)"), "walltime", "walltime"},
      {With(R"("walltime":1.5)"), "walltime", "walltime"},
      {With(R"("walltime":999999)"), "walltime", "walltime"},
      {With(R"("walltime":[])"), "walltime", "walltime"},
      {R"({"name":"n","nb_jobs":1,"exec_file":"x","clusters":{"alpa":{}}})", "clusters.alpa",
       "unknown cluster"},
      {With(R"("max_jobs":0)"), "max_jobs", ""},
      {With(R"("max_jobs":"many")"), "max_jobs", ""},
      {With(R"("test_mode":"yes")"), "test_mode", ""},
      {With(R"("epilogue":[1])"), "epilogue[0]", "text"},
      {With(R"("priority":10)"), "priority", ""},
      {With(R"("priority":"urgent")"), "priority", ""},
      {With(R"("finalize":"much")"), "finalize", ""},
      {With(R"("max_tries":0)"), "max_tries", ""},
      {With(R"("retry":3)"), "retry", "object"},
      {With(R"("max_tries":3,"retry":{"attempts":3})"), "retry.attempts", "same as max_tries"},
      {With(R"("retry":{"attempts":0})"), "retry.attempts", ""},
      {With(R"("retry":{"atempts":2})"), "retry.atempts", "not known"},
      {With(R"("retry":{"budgets":{"preemption":0}})"), "retry.budgets.preemption", ""},
      {With(R"("retry":{"evaluateOnExit":[{"action":"EXIT"}]})"), "retry.evaluateOnExit.0",
       "matches nothing"},
      {With(R"("retry":{"evaluateOnExit":[{"onExitCode":1,"action":"STOP"}]})"),
       "retry.evaluateOnExit.0.action", "no action"},
      {With(R"("retry":{"evaluateOnExit":[{"onReason":"a*b","action":"EXIT"}]})"),
       "retry.evaluateOnExit.0.onReason", "middle"},
      {With(R"("licences":["x"])"), "licences", ""},
      {With(R"("licences":{"x":0})"), "licences.x", ""},
      {With(R"("mem":"lots")"), "mem", "memory"},
      {With(R"("mem":"auto:")"), "mem", "memory"},
      {With(R"("cores":0)"), "cores", ""},
      {With(R"("start_rate":0)"), "start_rate", ""},
      {With(R"("setup":")" + std::string(3 << 20, 'x') + R"(","epilogue":[")" +
            std::string(2 << 20, 'x') + R"("])"),
       "", "more than 4 MB besides the parameters"},
      {With(R"("after":[0])"), "after[0]", ""},
      {With(R"("after_ok":)" + nlohmann::json(std::vector<int>(101, 7)).dump()), "after",
       "more than 100"},
      {With(R"("after_any":[1,"x"])"), "after_any[1]", ""},
      {With(R"("not_before":"20:00")"), "not_before", "no time with its zone"},
      {With(R"("not_before":"2026-02-30T20:00Z")"), "not_before", "no time with its zone"},
      {With(R"("max_jobs_total":0)"), "max_jobs_total", ""},
      {With(R"("class":"urgent")"), "class", "operator's word"},
      {With(R"("columns":["a","a"])"), "columns", "twice"},
      {With(R"("columns":["HOME"])"), "columns", "macro"},
      {With(R"("format":"csv")"), "format", ""},
  };
  for (const auto& c : cases) {
    const auto result = Parse(c.text, Grid());
    ASSERT_FALSE(result.ok()) << c.text;
    const auto& fault = result.faults[0];
    EXPECT_EQ(result.faults.size(), 1u) << c.text << "\n" << Faults(result);
    EXPECT_EQ(fault.key, c.key) << c.text;
    EXPECT_NE(fault.message.find(c.part), std::string::npos) << c.text << ": " << fault.message;
    EXPECT_GE(fault.line, 1);
  }
}

TEST(JdlTest, RetryIsStoredAsTheGridReadsIt) {
  const auto campaign =
      Good(With(R"("retry":{"attempts":4,"budgets":{"preemption":"7"},"evaluateOnExit":[)"
                R"({"onExitCode":137,"action":"RETRY_MORE_MEMORY"}]})"));
  EXPECT_EQ(campaign.max_tries, 4);
  const auto stored = ToJson(campaign);
  EXPECT_EQ(stored["retry"],
            nlohmann::json::parse(R"({"budgets":{"preemption":7},"evaluateOnExit":[)"
                                  R"({"onExitCode":"137","action":"RETRY_MORE_MEMORY"}]})"));
  const auto again = FromJson(stored, Grid());
  ASSERT_TRUE(again.ok()) << Faults(again);
  EXPECT_EQ(ToJson(again.campaign)["retry"], stored["retry"]);
}

TEST(JdlTest, SyntaxErrorsSayWhereAndWhatWouldBeRight) {
  const struct {
    const char* text;
    int line, column;
    const char* hint;
  } cases[] = {{"{\n  \"name\": \"x\",\n}", 3, 1, "remove the comma before it"},
               {"{\n# c\n}", 2, 1, "comments begin with // or stand between /* and */"},
               {"{\"a\": 'x'}", 1, 7, "text stands in double quotes"},
               {"{\"a\": \"x\"\n \"b\": 1}", 2, 2, "a comma is missing before it"},
               {"{\"a\": 1", 1, 8, "something is not closed: a quote, a bracket or a brace"}};
  for (const auto& c : cases) {
    const auto result = Parse(c.text, Grid());
    ASSERT_EQ(result.faults.size(), 1u) << c.text;
    EXPECT_EQ(result.faults[0].line, c.line) << c.text;
    EXPECT_EQ(result.faults[0].column, c.column) << c.text;
    EXPECT_EQ(result.faults[0].hint, c.hint) << c.text << result.faults[0].message;
  }
}

TEST(JdlTest, HugeDeepAndBinaryTextIsRefusedQuickly) {
  const auto deep = Parse(std::string(100'000, '['), Grid());
  ASSERT_EQ(deep.faults.size(), 1u);
  EXPECT_EQ(deep.faults[0].message, "nested deeper than 32 levels");
  EXPECT_EQ(deep.faults[0].column, 33);
  const auto binary = Parse("{\n \"name\": \"caf\xE9\"}", Grid());
  ASSERT_EQ(binary.faults.size(), 1u);
  EXPECT_EQ(binary.faults[0].line, 2);
  EXPECT_EQ(binary.faults[0].column, 14);
  EXPECT_FALSE(Parse(std::string("{\0}", 3), Grid()).ok());
  EXPECT_EQ(Parse(std::string(kMaxText + 1, ' '), Grid()).faults.size(), 1u);
  std::string many = "{";
  for (int i = 0; i < 200'000; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_FALSE(Parse(many + "\"z\":1}", Grid()).ok());
  std::string wrong = "{\"params\":[";
  for (int i = 0; i < 100'000; ++i) wrong += "\"\\u0000\",";
  EXPECT_LE(Parse(wrong + "1]}", Grid()).faults.size(), 51u);
}

// A JDL with a fault in each of its lines took as long as a good one.
TEST(JdlTest, ReadingEndsWhenTheListOfFaultsIsFull) {
  const std::string before = R"({"name":"n","exec_file":"x","clusters":{"a":{}})";
  std::string parameters = R"(,"params":[)", rows = parameters, keys;
  for (int i = 0; i < 60; ++i) {
    parameters += R"("\u0000",)";
    rows += R"(["\u0000"],)";
    keys += R"(,"name":"n")";
  }
  for (const auto& faults : {parameters, rows, keys}) {
    const auto result = Parse(before + faults + " no JSON", Grid());
    EXPECT_EQ(result.faults.size(), 50u) << "what is no JSON was not read:\n" << Faults(result);
  }
}

TEST(JdlTest, AParameterLineOfMoreThanItsLimitIsRefused) {
  const auto text = R"({"name":"n","exec_file":"x","clusters":{"alpha":{}},"params":["a",")" +
                    std::string(kLineBytes + 1, 'x') + "\"]}";
  const auto result = Parse(text, Grid());
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].key, "params[1]");
}

TEST(JdlTest, OnTheServerAParamFileIsRefusedWithTheWayThatWorks) {
  const auto result =
      Parse(R"({"name":"n","param_file":"/etc/passwd","exec_file":"x","clusters":{"alpha":{}}})",
            Grid(), {.may_read_files = false});
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_NE(result.faults[0].hint.find("gridsub, which reads it as you"), std::string::npos);
}

TEST(JdlTest, UnknownKeysAreKeptInEveryClusterAndWarnedOf) {
  const auto result = Parse(With(R"("walltme":"1:00:00","x":[1])"), Grid());
  EXPECT_TRUE(result.ok());
  ASSERT_EQ(result.warnings.size(), 2u);
  EXPECT_EQ(result.warnings[0].hint, "did you mean \"walltime\"?");
  EXPECT_EQ(ToJson(result.campaign)["clusters"]["alpha"]["x"], nlohmann::json({1}));
}

TEST(JdlTest, KeysWithoutEffectAreSaidToHaveNone) {
  const auto result =
      Parse(With(R"("dimensional_grouping":"true","checkpointing_type":"false")"), Grid());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(result.warnings[0].key, "dimensional_grouping");
}

TEST(JdlTest, GroupingIsTheGridsMatterUnlessTheUserForbidsItOrSaysHowMany) {
  const auto grouping = [](const char* value) {
    const auto campaign = Good(With(R"("temporal_grouping":)" + std::string(value)));
    const auto again = FromJson(ToJson(campaign), Grid());
    EXPECT_TRUE(again.ok()) << value;
    EXPECT_EQ(again.campaign.clusters[0].options, campaign.clusters[0].options) << value;
    return campaign.clusters[0].options.value("temporal_grouping", 0);
  };
  EXPECT_EQ(grouping(R"("true")"), 0);
  EXPECT_EQ(grouping(R"("false")"), 1) << "as CiGri 3 writes it";
  EXPECT_EQ(grouping("false"), 1);
  EXPECT_EQ(grouping("20"), 20);
  EXPECT_FALSE(Parse(With(R"("temporal_grouping":0)"), Grid()).ok());
  EXPECT_FALSE(Parse(With(R"("temporal_grouping":"some")"), Grid()).ok());
}

TEST(JdlTest, FilesOfACheckpointTravelThereAndBack) {
  const auto campaign = Good(With(R"("checkpoint":{"files":["save","parts/"]},"inputs":["data"])"));
  const auto& options = campaign.clusters[0].options;
  const auto in = FilesIn(options, FileKey::kInputs), out = FilesIn(options, FileKey::kOutputs);
  ASSERT_EQ(in.size(), 3u);
  EXPECT_EQ(in[0].from, "data");
  EXPECT_EQ(in[1].from, "checkpoints/{CAMPAIGN_ID}/{#}/save");
  EXPECT_TRUE(out[0].checkpoint && !in[0].checkpoint);
  EXPECT_EQ(in[1].to, "save");
  EXPECT_EQ(in[2].to, "parts/");
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].from, "save");
  EXPECT_EQ(out[0].to, in[1].from);
  EXPECT_TRUE(in[1].optional && out[1].optional) << "a new task has none";
  EXPECT_FALSE(in[0].optional);
  EXPECT_EQ(CommonInputs(options, {}), "data");
  EXPECT_EQ(FromJson(ToJson(campaign), Grid()).campaign.clusters[0].options, options);
}

TEST(JdlTest, ACheckpointIsASignalAndATimeToSaveIt) {
  const auto campaign = Good(With(R"("checkpoint":{"grace":"2m","every":"1h"})"));
  EXPECT_EQ(campaign.clusters[0].options["checkpoint"],
            (nlohmann::json{{"signal", "USR2"}, {"grace", 120}, {"every", 3600}}));
  const auto again = FromJson(ToJson(campaign), Grid());
  EXPECT_EQ(again.campaign.clusters[0].options, campaign.clusters[0].options);
  const auto learnt = Good(With(R"("checkpoint":{"every":"auto"})"));
  EXPECT_EQ(learnt.clusters[0].options["checkpoint"]["every"], "auto");
  EXPECT_EQ(FromJson(ToJson(learnt), Grid()).campaign.clusters[0].options,
            learnt.clusters[0].options);
  for (const char* wrong : {R"("USR2")", R"({"every":"often"})", R"({"signal":"KILL"})", R"({"grace":"100h"})",
                            R"({"often":1})", R"({"every":0})", R"({"files":["/tmp/save"]})",
                            R"({"files":["../save"]})", R"({"files":[""]})", R"({"files":[1]})"})
    EXPECT_FALSE(Parse(With(R"("checkpoint":)" + std::string(wrong)), Grid()).ok()) << wrong;
}

TEST(JdlTest, TheCampaignSchedulerIsOneThatTheGridHas) {
  const auto text = With(R"("scheduler":"immediate")");
  EXPECT_EQ(Good(text).scheduler, "immediate") << "gridsub does not know the names";
  Defaults grid = Grid();
  grid.schedulers = {"workqueue", "immediate"};
  const Result known = Parse(text, grid);
  EXPECT_TRUE(known.ok()) << Faults(known);
  EXPECT_EQ(ToJson(known.campaign)["scheduler"], "immediate") << "stored with the JDL";
  grid.schedulers = {"workqueue"};
  const Result unknown = Parse(text, grid);
  ASSERT_EQ(unknown.faults.size(), 1u);
  EXPECT_EQ(Text(unknown.faults[0], "f"),
            "f:1:77: scheduler: there is no campaign scheduler \"immediate\"\nHINT: one of: "
            "workqueue");
}

TEST(JdlTest, OurOwnKeysAreRead) {
  const auto campaign = Good(With(
      R"("priority":"high","sla_group":"g","class":"scavenger","project":"p","finalize":2,"max_tries":5,"cores":4,
         "mem":"2G","gpus":1,"setup":["a","b"],"start_rate":0.5,"affinity_wait":0,
         "min_duration":"3","lost_after":"1:00:00","licences":{"m":2},"partition":"q","after":7,
         "jobs_type":"test","test_mode":"true","cluster_job_type":"devel, x")"));
  EXPECT_EQ(campaign.priority, 6);
  EXPECT_EQ(campaign.type, "test");
  EXPECT_EQ(campaign.max_replicas, 2);
  EXPECT_EQ(campaign.max_tries, 5);
  EXPECT_EQ(campaign.licences.at("m"), 2);
  EXPECT_EQ(campaign.affinity_wait_s, 0);
  EXPECT_EQ(campaign.lost_after_s, 3600);
  EXPECT_EQ(campaign.cls, "scavenger");
  EXPECT_EQ(ToJson(campaign)["class"], "scavenger");
  EXPECT_EQ(campaign.after, std::vector<std::int64_t>{7});
  const auto& alpha = campaign.clusters[0];
  EXPECT_EQ(alpha.resources, "/core=4");
  EXPECT_EQ(alpha.setup, "a\nb");
  EXPECT_TRUE(alpha.test_mode);
  EXPECT_EQ(alpha.project, "p");
  EXPECT_EQ(alpha.job_types, (std::vector<std::string>{"devel", "x"}));
  EXPECT_EQ(
      alpha.options,
      nlohmann::json(
          {{"cores", 4}, {"mem", "2G"}, {"gpus", 1}, {"start_rate", 0.5}, {"partition", "q"}}));
}

TEST(JdlTest, WhenACampaignStartsIsReadAndStored) {
  const auto campaign = Good(With(R"("after":7,"after_ok":[8],"after_any":[9],
      "not_before":"2026-11-23 21:00+01:00","deadline":1795464001,"max_jobs_total":12)"));
  EXPECT_EQ(campaign.after, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(campaign.after_any, std::vector<std::int64_t>{9});
  EXPECT_EQ(campaign.not_before, 1795464000);
  EXPECT_EQ(campaign.deadline, 1795464001);
  EXPECT_EQ(campaign.max_jobs_total, 12);
  const auto again = FromJson(ToJson(campaign), {}).campaign;
  EXPECT_EQ(ToJson(again), ToJson(campaign));
  EXPECT_EQ(Good(With(R"("not_before":"2026-11-23T20:00:00Z")")).not_before, 1795464000);
}

TEST(JdlTest, RowsMakeValuesAndColumnsNameThem) {
  const auto campaign = Good(
      R"({"name":"n","columns":["a","b"],"params":[["x y",1],["z","2"]],"exec_file":"p {a}",
          "clusters":{"alpha":{}}})");
  EXPECT_EQ(campaign.format, "values");
  EXPECT_EQ(campaign.params.First(1)[0], R"(["x y","1"])");
  const auto one = Good(R"({"name":"n","columns":["a"],"params":["x y"],"exec_file":"p",
                            "clusters":{"alpha":{}}})");
  EXPECT_EQ(one.params.First(1)[0], R"(["x y"])");
  EXPECT_FALSE(Parse(R"({"name":"n","columns":["a","b"],"params":["x"],"exec_file":"p",
                         "clusters":{"alpha":{}}})",
                     Grid())
                   .ok());
}

TEST(JdlTest, TheExpandedJdlReadsBackAsItself) {
  const auto campaign = Good(With(
      R"("priority":0,"finalize":true,"prologue":["~/x"],"max_jobs":"3","unknown":{"a":[]},
         "prologue_walltime":"0:01:00","setup":"module load x","licences":{"m":1})"));
  const auto json = ToJson(campaign);
  const auto again = FromJson(json, Grid());
  EXPECT_TRUE(again.ok()) << Faults(again);
  EXPECT_EQ(ToJson(again.campaign), json);
  EXPECT_EQ(json["clusters"]["alpha"]["walltime"], 3600);
  EXPECT_FALSE(json.contains("params"));
}

TEST(JdlTest, WhatARuleHasSpoiltIsFoundAgain) {
  auto json = ToJson(Good(With(R"("max_jobs":3)")));
  json["clusters"]["alpha"]["walltime"] = 7200.0;  // Lua knows one kind of number
  EXPECT_EQ(FromJson(json, Grid()).campaign.clusters[0].walltime_s, 7200);
  json["clusters"]["alpha"]["walltime"] = "soon";
  const auto result = FromJson(json, Grid());
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].key, "clusters.alpha.walltime");
  EXPECT_EQ(result.faults[0].line, 0);
}

TEST(JdlTest, ThePlaceOfParamsIsKnownSoThatTheyCanTravelApart) {
  const std::string text = R"({"params": ["a", "b]"], "name": 1})";
  const auto result = Parse(text, Grid());
  EXPECT_EQ(text.substr(result.params_begin, result.params_end - result.params_begin),
            R"(["a", "b]"])");
}

TEST(JdlTest, StringsWithEscapesAndNumbersKeepTheirPlaces) {
  const auto result =
      Parse("{\"a\\\\\\\"b\": 1,\n \"exec_file\": [1, -2.5e3], \"nb_jobs\": 1.5 }", Grid());
  ASSERT_GE(result.faults.size(), 2u);
  for (const auto& fault : result.faults) {
    if (fault.key == "nb_jobs") {
      EXPECT_EQ(fault.column, 39);
    }
  }
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(result.warnings[0].column, 2);
}

TEST(JdlTest, InputsAndOutputsHaveSourcesAndPlaces) {
  const auto options = [](const std::string& body) {
    return Good(With(body)).clusters.at(0).options;
  };
  using nlohmann::json;
  EXPECT_EQ(options(R"("inputs":"data/{}.dat")")["inputs"],
            json::parse(R"([{"from":"data/{}.dat","to":"{}.dat"}])"));
  EXPECT_EQ(options(R"("inputs":["set/ -> in","{//}/x","a -> in/",{"from":"b","optional":true}])")
                ["inputs"],
            json::parse(R"([{"from":"set/","to":"in/"},{"from":"{//}/x","to":"x"},
                            {"from":"a","to":"in/a"},{"from":"b","to":"b","optional":true}])"));
  EXPECT_EQ(options(R"("outputs":["log/{}.txt","r -> {CAMPAIGN_ID}/{#}"])")["outputs"],
            json::parse(R"([{"from":"log/{}.txt","to":"log/{}.txt"},
                            {"from":"r","to":"{CAMPAIGN_ID}/{#}"}])"));
  EXPECT_FALSE(options(R"("max_tries":2)").contains("inputs"));
  const auto again = FromJson(ToJson(Good(With(R"("inputs":["a"],"outputs":["{}"])"))), Grid());
  EXPECT_TRUE(again.ok()) << Faults(again);
  EXPECT_EQ(again.campaign.clusters.at(0).options["inputs"], json::parse(R"([{"from":"a","to":"a"}])"));
}

TEST(JdlTest, InputsAndOutputsThatCannotBeAreFaults) {
  for (const char* body :
       {R"("inputs":[3])", R"("inputs":[""])", R"("inputs":["a -> ../b"])", R"("inputs":["a -> /b"])",
        R"("outputs":["/a"])", R"("outputs":["a\nb"])", R"("outputs":[{"from":"a","two":"b"}])",
        R"("outputs":["{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}"])"})
    EXPECT_FALSE(Parse(With(body), Grid(), {}).ok()) << body;
  const auto same = Parse(With(R"("outputs":["result"])"), Grid(), {});
  ASSERT_EQ(same.warnings.size(), 1u);
  EXPECT_NE(same.warnings[0].message.find("each task writes the same \"result\""), std::string::npos);
}

TEST(FilesTest, PathsAreFilledForTheirTask) {
  const std::vector<std::string> columns = {"k", "f"}, values = {"{#}", "d/x.dat"};
  EXPECT_EQ(FillPath("{k}/{f/.}.{#}.{CAMPAIGN_ID}", columns, values, 4, 12), "{#}/x.5.12");
  EXPECT_TRUE(DependsOnTask("a{//}", columns));
  EXPECT_TRUE(DependsOnTask("{f.}", columns));
  EXPECT_TRUE(DependsOnTask("{#}", {}));
  EXPECT_TRUE(DependsOnTask("{}", {}));
  EXPECT_FALSE(DependsOnTask("ref/{other}{CAMPAIGN_ID}", columns));
}

}  // namespace
}  // namespace cigri::jdl
