// gridadmin rule ...: admission rules.
#include <algorithm>
#include <cstdio>

#include "core/text.h"
#include "jdl/jdl.h"
#include "tools/gridadmin/editor.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

constexpr char kTemplate[] =
    "-- title: what this rule is for\n"
    "-- campaign may be changed; user and grid may be read. reject(text) refuses, warn(text) "
    "tells,\n"
    "-- require_that(condition, text), set_priority(0..9). All of it: docs/admission-rules.md\n"
    "\n"
    "if user.active_campaigns >= 10 then\n"
    "  reject(\"you already have \" .. user.active_campaigns .. \" campaigns\")\n"
    "end\n";

struct RuleOptions {
  std::string name, file, title, mode, jdl, user;
  int priority = 100, version = 0;
};

std::string RulePath(const std::string& name) {
  return "/admin/rules/" + http::PercentEncode(name);
}

int ListRules(const Session& s) {
  PrintItems(s, Expect(s.Connect().Get("/admin/rules"), "list the rules"),
             {{"name", "NAME"},
              {"mode", "MODE"},
              {"priority", "PRIORITY"},
              {"version", "VERSION"},
              {"updated_by", "CHANGED BY"},
              {"updated_at", "CHANGED AT"},
              {"title", "TITLE"}});
  return kExitOk;
}

json VersionOf(const Session& s, const RuleOptions& o) {
  const json body = Expect(s.Connect().Get(RulePath(o.name) + "/history"), "show rule " + o.name);
  for (const json& item : body.at("items"))
    if (item.at("version") == o.version) return item;
  throw Fatal(kExitNo, "rule " + o.name + " has no version " + std::to_string(o.version));
}

int ShowRule(const Session& s, const RuleOptions& o) {
  const json rule = o.version != 0
                        ? VersionOf(s, o)
                        : Expect(s.Connect().Get(RulePath(o.name)), "show rule " + o.name);
  if (s.json) {
    PrintJson(rule);
    return kExitOk;
  }
  const json code = rule.value("code", json());
  std::fprintf(stderr, "%s: mode %s, priority %s, version %s\n", o.name.c_str(),
               Cell(rule.value("mode", json())).c_str(),
               Cell(rule.value("priority", json())).c_str(), Cell(rule.at("version")).c_str());
  if (rule.contains("fault"))
    std::fprintf(stderr, "it is broken and refuses every campaign: %s\n",
                 Cell(rule["fault"]).c_str());
  std::fputs(code.is_string() ? code.get<std::string>().c_str() : "(removed)\n", stdout);
  return kExitOk;
}

// "" or why the API did not take it. Only what another text could fix comes back.
std::string SaveFault(const tools::Answer& answer, const std::string& what) {
  if (answer.ok()) return "";
  const Fatal refused = tools::Refused(answer, what);
  if (answer.status != 400) throw refused;
  return refused.what();
}

void MustSave(const std::string& fault) {
  if (!fault.empty()) throw Fatal(kExitBadInput, fault, "nothing was saved");
}

int Edit(const Session& s, const RuleOptions& o) {
  auto api = s.Connect();
  const json rule = Expect(api.Get(RulePath(o.name)), "edit rule " + o.name);
  const auto save = [&](const std::string& code) {
    return SaveFault(api.Patch(RulePath(o.name), {{"code", code}, {"version", rule.at("version")}}),
                     "save rule " + o.name);
  };
  bool changed = true;
  if (!o.file.empty())
    MustSave(save(ReadFile(o.file)));
  else
    changed = EditUntilSaved(o.name, rule.at("code"), save);
  std::printf("rule %s %s\n", o.name.c_str(), changed ? "saved" : "not changed");
  return kExitOk;
}

int New(const Session& s, const RuleOptions& o) {
  auto api = s.Connect();
  const auto save = [&](const std::string& code) {
    return SaveFault(api.Post("/admin/rules", {{"name", o.name},
                                               {"title", o.title},
                                               {"code", code},
                                               {"priority", o.priority},
                                               {"mode", o.mode}}),
                     "add rule " + o.name);
  };
  bool changed = true;
  if (!o.file.empty())
    MustSave(save(ReadFile(o.file)));
  else
    changed = EditUntilSaved(o.name, kTemplate, save);
  std::printf(
      changed ? "rule %s added, mode %s\n" : "rule %s not added: the text was not changed\n",
      o.name.c_str(), o.mode.c_str());
  return kExitOk;
}

int SetMode(const Session& s, const std::string& name, const std::string& mode) {
  Expect(s.Connect().Patch(RulePath(name), {{"mode", mode}}), "change rule " + name);
  std::printf("rule %s: mode %s\n", name.c_str(), mode.c_str());
  return kExitOk;
}

int RemoveRule(const Session& s, const RuleOptions& o) {
  Expect(s.Connect().Delete(RulePath(o.name)), "remove rule " + o.name);
  std::printf("rule %s removed; its history stays\n", o.name.c_str());
  return kExitOk;
}

