// gridadmin cluster ...: the registry of clusters.
#include <unistd.h>

#include <cstdio>

#include "cluster/drivers.h"
#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

struct ClusterOptions {
  std::string name, kind, url, auth, login, password_file, user;
  std::vector<std::string> settings;
  int limit = 0;
  bool no_check = false, submit = false, yes = false;
};
using ClusterRun = int (*)(const Session&, const ClusterOptions&);

std::string ClusterPath(const std::string& name) {
  return "/admin/clusters/" + http::PercentEncode(name);
}

int ListClusters(const Session& s) {
  json body = Expect(s.Connect().Get("/admin/clusters"), "list the clusters");
  for (json& c : body.at("items")) {
    c["mode_text"] = c.at("mode");
    if (c.at("mode") == "limited") c["mode_text"] = "limited " + c.at("mode_limit").dump();
    if (!c.at("enabled").get<bool>()) c["mode_text"] = "disabled";
    if (c.at("drained").get<bool>())
      c["mode_text"] = c.at("kill_all").get<bool>() ? "stopped" : "drained";
  }
  PrintItems(s, body,
             {{"name", "NAME"},
              {"kind", "KIND"},
              {"mode_text", "MODE"},
              {"drain_reason", "REASON"},
              {"failing_since", "FAILING SINCE"},
              {"api_url", "API"}});
  return kExitOk;
}

int ShowCluster(const Session& s, const ClusterOptions& o) {
  PrintObject(s, Expect(s.Connect().Get(ClusterPath(o.name)), "show cluster " + o.name));
  return kExitOk;
}

// One line a check, the faults with what to do.
void PrintChecks(const json& checks) {
  const bool colour = tools::UseColour("auto", STDOUT_FILENO);
  for (const json& check : checks) {
    const std::string verdict = check.at("verdict");
    const auto tint = verdict == "ok"     ? tools::Tint::kGreen
                      : verdict == "fail" ? tools::Tint::kRed
                                          : tools::Tint::kYellow;
    std::printf("  %s  %-12s %s\n", tools::Paint(tint, verdict, colour).c_str(),
                Cell(check.at("what")).c_str(), Cell(check.at("detail")).c_str());
  }
}

// Asks on a terminal only for what was not said and cannot be found out; the kind can.
json NewCluster(const ClusterOptions& o) {
  json body = Settings(o.settings);
  body["name"] = o.name;
  if (!o.kind.empty()) body["kind"] = o.kind;
  const std::string url = o.url.empty() ? Ask("URL of its REST API:") : o.url;
  if (url.empty()) throw Fatal(kExitUsage, "no URL for cluster " + o.name, "give it with --url");
  body["api_url"] = url;
  if (!o.auth.empty()) body["api_auth_type"] = o.auth;
  if (!o.login.empty()) body["api_username"] = o.login;
  if (!o.password_file.empty())
    body["api_password"] = std::string(Trim(ReadFile(o.password_file)));
  else if (o.auth == "basic")
    body["api_password"] = Ask("password of " + o.login + " there:", true);
  return body;
}

int Add(const Session& s, const ClusterOptions& o) {
  const std::string query =
      o.no_check ? "" : std::string("?check=1") + (o.submit ? "&submit=1" : "");
  const auto answer = s.Connect().Post("/admin/clusters" + query, NewCluster(o));
  if (answer.body.is_object() && answer.body.contains("checks") && !s.json)
    PrintChecks(answer.body["checks"]);
  const json row = Expect(answer, "add cluster " + o.name);
  if (s.json) {
    PrintJson(row);
    return kExitOk;
  }
  std::printf("cluster %s added: kind %s, %s\n", o.name.c_str(), Cell(row.at("kind")).c_str(),
              Cell(row.at("mode")).c_str());
  if (row.at("mode") == "observe")
    std::printf(
        "It decides and shows, but sends nothing yet: `gridadmin cluster limited %s 10`, "
        "then `unlimited %s`.\n",
        o.name.c_str(), o.name.c_str());
  return kExitOk;
}

int Patch(const Session& s, const std::string& name, const json& body, const std::string& done) {
  const json row = Expect(s.Connect().Patch(ClusterPath(name), body), "change cluster " + name);
  if (s.json)
    PrintJson(row);
  else
    std::printf("cluster %s: %s\n", name.c_str(), done.c_str());
  return kExitOk;
}

int Set(const Session& s, const ClusterOptions& o) {
  return Patch(s, o.name, Settings(o.settings), "set " + Join(o.settings, " "));
}

int Limited(const Session& s, const ClusterOptions& o) {
  return Patch(s, o.name, {{"mode", "limited"}, {"mode_limit", o.limit}},
               "at most " + std::to_string(o.limit) + " jobs at once");
}

