#include "tools/gridstat/campaign.h"

#include <fmt/format.h>

#include <ctime>

#include "core/pluralize.h"
#include "core/text.h"
#include "tools/common/terminal.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;
using tools::Paint;
using tools::Printable;
using tools::Tint;

std::int64_t Int(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<std::int64_t>() : 0;
}
double Real(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}
std::string Str(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// Names come from other users: what is no printable character must not reach a terminal. Bytes of
// UTF-8 are kept whole where CiGri cuts characters.
std::string Column(const std::string& text, int width) {
  std::string out = Printable(text);
  while (tools::DisplayWidth(out) > width) {
    out.pop_back();
    while (!out.empty() && !IsValidUtf8(out)) out.pop_back();
  }
  return out + std::string(static_cast<std::size_t>(width - tools::DisplayWidth(out)), ' ');
}

char Letter(const std::string& state) {
  if (state == "in_treatment") return 'R';
  if (state == "paused") return 'P';
  if (state == "cancelled") return 'C';
  return state == "terminated" ? 'T' : '?';
}

Tint TintOf(const json& campaign) {
  const std::string state = Str(campaign, "state");
  if (Int(campaign, "failed_jobs") > 0 || campaign.value("has_events", false)) return Tint::kRed;
  if (state == "in_treatment") return Tint::kGreen;
  return state == "paused" ? Tint::kYellow : Tint::kDim;
}

// A rate or a duration that says nothing is a tilde.
std::string PerHour(double per_second) {
  const double x = per_second * 3600;
  return x < 0.01 ? "~" : fmt::format("{:.1f}", x);
}
std::string Hours(double seconds) {
  const double x = seconds / 3600;
  return x > 10000 ? "~" : fmt::format("{:.1f}", x);
}
std::string Percent(double share) { return share <= 0 ? "0" : fmt::format("{:.1f}", share * 100); }
std::string Seconds(const json& number) {
  if (!number.is_number()) return "";
  auto text = fmt::format("{:.3f}", number.get<double>());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Stats(const json& stats) {
  std::string out = "  Stats: \n";
  out += "    average_jobs_duration: " + Seconds(stats["average_jobs_duration"]) + "\n";
  out += "    stddev_jobs_duration: " + Seconds(stats["stddev_jobs_duration"]) + "\n";
  out += "    jobs_throughput: " + PerHour(Real(stats, "jobs_throughput")) + " jobs/h\n";
  out += "    remaining_time: " + Hours(Real(stats, "remaining_time")) + " hours\n";
  out += "    failures_rate: " + Percent(Real(stats, "failures_rate")) + " %\n";
  out += "    resubmit_rate: " + Percent(Real(stats, "resubmit_rate")) + " %\n";
  return out;
}

std::string ClusterBlock(const json& placement, bool full) {
  std::string out = "    " + Str(placement, "cluster_name") + ":\n";
  out += fmt::format("      active_jobs: {}\n", Int(placement, "active_jobs"));
  out += fmt::format("      queued_jobs: {}\n", Int(placement, "queued_jobs"));
  out += fmt::format("      prologue_ok: {}\n", placement.value("prologue_ok", true));
  out += fmt::format("      epilogue_ok: {}\n", placement.value("epilogue_ok", true));
  if (!full) return out;
  out += fmt::format("      jobs_throughput: {} jobs/h\n", PerHour(Real(placement, "throughput")));
  out += "      average_jobs_duration: " + Seconds(placement.value("mean_s", json())) + "\n";
  out += "      average_wait: " + Seconds(placement.value("wait_mean_s", json())) + "\n";
  out += "      p90_wait: " + Seconds(placement.value("wait_p90_s", json())) + "\n";
  if (const auto asked = AskedWalltime(placement); !asked.empty())
    out += "      walltime: " + asked + "\n";
  if (const auto jobs = Int(placement, "checkpointed_jobs"); jobs > 0)
    out += "      kept_by_checkpoints: " + HumanDuration(Real(placement, "kept_s")) + " of " +
           Pluralize(jobs, "job that was evicted or over its walltime",
                     "jobs that were evicted or over their walltime") +
           "\n";
  if (const json ends = placement.value("ends", json()); ends.is_array())
    out += "      expected_end: " + Date(ends[0].get<double>()) + " to " +
           Date(ends[1].get<double>()) + "\n";
  return out;
}

// Cluster ids are keys of a JSON object: in order of their number, not of their text.
std::vector<const json*> PlacementsOf(const json& campaign) {
  std::map<long, const json*> by_id;
  if (campaign.contains("clusters"))
    for (const auto& [id, placement] : campaign["clusters"].items())
      by_id[std::stol(id)] = &placement;
  std::vector<const json*> placements;
  for (const auto& [id, placement] : by_id) placements.push_back(placement);
  return placements;
}

std::string SummaryLine(const json& row) {
  return fmt::format("{:>8} {:>8} {:>10} {:>6}", Int(row, "waiting"), Int(row, "running"),
                     Int(row, "terminated"), Int(row, "needs_attention"));
}

std::string UserSummary(const json& summary, bool header) {
  std::string out;
  if (header)
    out =
        "User             Campaigns  Waiting  Running Terminated Failed\n"
        "---------------- --------- -------- -------- ---------- ------\n";
  for (const auto& [user, row] : summary["users"].items())
    out +=
        Column(user, 16) + fmt::format(" {:>9} ", Int(row, "campaigns")) + SummaryLine(row) + "\n";
  return out;
}

}  // namespace

std::string Date(double epoch) {
  const auto at = static_cast<std::time_t>(epoch);
  std::tm local{};
  localtime_r(&at, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H-%M-%S", &local);
  return text;
}

std::string AskedWalltime(const json& placement) {
  const auto asked = Int(placement, "asked_walltime_s");
  if (asked == 0) return "";
  return FormatWalltime(asked) + " (auto, at most " +
         FormatWalltime(Int(placement, "walltime_s")) + ")";
}

std::string Progress(const json& campaign) {
  const auto done = Int(campaign, "finished_jobs"), total = Int(campaign, "total_jobs");
  return fmt::format("{}/{} ({}%)", done, total, total > 0 ? done * 100 / total : 0);
}

std::string ListHeader() {
  return "Campaign id Name                User             Submission time     S  Progress\n"
         "----------- ------------------- ---------------- ------------------- -- --------\n";
}

std::string ListLine(const json& campaign, const Style& style) {
  const std::string flag = campaign.value("has_events", false) ? "e" : " ";
  std::string line =
      fmt::format("{:<11} {} {} {} ", Int(campaign, "id"), Column(Str(campaign, "name"), 19),
                  Column(Str(campaign, "user"), 16), Date(Real(campaign, "submission_time")));
  line +=
      Paint(TintOf(campaign), std::string(1, Letter(Str(campaign, "state"))) + flag, style.colour);
  line += " " + Progress(campaign);
  return line + "\n";
}

std::string Campaign(const json& campaign, const json& stats, bool full, const Style& style) {
  const bool events = campaign.value("has_events", false);
  std::string out = fmt::format("Campaign: {}\n", Int(campaign, "id"));
  out += "  Name: " + Printable(Str(campaign, "name")) + "\n";
  out += "  User: " + Printable(Str(campaign, "user")) + "\n";
  out += "  Date: " + Date(Real(campaign, "submission_time")) + "\n";
  out += "  State: " + Paint(TintOf(campaign), Str(campaign, "state"), style.colour) + " " +
         (events ? "(events)" : " ") + "\n";
  out += "  Progress: " + Progress(campaign) + "\n";
  out += Stats(stats) + "  Clusters: \n";
  for (const auto* placement : PlacementsOf(campaign)) out += ClusterBlock(*placement, full);
  return out + "\n";
}

std::string Notes(const json& campaign) {
  std::string out;
  const bool alive = Str(campaign, "state") == "in_treatment";
  if (alive && campaign.contains("priority") && Int(campaign, "priority") == 0)
    out += "its priority is 0: suspended, nothing is sent (gridmod -p)\n";
  if (!Str(campaign, "state_reason").empty())
    out += Printable(Str(campaign, "state_reason")) + "\n";
  for (const auto* placement : PlacementsOf(campaign))
    if (const std::string state = Str(*placement, "state"); !state.empty() && state != "ok")
      out += Str(*placement, "cluster_name") + ": " + Printable(Str(*placement, "reason")) + "\n";
  return out;
}

std::string Summary(const json& summary, bool by_user, bool header) {
  if (by_user) return UserSummary(summary, header);
  std::string out;
  if (header)
    out =
        "Id          User             Status       Type     Waiting  Running Terminated Failed "
        "Err\n"
        "----------- ---------------- ------------ ------- -------- -------- ---------- ------ "
        "---\n";
  for (const auto& row : summary["items"])
    out += fmt::format("{:<11} {} {:<12} {:<7} {}  {}\n", Int(row, "id"),
                       Column(Str(row, "user"), 16), Str(row, "state"), Str(row, "type"),
                       SummaryLine(row), row.value("has_events", false) ? "x" : " ");
  return out;
}

}  // namespace cigri::gridstat
