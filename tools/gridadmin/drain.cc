// gridadmin drain|stop|resume|check: stopping the flow, and whether tasks are conserved.
#include <cstdio>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/common/when.h"
#include "tools/gridadmin/session.h"

namespace cigri::gridadmin {
namespace {

using nlohmann::json;
using tools::Expect;

struct DrainOptions {
  std::string cluster, reason, until;
  std::int64_t campaign = 0;
  bool kill = false;
};

std::string Names(const json& list) {
  std::vector<std::string> names;
  for (const json& name : list) names.push_back(Cell(name));
  return names.empty() ? "nothing" : Join(names, ", ");
}

int Drain(const Session& s, const DrainOptions& o) {
  json body{{"cluster", o.cluster}, {"reason", o.reason}, {"kill", o.kill}};
  if (!o.until.empty()) {
    const auto until = tools::ParseWhen(o.until, std::time(nullptr));
    if (!until)
      throw Fatal(kExitUsage, "not a time to come: \"" + o.until + "\"",
                  "write 30m, 2h, 3d, 18:00 or \"2026-12-24 18:00\"");
    body["until"] = tools::UtcText(*until);
  }
  const json answer = Expect(s.Connect().Post("/admin/drain", body), "drain " + o.cluster);
  if (s.json) {
    PrintJson(answer);
    return kExitOk;
  }
  std::printf("drained: %s; nothing is sent there any more%s\n",
              Names(answer.at("drained")).c_str(),
              o.kill ? ", what runs is being killed" : ", what runs may end");
  std::printf("`gridadmin resume %s` goes on\n", o.cluster.c_str());
  return kExitOk;
}

int Resume(const Session& s, const DrainOptions& o) {
  const json answer =
      Expect(s.Connect().Post("/admin/resume", {{"cluster", o.cluster}}), "resume " + o.cluster);
  if (s.json)
    PrintJson(answer);
  else
    std::printf("resumed: %s\n", Names(answer.at("resumed")).c_str());
  return kExitOk;
}

void PrintViolation(const json& v) {
  std::printf(
      "campaign %s: %s tasks, but waiting %s + retry %s + in flight %s + needs_attention %s + done "
      "%s",
      v.at("campaign_id").dump().c_str(), v.at("ntasks").dump().c_str(),
      v.at("waiting").dump().c_str(), v.at("retry").dump().c_str(),
      v.at("in_flight").dump().c_str(), v.at("needs_attention").dump().c_str(),
      v.at("done").dump().c_str());
  if (v.at("twice") != 0) std::printf("; %s in two places", v.at("twice").dump().c_str());
  if (v.at("outside") != 0) std::printf("; %s never handed out", v.at("outside").dump().c_str());
  std::printf("\n");
}

int CheckGrid(const Session& s, const DrainOptions& o) {
  const std::string query = o.campaign == 0 ? "" : "?campaign=" + std::to_string(o.campaign);
  const json body =
      Expect(s.Connect().Get("/admin/check" + query, std::chrono::minutes(10)), "check the grid");
  const bool ok = body.at("ok");
  if (s.json) {
    PrintJson(body);
    return ok ? kExitOk : kExitNo;
  }
  for (const json& v : body.at("violated")) PrintViolation(v);
  for (const json& d : body.at("drifted"))
    std::printf("campaign %s: the counters say %s %s, there are %s\n",
                d.at("campaign_id").dump().c_str(), d.at("counted").dump().c_str(),
                Cell(d.at("state")).c_str(), d.at("is").dump().c_str());
  std::printf("%s checked: %s\n",
              Pluralize(body.at("campaigns").get<std::int64_t>(), "campaign").c_str(),
              ok ? "every task is in exactly one place" : "tasks are not conserved");
  return ok ? kExitOk : kExitNo;
}

}  // namespace

void AddDrainCommands(CommandLine& line, Session& session) {
  auto o = std::make_shared<DrainOptions>();
  for (const char* name : {"drain", "stop"}) {
    CommandLine& drain = Command(line, session, name, "send nothing more to a cluster, or to all",
                                 [&session, o] { return Drain(session, *o); });
    drain.Add({{"CLUSTER", &o->cluster, "a cluster, or all", {.required = true}},
               {"--reason", &o->reason, "shown to every user it concerns", {.required = true}},
               {"--kill", &o->kill, "also kill what runs there"},
               {"--until", &o->until, "resume automatically: 2h, 18:00, \"2026-12-24 18:00\""}});
  }
  Command(line, session, "resume", "end a drain", [&session, o] {
    return Resume(session, *o);
  }).Add({{"CLUSTER", &o->cluster, "a cluster, or all", {.required = true}}});
  Command(line, session, "check", "is every task in exactly one place? exit 1 when not",
          [&session, o] { return CheckGrid(session, *o); })
      .Add({{"-c,--campaign", &o->campaign, "only this one"}});
}

}  // namespace cigri::gridadmin
