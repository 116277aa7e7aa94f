// gridadmin affinity|member|mapping|operator|token ...
#include <pwd.h>

#include <cstdio>

#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

struct UserOptions {
  std::string user, cluster, login, kind, name;
  int priority = 0, days = 0, keep_hours = 24;
  std::int64_t id = 0;
};
using UsersRun = int (*)(const Session&, const UserOptions&);

int Put(const Session& s, const std::string& path, const json& body, const std::string& what) {
  Expect(s.Connect().PutText(path, body.dump(), "application/json", {}), what);
  return kExitOk;
}

std::string Pair(const std::string& path, const UserOptions& o) {
  return path + "/" + http::PercentEncode(o.user) + "/" + http::PercentEncode(o.cluster);
}

int ListAffinity(const Session& s, const UserOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/affinity"), "list the affinities"),
             {{"user", "USER"}, {"cluster", "CLUSTER"}, {"priority", "AFFINITY"}});
  return kExitOk;
}
int SetAffinity(const Session& s, const UserOptions& o) {
  return Put(s, "/admin/affinity",
             {{"user", o.user}, {"cluster", o.cluster}, {"priority", o.priority}},
             "set the affinity of " + o.user);
}
int RemoveAffinity(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Delete(Pair("/admin/affinity", o)), "remove the affinity of " + o.user);
  return kExitOk;
}

int ListMembers(const Session& s, const UserOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/members"), "list the members"),
             {{"kind", "KIND"},
              {"name", "NAME"},
              {"user", "USER"},
              {"added_by", "ADDED BY"},
              {"added_at", "ADDED AT"}});
  return kExitOk;
}
int AddMember(const Session& s, const UserOptions& o) {
  return Put(s, "/admin/members", {{"user", o.user}, {"kind", o.kind}, {"name", o.name}},
             "make " + o.user + " a member of " + o.kind + " " + o.name);
}
int RemoveMember(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Delete("/admin/members/" + http::PercentEncode(o.kind) + "/" +
                            http::PercentEncode(o.name) + "/" + http::PercentEncode(o.user)),
         "remove " + o.user + " from " + o.kind + " " + o.name);
  return kExitOk;
}

int ListMapping(const Session& s, const UserOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/mapping"), "list the mappings"),
             {{"user", "USER"},
              {"cluster", "CLUSTER"},
              {"login", "LOGIN THERE"},
              {"token_set", "TOKEN"},
              {"token_expires_at", "EXPIRES"}});
  return kExitOk;
}
int SetMapping(const Session& s, const UserOptions& o) {
  if (getpwnam(o.login.c_str()) == nullptr)
    std::fprintf(stderr, "gridadmin: note: this machine has no account %s; has %s?\n",
                 o.login.c_str(), o.cluster.c_str());
  return Put(s, "/admin/mapping", {{"user", o.user}, {"cluster", o.cluster}, {"login", o.login}},
             "map " + o.user);
}
int RemoveMapping(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Delete(Pair("/admin/mapping", o)), "remove the mapping of " + o.user);
  return kExitOk;
}

int ListOperators(const Session& s, const UserOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/operators"), "list the operators"),
             {{"name", "NAME"}, {"added_by", "ADDED BY"}, {"added_at", "ADDED AT"}});
  return kExitOk;
}
int AddOperator(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Post("/admin/operators", {{"name", o.user}}), "add operator " + o.user);
  return kExitOk;
}
int RemoveOperator(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Delete("/admin/operators/" + http::PercentEncode(o.user)),
         "remove operator " + o.user);
  return kExitOk;
}

