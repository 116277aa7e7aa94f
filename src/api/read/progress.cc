// GET /campaigns/N/progress: numbers that move, and news, held until there are some.
#include <sql/campaigns.h>
#include <sql/events.h>
#include <sql/forecasts.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "api/http/change_notifier.h"
#include "api/http/live.h"
#include "api/http/router.h"
#include "api/read/campaigns.h"
#include "core/pluralize.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// What a client has seen, in its token: "EVENT.PLACEMENTS.HASH" with placements = "1:3,2:0"
// (preempted jobs by cluster). An invalid token counts as an empty one: everything is new.
struct Seen {
  std::int64_t event = 0;
  std::map<std::string, std::int64_t> preempted;
  std::string text;
};

Seen SeenOf(const std::string& token) {
  Seen seen;
  seen.text = token;
  const auto parts = Split(token, '.');
  if (parts.size() != 3) return seen;
  seen.event = std::strtoll(parts[0].c_str(), nullptr, 10);
  for (const auto& placement : Split(parts[1], ','))
    if (const auto colon = placement.find(':'); colon != placement.npos)
      seen.preempted[placement.substr(0, colon)] =
          std::strtoll(placement.c_str() + colon + 1, nullptr, 10);
  return seen;
}

json PlacementJson(const json& placement) {
  return {{"name", placement["cluster_name"]}, {"done", placement["done"]},
          {"running", placement["running"]},   {"waiting", placement["remote_waiting"]},
          {"failed", placement["failed"]},     {"rate", placement["throughput"]},
          {"mean_s", placement["mean_s"]},     {"state", placement["state"]},
          {"reason", placement["reason"]}};
}

std::string PreemptedNews(const std::string& cluster, std::int64_t n) {
  return cluster + ": a local user took the slot" + (n == 1 ? "" : "s") + ", " +
         Pluralize(n, "job killed, it is retried", "jobs killed, they are retried") +
         " (not your fault)";
}

// Stopped by the grid itself (held everywhere): nothing moves until somebody answers. Once the
// events are answered it is about to go on; so it is without a reason: it was paused by its user.
bool IsStopped(db::Tx& tx, const json& campaign) {
  return campaign["state"] == "paused" && campaign["wanted"] == "in_treatment" &&
         !campaign["state_reason"].is_null() &&
         tx.One(sql::kCampaignIsHeldEverywhere, campaign["id"].get<std::int64_t>()).held;
}

json ProgressNumbers(const json& campaign, bool stopped) {
  const bool cancelled = campaign["state"] == "cancelled";
  const std::int64_t waiting = campaign["waiting_jobs"], not_run = campaign["not_run_jobs"];
  return {{"state", campaign["state"]},
          {"wanted", campaign["wanted"]},
          {"state_reason", campaign["state_reason"]},
          {"total", campaign["total_jobs"]},
          {"done", campaign["finished_jobs"]},
          {"failed", campaign["failed_jobs"]},
          {"running", campaign["running_jobs"]},
          {"waiting", cancelled ? 0 : waiting},
          {"submitted", campaign["submitted_jobs"]},
          {"remote_waiting", campaign["remote_waiting_jobs"]},
          {"launching", campaign["launching_jobs"]},
          {"preempted", campaign["preempted"]},
          {"not_run", cancelled ? not_run + waiting : not_run},
          {"over", cancelled || stopped || campaign["state"] == "terminated"}};
}

// "in 2 to 4 s", as the predictor sees it; null when it does not, or all is over.
void AddForecast(db::Tx& tx, std::int64_t id, json& progress) {
  progress["ends_in"] = nullptr;
  progress["throughput"] = nullptr;
  const auto rows = tx.Exec(sql::kEndEstimate, id);
  if (rows.empty()) return;
  if (rows[0].rate) progress["throughput"] = *rows[0].rate;
  if (progress["over"] == true || !rows[0].low || !rows[0].high) return;
  progress["ends_in"] = {*rows[0].low, *rows[0].high};
}

// The events since `seen`; sets the first parts of the token: how far the client has then read.
json NewsSince(db::Tx& tx, std::int64_t id, const json& placements, const Seen& seen,
               std::string* mark) {
  json news = json::array();
  std::vector<std::string> preempted;
  for (const auto& [cluster, placement] : placements.items()) {
    const std::int64_t n = placement["preempted"];
    const auto before = seen.preempted.find(cluster);
    const auto more = n - (before == seen.preempted.end() ? 0 : before->second);
    if (more > 0) news.push_back(PreemptedNews(placement["cluster_name"], more));
    preempted.push_back(cluster + ":" + std::to_string(n));
  }
  // What a client says that it has seen is no further than what there is: two who differ in that
  // would wake each other indefinitely.
  std::int64_t last = seen.event;
  for (const auto& row : tx.Exec(sql::kEventsSince, id, seen.event)) {
    if (row.id) news.push_back(row.message.value_or(""));
    last = row.id.value_or(std::min(last, row.newest));
  }
  *mark = std::to_string(last) + "." + Join(preempted, ",");
  return news;
}