int RemoveCluster(const Session& s, const ClusterOptions& o) {
  Expect(s.Connect().Delete(ClusterPath(o.name)), "remove cluster " + o.name);
  std::printf("cluster %s removed\n", o.name.c_str());
  return kExitOk;
}

int Lost(const Session& s, const ClusterOptions& o) {
  if (!o.yes && !Confirm("Jobs that were sent to " + o.name +
                         " and still run there would run twice. Give them up?"))
    throw Fatal(kExitUsage, "cluster " + o.name + " not given up", "say --yes when you are sure");
  const json lost = Expect(s.Connect().Post(ClusterPath(o.name) + "/lost", json::object()),
                           "give up cluster " + o.name);
  std::printf(
      "given up on %s: %s batches not recorded, %s jobs; their tasks are retried elsewhere\n",
      o.name.c_str(), lost.at("batches").dump().c_str(), lost.at("jobs").dump().c_str());
  return kExitOk;
}

int CheckCluster(const Session& s, const ClusterOptions& o) {
  std::string path = ClusterPath(o.name) + "/check?submit=" + (o.submit ? "1" : "0");
  if (!o.user.empty()) path += "&user=" + http::PercentEncode(o.user);
  const json body = Expect(s.Connect().Post(path, json::object()), "check cluster " + o.name);
  if (s.json)
    PrintJson(body);
  else
    PrintChecks(body.at("checks"));
  return body.at("ok").get<bool>() ? kExitOk : kExitNo;
}

void AddAddOptions(CommandLine& add, ClusterOptions& o) {
  add.Add({{"--kind", &o.kind, Join(cluster::ClusterKinds(), ", ") + " (default: found out)"},
           {"--url", &o.url, "its REST API: http://HOST/PATH, https://..., unix:PATH"},
           {"--auth",
            &o.auth,
            "how we are known there",
            {.one_of = {"none", "header", "basic", "cert", "jwt"}}},
           {"--user", &o.login, "our login, with --auth basic"},
           {"--password-file", &o.password_file, "file with the password, - for stdin"},
           {"--set", &o.settings, "more settings, key=value"},
           {"--no-check", &o.no_check, "save it without speaking to it"},
           {"--submit", &o.submit, "the check also runs a test job"}});
}

}  // namespace

void AddClusterCommands(CommandLine& line, Session& session) {
  CommandLine& cluster = Group(line, "cluster", "the clusters of the grid");
  auto options = std::make_shared<ClusterOptions>();
  const auto add = [&](const char* name, const char* what, ClusterRun run) -> CommandLine& {
    CommandLine& c = Command(cluster, session, name, what,
                             [&session, options, run] { return run(session, *options); });
    c.Add({{"NAME", &options->name, "the cluster", {.required = true}}});
    return c;
  };
  Command(cluster, session, "list", "all clusters", [&session] { return ListClusters(session); });
  add("show", "all settings of a cluster", ShowCluster);
  AddAddOptions(add("add", "add a cluster; it is tested first", Add), *options);
  add("set", "change settings: key=value, option.KEY=value, key= to empty it", Set)
      .Add({{"SETTING",
             &options->settings,
             "key=value; docs/clusters.md explains each",
             {.required = true}}});
  add("enable", "use the cluster", [](const Session& s, const ClusterOptions& o) {
    return Patch(s, o.name, {{"enabled", true}}, "enabled");
  });
  add("disable", "do not use it: nothing is sent", [](const Session& s, const ClusterOptions& o) {
    return Patch(s, o.name, {{"enabled", false}}, "disabled");
  });
  add("observe", "decide and show, send nothing", [](const Session& s, const ClusterOptions& o) {
    return Patch(s, o.name, {{"mode", "observe"}}, "observe");
  });
  add("limited", "at most N jobs of ours at once", Limited)
      .Add({{"N", &options->limit, "", {.required = true, .range = {{1, 1'000'000'000}}}}});
  add("unlimited", "as much as the policy says", [](const Session& s, const ClusterOptions& o) {
    return Patch(s, o.name, {{"mode", "unlimited"}}, "unlimited");
  });
  add("remove", "remove a cluster that no campaign has named", RemoveCluster);
  add("lost", "give up what was sent there: its tasks are retried elsewhere", Lost)
      .Add({{"--yes", &options->yes, "do not ask"}});
  CommandLine& check =
      add("check", "is it reachable, authorised, ...; exit 1 when something fails", CheckCluster);
  check.Add({{"--submit", &options->submit, "also run a test job"},
             {"--user", &options->user, "as this user (default: you)"}});
}

}  // namespace cigri::gridadmin
