#include "tools/gridstat/stat.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <thread>

#include "core/text.h"
#include "tools/common/events_text.h"
#include "tools/common/failures_text.h"
#include "tools/common/terminal.h"
#include "tools/common/wait.h"
#include "tools/gridstat/campaign.h"
#include "tools/gridstat/fetch.h"
#include "tools/gridstat/jobs.h"
#include "tools/gridstat/output.h"
#include "tools/gridstat/screen.h"
#include "tools/gridstat/streams.h"
#include "tools/gridstat/usage.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;
using tools::Expect;

// Words that scripts know.
class NoCampaign {};

json GetOf(tools::Api& api, const GridstatOptions& o, const std::string& rest,
           const std::string& what) {
  auto answer = api.Get("/campaigns/" + o.campaign + rest);
  if (answer.status == 404 && rest.find("/tasks/") == std::string::npos) throw NoCampaign();
  return Expect(std::move(answer), what);
}

int PutJson(const json& value, const GridstatOptions& o) {
  Put(value.dump(o.pretty || o.terminal ? 2 : -1, ' ', false, json::error_handler_t::replace) +
      "\n");
  return kExitOk;
}

Style StyleOf(const GridstatOptions& o) { return {o.colour}; }

// ---------------------------------------------------------------- many campaigns
std::string ListPath(const GridstatOptions& o) {
  std::string path = "/campaigns";
  const char* mark = "?";
  if (o.all) path += "?all=1", mark = "&";
  if (!o.user.empty()) path += mark + ("user=" + http::PercentEncode(o.user));
  return path;
}

json AllPages(tools::Api& api, const GridstatOptions& o) {
  json all = Expect(api.Get(ListPath(o)), "list campaigns");
  const std::string path = ListPath(o) + (ListPath(o) == "/campaigns" ? "?" : "&") + "offset=";
  while (all["items"].size() < all["total"].get<std::size_t>()) {
    const auto page = Expect(api.Get(path + std::to_string(all["items"].size())), "list campaigns");
    if (page["items"].empty()) break;
    for (const auto& item : page["items"]) all["items"].push_back(item);
  }
  return all;
}

// Things that concern the reader and are no part of CiGri's layout go to stderr when piped.
void PutNote(const std::string& note, const GridstatOptions& o) {
  std::fflush(stdout);
  std::fprintf(o.terminal ? stdout : stderr, "gridstat: %s\n", note.c_str());
}

// A drained cluster concerns everybody who waits.
void PutDrains(tools::Api& api, const GridstatOptions& o) {
  const auto answer = api.Get("/clusters?full=1");
  if (!answer.ok()) return;
  for (const auto& c : answer.body["items"])
    if (c.value("drained", false))
      PutNote(
          c.value("name", "") + ": drained by " +
              (c["drained_by"].is_string() ? c["drained_by"].get<std::string>() : "an operator") +
              ": " +
              tools::Printable(c["drain_reason"].is_string() ? c["drain_reason"].get<std::string>()
                                                             : ""),
          o);
}

int List(tools::Api& api, const GridstatOptions& o) {
  const json page = AllPages(api, o);
  if (o.dump || o.json) return PutJson(page, o);
  if (o.terminal) {
    const int width = tools::TerminalWidth(STDOUT_FILENO);
    Put(ListScreen(page["items"], o.all, !o.headerless, width, StyleOf(o)));
    if (!page["items"].empty()) PutDrains(api, o);
    return kExitOk;
  }
  std::string text = o.headerless ? "" : ListHeader();
  for (const auto& campaign : page["items"]) text += ListLine(campaign, StyleOf(o));
  Put(text);
  if (!page["items"].empty()) PutDrains(api, o);
  return kExitOk;
}

// "5", "5-9", "5-*", "*-9", "*-*" (CiGri 2).
std::string RangeQuery(const std::string& range) {
  if (range.empty()) return "";
  const auto ends = Split(range, '-');
  const auto number = [&](const std::string& s) {
    if (s == "*") return std::string("0");
    if (s.empty() || s.find_first_not_of("0123456789") != std::string::npos)
      throw Fatal(kExitUsage, "\"" + range + "\" is no range of campaigns",
                  "say N, N-M, N-* or *-M");
    return s;
  };
  if (ends.size() > 2) throw Fatal(kExitUsage, "\"" + range + "\" is no range of campaigns");
  const std::string from = number(ends[0]), to = number(ends.back());
  return "from=" + (from == "0" ? "1" : from) + "&to=" + to + "&";
}