int History(const Session& s, const RuleOptions& o) {
  PrintItems(s, Expect(s.Connect().Get(RulePath(o.name) + "/history"), "show rule " + o.name),
             {{"version", "VERSION"},
              {"changed_at", "WHEN"},
              {"changed_by", "WHO"},
              {"mode", "MODE"},
              {"priority", "PRIORITY"}});
  return kExitOk;
}

int Revert(const Session& s, const RuleOptions& o) {
  const json rule = Expect(s.Connect().Post(RulePath(o.name) + "/revert", {{"version", o.version}}),
                           "revert rule " + o.name);
  std::printf("rule %s: the text of version %d is back, as version %s\n", o.name.c_str(), o.version,
              rule.at("version").dump().c_str());
  return kExitOk;
}

std::int64_t JobsOf(const jdl::Campaign& campaign) {
  if (campaign.source != jdl::Source::kFile) return campaign.count;
  const std::string text = ReadFile(campaign.param_file);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return lines + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

// The campaign as the API would show it to the rules; clusters' own defaults are not known here.
json CampaignOf(const RuleOptions& o) {
  jdl::Options options;
  options.may_read_files = true;
  const jdl::Result read = jdl::Parse(ReadFile(o.jdl), {}, options);
  for (const auto& fault : read.faults)
    std::fprintf(stderr, "%s\n", jdl::Text(fault, o.jdl).c_str());
  if (!read.ok()) throw Fatal(kExitBadInput, "cannot read the JDL " + o.jdl);
  json campaign = jdl::ToJson(read.campaign);
  campaign["jobs"] = JobsOf(read.campaign);
  campaign["type"] = read.campaign.type;
  campaign.erase("jobs_type");
  return campaign;
}

int Test(const Session& s, const RuleOptions& o) {
  const json body = Expect(
      s.Connect().Post(RulePath(o.name) + "/test", {{"campaign", CampaignOf(o)}, {"user", o.user}}),
      "test rule " + o.name);
  const bool ok = body.at("verdict") == "ok";
  if (s.json) {
    PrintJson(body);
    return ok ? kExitOk : kExitNo;
  }
  for (const auto& note : body.at("notes")) std::printf("note: %s\n", Cell(note).c_str());
  for (const auto& change : body.at("changes")) std::printf("%s\n", Cell(change).c_str());
  std::printf("%s\n", ok ? "admitted" : ("refused: " + Cell(body.at("message"))).c_str());
  return ok ? kExitOk : kExitNo;
}

}  // namespace

void AddRuleCommands(CommandLine& line, Session& session) {
  CommandLine& rule = Group(line, "rule", "admission rules");
  auto options = std::make_shared<RuleOptions>();
  const auto add = [&](const char* name, const char* what,
                       int (*run)(const Session&, const RuleOptions&)) -> CommandLine& {
    CommandLine& c = Command(rule, session, name, what,
                             [&session, options, run] { return run(session, *options); });
    c.Add({{"NAME", &options->name, "the rule", {.required = true}}});
    return c;
  };
  const std::vector<std::string> modes = {"enforce", "warn", "off"};
  Command(rule, session, "list", "all rules, in the order they run",
          [&session] { return ListRules(session); });
  add("show", "the text of a rule", ShowRule).Add({{"--version", &options->version, "an old one"}});
  add("edit", "change a rule in $EDITOR", Edit)
      .Add({{"--file", &options->file, "take the text from a file, - for stdin"}});
  CommandLine& fresh = add("new", "write a new rule in $EDITOR", New);
  fresh.Add({{"--file", &options->file, "take the text from a file, - for stdin"},
             {"--title", &options->title, "one line for lists"},
             {"--priority", &options->priority, "rules run by rising priority"},
             {"--mode",
              &options->mode,
              "enforce, warn or off",
              {.one_of = modes, .initial = "enforce"}}});
  add("enable", "mode enforce",
      [](const Session& s, const RuleOptions& o) { return SetMode(s, o.name, "enforce"); });
  add("disable", "mode off",
      [](const Session& s, const RuleOptions& o) { return SetMode(s, o.name, "off"); });
  add("mode", "enforce, warn (only tell what it would do) or off",
      [](const Session& s, const RuleOptions& o) { return SetMode(s, o.name, o.mode); })
      .Add({{"MODE", &options->mode, "", {.required = true, .one_of = modes}}});
  add("remove", "remove a rule; its history stays", RemoveRule);
  CommandLine& test =
      add("test", "run a rule on a JDL, as if it were in force; exit 1 when refused", Test);
  test.Add({{"--jdl", &options->jdl, "JDL file", {.required = true}},
            {"--user", &options->user, "whose campaign it would be", {.required = true}}});
  add("history", "who changed a rule, and when", History);
  add("revert", "bring an old text back", Revert)
      .Add({{"VERSION", &options->version, "", {.required = true}}});
}

}  // namespace cigri::gridadmin
