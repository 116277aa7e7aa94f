#include "tools/gridstat/usage.h"

#include <fmt/format.h>

#include "core/text.h"
#include "tools/common/terminal.h"
#include "tools/common/when.h"
#include "tools/gridstat/streams.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;

const char* const kClasses[] = {"ok", "program", "infrastructure", "preemption", "our_kill"};

std::string UsagePath(const GridstatOptions& o) {
  std::string path = "/usage?by=" + o.by;
  if (!o.user.empty()) path += "&user=" + http::PercentEncode(o.user);
  if (!o.campaign.empty()) path += "&campaign=" + o.campaign;
  return path + tools::SinceQuery("since", o.since) + tools::SinceQuery("until", o.until);
}

// RFC 4180; and what a spreadsheet would take for a formula is a text.
std::string CsvField(std::string text) {
  if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) text = "'" + text;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return "\"" + ReplaceAll(text, "\"", "\"\"") + "\"";
}

std::string NumberOr(const json& value, const char* none) {
  return value.is_null() ? none : fmt::format("{:.3f}", value.get<double>());
}

std::string DurationOr(const json& value, const char* none) {
  return value.is_null() ? none : HumanDuration(value.get<double>());
}

std::string UsageCsv(const json& report, bool header) {
  std::string out;
  if (header) {
    out = report["by"].get<std::string>() + ",used_slot_s,lost_slot_s,mean_wait_s,p90_wait_s";
    for (const char* name : kClasses) out += std::string(",") + name;
    out += "\n";
  }
  for (const auto& i : report["items"]) {
    out += CsvField(i["key"].get<std::string>()) + "," + NumberOr(i["used_slot_s"], "") + "," +
           NumberOr(i["lost_slot_s"], "") + "," + NumberOr(i["mean_wait_s"], "") + "," +
           NumberOr(i["p90_wait_s"], "");
    for (const char* name : kClasses) out += "," + i["jobs"][name].dump();
    out += "\n";
  }
  return out;
}

std::string UsageLine(const json& i, const std::string& key, std::size_t width) {
  const double used = i["used_slot_s"], lost = i["lost_slot_s"];
  std::string line =
      fmt::format("{:<{}} {:>13.3f} {:>11.3f} {:>6} {:>9} {:>9}", key, width, used / 3600,
                  lost / 3600, used > 0 ? fmt::format("{:.1f} %", 100 * lost / used) : "-",
                  DurationOr(i["mean_wait_s"], "-"), DurationOr(i["p90_wait_s"], "-"));
  for (const char* name : kClasses) line += fmt::format(" {:>9}", i["jobs"][name].dump());
  return line + "\n";
}

std::string UsageTable(const json& report, bool header) {
  const std::string by = report["by"];
  std::size_t width = std::max<std::size_t>(by.size(), 5);
  for (const auto& i : report["items"]) width = std::max(width, i["key"].get<std::string>().size());
  width = std::min<std::size_t>(width, 40);
  std::string out;
  if (header)
    out = fmt::format("{:<{}} {:>13} {:>11} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", by,
                      width, "slot hours", "evicted h", "lost", "mean wait", "p90 wait", "ok",
                      "program", "infrastr.", "evicted", "killed");
  for (const auto& i : report["items"])
    out += UsageLine(i, tools::Printable(i["key"].get<std::string>()), width);
  if (report["items"].size() > 1) out += UsageLine(report["sum"], "sum", width);
  return out;
}

}  // namespace

int Usage(tools::Api& api, const GridstatOptions& o) {
  const json report = tools::Expect(api.Get(UsagePath(o)), "report the usage");
  if (o.dump || o.json)
    Put(report.dump(o.pretty || o.terminal ? 2 : -1, ' ', false, json::error_handler_t::replace) +
        "\n");
  else if (o.csv)
    Put(UsageCsv(report, !o.headerless));
  else if (report["items"].empty())
    Put("no job has ended in that time\n");
  else
    Put(UsageTable(report, !o.headerless));
  if (report["more"].get<bool>())
    throw Fatal(kExitNo, "only the first " + std::to_string(report["items"].size()) + " are shown",
                "narrow the time with --since and --until");
  return kExitOk;
}

}  // namespace cigri::gridstat
