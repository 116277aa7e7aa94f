// gridadmin policy ...: who gets what; the rules of it are the API's.
#include <cmath>
#include <cstdio>

#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

// Text when the API has written it for readers, else JSON.
void Print(const Session& s, const json& body) {
  const json text = body.is_object() ? body.value("text", json()) : json();
  if (!s.json && text.is_string())
    for (const auto& line : Split(text.get<std::string>(), '\n'))  // names of users are in it
      std::puts(tools::Printable(line).c_str());
  else if (!s.json && body.is_object() && !body.contains("items"))
    PrintObject(s, body);
  else
    PrintJson(body);
}

int Get(const Session& s, const std::string& what) {
  const std::string path = what == "show" ? "/admin/policy" : "/admin/policy/" + what;
  Print(s, Expect(s.Connect().Get(path), "read the policy"));
  return kExitOk;
}

// Faults make it 1, as a compiler's would.
int Lint(const Session& s) {
  const json body = Expect(s.Connect().Get("/admin/policy/lint"), "lint the policy");
  Print(s, body);
  return body.is_object() && body.value("ok", true) ? kExitOk : kExitNo;
}

}  // namespace

void AddPolicyCommands(CommandLine& line, Session& session) {
  CommandLine& policy = Group(line, "policy", "who gets what, and why");
  for (const auto& [name, what] : std::vector<std::pair<std::string, std::string>>{
           {"show", "all settings"},
           {"explain", "the settings in words"},
           {"history", "who changed what, and when"},
           {"presets", "named sets of settings; policy set preset=NAME takes one"},
           {"schedulers", "campaign schedulers for the JDL"}})
    Command(policy, session, name, what, [&session, name = name] { return Get(session, name); });
  Command(policy, session, "lint",
          "warn of combinations nobody tested; exit 1 when there are faults",
          [&session] { return Lint(session); });
  auto days = std::make_shared<double>(0);
  Command(policy, session, "shares", "who is due what, and what they had",
          [&session, days] {
            const auto window =
                *days > 0 ? "?window=" + std::to_string(std::llround(*days * 86400)) : "";
            return Get(session, "shares" + window);
          })
      .Add({{"--days",
             days.get(),
             "of so many days back (default: fairshare.window)",
             {.range = {{0.001, 366.0}}}}});
  auto settings = std::make_shared<std::vector<std::string>>();
  Command(policy, session, "set", "change settings: key=value ...", [&session, settings] {
    Print(session, Expect(session.Connect().Patch("/admin/policy", Settings(*settings)),
                          "change the policy"));
    return static_cast<int>(kExitOk);
  }).Add({{"SETTING", settings.get(), "key=value", {.required = true}}});
}

}  // namespace cigri::gridadmin
