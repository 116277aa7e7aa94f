#include "api/read/campaigns.h"

#include <sql/campaigns.h>
#include <sql/forecasts.h>
#include <sql/jobs.h>
#include <sql/placements.h>
#include <sql/usage.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/http/kept_counts.h"
#include "api/http/router.h"
#include "api/read/params.h"
#include "core/cigri3_keys.h"
#include "core/states.h"
#include "core/text.h"
#include "http/client.h"
#include "jdl/jdl.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr std::int64_t kCountedExactly = 100'000;  // sql/queries/campaigns.sql, ListCampaigns
constexpr int kMostPoints = 600;                   // of a curve

std::vector<std::string> AllStates() {
  return {EnumNames<CampaignState>().begin(), EnumNames<CampaignState>().end()};
}

// ?state=terminated,paused, else ?all=1, else CiGri's choice: what is alive.
std::vector<std::string> StatesAsked(const Request& request) {
  if (request.Flag("all")) return AllStates();
  const std::string asked = request.Query("state");
  if (asked.empty()) return {"in_treatment", "paused"};
  const auto states = Split(asked, ',');
  for (const auto& state : states)
    if (!FromString<CampaignState>(state))
      throw BadRequest("there is no campaign state \"" + state + "\"",
                       "states are in_treatment, paused, cancelled, terminated");
  return states;
}

std::optional<std::string> Asked(const Request& request, const std::string& name) {
  if (!request.HasQuery(name)) return std::nullopt;
  return request.Query(name);
}

// One word and one reason for readers, the strongest first.
// `may_read`: why it is held has the command and the standard error of a job in it.
void AddPlacementState(json& placement, const sql::ShowPlacementsRow& row, bool may_read) {
  const auto say = [&](const char* state, const std::string& reason) {
    placement["state"] = state;
    placement["reason"] = reason;
  };
  if (!row.enabled) return say("disabled", "disabled by the operators");
  if (row.drained)
    return say("drained", std::string("drained by ") + row.drained_by.value_or("an operator") +
                              ": " + row.drain_reason.value_or(""));
  if (row.held_since)
    return say("held", may_read ? row.held_why.value_or("") : "its owner's events say why");
  if (row.failing_since) return say("unreachable", row.error.value_or("it does not answer"));
  if (row.black_hole_until)
    return say("black_hole", "held for a while: it ended jobs too fast there");
  if (row.mode == "observe") return say("observe", "in observation: nothing is sent there");
  say("ok", "");
}

json PlacementJson(const sql::ShowPlacementsRow& row, const std::string& state, bool may_read) {
  const auto n_ok = row.n_ok;
  const double sum = row.sum_s;
  json placement = {
      {"cluster_name", row.name},
      {"active_jobs", row.submitted + row.remote_waiting + row.running},
      {"queued_jobs", row.launching},
      {"prologue_ok", !row.has_prologue || row.prologue == "done" || row.prologue == "undone"},
      {"epilogue_ok", !row.has_epilogue || row.epilogue == "done"},
      {"running", row.running},
      {"remote_waiting", row.remote_waiting},
      {"submitted", row.submitted},
      {"done", row.done},
      {"failed", row.ended_badly},
      {"preempted", row.preempted},
      {"throughput", OrNull(row.rate)},
      {"mean_s", n_ok > 0 ? json(sum / static_cast<double>(n_ok)) : json()},
      {"job_ratio", OrNull(row.job_ratio)},
      {"ends", EndsOf(state, row.end_low, row.end_high)},
      {"slots", row.slots},
      {"walltime_s", row.walltime_s},
      {"asked_walltime_s", OrNull(row.asked_walltime_s)}};
  // Until the predictor has seen enough, the whole life of the campaign there says how fast it
  // goes.
  if (placement["throughput"].is_null() && n_ok > 0 && row.first_start) {
    const double duration = *row.last_end - *row.first_start;
    if (duration > 0) placement["throughput"] = static_cast<double>(n_ok) / duration;
  }
  AddPlacementState(placement, row, may_read);
  return placement;
}

