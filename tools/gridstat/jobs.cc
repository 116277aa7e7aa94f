#include "tools/gridstat/jobs.h"

#include <fmt/format.h>

#include <ctime>
#include <set>

#include "core/cigri3_keys.h"
#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/gridstat/campaign.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;
using tools::Printable;

std::string Plain(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

std::string OrStar(const json& item, const char* key) {
  const auto it = item.find(key);
  return it == item.end() || it->is_null() ? "*" : Plain(*it);
}

// A duration since `epoch`, for readers.
std::string Ago(const json& epoch) {
  if (!epoch.is_number()) return "";
  const double s = static_cast<double>(std::time(nullptr)) - epoch.get<double>();
  return " for " + HumanDuration(s < 0 ? 0 : s);
}

std::string NumbersText(const json& numbers) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : numbers.items())
    parts.push_back(
        key + " " +
        (value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : Plain(value)));
  return parts.empty() ? "" : " (" + Join(parts, ", ") + ")";
}

std::string ReasonLines(const json& reasons, const std::string& indent) {
  std::string out;
  for (const auto& reason : reasons) {
    out += indent + reason.value("code", "") + Ago(reason["since"]) + ": " +
           Printable(reason.value("message", "")) + NumbersText(reason["numbers"]) + "\n";
    for (const char* key : {"before", "expected"})
      if (const auto it = reason.find(key); it != reason.end() && it->is_string())
        out += indent + "  " + Printable(it->get<std::string>()) + "\n";
    if (const auto action = reason.value("action", ""); !action.empty())
      out += indent + "  -> " + Printable(action) + "\n";
  }
  return out;
}

// The predictor's interval.
std::string Ends(const json& ends, const std::string& indent = "") {
  if (!ends.is_array()) return "";
  return indent + "Expected end: " + Date(ends[0].get<double>()) + " to " +
         Date(ends[1].get<double>()) + "\n";
}

std::string PlacementLines(const json& placement) {
  std::string out =
      fmt::format("  {}: {} running, {} queued, {} allowed, {} done", placement.value("name", ""),
                  placement.value("running", 0L), placement.value("queued", 0L),
                  placement.value("granted", 0L), placement.value("done", 0L));
  if (placement["job_ratio"].is_number())
    out += fmt::format(", job ratio {:.3g}", placement["job_ratio"].get<double>());
  if (const auto asked = AskedWalltime(placement); !asked.empty())
    out += ", walltime " + asked;
  if (placement["polled_ago"].is_number())
    out += ", seen " + HumanDuration(placement["polled_ago"].get<double>()) + " ago";
  out += "\n" + Ends(placement.value("ends", json()), "    ");
  if (placement["message"].is_string())
    out += "    " + Printable(placement["message"].get<std::string>()) + "\n";
  if (const auto at = placement.find("common_inputs"); at != placement.end() && at->is_boolean())
    out += at->get<bool>() ? "    its common inputs have been there: it goes there first\n"
                           : "    its common inputs have not been there\n";
  if (const auto at = placement.find("transfer_s");
      at != placement.end() && at->is_number() && at->get<double>() > 0)
    out += "    transfers take " + HumanDuration(at->get<double>()) +
           " of a job there: it goes first where it is done sooner, with them\n";
  return out + ReasonLines(placement["reasons"], "    ");
}

std::string WhatIf(const json& found) {
  if (!found.is_object()) return "";
  std::string out = "What would change it: " + Printable(found.value("message", "")) + "\n";
  for (const auto& item : found["items"])
    out += fmt::format("  {}: {} more ({})\n", Printable(item.value("change", "")),
                       item.value("jobs", 0L), item.value("who", ""));
  if (found.value("cut", false)) out += "  (not all was tried: the time was over)\n";
  return out;
}

}  // namespace

std::string JobLine(const json& item) {
  return "  " + Plain(item["id"]) + ": " + OrStar(item, "cigri_job_id") + "," +
         OrStar(item, "remote_id") + "," + Plain(item["state"]) + "," + OrStar(item, "cluster") +
         "," + OrStar(item, "name") + "," + OrStar(item, "parameters") + "\n";
}

std::string MeasuredLine(const json& item) {
  std::string out;
  const auto add = [&](const char* key, const char* format) {
    const auto it = item.find(key);
    if (it == item.end() || !it->is_number()) return;
    out += (out.empty() ? "      " : ", ") + fmt::format(fmt::runtime(format), it->get<double>());
  };
  add("cpu_s", "{:.3f} s CPU");
  add("peak_mb", "{:.1f} MB of memory");
  add("read_mb", "{:.1f} MB read");
  add("written_mb", "{:.1f} MB written");
  add("transfer_s", "{:.3f} s of transfers");
  return out.empty() ? "" : out + "\n";
}

std::string Job(const json& job) {
  std::string out;
  std::set<std::string> printed = {"links"};
  for (const std::string key : kCigri3JobKeys) {
    // Columns that CiGri never wrote are empty there too.
    out += key + ": " + (job.contains(key) ? Plain(job[key]) : "") + "\n";
    printed.insert(key);
  }
  for (const auto& [key, value] : job.items())
    if (printed.count(key) == 0 && !value.is_null()) out += key + ": " + Plain(value) + "\n";
  return out;
}

std::string Task(const json& task) {
  std::string out = fmt::format("Task: {}\n  Id: {}\n  Parameters: {}\n  State: {}\n  Jobs:\n",
                                task["index"].get<std::int64_t>(), Plain(task["id"]),
                                OrStar(task, "parameters"), Plain(task["state"]));
  for (const auto& item : task["execution"]) {
    out += "  " + JobLine(item) + MeasuredLine(item);
    std::vector<std::string> end;
    if (item["code"].is_string()) end.push_back(Plain(item["code"]));
    if (item["exit"].is_number()) end.push_back("exit " + Plain(item["exit"]));
    if (item["signal"].is_number()) end.push_back("signal " + Plain(item["signal"]));
    if (!end.empty()) out += "      " + Join(end, ", ") + "\n";
  }
  return out;
}

std::string Why(const json& why, bool verbose) {
  std::string out = Printable(why.value("message", "")) + "\n";
  if (const auto action = why.value("action", ""); !action.empty())
    out += "-> " + Printable(action) + "\n";
  if (!verbose) return out;
  out += fmt::format("{} waiting, {} in flight, {} done, {} needing attention\n",
                     why.value("waiting", 0L), why.value("in_flight", 0L), why.value("done", 0L),
                     why.value("failed", 0L));
  out += ReasonLines(why["reasons"], "  ");
  for (const auto& placement : why["clusters"]) out += PlacementLines(placement);
  for (const auto& line : why.value("rules", json::array()))
    out += "  admission rules: " + Printable(Plain(line)) + "\n";
  if (!why["past"].empty()) out += "Before:\n" + ReasonLines(why["past"], "  ");
  return out + Ends(why.value("ends", json())) + WhatIf(why.value("what_if", json()));
}

std::string WhyHistory(const json& items) {
  std::string out;
  for (const auto& item : items) {
    const json until = item.value("until", json());
    out += Date(item["since"].get<double>()) + "  " +
           (until.is_number() ? Date(until.get<double>()) : std::string("now                ")) +
           "  " + item.value("code", "") + ": " + Printable(item.value("message", "")) + "\n";
  }
  return out.empty() ? "nothing has held it back\n" : out;
}

}  // namespace cigri::gridstat
