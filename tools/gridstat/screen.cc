#include "tools/gridstat/screen.h"

#include <fmt/format.h>

#include <ctime>
#include <vector>

#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/common/wait.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;
using tools::CutTo;
using tools::Paint;
using tools::Printable;
using tools::Tint;

std::int64_t Count(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<std::int64_t>() : 0;
}
std::string WordAt(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool IsOver(const json& campaign) {
  const auto state = WordAt(campaign, "state");
  return state == "terminated" || state == "cancelled";
}

std::int64_t InQueues(const json& campaign) {
  return Count(campaign, "submitted_jobs") + Count(campaign, "remote_waiting_jobs") +
         Count(campaign, "launching_jobs");
}

// in_treatment is CiGri's word; what a user wants to know is whether jobs run.
std::string StateText(const json& campaign) {
  const auto state = WordAt(campaign, "state");
  if (state == "in_treatment") return Count(campaign, "running_jobs") > 0 ? "running" : "waiting";
  if (state == "terminated")
    return Count(campaign, "failed_jobs") > 0 ? "ended with failures" : "done";
  return state;
}

Tint StateTint(const json& campaign) {
  if (Count(campaign, "failed_jobs") > 0 || campaign.value("has_events", false)) return Tint::kRed;
  const auto text = StateText(campaign);
  if (text == "running" || text == "done") return Tint::kGreen;
  return text == "cancelled" ? Tint::kDim : Tint::kYellow;
}

std::string Clock(double at, double now) {
  const auto when = static_cast<std::time_t>(at), today = static_cast<std::time_t>(now);
  std::tm then{}, current{};
  localtime_r(&when, &then);
  localtime_r(&today, &current);
  const bool same = then.tm_yday == current.tm_yday && then.tm_year == current.tm_year;
  char text[32];
  std::strftime(text, sizeof text, same ? "%H:%M" : "%m-%d %H:%M", &then);
  return text;
}

// "2 running, 7 queued", without what there is none of.
std::string Numbers(const std::vector<std::pair<std::int64_t, const char*>>& numbers) {
  std::vector<std::string> parts;
  for (const auto& [n, word] : numbers)
    if (n > 0) parts.push_back(std::to_string(n) + " " + word);
  return Join(parts, ", ");
}

std::string ClusterLine(const json& placement, std::size_t name_width) {
  const auto name = Printable(WordAt(placement, "cluster_name"));
  std::string line = "  " + name + std::string(name_width - std::min(name_width, name.size()), ' ');
  auto numbers = Numbers({{Count(placement, "done"), "done"},
                          {Count(placement, "running"), "running"},
                          {Count(placement, "remote_waiting") + Count(placement, "submitted") +
                               Count(placement, "queued_jobs"),
                           "queued"},
                          {Count(placement, "preempted"), "preempted"}});
  line += "  " + (numbers.empty() ? "nothing yet" : numbers);
  if (const auto at = placement.find("mean_s"); at != placement.end() && at->is_number())
    line += ", " + HumanDuration(at->get<double>()) + " a job";
  if (const auto state = WordAt(placement, "state"); !state.empty() && state != "ok")
    line += ": " + Printable(WordAt(placement, "reason"));
  return line;
}

std::string EndLine(const json& progress, double now) {
  const auto text = tools::EndsIn(progress);
  if (text.empty()) return "";
  const auto& ends = progress["ends_in"];
  const auto from = Clock(now + ends[0].get<double>(), now),
             to = Clock(now + ends[1].get<double>(), now);
  return "  " + text + (from == to ? " (" + to + ")" : " (" + from + " to " + to + ")");
}

std::string Bar(const json& campaign, int width, const Style& style) {
  const auto total = std::max<std::int64_t>(1, Count(campaign, "total_jobs"));
  const auto cells = [&](std::int64_t n) {
    return static_cast<std::size_t>(std::min<std::int64_t>(n * width / total, width));
  };
  const auto all = static_cast<std::size_t>(width);
  const auto done = cells(Count(campaign, "finished_jobs"));
  const auto bad = std::min(cells(Count(campaign, "failed_jobs")), all - done);
  const auto now =
      std::min(cells(Count(campaign, "running_jobs") + InQueues(campaign)), all - done - bad);
  return Paint(Tint::kGreen, std::string(done, '#'), style.colour) +
         Paint(Tint::kYellow, std::string(now, '+'), style.colour) +
         Paint(Tint::kRed, std::string(bad, 'x'), style.colour) +
         std::string(all - done - bad - now, '.');
}

std::string Padded(const std::string& text, int width) {
  const auto cut = CutTo(text, width);
  return cut + std::string(static_cast<std::size_t>(width - tools::DisplayWidth(cut)), ' ');
}

}  // namespace