json LinksOf(const Request& request, std::int64_t id) {
  const std::string self = "/campaigns/" + std::to_string(id);
  return json::array({LinkJson(request, "self", self), LinkJson(request, "parent", "/campaigns"),
                      LinkJson(request, "collection", self + "/jobs", "jobs"),
                      LinkJson(request, "collection", self + "/events", "events"),
                      LinkJson(request, "item", self + "/jdl", "jdl")});
}

struct Page {
  std::int64_t total = 0;
  std::vector<std::int64_t> ids;
};

// In one of `states`, of the user and with the name that the request asks for. Where more follow,
// how many there are of all users may be a count that is kept.
Page PageOf(db::Tx& tx, KeptCounts& kept_counts, const Request& request,
            const std::vector<std::string>& states, std::int64_t limit, std::int64_t offset,
            bool newest) {
  const auto user = Asked(request, "user"), name = Asked(request, "name");
  const bool of_all = !user && !name && !request.of_cigri3;
  const std::set<std::string> key(states.begin(), states.end());
  const auto kept = of_all ? kept_counts.Find(key) : std::nullopt;
  const auto began = KeptCounts::Clock::now();
  Page page;
  std::optional<std::int64_t> counted;
  // For CiGri 3's clients, which ask for no states, what has failed tasks is alive.
  for (const auto& row : tx.Exec(sql::kPageOfCampaigns, user, name, limit, offset, newest, states,
                                 request.of_cigri3, !kept)) {
    counted = row.total;
    if (row.id) page.ids.push_back(*row.id);
  }
  if (of_all && counted) kept_counts.Keep(key, *counted, KeptCounts::Clock::now() - began);
  const auto seen = offset + static_cast<std::int64_t>(page.ids.size());
  const bool more = static_cast<std::int64_t>(page.ids.size()) > limit;
  if (more) page.ids.pop_back();
  // The end of the list says itself how long it is; after the end none follow, whatever was
  // counted.
  const auto total = counted.value_or(kept.value_or(0));
  page.total = more ? std::max(seen, total) : page.ids.empty() ? std::min(seen, total) : seen;
  return page;
}

json CampaignPage(Context& context, db::Tx& tx, const Request& request) {
  // CiGri's clients know no pages here: without a limit they get everything that is alive.
  const auto limit = request.QueryInt("limit", 10'000, 1, 10'000);
  const auto offset = request.QueryInt("offset", 0);
  const bool newest = request.Flag("newest");
  const Page page =
      PageOf(tx, *context.kept_counts, request, StatesAsked(request), limit, offset, newest);
  json items = json::array();
  tx.NothingFollows();
  for (const auto& row : tx.Exec(sql::kListCampaigns, page.ids))
    items.push_back(CampaignJson(request, row));
  if (newest) std::reverse(items.begin(), items.end());
  std::string keep = request.Flag("all") ? "&all=1" : "";
  if (const auto user = Asked(request, "user")) keep += "&user=" + http::PercentEncode(*user);
  if (request.HasQuery("state")) keep += "&state=" + request.Query("state");
  if (const auto name = Asked(request, "name")) keep += "&name=" + http::PercentEncode(*name);
  if (newest) keep += "&newest=1";
  return PageJson(request, "/campaigns", std::move(items), page.total, offset, limit, keep);
}

struct Durations {
  std::int64_t n = 0;
  double sum = 0, sum_sq = 0, first_start = 0, last_end = 0;
};

Durations DurationsOf(const std::vector<sql::ShowPlacementsRow>& placements) {
  Durations all;
  for (const auto& row : placements) {
    const auto n = row.n_ok;
    if (n == 0) continue;
    const double first = row.first_start.value_or(0), last = row.last_end.value_or(0);
    all.first_start = all.n == 0 ? first : std::min(all.first_start, first);
    all.last_end = std::max(all.last_end, last);
    all.n += n;
    all.sum += row.sum_s;
    all.sum_sq += row.sum_sq;
  }
  return all;
}

