// Shows, closes and writes events. docs/events.md says what each code means and what to do.
#include <unistd.h>

#include <cstdio>

#include "core/event_codes.h"
#include "core/text.h"
#include "tools/common/events_text.h"
#include "tools/common/options.h"
#include "tools/common/terminal.h"

namespace cigri::gridevents {
namespace {

using nlohmann::json;

struct GrideventsOptions {
  tools::CommonOptions common;
  std::string campaign, event, blacklist, mark_job, message, explain;
  bool global = false, all = false, fix = false, resubmit = false, verbose = false,
       json_out = false;
};

std::optional<int> Read(int argc, char** argv, GrideventsOptions& o) {
  CommandLine line("gridevents", "Shows, closes and writes events of campaigns and of the grid.");
  std::string argument;
  tools::AddCommonOptions(line, o.common);
  line.Add(
      {{"id", &argument, "a campaign, as -c"},
       {"-c,--campaign", &o.campaign, "events of this campaign, and global ones of its clusters"},
       {"-e,--event", &o.event, "this event"},
       {"-g,--global", &o.global, "events of no campaign"},
       {"-a,--all", &o.all, "closed ones too"},
       {"-f,--fix", &o.fix, "close: all of the campaign (-c), or this one (-e)"},
       {"-r,--resubmit", &o.resubmit, "with -f: run the failed tasks again"},
       {"-v,--verbose", &o.verbose, "say what was done, as on a terminal"},
       {"--json", &o.json_out, "JSON"},
       {"--blacklist-cluster", &o.blacklist,
        "operators: send nothing to this cluster (id or name)"},
       {"--mark-job-event", &o.mark_job, "operators: end this job as an event"},
       {"--message", &o.message, "with the last two: why"},
       {"--explain", &o.explain, "what this code means and what to do"}});
  if (const auto code = line.ReadOrThrow(argc, argv)) return code;
  o.verbose = o.verbose || isatty(STDOUT_FILENO) == 1;
  if (o.campaign.empty() && o.event.empty()) o.campaign = argument;
  // CiGri's exit status for this mistake, which scripts may know.
  if (o.resubmit && !o.fix) {
    std::fputs("gridevents: -r only makes sense with -f\n", stderr);
    return 2;
  }
  if (!o.explain.empty()) return std::nullopt;
  if (o.campaign.empty() && o.event.empty() && !o.global && o.blacklist.empty() &&
      o.mark_job.empty())
    throw Fatal(kExitUsage, "Missing CAMPAIGN (-c), EVENT (-e) id or --global (-g)",
                "`gridevents --help` lists the options");
  if (o.fix && o.campaign.empty() && o.event.empty())
    throw Fatal(kExitUsage, "--fix needs a campaign (-c) or an event (-e)");
  return std::nullopt;
}

std::string PathOf(const GrideventsOptions& o) {
  if (!o.event.empty()) return "/events/" + http::PercentEncode(o.event);
  if (!o.campaign.empty()) return "/campaigns/" + http::PercentEncode(o.campaign) + "/events";
  return "/events";
}

std::string What(const GrideventsOptions& o) {
  if (!o.event.empty()) return "event " + o.event;
  return o.campaign.empty() ? "global events" : "events of campaign " + o.campaign;
}

int Fix(tools::Api& api, const GrideventsOptions& o) {
  const auto answer =
      tools::Expect(api.Delete(PathOf(o) + (o.resubmit ? "?resubmit=1" : "")), "close " + What(o));
  if (o.verbose) std::printf("%s.\n", answer.value("message", "done").c_str());
  return kExitOk;
}

int Create(tools::Api& api, const json& event, const GrideventsOptions& o) {
  const auto answer = tools::Expect(api.Post("/events", event), "add event");
  if (o.verbose) std::printf("Event %s added.\n", answer.value("id", json()).dump().c_str());
  return kExitOk;
}

// A cluster by its name needs its id first.
std::int64_t ClusterId(tools::Api& api, const std::string& word) {
  return tools::Expect(api.Get("/clusters/" + http::PercentEncode(word)),
                       "find cluster " + word)["id"]
      .get<std::int64_t>();
}

int Blacklist(tools::Api& api, const GrideventsOptions& o) {
  const auto id = ClusterId(api, o.blacklist);
  const std::string why =
      o.message.empty() ? "Cluster " + o.blacklist +
                              " disabled by the administrator of the grid. Please, be patient."
                        : o.message;
  return Create(api,
                {{"class", "cluster"},
                 {"cluster_id", id},
                 {"code", "CLUSTER_MANUALLY_DISABLED"},
                 {"message", why}},
                o);
}

int MarkJob(tools::Api& api, const GrideventsOptions& o) {
  if (o.mark_job.find_first_not_of("0123456789") != std::string::npos || o.mark_job.size() > 18)
    throw Fatal(kExitUsage, "\"" + o.mark_job + "\" is no number of a job");
  const std::string why = o.message.empty() ? "Marked by an operator" : o.message;
  return Create(api,
                {{"class", "job"},
                 {"job_id", std::stoll(o.mark_job)},
                 {"code", "MANUAL_EVENT"},
                 {"message", why}},
                o);
}

int Show(tools::Api& api, const GrideventsOptions& o) {
  json answer = tools::Expect(api.Get(PathOf(o) + (o.all ? "?all=1" : "")), "show " + What(o));
  json items = answer.contains("items") ? answer["items"] : json::array({answer});
  for (std::size_t got = items.size(); got > 0 && answer.contains("links") && got % 1000 == 0;) {
    answer = tools::Expect(
        api.Get(PathOf(o) + "?offset=" + std::to_string(got) + (o.all ? "&all=1" : "")),
        "show " + What(o));
    for (const auto& item : answer["items"]) items.push_back(item);
    if (items.size() == got) break;
    got = items.size();
  }
  if (o.json_out) {
    std::puts(items.dump(tools::IsTerminal(STDOUT_FILENO) ? 2 : -1).c_str());
    return kExitOk;
  }
  const auto text = tools::EventsText(items);
  std::fputs(text.empty() ? "No events!\n" : text.c_str(), stdout);
  return kExitOk;
}

// Needs no grid: the runbook is part of the program.
int Explain(const std::string& word) {
  std::vector<std::string> codes;
  for (const auto& e : kEventCodes) {
    codes.emplace_back(e.code);
    if (word != e.code) continue;
    std::printf("%s (class %s, opened by %s)\n%s\n-> %s\n", word.c_str(),
                std::string(e.cls).c_str(), std::string(e.opened_by).c_str(),
                std::string(e.meaning).c_str(), std::string(e.what_to_do).c_str());
    return kExitOk;
  }
  const auto near = DidYouMean(word, codes);
  throw Fatal(kExitNo, "there is no event code " + word, near ? "did you mean " + *near + "?" : "");
}

int Main(int argc, char** argv) {
  GrideventsOptions o;
  if (const auto code = Read(argc, argv, o)) return *code;
  if (!o.explain.empty()) return Explain(o.explain);
  auto api = tools::Connect(o.common);
  if (!o.blacklist.empty()) return Blacklist(api, o);
  if (!o.mark_job.empty()) return MarkJob(api, o);
  return o.fix ? Fix(api, o) : Show(api, o);
}

}  // namespace
}  // namespace cigri::gridevents

int main(int argc, char** argv) {
  return cigri::RunMain("gridevents", cigri::gridevents::Main, argc, argv);
}