std::string Screen(const json& campaign, const json& progress, double now, int width,
                   const Style& style) {
  const auto total = Count(campaign, "total_jobs"), done = Count(campaign, "finished_jobs");
  const auto start = campaign.value("submission_time", 0.0);
  const auto state = StateText(campaign);
  auto title = fmt::format("Campaign {}  {}  {}  since {}  ", Count(campaign, "id"),
                           CutTo(Printable(WordAt(campaign, "name")), 24),
                           CutTo(Printable(WordAt(campaign, "user")), 12), Clock(start, now));
  std::string out = CutTo(title, width - static_cast<int>(state.size())) +
                    Paint(StateTint(campaign), state, style.colour) + "\n";
  const auto percent = fmt::format(" {:3} %", total > 0 ? done * 100 / total : 0);
  out += "  [" + Bar(campaign, std::clamp(width - 12, 1, 60), style) + "]" + percent + "\n";
  const auto numbers = Numbers({{done, "done"},
                                {Count(campaign, "running_jobs"), "running"},
                                {InQueues(campaign), "queued"},
                                {IsOver(campaign) ? 0 : Count(campaign, "waiting_jobs"), "waiting"},
                                {Count(campaign, "failed_jobs"), "failed"}});
  std::vector<std::string> lines = {"  " + std::to_string(total) +
                                    (total == 1 ? " task: " : " tasks: ") +
                                    (numbers.empty() ? "none of them ran" : numbers)};
  if (!IsOver(campaign))
    if (const auto end = EndLine(progress, now); !end.empty()) lines.push_back(end);
  std::size_t name_width = 0;
  const json none = json::object();
  const auto& clusters = campaign.contains("clusters") ? campaign["clusters"] : none;
  for (const auto& placement : clusters)
    name_width = std::max(name_width, WordAt(placement, "cluster_name").size());
  for (const auto& placement : clusters) lines.push_back(ClusterLine(placement, name_width));
  for (const auto& line : lines) out += CutTo(line, width) + "\n";
  return out;
}

std::string NextCommand(const json& campaign) {
  const auto id = std::to_string(Count(campaign, "id"));
  if (Count(campaign, "failed_jobs") > 0 && IsOver(campaign))
    return "next: gridsub --retry-failed " + id + ", when the cause is corrected";
  if (campaign.value("has_events", false)) return "next: gridevents -c " + id;
  if (IsOver(campaign))
    return Count(campaign, "finished_jobs") > 0 ? "next: gridstat " + id + " -O" : "";
  return Count(campaign, "running_jobs") > 0 ? "next: gridstat " + id + " --watch"
                                             : "next: gridstat " + id + " --why";
}

std::string ListScreen(const json& campaigns, bool all, bool header, int width,
                       const Style& style) {
  if (campaigns.empty())
    return all ? "there is no campaign\n"
               : "no campaign is at work; gridstat -a shows those that are over\n";
  std::string out = header ? "Id      Name                User       Submitted    Done\n" : "";
  const auto now = static_cast<double>(std::time(nullptr));
  for (const auto& c : campaigns) {
    const auto total = Count(c, "total_jobs"), done = Count(c, "finished_jobs");
    std::string line = Padded(std::to_string(Count(c, "id")), 7) + " " +
                       Padded(Printable(WordAt(c, "name")), 19) + " " +
                       Padded(Printable(WordAt(c, "user")), 10) + " " +
                       Padded(Clock(c.value("submission_time", 0.0), now), 12) + " ";
    line += fmt::format("{}/{}  ", done, total);
    const auto failed = Count(c, "failed_jobs");
    const auto state = StateText(c) + (failed > 0 && !IsOver(c) ? fmt::format(", {} failed", failed)
                                                                : std::string());
    out += CutTo(line, std::max(20, width - static_cast<int>(state.size()))) +
           Paint(StateTint(c), state, style.colour) + "\n";
  }
  return out;
}

}  // namespace cigri::gridstat
