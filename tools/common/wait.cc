#include "tools/common/wait.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include "core/text.h"
#include "tools/common/failures_text.h"
#include "tools/common/result_sinks.h"
#include "tools/common/ssh_forward.h"
#include "tools/common/terminal.h"

namespace cigri::tools {
namespace {

using nlohmann::json;
using Seconds = std::chrono::seconds;

constexpr int kPollMs = 10'000;
constexpr std::chrono::hours kPatience{1};
constexpr std::chrono::milliseconds kPause{250};

std::atomic<std::int64_t> waited_for = 0;
std::mutex leaving;
std::function<std::string()> before_leaving;  // under `leaving`

// While it lives, a Ctrl-C calls `before` first. Its end waits for such a call, which ends the
// process.
struct OnLeave {
  explicit OnLeave(std::function<std::string()> before) { Set(std::move(before)); }
  ~OnLeave() { Set({}); }
  static void Set(std::function<std::string()> before) {
    const std::lock_guard lock(leaving);
    before_leaving = std::move(before);
  }
};

void SayHowToGoOn() {
  const auto id = std::to_string(waited_for.load());
  std::fprintf(stderr,
               "%sCampaign %s goes on without you.\n"
               "  look at it:  gridstat -c %s -f\n  stop it:     griddel %s\n",
               isatty(STDERR_FILENO) == 1 ? "\n" : "", id.c_str(), id.c_str(), id.c_str());
}

// A thread waits for Ctrl-C, TERM or HUP, so that it works at once, also while a call waits for its
// answer. It lives as long as the process.
void LeaveOnInterrupt() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hangup {};  // the terminal was closed; nohup lets us go on
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set]() mutable {
    int signal = 0;
    sigwait(&set, &signal);
    sigdelset(&set, SIGHUP);                      // a shell and the kernel send one each
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // a second one ends the process at once
    SayHowToGoOn();
    const std::lock_guard lock(leaving);
    if (before_leaving) std::fputs(before_leaving().c_str(), stderr);
    AbandonPartialFiles();
    SshTunnel::EndAll();
    _exit(128 + signal);
  }).detach();
}

std::int64_t Number(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<std::int64_t>() : 0;
}

std::string Word(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

void Append(std::string& line, const std::string& text) {
  if (!text.empty()) line += (line.empty() ? "" : "  ") + text;
}

std::string Counted(std::int64_t n, const char* what) {
  return n == 0 ? "" : std::to_string(n) + " " + what;
}

// Calls until there is an answer; an API or a database that is away for a while is no reason to
// give up: the campaign goes on meanwhile.
template <typename Call>
auto Patiently(ProgressLine& line, Call call) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (bool first = true;; first = false) {
    try {
      return call();
    } catch (const Fatal& e) {
      const bool away = e.code() == kExitUnavailable || e.code() == kExitTryLater;
      if (away && std::chrono::steady_clock::now() > end) SayHowToGoOn();
      if (!away || std::chrono::steady_clock::now() > end) throw;
      const char* words = "the API does not answer, the campaign goes on; asking again for an hour";
      if (line.on())
        line.Show(words);
      else if (first)
        std::fprintf(stderr, "%s\n", words);
    }
    std::this_thread::sleep_for(kPause);
  }
}

