// gridadmin error ...: error classes, which say what failed ends of jobs mean.
#include <cstdio>

#include "core/pluralize.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

struct ErrorOptions {
  std::string name, mode;
  std::vector<std::string> settings;
  int days = 30;
};
using ErrorRun = int (*)(const Session&, const ErrorOptions&);

std::string ErrorPath(const std::string& name) {
  return "/admin/errors/" + http::PercentEncode(name);
}

int ListErrors(const Session& s, const ErrorOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/errors"), "list the error classes"),
             {{"name", "NAME"},
              {"mode", "MODE"},
              {"priority", "PRIORITY"},
              {"exit_class", "EXIT CLASS"},
              {"action", "ACTION"},
              {"matches", "MATCHES"},
              {"last_match_at", "LAST"},
              {"title", "TITLE"}});
  return kExitOk;
}

int ShowError(const Session& s, const ErrorOptions& o) {
  PrintObject(s, Expect(s.Connect().Get(ErrorPath(o.name)), "show error class " + o.name));
  return kExitOk;
}

int AddError(const Session& s, const ErrorOptions& o) {
  json body = Settings(o.settings);
  body["name"] = o.name;
  for (const char* key : {"code", "pattern", "title"})  // "137" is a text here
    if (body.contains(key) && body[key].is_number()) body[key] = body[key].dump();
  const json row = Expect(s.Connect().Post("/admin/errors", body), "add error class " + o.name);
  std::printf("error class %s added, mode %s\n", o.name.c_str(), Cell(row.at("mode")).c_str());
  return kExitOk;
}

int SetError(const Session& s, const ErrorOptions& o) {
  json body = Settings(o.settings);
  for (const char* key : {"code", "pattern", "title"})
    if (body.contains(key))
      body[key] = body[key].is_null()     ? ""
                  : body[key].is_string() ? body[key]
                                          : json(body[key].dump());
  Expect(s.Connect().Patch(ErrorPath(o.name), body), "change error class " + o.name);
  std::printf("error class %s changed\n", o.name.c_str());
  return kExitOk;
}

json ReplayOf(const Session& s, const ErrorOptions& o) {
  return Expect(s.Connect().Get(ErrorPath(o.name) + "/replay?days=" + std::to_string(o.days)),
                "replay error class " + o.name);
}

int Replay(const Session& s, const ErrorOptions& o) {
  PrintItems(s, ReplayOf(s, o),
             {{"jobs", "JOBS"},
              {"tasks", "TASKS"},
              {"campaigns", "CAMPAIGNS"},
              {"code", "CODE"},
              {"was", "WAS"},
              {"becomes", "BECOMES"},
              {"action", "ACTION"},
              {"first", "TAKEN BEFORE BY"},
              {"clusters", "CLUSTERS"},
              {"sample", "SAMPLE"}});
  return kExitOk;
}

// Whoever activates a class sees what it would have changed.
int SetErrorMode(const Session& s, const ErrorOptions& o) {
  if (o.mode == "active") {
    std::int64_t jobs = 0, campaigns = 0;
    const json replay = ReplayOf(s, o);
    for (const json& item : replay.at("items")) {
      jobs += item.at("jobs").get<std::int64_t>();
      campaigns += item.at("campaigns").get<std::int64_t>();
    }
    std::printf("in the last %d days it would have matched %s of %s\n", o.days,
                Pluralize(jobs, "job").c_str(), Pluralize(campaigns, "campaign").c_str());
  }
  Expect(s.Connect().Patch(ErrorPath(o.name), {{"mode", o.mode}}), "change error class " + o.name);
  std::printf("error class %s: mode %s\n", o.name.c_str(), o.mode.c_str());
  return kExitOk;
}

int RemoveError(const Session& s, const ErrorOptions& o) {
  Expect(s.Connect().Delete(ErrorPath(o.name)), "remove error class " + o.name);
  std::printf("error class %s removed\n", o.name.c_str());
  return kExitOk;
}

}  // namespace

void AddErrorCommands(CommandLine& line, Session& session) {
  auto o = std::make_shared<ErrorOptions>();
  CommandLine& error = line.AddCommand("error", "what failed ends of jobs mean");
  const auto add = [&](const char* name, const char* what, ErrorRun run) -> CommandLine& {
    return Command(error, session, name, what, [&session, o, run] { return run(session, *o); });
  };
  const auto named = [&](const char* name, const char* what, ErrorRun run) -> CommandLine& {
    CommandLine& c = add(name, what, run);
    c.Add({{"NAME", &o->name, "", {.required = true}}});
    return c;
  };
  add("list", "all error classes, in the order in which they are tried", ListErrors);
  named("show", "one of them", ShowError);
  const auto settings = [&](CommandLine& c) {
    c.Add({{"KEY=VALUE",
            &o->settings,
            "source, code, pattern, exit_class, action ...",
            {.required = true}}});
  };
  settings(named("add", "add one; it is passive unless mode= says otherwise", AddError));
  settings(named("set", "change one", SetError));
  named("mode", "active, passive (it only counts) or off", SetErrorMode)
      .Add({{"MODE", &o->mode, "", {.required = true}}});
  named("replay", "what it would have matched in the past", Replay)
      .Add({{"--days", &o->days, "how far back (30)", {.range = {{1, 3650}}}}});
  named("remove", "remove it", RemoveError);
}

}  // namespace cigri::gridadmin