int Summed(tools::Api& api, const GridstatOptions& o) {
  std::string path = "/summary?" + RangeQuery(o.summary.empty() ? o.campaign : o.summary);
  if (o.all) path += "all=1&";
  if (!o.user.empty()) path += "user=" + http::PercentEncode(o.user);
  const auto summary = Expect(api.Get(path), "sum up campaigns");
  if (o.dump || o.json) return PutJson(summary, o);
  Put(Summary(summary, o.by_user, !o.headerless));
  return kExitOk;
}

// ---------------------------------------------------------------- one campaign
void PutNotes(const json& campaign, const GridstatOptions& o) {
  for (const auto& line : Split(Trim(Notes(campaign)), '\n'))
    if (!line.empty()) PutNote(line, o);
}

void PutFailures(tools::Api& api, const GridstatOptions& o) {
  const auto answer = api.Get("/campaigns/" + o.campaign + "/failures?limit=5");
  if (!answer.ok()) return;  // somebody else's campaign: its numbers are all there is to see
  const auto text = tools::FailuresText(answer.body, StyleOf(o).colour);
  if (!text.empty()) Put("Failures:\n" + text + "\n");
}

int OnTerminal(tools::Api& api, const GridstatOptions& o, const json& campaign) {
  const json progress = GetOf(api, o, "/progress", "show campaign " + o.campaign);
  const auto now = static_cast<double>(std::time(nullptr));
  Put(Screen(campaign, progress, now, tools::TerminalWidth(STDOUT_FILENO), StyleOf(o)));
  if (campaign.value("has_events", false)) PutFailures(api, o);
  PutNotes(campaign, o);
  if (o.full) PrintJobs(api, o);
  if (const auto next = NextCommand(campaign); !next.empty()) Put(next + "\n");
  return kExitOk;
}

int OneCampaign(tools::Api& api, const GridstatOptions& o, bool* over) {
  const std::string what = "show campaign " + o.campaign;
  const json campaign = GetOf(api, o, o.full ? "?waits=1" : "", what);
  *over = campaign["state"] == "terminated" || campaign["state"] == "cancelled";
  if (o.dump || o.json) return PutJson(campaign, o);
  if (o.terminal) return OnTerminal(api, o, campaign);
  const json stats = GetOf(api, o, "/stats", what);
  Put(Campaign(campaign, stats, o.full, StyleOf(o)));
  PutNotes(campaign, o);
  if (o.full) PrintJobs(api, o);
  return kExitOk;
}

int Events(tools::Api& api, const GridstatOptions& o) {
  const json page = GetOf(api, o, "/events", "list the events of campaign " + o.campaign);
  if (o.dump || o.json) return PutJson(page, o);
  const auto text = tools::EventsText(page["items"]);
  Put(text.empty() ? "No events!\n" : text);
  return kExitOk;
}

int JobsDump(tools::Api& api, const GridstatOptions& o) {
  const auto offset = std::to_string(o.offset.value_or(0));
  return PutJson(GetOf(api, o, "/jobs?limit=10000&offset=" + offset, "list jobs"), o);
}

int OneTask(tools::Api& api, const GridstatOptions& o) {
  const auto path = "/tasks/" + std::to_string(*o.task);
  const json task = GetOf(api, o, path, "show task " + std::to_string(*o.task));
  if (o.dump || o.json) return PutJson(task, o);
  Put(Task(task));
  return kExitOk;
}

int PutWhy(const json& why, const GridstatOptions& o) {
  if (o.dump || o.json) return PutJson(why, o);
  Put(Why(why, o.verbose));
  return kExitOk;
}

// The API searches for what would change the answer only when the user asks for it (--verbose).
std::string WhyPath(const GridstatOptions& o) { return o.verbose ? "/why?full=1" : "/why"; }

int History(tools::Api& api, const GridstatOptions& o) {
  const std::string what = "explain campaign " + o.campaign;
  json all = GetOf(api, o, "/why/history?limit=2000", what);
  while (all["items"].size() < all["total"].get<std::size_t>()) {
    const auto offset = std::to_string(all["items"].size());
    const json page = GetOf(api, o, "/why/history?limit=2000&offset=" + offset, what);
    if (page["items"].empty()) break;
    for (const auto& item : page["items"]) all["items"].push_back(item);
  }
  if (o.dump || o.json) return PutJson(all, o);
  Put(WhyHistory(all["items"]));
  return kExitOk;
}