json AskProgress(Api& api, const std::string& path, ProgressLine& line) {
  for (;;) {
    auto answer =
        Patiently(line, [&] { return api.Get(path, std::chrono::milliseconds(kPollMs + 20'000)); });
    const bool later = answer.status == 429 || answer.status == 503;
    if (!later) return Expect(std::move(answer), "follow the campaign");
    std::this_thread::sleep_for(kPause);
  }
}

void PrintNews(const json& progress, ProgressLine& line) {
  if (!line.on() || !progress.contains("news") || !progress["news"].is_array()) return;
  for (const auto& news : progress["news"]) {
    line.Clear();
    const auto text = news.is_string() ? news.get<std::string>() : news.dump();
    std::fprintf(stderr, "  %s\n", Printable(text).c_str());
  }
}

// Whether some had too little time.
bool PrintFailures(Api& api, const std::string& path, bool colour, std::FILE* to) {
  const auto answer = api.Get(path + "/failures?limit=5");
  if (!answer.ok() || !answer.body.is_object()) return false;  // an extra: the summary stands
  std::fputs(FailuresText(answer.body, colour).c_str(), to);
  const auto kinds = answer.body.value("items", json::array());
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const json& kind) { return Word(kind, "code") == "WALLTIME"; });
}

bool AllDone(const json& progress) {
  return Word(progress, "state") == "terminated" && Number(progress, "failed") == 0 &&
         Number(progress, "done") + Number(progress, "not_run") >= Number(progress, "total");
}

}  // namespace

std::string EndsIn(const json& progress) {
  const auto at = progress.find("ends_in");
  if (at == progress.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number() ||
      !(*at)[1].is_number())
    return "";
  // What other campaigns took says nothing of this one.
  if (Number(progress, "done") + Number(progress, "failed") == 0) return "";
  if ((*at)[1].get<double>() < 1) return "";
  const double from = std::ceil((*at)[0].get<double>()), to = std::ceil((*at)[1].get<double>());
  if (to < 60 && from < to)
    return "ends in " + std::to_string(static_cast<int>(from)) + "-" +
           std::to_string(static_cast<int>(to)) + " s";
  if (HumanDuration(from) == HumanDuration(to)) return "ends in " + HumanDuration(to);
  return "ends in " + HumanDuration(from) + " to " + HumanDuration(to);
}

std::string ProgressText(const json& progress) {
  std::string line = std::to_string(Number(progress, "done")) + "/" +
                     std::to_string(Number(progress, "total")) + " done";
  for (const auto& cluster : progress.value("clusters", json::array()))
    if (Number(cluster, "done") + Number(cluster, "running") > 0)
      Append(line, Word(cluster, "name") + " " + std::to_string(Number(cluster, "done")));
  Append(line, Counted(Number(progress, "failed"), "failed"));
  if (Word(progress, "state") == "paused") Append(line, "paused");
  Append(line, EndsIn(progress));
  return line;
}

std::string SummaryText(const json& progress) {
  std::string line = std::to_string(Number(progress, "done")) + " of " +
                     std::to_string(Number(progress, "total")) + " done";
  const std::pair<const char*, const char*> rest[] = {
      {"failed", "failed"}, {"not_run", "not run"}, {"preempted", "preempted and run again"}};
  for (const auto& [key, words] : rest)
    if (const auto text = Counted(Number(progress, key), words); !text.empty()) line += ", " + text;
  if (Word(progress, "state") == "cancelled") line += ", the campaign was cancelled";
  return line;
}

namespace {

// Until the campaign is over; its last progress.
json Follow(Api& api, const std::string& path, ResultFollower& results, ProgressLine& line) {
  std::string token;
  for (std::int64_t ended = 0;;) {
    json progress = AskProgress(
        api,
        path + "/progress?wait=" + std::to_string(kPollMs) + "&seen=" + http::PercentEncode(token),
        line);
    token = progress.contains("token") && progress["token"].is_number() ? progress["token"].dump()
                                                                        : Word(progress, "token");
    PrintNews(progress, line);
    line.Show(ProgressText(progress));
    const bool over = progress.value("over", false);
    const auto now = Number(progress, "done") + Number(progress, "failed");
    if (over || now != ended) Patiently(line, [&] { results.Fetch(over); });
    ended = now;
    if (over || !results.WantsMore()) return progress;
  }
}

void PrintEnd(Api& api, const std::string& id, const json& progress, std::FILE* to) {
  const bool colour = UseColour("auto", fileno(to));
  const auto tint = AllDone(progress) ? Tint::kGreen : Tint::kRed;
  std::fprintf(to, "%s\n", Paint(tint, SummaryText(progress), colour).c_str());
  if (Word(progress, "state") == "paused") {
    std::fprintf(to, "  stopped: %s\n", Printable(Word(progress, "state_reason")).c_str());
    std::fprintf(to, "  fix it, then let it go on: gridevents -c %s -f\n", id.c_str());
  }
  if (Number(progress, "failed") > 0) {
    const bool walltime = PrintFailures(api, "/campaigns/" + id, colour, to);
    if (Word(progress, "state") == "cancelled") {
      std::fprintf(to, "  it is cancelled: to run them again, submit another campaign\n");
    } else {
      if (walltime)
        std::fprintf(to, "  more time first: gridsub -c %s --set walltime=...\n", id.c_str());
      std::fprintf(to, "  again: gridsub --retry-failed %s\n", id.c_str());
    }
  }
}

}  // namespace

int Wait(Api& api, std::int64_t campaign, const ResultRequest& request,
         std::function<std::string()> on_leave) {
  const OnLeave leaves(std::move(on_leave));
  if (waited_for.exchange(campaign) == 0) LeaveOnInterrupt();
  const std::string id = std::to_string(campaign);
  ProgressLine line(STDERR_FILENO);
  ResultFollower results(api, campaign, request, line);
  const json progress = Follow(api, "/campaigns/" + id, results, line);
  line.Clear();
  if (!results.WantsMore()) return kExitOk;
  std::FILE* to = request.print ? stderr : stdout;
  if (!request.quiet) PrintEnd(api, id, progress, to);
  if (const auto where = WhereOutputIs(campaign, request); !where.empty() && !request.quiet)
    std::fprintf(to, "%s\n", where.c_str());
  std::fflush(to);
  return results.Complete() && AllDone(progress) ? kExitOk : kExitNo;
}

std::string Joblog(Api& api, std::int64_t campaign) {
  auto answer = api.Get("/campaigns/" + std::to_string(campaign) + "/joblog");
  if (!answer.ok()) throw Refused(answer, "get the job log");
  return std::move(answer.text);
}

}  // namespace cigri::tools
