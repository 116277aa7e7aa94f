// Rows of `reasons` as messages, and what is expected to change them.
#include <sql/cluster_status.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "api/why/why.h"
#include "core/hours.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

policy::Reason ReasonOf(const StoredReason& row, const json& numbers, std::int64_t campaign) {
  policy::Reason reason;
  reason.campaign = campaign;
  reason.cluster = row.cluster_id;
  reason.code = policy::CodeFrom(row.code).value_or(policy::Code::kNone);
  const auto names = policy::NumberNames(reason.code);
  for (std::size_t i = 0; i < names.size() && !names[i].empty(); ++i)
    reason.numbers[i] = numbers.value(std::string(names[i]), 0.0);
  reason.other = numbers.value("other", std::int64_t{0});
  reason.detail = numbers.value("detail", "");
  return reason;
}

bool OneOf(const std::string& code, std::initializer_list<const char*> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string Every(double rate, const std::string& whose) {
  if (rate >= 1.5)
    return "about " + std::to_string(std::llround(rate)) + " jobs of " + whose +
           " end there a second";
  return "a job of " + whose + " ends there about every " + HumanDuration(1 / rate);
}

std::string In(double seconds) { return "in " + HumanDuration(std::max(0.0, seconds)); }

// The next full hour within `hours`; nothing when there is none in eight days.
std::optional<double> OpensIn(const std::string& hours, double now) {
  const auto begin = static_cast<std::time_t>(now) / 900 * 900;
  for (std::time_t at = begin + 900; at < begin + 8 * 86400; at += 900)
    if (WithinHours(hours, at)) return static_cast<double>(at) - now;
  return std::nullopt;
}

}  // namespace

json ReasonJson(const policy::ReasonTexts& texts, const StoredReason& row, std::int64_t campaign,
                policy::Reader reader) {
  json numbers = json::parse(row.numbers);
  const auto reason = ReasonOf(row, numbers, campaign);
  const bool main = row.cluster_id == 0 || numbers.value("main", false);
  numbers.erase("main");
  return {{"cluster", OrNull(row.cluster)},
          {"cluster_id", row.cluster_id},
          {"code", row.code},
          {"message", texts.Text(reason)},
          {"action", texts.Action(reason, reader)},
          {"numbers", std::move(numbers)},
          {"main", main},
          {"since", row.since}};
}

Outlook::Outlook(db::Tx& tx, const std::vector<int>& clusters) {
  for (const auto& row : tx.Exec(sql::kClusterOutlook, clusters)) {
    rows_[row.id] = {row.hours.value_or(""), row.drained_for, row.retry_in, row.rate};
    now_ = row.now;
  }
}

json Outlook::OfCluster(const std::string& code, const Row& row) const {
  if (code == "CLUSTER_DRAINED")
    return row.drained_for ? "the drain ends " + In(*row.drained_for)
                           : std::string("until an operator resumes it");
  if (code == "CLUSTER_HOURS") {
    const auto duration = OpensIn(row.hours, now_);
    return duration ? json("it opens " + In(*duration)) : json();
  }
  if (OneOf(code, {"CLUSTER_BREAKER", "CLUSTER_STALE"}) && row.retry_in)
    return "it is asked again " + In(*row.retry_in);
  if (OneOf(code, {"FULL", "SERVED_BEFORE", "OWN_FIRST", "SLOTS_KEPT", "BYPASSED",
                   "CLUSTER_LIMITED", "CLUSTER_MAX_RUNNING", "RESERVE"}) &&
      row.rate > 0)
    return Every(row.rate, "the grid");
  return nullptr;
}

json Outlook::Of(const json& reason, double rate) const {
  const std::string code = reason.value("code", "");
  const json& numbers = reason["numbers"];
  const auto number = [&](const char* name) { return numbers.value(name, 0.0); };
  if (code == "BLACK_HOLE" && number("held until") > 0)
    return "the hold ends " + In(number("held until") - now_);
  if (code == "AFFINITY_WAIT")
    return "it takes it " + In(number("waits for, s") - number("waited, s"));
  if (code == "START_RATE" && number("per minute") > 0)
    return "the next start within " + HumanDuration(60 / number("per minute"));
  if (OneOf(code, {"MAX_JOBS", "CANARY", "QUOTA", "LICENCE", "PROLOGUE"}) && rate > 0)
    return Every(rate, "it");
  const auto it = rows_.find(reason.value("cluster_id", std::int64_t{0}));
  return it == rows_.end() ? json() : OfCluster(code, it->second);
}

}  // namespace cigri::api
