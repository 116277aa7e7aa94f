// gridadmin audit: who changed what, when and from where.
#include <algorithm>

#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/common/when.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;

constexpr int kValueWidth = 40;

struct AuditOptions {
  std::string user, subject, action, since, until;
  std::int64_t campaign = 0, limit = 100, before = 0;
};

std::string Short(const json& value) {
  return tools::CutTo(value.is_string() ? Cell(value) : value.dump(), kValueWidth);
}

// "power 100 -> 50, hours - -> 20-8" of one change; values below objects by their path.
void Collect(const std::string& path, const json& was, const json& now,
             std::vector<std::string>* out) {
  if (was.is_object() || now.is_object()) {
    std::vector<std::string> keys;
    for (const json* side : {&was, &now})
      if (side->is_object())
        for (const auto& [key, value] : side->items())
          if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    for (const auto& key : keys)
      Collect(path.empty() ? key : path + "." + key,
              was.is_object() ? was.value(key, json()) : json(),
              now.is_object() ? now.value(key, json()) : json(), out);
    return;
  }
  if (was.is_null() && now.is_null()) return;
  const std::string change = was.is_null()   ? Short(now)
                             : now.is_null() ? Short(was) + " -> -"
                                             : Short(was) + " -> " + Short(now);
  out->push_back((path.empty() ? "" : tools::Printable(path) + " ") + change);
}

std::string ChangeText(const json& item) {
  const json was = item.value("old", json()), now = item.value("new", json());
  std::vector<std::string> parts;
  // What was removed as a whole needs no arrows.
  if (now.is_null())
    Collect("", json(), was, &parts);
  else
    Collect("", was, now, &parts);
  return Join(parts, ", ");
}

int ShowAudit(const Session& s, const AuditOptions& o) {
  std::string path = "/admin/audit?limit=" + std::to_string(o.limit);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) path += std::string("&") + name + "=" + http::PercentEncode(value);
  };
  add("user", o.user);
  add("subject", o.campaign != 0 ? "campaign " + std::to_string(o.campaign) : o.subject);
  add("action", o.action);
  if (o.before != 0) add("before", std::to_string(o.before));
  path += tools::SinceQuery("since", o.since) + tools::SinceQuery("until", o.until);
  json body = tools::Expect(s.Connect().Get(path), "show the audit");
  for (json& item : body["items"]) item["change"] = ChangeText(item);
  PrintItems(s, body,
             {{"id", "ID"},
              {"at", "AT"},
              {"actor", "WHO"},
              {"source", "FROM"},
              {"action", "ACTION"},
              {"subject", "SUBJECT"},
              {"change", "CHANGE"}});
  return kExitOk;
}

}  // namespace

void AddAuditCommands(CommandLine& line, Session& session) {
  auto o = std::make_shared<AuditOptions>();
  Command(line, session, "audit", "shows who changed what, the newest first",
          [&session, o] { return ShowAudit(session, *o); })
      .Add({{"-u,--user", &o->user, "changes by this user, or module (\"cigri nikita\")"},
            {"-s,--subject", &o->subject, "\"cluster alpha\", or a kind: cluster, token, rule ..."},
            {"-c,--campaign",
             &o->campaign,
             "short for --subject \"campaign N\"",
             {.excludes = {"--subject"}}},
            {"-a,--action", &o->action, "added, changed, removed, killed, retried ..."},
            {"--since", &o->since, "30m, 2h, 3d (before now), 18:00, 2026-12-24"},
            {"--until", &o->until, "the same"},
            {"-n,--limit", &o->limit, "at most so many", {.range = {{1, 10000}}}},
            {"--before", &o->before, "only rows before this ID"}});
}

}  // namespace cigri::gridadmin