double PartOf(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// CiGri's keys; what it computed from all jobs is kept up to date in placements, counters and
// forecasts.
json Stats(db::Tx& tx, std::int64_t campaign) {
  const auto row = CampaignRow(tx, campaign);
  const auto all = DurationsOf(tx.Exec(sql::kShowPlacements, campaign));
  const auto foreseen = tx.Exec(sql::kCampaignForecast, campaign);
  const auto numbers = NumbersOf(row);
  const auto n = static_cast<double>(all.n);
  json stats = {{"average_jobs_duration", nullptr},
                {"stddev_jobs_duration", nullptr},
                {"end_low", nullptr},
                {"end_high", nullptr}};
  if (all.n > 0) stats["average_jobs_duration"] = all.sum / n;
  if (all.n > 1)
    stats["stddev_jobs_duration"] =
        std::sqrt(std::max(0.0, (all.sum_sq - all.sum * all.sum / n) / (n - 1)));
  double rate =
      all.n > 0 && all.last_end > all.first_start ? n / (all.last_end - all.first_start) : 0;
  if (!foreseen.empty()) {
    if (foreseen[0].rate) rate = *foreseen[0].rate;
    stats["end_low"] = OrNull(foreseen[0].end_low);
    stats["end_high"] = OrNull(foreseen[0].end_high);
  }
  const auto past = tx.One(sql::kForecastAccuracy);
  stats["forecasts_held"] = past.held;
  stats["forecasts_judged"] = past.judged;
  stats["jobs_throughput"] = std::max(rate, 1e-16);
  stats["remaining_time"] =
      static_cast<double>(numbers.total - numbers.done - numbers.failed) / std::max(rate, 1e-16);
  // As in CiGri 3, what we took back ourselves (a trimmed queue, a copy) is no failure.
  const auto bad = std::max<std::int64_t>(0, row.ended_badly - row.our_kill - row.duplicate);
  const auto sent_again = row.user_requeues + row.preempted + row.infrastructure;
  stats["failures_rate"] = PartOf(bad, bad + numbers.done);
  stats["resubmit_rate"] = PartOf(std::min(sent_again, bad), bad + numbers.done);
  return stats;
}

// How many jobs ended and how long they had run, over the campaign's life. Usage is by the minute
// for a day, by the hour for a month: the rows are few, whatever the number of tasks.
json Series(db::Tx& tx, std::int64_t campaign) {
  CampaignRow(tx, campaign);
  json series = {{"at", json::array()},
                 {"width", json::array()},
                 {"ok", json::array()},
                 {"not_ok", json::array()},
                 {"slot_s", json::array()}};
  for (const auto& row : tx.Exec(sql::kUsageOfCampaign, campaign, kMostPoints))
    row.Each([&](const char* name, const auto& value) { series[name].push_back(value); });
  return series;
}

// A piece of "params": lines as texts, rows as arrays.
std::string ParamsJson(db::Tx& tx, ParamReader& params, const CampaignInfo& info, std::int64_t from,
                       std::int64_t end) {
  std::vector<std::int64_t> idxs;
  for (auto i = from; i < end; ++i) idxs.push_back(i);
  std::string text;
  for (const auto& [idx, line] : params.Read(tx, info.id, idxs)) {
    if (idx > 0) text += ",";
    text += info.format == jdl::kFormatValues ? ValidUtf8(line) : json(ValidUtf8(line)).dump();
  }
  return text;
}

// CiGri 3 kept the parameters in the JDL, and every value as text: who submits it again, or looks
// for them there, finds them. The line of setup that its campaigns get is not of their JDL.
Reply JdlOfCigri3(Context& context, CampaignInfo info) {
  json jdl = jdl::WithWalltimesAsText(info.jdl);
  jdl.erase("nb_jobs");
  for (auto& [name, block] : jdl["clusters"].items()) {
    block["test_mode"] = block.value("test_mode", false) ? "true" : "false";
    const auto setup = block.value("setup", "");
    if (!StartsWith(setup, kCigri3OutputSetup)) continue;
    block["setup"] = setup.substr(std::min(setup.size(), sizeof kCigri3OutputSetup));
    if (block["setup"] == "") block.erase("setup");
  }
  std::string head = jdl.dump();
  head.pop_back();
  return Reply::Stream(
      [&context, info = std::move(info), head = head + ",\"params\":["](const Write& write) {
        constexpr std::int64_t kChunk = 1000;
        ParamReader params;
        bool open = write(head);
        for (std::int64_t at = 0; open && at < info.nb_params; at += kChunk)
          open = write(context.Read([&](db::Tx& tx) {
            return ParamsJson(tx, params, info, at, std::min(info.nb_params, at + kChunk));
          }));
        if (open) write("]}\n");
      },
      "application/json");
}

Reply Jdl(Context& context, const Request& request) {
  auto info = context.Read([&](db::Tx& tx) { return OwnInfo(tx, request, request.Id()); });
  if (request.of_cigri3) return JdlOfCigri3(context, std::move(info));
  return Reply::Json(jdl::WithWalltimesAsText(std::move(info.jdl)));
}

// CIG-49: waiting, running, terminated, needing attention; a row per campaign, and one per user.
json SummaryRow(const Numbers& n) {
  return {{"waiting", n.waiting},
          {"running", n.InFlight()},
          {"terminated", n.done},
          {"needs_attention", n.failed},
          {"total", n.total}};
}

void AddTo(json& sum, const json& row) {
  for (const auto& [key, value] : row.items())
    sum[key] = sum.value(key, std::int64_t{0}) + value.get<std::int64_t>();
}

json Summary(Context& context, db::Tx& tx, const Request& request) {
  const auto from = request.QueryInt("from", 0), to = request.QueryInt("to", 0);
  // A range of ids is asked for to see what is over, too (CiGri 2: -s N-M).
  const auto states = from + to > 0 ? AllStates() : StatesAsked(request);
  const Page page = PageOf(tx, *context.kept_counts, request, states, 100'000, 0, false);
  json items = json::array(), users = json::object();
  for (const auto& row : tx.Exec(sql::kListCampaigns, page.ids)) {
    const auto id = row.id;
    if (id < from || (to > 0 && id > to)) continue;
    json item = SummaryRow(NumbersOf(row));
    json& user = users[row.grid_user];
    if (user.is_null()) user = json::object();
    AddTo(user, item);
    user["campaigns"] = user.value("campaigns", std::int64_t{0}) + 1;
    item.update({{"id", id},
                 {"user", row.grid_user},
                 {"state", row.state},
                 {"name", row.name},
                 {"type", row.type},
                 {"has_events", row.has_events}});
    items.push_back(std::move(item));
  }
  return {{"items", std::move(items)}, {"users", std::move(users)}};
}

}  // namespace

json EndsOf(const std::string& state, std::optional<double> low, std::optional<double> high) {
  if (!low || state != "in_treatment") return nullptr;
  return json::array({*low, OrNull(high)});
}

Numbers NumbersOf(const sql::ListCampaignsRow& row) {
  Numbers n;
  n.total = row.ntasks;
  n.done = row.done;
  n.launching = row.launching;
  n.submitted = row.submitted;
  n.remote_waiting = row.remote_waiting;
  n.running = row.running;
  // Beyond some number rows are not counted any more: what is left over is theirs.
  const auto rest = std::max<std::int64_t>(0, n.total - n.done - row.waiting - n.InFlight());
  n.failed = row.needs_attention <= kCountedExactly ? row.needs_attention
                                                    : rest - std::min(rest, row.retry);
  n.user_requeues = row.retry <= kCountedExactly ? row.retry : rest - std::min(rest, n.failed);
  n.waiting = row.waiting + n.user_requeues;
  n.not_run = std::max<std::int64_t>(0, row.nb_params - n.total);
  return n;
}

// Why a campaign is stopped: to others than its owner without what follows a colon, the words of
// its commands and jobs.
json ReasonFor(bool may_read, const std::optional<std::string>& reason) {
  if (!reason) return nullptr;
  return may_read ? *reason : reason->substr(0, reason->find(':'));
}

json CampaignJson(const Request& request, const sql::ListCampaignsRow& row) {
  const bool may_read = MayRead(request, row.grid_user);
  const auto id = row.id;
  const auto n = NumbersOf(row);
  json campaign = {{"id", id},
                   {"name", row.name},
                   {"user", row.grid_user},
                   {"state", row.state},
                   {"has_events", row.has_events},
                   {"submission_time", static_cast<std::int64_t>(row.submission_time)},
                   {"total_jobs", n.total},
                   {"finished_jobs", n.done},
                   {"links", LinksOf(request, id)},
                   {"wanted", row.wanted},
                   {"state_reason", ReasonFor(may_read, row.state_reason)},
                   {"completion_time", OrNull(row.completion_time)},
                   {"finishing", row.finishing},
                   {"type", row.type},
                   {"project", row.project},
                   {"priority", row.priority},
                   {"waiting_jobs", n.waiting},
                   {"user_requeues", n.user_requeues},
                   {"launching_jobs", n.launching},
                   {"submitted_jobs", n.submitted},
                   {"remote_waiting_jobs", n.remote_waiting},
                   {"running_jobs", n.running},
                   {"failed_jobs", n.failed},
                   {"not_run_jobs", n.not_run},
                   {"preempted", row.preempted},
                   {"rate", OrNull(row.rate)},
                   {"ends", EndsOf(row.state, row.end_low, row.end_high)}};
  if (may_read) campaign["notes"] = json::parse(row.notes);
  return campaign;
}

sql::ListCampaignsRow CampaignRow(db::Tx& tx, std::int64_t campaign) {
  auto row = tx.First(sql::kListCampaigns, std::vector<std::int64_t>{campaign});
  if (!row) throw NotFound("campaign " + std::to_string(campaign));
  return *row;
}

json CampaignJson(db::Tx& tx, const Request& request, std::int64_t campaign) {
  tx.Ahead(sql::kShowPlacements, campaign);
  if (request.Flag("waits")) {
    tx.Ahead(sql::kCampaignWaits, campaign);
    tx.Ahead(sql::kCampaignKept, campaign);
  }
  const auto row = CampaignRow(tx, campaign);
  json answer = CampaignJson(request, row);
  answer["clusters"] = json::object();
  for (const auto& placement : tx.Exec(sql::kShowPlacements, campaign))
    answer["clusters"][std::to_string(placement.id)] =
        PlacementJson(placement, row.state, MayRead(request, row.grid_user));
  if (request.Flag("waits"))
    for (const auto& waits : tx.Exec(sql::kCampaignWaits, campaign))
      answer["clusters"][std::to_string(waits.cluster_id)].update(
          {{"wait_mean_s", waits.mean_s}, {"wait_p90_s", waits.p90_s}});
  if (request.Flag("waits"))
    for (const auto& kept : tx.Exec(sql::kCampaignKept, campaign))
      answer["clusters"][std::to_string(kept.cluster_id)].update(
          {{"checkpointed_jobs", kept.jobs}, {"kept_s", kept.kept_s}});
  return answer;
}

void AddCampaignReadRoutes(Router& router) {
  router.GetLive("/campaigns", [](Context& context, const Request& request) {
    return Reply::Json(
        context.Read([&](db::Tx& tx) { return CampaignPage(context, tx, request); }));
  });
  router.GetLive("/campaigns/{id}", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) {
      tx.NothingFollows();
      return CampaignJson(tx, request, request.Id());
    }));
  });
  router.Get("/campaigns/{id}/stats", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return Stats(tx, request.Id()); }));
  });
  router.Get("/campaigns/{id}/series", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return Series(tx, request.Id()); }));
  });
  router.Get("/campaigns/{id}/jdl", Jdl);
  router.Get("/summary", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return Summary(context, tx, request); }));
  });
}

}  // namespace cigri::api