struct Progress {
  json body;
  bool changed = false;
};

// What each campaign stood at when somebody looked last. Of a thousand who wait for news of it, one
// asks the database after each notice, and the others are woken. Thread-safe.
class LastTokens {
 public:
  /// Somebody found this after notice number `notices`. Whether others wait for it.
  bool Set(std::int64_t campaign, std::uint64_t notices, const std::string& token) {
    std::lock_guard lock(mutex_);
    if (last_.size() > kMost) last_.clear();
    Last& last = last_[campaign];
    const bool changed = last.token != token;
    last = {token, notices, {}};
    return changed;
  }
  /// Whether somebody found `token` since the last notice.
  bool IsFresh(std::int64_t campaign, std::uint64_t notices, const std::string& token) {
    std::lock_guard lock(mutex_);
    const auto it = last_.find(campaign);
    return it != last_.end() && it->second.token == token && it->second.notices >= notices;
  }
  /// Whether `token` is still how the campaign stands; false also for the one who is to find out.
  bool Holds(std::int64_t campaign, std::uint64_t notices, const std::string& token) {
    const auto now = std::chrono::steady_clock::now();
    std::lock_guard lock(mutex_);
    const auto it = last_.find(campaign);
    if (it == last_.end() || it->second.token != token) return false;
    if (it->second.notices >= notices || it->second.asked > now - kLongestLook) return true;
    it->second.asked = now;
    return false;
  }

 private:
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::chrono::seconds kLongestLook{2};
  struct Last {
    std::string token;
    std::uint64_t notices = 0;                      // that it is newer than
    std::chrono::steady_clock::time_point asked{};  // since when somebody looks
  };
  std::mutex mutex_;
  std::map<std::int64_t, Last> last_;  // by campaign
};

Progress LoadProgress(Context& context, const Request& request, const Seen& seen) {
  return context.Read([&](db::Tx& tx) {
    tx.Ahead(sql::kCampaignIsHeldEverywhere, request.Id());
    tx.Ahead(sql::kEventsSince, request.Id(), seen.event);
    tx.Ahead(sql::kEndEstimate, request.Id());
    tx.NothingFollows();
    const json campaign = CampaignJson(tx, request, request.Id());
    Progress out{ProgressNumbers(campaign, IsStopped(tx, campaign)), false};
    out.body["clusters"] = json::array();
    for (const auto& placement : campaign["clusters"])
      out.body["clusters"].push_back(PlacementJson(placement));
    std::string counted = OneLine(out.body), mark;
    auto news = NewsSince(tx, request.Id(), campaign["clusters"], seen, &mark);
    if (!MayRead(request, campaign["user"])) news = json::array();
    AddForecast(tx, request.Id(), out.body);
    const std::string token = mark + "." + std::to_string(std::hash<std::string>{}(counted));
    out.changed = token != seen.text;
    out.body["token"] = token;
    out.body["news"] = std::move(news);
    return out;
  });
}

// Asked again from the start when there are news: it holds no thread while it waits. Of a crowd
// that comes at once, one asks the database.
Reply ShowProgress(Context& context, const Request& request,
                   const std::shared_ptr<LastTokens>& last,
                   const std::shared_ptr<RecentAnswers>& recent) {
  const std::chrono::milliseconds wait(request.QueryInt("wait", 0, 0, kLongestWait));
  auto& notifier = *context.notifier;
  const auto notices = notifier.notices();
  const std::string seen = request.Query("seen");
  // What is news to somebody depends on what he has seen, and may.
  const std::string key = request.path + "\n" + seen + "\n" + request.link_prefix + "\n" +
                          request.caller.user + (request.caller.is_operator ? "*" : "");
  if (request.waited.count() > 0)
    if (const auto found = recent->Find(key)) return *found;
  const auto left = wait - request.waited;
  const bool waits = left.count() > 0 && !notifier.stopped();
  if (!waits || seen.empty() || !last->IsFresh(request.Id(), notices, seen)) {
    Progress progress = LoadProgress(context, request, SeenOf(seen));
    const bool over = progress.body["over"] == true;  // nobody waits for news of it
    const std::string token = over ? "" : progress.body["token"];
    Reply reply = Reply::Json(std::move(progress.body));
    if (!seen.empty() && (over || progress.changed)) recent->Keep(key, reply);
    if (last->Set(request.Id(), notices, token)) notifier.Tell();
    if (!waits || over || progress.changed) return reply;
  }
  notifier.KeepListening();
  return Reply::Later(left, [last, &notifier, id = request.Id(), seen] {
    return last->Holds(id, notifier.notices(), seen);
  });
}

}  // namespace

void AddProgressRoutes(Router& router) {
  const auto last = std::make_shared<LastTokens>();
  const auto recent = std::make_shared<RecentAnswers>();
  router.Get("/campaigns/{id}/progress", [last, recent](Context& context, const Request& request) {
    return ShowProgress(context, request, last, recent);
  });
}

}  // namespace cigri::api
