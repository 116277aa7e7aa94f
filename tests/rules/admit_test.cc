// Every test here runs rules as the API does: in a real gridadmit.
#include <gtest/gtest.h>

#include "rules/rules.h"

namespace cigri::rules {
namespace {

using nlohmann::json;

const json kCampaign = {
    {"id", 7},
    {"user", "alice"},
    {"name", "povray"},
    {"type", "default"},
    {"jobs", 12000},
    {"priority", 4},
    {"prologue", json::array()},
    {"note", nullptr},
    {"ratio", 2.0},
    {"clusters",
     {{"c1", {{"walltime", 7200}, {"resources", "/core=1"}, {"type", "best-effort"}}},
      {"c2", {{"walltime", 600}, {"job_types", {"a", "b"}}, {"type", "best-effort"}}}}}};
const json kUser = {{"name", "alice"},
                    {"groups", {"bio", "grenoble"}},
                    {"running_jobs", 12},
                    {"active_campaigns", 3},
                    {"active_test_campaigns", 0}};
const json kGrid = {{"clusters", {{"c1", {{"max_walltime", 3600}}}, {"c2", json::object()}}}};

// Far more time than any of these rules needs on a busy host: what ends them is what they did.
Limits TestLimits(int cpu_ms = 20'000) {
  Limits limits;
  limits.cpu_ms = cpu_ms;
  limits.deadline = std::chrono::seconds(60);
  return limits;
}

Rule MakeRule(std::int64_t id, const std::string& name, const std::string& code,
              Mode mode = Mode::kEnforce, int priority = 100) {
  Rule rule;
  rule.id = id;
  rule.name = name;
  rule.code = code;
  rule.mode = mode;
  rule.priority = priority;
  return rule;
}
Rule Enforced(const std::string& code, std::int64_t id = 1, const std::string& name = "r") {
  return MakeRule(id, name, code);
}
Verdict Try(const std::string& code) {
  return Admit({Enforced(code)}, kCampaign, kUser, kGrid, TestLimits());
}

TEST(AdmitTest, NoRulesAdmitAnythingUnchanged) {
  const Verdict v = Admit({}, kCampaign, kUser, kGrid);
  EXPECT_TRUE(v.ok());
  EXPECT_EQ(v.campaign, kCampaign);
}

TEST(AdmitTest, ARuleThatChangesNothingLeavesEveryTypeAsItWas) {
  const Verdict v = Try("campaign.clusters.c1.walltime = 3600 * 2.0");
  ASSERT_TRUE(v.ok()) << v.message;
  // [], null, 2.0 and an integer that went through Lua's floats.
  EXPECT_EQ(v.campaign.dump(), kCampaign.dump());
  EXPECT_TRUE(v.changes.empty());
}

TEST(AdmitTest, AChangeIsStoredAndReportedWithOldAndNewValue) {
  const Verdict v = Admit({Enforced(R"(
    for name, c in pairs(campaign.clusters) do
      local max = grid.clusters[name].max_walltime
      if max and c.walltime > max then warn(name .. ": lowered"); c.walltime = max end
    end)",
                                    3, "walltime-cap")},
                          kCampaign, kUser, kGrid);
  ASSERT_TRUE(v.ok()) << v.message;
  EXPECT_EQ(v.campaign["clusters"]["c1"]["walltime"], 3600);
  ASSERT_EQ(v.changes.size(), 1u);
  EXPECT_EQ(v.changes[0], "rule walltime-cap changed /clusters/c1/walltime 7200 -> 3600");
  ASSERT_EQ(v.notes.size(), 1u);
  EXPECT_EQ(v.notes[0], "rule 3 (walltime-cap): c1: lowered");
  ASSERT_EQ(v.runs.size(), 1u);
  EXPECT_EQ(v.runs[0].id, 3);
}

TEST(AdmitTest, ARejectionNamesTheRuleAndStopsTheRest) {
  const Verdict v = Admit({Enforced("reject('later')", 9, "z"),
                           MakeRule(4, "quota", "reject('at most 10000 jobs')", Mode::kEnforce, 5)},
                          kCampaign, kUser, kGrid);
  EXPECT_EQ(v.outcome, Outcome::kRefused);
  EXPECT_EQ(v.message, "rule 4 (quota): at most 10000 jobs");
  EXPECT_EQ(v.rule_id, 4);
  EXPECT_EQ(v.campaign, kCampaign);
}

TEST(AdmitTest, ARejectionCannotBeSwallowed) {
  EXPECT_EQ(Try("pcall(reject, 'no') campaign.name = 'x'").outcome, Outcome::kRefused);
  EXPECT_EQ(Try("pcall(function() require_that(false, 'no') end)").outcome, Outcome::kRefused);
}

TEST(AdmitTest, RulesSeeWhatEarlierOnesChanged) {
  const Verdict v = Admit({Enforced("campaign.name = campaign.name .. '-a'", 1, "one"),
                           Enforced("campaign.name = campaign.name .. '-b'", 2, "two")},
                          kCampaign, kUser, kGrid);
  EXPECT_EQ(v.campaign["name"], "povray-a-b");
}

TEST(AdmitTest, WhoAndHowManyCannotBeChanged) {
  const Verdict v = Try("campaign.id = 1 campaign.user = 'root' campaign.jobs = nil");
  ASSERT_TRUE(v.ok()) << v.message;
  EXPECT_EQ(v.campaign, kCampaign);
  EXPECT_EQ(v.notes.size(), 3u);
}

TEST(AdmitTest, HelpersDoWhatTheyAreNamed) {
  EXPECT_EQ(Try("set_priority(7)").campaign["priority"], 7);
  EXPECT_EQ(Try("set_priority(11)").outcome, Outcome::kBroken);
  EXPECT_TRUE(Try("require_that(true, 'no')").ok());
  EXPECT_EQ(Try("require_that(nil, 'no')").message, "rule 1 (r): no");
  EXPECT_TRUE(
      Try("require_that(('abc'):find('.', 1) == nil and ('a.c'):find('.') == 2, 'plain')").ok());
  EXPECT_TRUE(
      Try("local ok, e = pcall(error, 'x') require_that(not ok and e == 'x', 'pcall')").ok());
}

TEST(AdmitTest, ARuleOnTrialOnlyReports) {
  const auto trial = [](const std::string& code) {
    return Admit({MakeRule(2, "t", code, Mode::kWarn)}, kCampaign, kUser, kGrid, TestLimits());
  };
  for (const auto& [code, note] : std::map<std::string, std::string>{
           {"reject('too many')", "rule 2 (t) would refuse: too many"},
           {"campaign.name = 'x'", "rule 2 (t) would change /name \"povray\" -> \"x\""},
           {"local x = nil + 1",
            "rule 2 (t) failed: line 1: attempt to perform arithmetic on a nil value"},
           {"while true do end", "rule 2 (t) failed: it exceeded its limit of instructions"}}) {
    const Verdict v = trial(code);
    EXPECT_TRUE(v.ok()) << code;
    EXPECT_EQ(v.campaign, kCampaign) << code;
    ASSERT_EQ(v.notes.size(), 1u) << code;
    EXPECT_EQ(v.notes[0], note);
  }
}

TEST(AdmitTest, ARuleThatIsOffIsNotRun) {
  EXPECT_TRUE(Admit({MakeRule(1, "x", "reject('no')", Mode::kOff)}, {}, {}, {}).ok());
}

// The rules of the proof, and more: none may hang, crash the grid, or pass.
TEST(AdmitTest, HostileAndBrokenRulesFailClosedByName) {
  const struct {
    const char* what;
    std::string code;
    const char* says;  // part of the message
  } cases[] = {
      {"infinite loop", "while true do end", "limit of instructions"},
      {"pcall around loop", "while true do pcall(function() while true do end end) end",
       "limit of instructions"},
      {"pcall recursion", "local function f() return pcall(f) end f() while true do end",
       "limit of instructions"},
      {"memory bomb", "local s='x' while true do s=s..s end", "limit of memory"},
      {"table bomb", "local t={} for i=1,1e9 do t[i]=i end", "limit of "},
      {"string.rep bomb", "local s=string.rep('x',1e9)", "line 1: string.rep: the result"},
      {"swallowed memory",
       "while true do pcall(function() local s='x' while true do s=s..s end end) end", "limit"},
      {"deep recursion", "local function f(n) return 1+f(n+1) end f(1)", "limit of memory"},
      {"bad sort order",
       "local t={} for i=1,50000 do t[i]=50000-i end table.sort(t,function(a,b) return true end)",
       "invalid order function"},
      {"search in long text",
       "local a=string.rep('aaaaaaaaaa',99999) local b=string.rep('aaaaaaaaaa',50000)..'b' "
       "while true do local x=a:find(b) end",
       "limit of time"},
      {"table.move", "local t={} table.move(t,1,1e12,2,{})", "attempt to call a nil value"},
      {"rep empty", "local x=string.rep('',1e12)", "would pass 1000000"},
      {"rep via method", "local x=(''):rep(1e12)", "would pass 1000000"},
      {"concat long", "local x=table.concat({},'',1,1e12)", "invalid value"},
      {"insert in front", "local t={} for i=1,1e7 do table.insert(t,1,i) end", "limit of time"},
      {"os", "os.execute('rm -rf /')", "global 'os'"},
      {"io", "io.open('/etc/passwd')", "global 'io'"},
      {"require", "require('os')", "global 'require'"},
      {"debug", "debug.sethook()", "global 'debug'"},
      {"coroutine", "coroutine.wrap(function() end)()", "global 'coroutine'"},
      {"load", "load('x=1')()", "global 'load'"},
      {"bytecode", std::string("\x1bLua"), "binary chunk"},
      {"string metatable", "('').rep.x=1", "attempt to index a function value"},
      {"patterns", "('x'):gsub('.', 'y')", "attempt to call a nil value"},
      {"syntax", "\nif campaign.jobs > then end", "line 2: unexpected symbol near 'then'"},
      {"nil field", "local x = campaign.nope.deep", "line 1: attempt to index a nil value"},
      {"error without text", "error({})", "without a text"},
      {"cycle", "campaign.self=campaign", "contains itself"},
      {"shared tables", "local t={} for i=1,30 do t={t,t,t,t} end campaign.t=t",
       "larger than 16 MB"},
      {"function", "campaign.f=function() end", "a function is stored"},
      {"no campaign", "campaign=nil", "left no campaign"},
      {"campaign a text", "campaign='x'", "left no campaign"},
      {"not a number", "campaign.priority=0/0", "not finite"},
      {"not UTF-8", "campaign.name='\\255'", "not UTF-8"},
      {"mixed table", "campaign.clusters[1]='x'", "neither a list"},
      {"list with gaps", "campaign.t={[1]=1,[1000000000]=2}", "neither a list"},
      {"odd key", "campaign[true]=1", "neither a name"},
  };
  for (const auto& c : cases) {
    const bool slow = std::string_view(c.says) == "limit of time";
    const Verdict v = Admit({Enforced(c.code, 42, "hostile")}, kCampaign, kUser, kGrid,
                            TestLimits(slow ? 200 : 20'000));
    EXPECT_EQ(v.outcome, Outcome::kBroken) << c.what;
    EXPECT_EQ(v.message.rfind("rule 42 (hostile) failed: ", 0), 0u) << c.what << ": " << v.message;
    EXPECT_NE(v.message.find(c.says), std::string::npos) << c.what << ": " << v.message;
    EXPECT_EQ(v.campaign, kCampaign) << c.what;
  }
}

TEST(AdmitTest, ALargeCampaignGoesThroughWhole) {
  json campaign = kCampaign;
  for (int i = 0; i < 3000; ++i)
    campaign["clusters"]["n" + std::to_string(i)] = {{"walltime", i},
                                                     {"exec_file", std::string(100, 'x')}};
  const Verdict v =
      Admit({Enforced("campaign.clusters.n7.walltime = 1")}, campaign, kUser, kGrid, TestLimits());
  ASSERT_TRUE(v.ok()) << v.message;
  EXPECT_EQ(v.campaign["clusters"].size(), 3002u);
  EXPECT_EQ(v.changes.size(), 1u);
}

}  // namespace
}  // namespace cigri::rules