int ListTokens(const Session& s, const UserOptions&) {
  PrintItems(s, Expect(s.Connect().Get("/admin/tokens"), "list the tokens"),
             {{"id", "ID"},
              {"grid_user", "USER"},
              {"prefix", "TOKEN"},
              {"created_by", "MADE BY"},
              {"created_at", "MADE AT"},
              {"expires_at", "EXPIRES"},
              {"last_used_at", "LAST USED"}});
  return kExitOk;
}
int ShowToken(const Session& s, const json& row) {
  if (s.json) {
    PrintJson(row);
  } else {
    std::fprintf(stderr, "token %s for %s; it is shown this once:\n", row.at("id").dump().c_str(),
                 row.at("grid_user").get<std::string>().c_str());
    std::puts(row.at("token").get<std::string>().c_str());
  }
  return kExitOk;
}
int AddToken(const Session& s, const UserOptions& o) {
  json body{{"user", o.user}};
  if (o.days != 0) body["days"] = o.days;
  return ShowToken(
      s, Expect(s.Connect().Post("/admin/tokens", body), "make a token for " + o.user));
}
int RotateToken(const Session& s, const UserOptions& o) {
  json body{{"keep_hours", o.keep_hours}};
  if (o.days != 0) body["days"] = o.days;
  const std::string id = std::to_string(o.id);
  return ShowToken(s, Expect(s.Connect().Post("/admin/tokens/" + id + "/rotate", body),
                             "replace token " + id));
}
int RevokeToken(const Session& s, const UserOptions& o) {
  Expect(s.Connect().Delete("/admin/tokens/" + std::to_string(o.id)),
         "revoke token " + std::to_string(o.id));
  return kExitOk;
}

}  // namespace

void AddUserCommands(CommandLine& line, Session& session) {
  auto o = std::make_shared<UserOptions>();
  const auto add = [&](CommandLine& parent, const char* name, const char* what,
                       UsersRun run) -> CommandLine& {
    return Command(parent, session, name, what, [&session, o, run] { return run(session, *o); });
  };
  const auto pair = [&](CommandLine& c) -> CommandLine& {
    c.Add({{"USER", &o->user, "", {.required = true}},
           {"CLUSTER", &o->cluster, "", {.required = true}}});
    return c;
  };
  const auto group = [&](const char* name, const char* what) -> CommandLine& {
    return Group(line, name, what);
  };
  CommandLine& affinity = group("affinity", "which clusters are near to a user");
  add(affinity, "list", "all affinities", ListAffinity);
  pair(add(affinity, "set", "higher is nearer", SetAffinity))
      .Add({{"N", &o->priority, "", {.required = true}}});
  pair(add(affinity, "remove", "back to 0", RemoveAffinity));

  CommandLine& member = group("member", "who may name a project, class, group or licence pool");
  const auto name = [&](CommandLine& c) {
    c.Add({{"USER", &o->user, "a user, or * for everybody", {.required = true}},
           {"KIND", &o->kind, "project, class, sla_group or licence", {.required = true}},
           {"NAME", &o->name, "", {.required = true}}});
  };
  add(member, "list", "all members", ListMembers);
  name(add(member, "add", "USER may name NAME in a JDL", AddMember));
  name(add(member, "remove", "no member any more", RemoveMember));

  CommandLine& mapping = group("mapping", "who a user is on a cluster");
  add(mapping, "list", "all mappings", ListMapping);
  pair(add(mapping, "set", "USER is LOGIN on CLUSTER", SetMapping))
      .Add({{"LOGIN", &o->login, "", {.required = true}}});
  pair(add(mapping, "remove", "the same name again", RemoveMapping));

  CommandLine& operators = group("operator", "who may do all this");
  add(operators, "list", "besides root and the owner of the grid", ListOperators);
  add(operators, "add", "make a user an operator", AddOperator)
      .Add({{"USER", &o->user, "", {.required = true}}});
  add(operators, "remove", "no operator any more", RemoveOperator)
      .Add({{"USER", &o->user, "", {.required = true}}});

  CommandLine& token = group("token", "credentials for the API over TCP");
  add(token, "list", "all tokens, by their first characters", ListTokens);
  CommandLine& make = add(token, "add", "make a token for a user", AddToken);
  const auto days = [&](CommandLine& c, const char* what) {
    c.Add({{"--days", &o->days, what, {.range = {{1, 36500}}}}});
  };
  make.Add({{"USER", &o->user, "", {.required = true}}});
  days(make, "how long it is good (default: until revoked)");
  CommandLine& rotate = add(token, "rotate", "a new token for the user of this one", RotateToken);
  rotate.Add({{"ID", &o->id, "", {.required = true}},
              {"--keep",
               &o->keep_hours,
               "hours that the old one is good for (24)",
               {.range = {{0, 8760}}}}});
  days(rotate, "how long the new one is good (default: what the old one was made for)");
  add(token, "revoke", "end a token", RevokeToken).Add({{"ID", &o->id, "", {.required = true}}});
}

}  // namespace cigri::gridadmin