int CampaignWhy(tools::Api& api, const GridstatOptions& o) {
  if (o.history) return History(api, o);
  const std::string path =
      (o.task ? "/tasks/" + std::to_string(*o.task) : std::string()) + WhyPath(o);
  return PutWhy(GetOf(api, o, path, "explain campaign " + o.campaign), o);
}

int Streamed(tools::Api& api, const GridstatOptions& o) {
  const std::string of = " of campaign " + o.campaign, path = "/campaigns/" + o.campaign;
  if (o.joblog)
    CopyOut(api, path + "/joblog", "read the job log" + of);
  else if (!o.params.empty())
    CopyOut(api, path + "/params?state=" + o.params, "read the parameters" + of);
  else
    return CampaignOutput(api, o);
  return kExitOk;
}

int AboutCampaign(tools::Api& api, const GridstatOptions& o, bool* over) {
  if (o.wait) {
    GetOf(api, o, "", "wait for campaign " + o.campaign);
    tools::ResultRequest request;
    request.quiet = o.quiet;
    return tools::Wait(api, std::stoll(o.campaign), request);
  }
  if (!o.fetch.empty() || !o.archive.empty()) return FetchOutputs(api, o);
  if (o.joblog || !o.params.empty() || o.out || o.err) return Streamed(api, o);
  if (o.why) return CampaignWhy(api, o);
  if (o.task) return OneTask(api, o);
  if (o.events) return Events(api, o);
  if (o.jdl) {
    Put(GetOf(api, o, "/jdl", "show the JDL of campaign " + o.campaign)
            .dump(o.dump && !o.pretty ? -1 : 2) +
        "\n");
    return kExitOk;
  }
  if (o.full && (o.dump || o.json)) return JobsDump(api, o);
  return OneCampaign(api, o, over);
}

// ---------------------------------------------------------------- one job
// "alpha:17" names a job as its cluster does.
std::string JobPath(tools::Api& api, const GridstatOptions& o) {
  const auto colon = o.job.find(':');
  if (colon == std::string::npos) return "/jobs/" + o.job;
  const auto job =
      Expect(api.Get("/jobs/remote?cluster=" + http::PercentEncode(o.job.substr(0, colon)) +
                     "&id=" + http::PercentEncode(o.job.substr(colon + 1))),
             "find job " + o.job);
  return "/jobs/" + std::to_string(job["id"].get<std::int64_t>());
}

int AboutJob(tools::Api& api, const GridstatOptions& o) {
  const std::string path = JobPath(api, o);
  if (o.out || o.err) return JobOutput(api, path, o);
  if (o.cinfos) {
    Put(Expect(api.Get(path + "/cinfos"), "ask the cluster about job " + o.job).dump(2) + "\n");
    return kExitOk;
  }
  if (o.why) return PutWhy(Expect(api.Get(path + WhyPath(o)), "explain job " + o.job), o);
  const json job = Expect(api.Get(path), "show job " + o.job);
  if (o.dump || o.json) return PutJson(job, o);
  Put(Job(job));
  return kExitOk;
}

int Once(tools::Api& api, const GridstatOptions& o, bool* over) {
  if (!o.job.empty()) return AboutJob(api, o);
  if (o.usage) return Usage(api, o);
  if (o.summed) return Summed(api, o);
  return o.campaign.empty() ? List(api, o) : AboutCampaign(api, o, over);
}

int Watch(tools::Api& api, const GridstatOptions& o) {
  for (bool over = false;;) {
    if (o.terminal) Put("\x1b[H\x1b[2J");
    const int code = Once(api, o, &over);
    if (over || code != kExitOk || std::ferror(stdout) != 0) return code;
    std::this_thread::sleep_for(std::chrono::duration<double>(o.watch_s));
  }
}

}  // namespace

int Main(int argc, char** argv) {
  GridstatOptions o;
  if (const auto code = ReadOptions(argc, argv, o)) return *code;
  auto api = tools::Connect(o.common);
  try {
    bool over = false;
    return o.watched ? Watch(api, o) : Once(api, o, &over);
  } catch (const NoCampaign&) {
    std::fprintf(stderr, "Campaign %s not found!\n", o.campaign.c_str());
    return kExitNo;
  }
}

}  // namespace cigri::gridstat
