#include "tools/gridsub/settings.h"

#include <cctype>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "jdl/values.h"
#include "tools/common/when.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

enum class Form { kText, kNumber, kCampaigns, kLicences, kLines, kTime };
struct Setting {
  const char* names;
  const char* key;
  Form form;
  const char* help;
};
constexpr const char* kRepeated = "";  // an option that may be given several times: args.cc has it
constexpr Setting kSettings[] = {
    {"--cores,--cpus-per-task", "cores", Form::kNumber, "cores of one job, on one node"},
    {"--mem", "mem", Form::kText, "memory of one job: 2G, auto"},
    {"--gpus", "gpus", Form::kNumber, "GPUs of one job"},
    {"--priority", "priority", Form::kText, "0 to 9, or low, normal, high ..."},
    {"--after,--dependency", "after", Form::kCampaigns,
     "campaigns that must succeed first: 12,13; afterany:12 must end"},
    {"--not-before,--begin", "not_before", Form::kTime,
     "start then: 20:00, \"2026-11-23 20:00\", 2h"},
    {"--deadline", "deadline", Form::kTime, "to be done by then, before your other campaigns"},
    {"--max-jobs-total", "max_jobs_total", Form::kNumber, "most jobs at once on all clusters"},
    {"--tries,--max-tries,--retries", "max_tries", Form::kNumber, "attempts of a failing task (2)"},
    {"--setup", "setup", Form::kText, "shell text before the program: 'module load gcc'"},
    {"--prologue", "prologue", Form::kLines, "shell text, run once on each cluster before all"},
    {"--epilogue", "epilogue", Form::kLines, "shell text, run once on each cluster after all"},
    {"--licences,--licenses", "licences", Form::kLicences, "of one job: matlab, or matlab:2"},
    {"--properties", "properties", Form::kText, "for OAR: \"gpu='YES'\""},
    {"--partition", "partition", Form::kText, "for Slurm"},
    {"--account", "account", Form::kText, "for Slurm"},
    {"--qos", "qos", Form::kText, "for Slurm"},
    {"--constraint", "constraint", Form::kText, "for Slurm"},
    {"--start-rate", "start_rate", Form::kNumber, "starts a minute on one cluster, at most"},
    {"--tasks-per-job", "temporal_grouping", Form::kNumber, "short tasks that share a job; 1: none"},
    {kRepeated, "inputs", Form::kLines, ""},
    {kRepeated, "outputs", Form::kLines, ""},
    {"--min-duration", "min_duration", Form::kText, "no job can be shorter"},
    {"--copies", "finalize", Form::kNumber, "copies of the last tasks elsewhere, at most"},
    {"--class", "class", Form::kText, "class, for the policy's rules"},
    {"--scheduler", "scheduler", Form::kText, "workqueue or immediate"},
};

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

// What is no number stays text: the JDL's own check says what is wrong with it.
json NumberOf(const std::string& text) {
  if (IsNumber(text)) return std::stoi(text);
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  return *end == '\0' ? json(x) : json(text);
}

// "12,13", "12:13"
json CampaignsOf(const std::string& text) {
  const std::string list = ReplaceAll(text, ":", ",");
  json ids = json::array();
  for (const auto& id : Split(list, ',')) {
    if (!IsNumber(id))
      throw Fatal(kExitUsage, "--after " + text + ": \"" + id + "\" is no number of a campaign",
                  "like --after 12 or --after 12,13");
    ids.push_back(std::stoi(id));
  }
  return ids;
}

// Slurm's "afterok:12:13,afterany:14", or numbers alone, which must succeed.
void AddDependencies(const std::string& text, json& out) {
  if (IsNumber(text.substr(0, 1))) {
    out["after"] = CampaignsOf(text);
    return;
  }
  for (const auto& part : Split(text, ',')) {
    const auto colon = part.find(':');
    const std::string kind = part.substr(0, colon);
    if (colon == part.npos || (kind != "afterok" && kind != "afterany"))
      throw Fatal(kExitUsage, "--after " + text + ": \"" + part + "\" is no dependency",
                  "like --after 12,13 or --after afterok:12,afterany:13");
    json& ids = out[kind == "afterok" ? "after" : "after_any"];
    for (const auto& id : CampaignsOf(part.substr(colon + 1))) ids.push_back(id);
  }
}

// "20:00", "2026-11-23 20:00" in the user's time zone, "now+2h" or "2h"; what the JDL itself reads
// stays.
json TimeOf(const std::string& option, const std::string& text) {
  if (jdl::ParseTime(text)) return text;
  const std::time_t now = std::time(nullptr);
  const std::string duration = StartsWith(text, "now+") ? text.substr(4) : text;
  if (!duration.empty() && std::isalpha(static_cast<unsigned char>(duration.back())))
    if (const auto later = jdl::ParseDuration(duration)) return now + *later;
  std::tm tm{};
  localtime_r(&now, &tm);
  tm.tm_sec = 0;
  const auto reads = [&](const char* form) {
    std::tm read = tm;
    const char* end = strptime(text.c_str(), form, &read);
    if (end == nullptr || *end != '\0') return false;
    read.tm_isdst = -1;
    tm = read;
    return true;
  };
  if (reads("%H:%M")) {
    const std::time_t today = std::mktime(&tm);
    if (today > now) return today;
    ++tm.tm_mday;
    return std::mktime(&tm);
  }
  if (reads("%Y-%m-%d %H:%M") || reads("%Y-%m-%dT%H:%M") || reads("%Y-%m-%dT%H:%M:%S"))
    if (const auto at = tools::LocalTime(tm)) return *at;
  throw Fatal(kExitUsage, option + " " + text + " is no time",
              "like 20:00, \"2026-11-23 20:00\" or 2h, from now");
}

// "matlab", "matlab:2,idl"
json LicencesOf(const std::string& text) {
  json licences = json::object();
  for (const auto& one : Split(text, ',')) {
    const auto colon = one.find(':');
    licences[one.substr(0, colon)] = colon == one.npos ? json(1) : NumberOf(one.substr(colon + 1));
  }
  return licences;
}

json ValueOf(const Setting& setting, const std::string& text) {
  switch (setting.form) {
    case Form::kNumber:
      return NumberOf(text);
    case Form::kTime:
      return TimeOf(Split(setting.names, ',')[0], text);
    case Form::kLicences:
      return LicencesOf(text);
    case Form::kLines:
      return Split(text, '\n');
    case Form::kCampaigns:
    case Form::kText:
      break;
  }
  return text;
}

}  // namespace

void AddSettingOptions(CommandLine& line, Settings& settings) {
  for (const auto& setting : kSettings)
    if (setting.names != std::string_view(kRepeated))
      line.Add({{setting.names, &settings[setting.key], setting.help}});
}

bool AnySetting(const Settings& settings) {
  for (const auto& [key, text] : settings)
    if (!text.empty()) return true;
  return false;
}

json SettingsJson(const Settings& settings) {
  json out = json::object();
  for (const auto& setting : kSettings)
    if (const auto at = settings.find(setting.key); at != settings.end() && !at->second.empty()) {
      if (setting.form == Form::kCampaigns)
        AddDependencies(at->second, out);
      else
        out[setting.key] = ValueOf(setting, at->second);
    }
  return out;
}

void SayHowWalltimeIsRead(const std::string& walltime) {
  const auto parts = Split(walltime, ':');
  if (parts.size() == 2 && IsNumber(parts[0]) && IsNumber(parts[1]))
    std::fprintf(stderr, "gridsub: --walltime %s is read as %s:00, hours first\n", walltime.c_str(),
                 walltime.c_str());
}

std::string WalltimeOfTime(const std::string& text) {
  if (IsNumber(text))
    throw Fatal(kExitUsage,
                "--time " + text + " is " + text + " minutes for Slurm, and " + text +
                    " seconds as a walltime here",
                "write --time " + text + "m or --time " + text + "s");
  const auto parts = Split(text, ':');
  if (parts.size() == 2 && IsNumber(parts[0]) && IsNumber(parts[1]))
    return FormatWalltime(60 * std::stoll(parts[0]) + std::stoll(parts[1]));
  return text;
}

std::string WithUnit(std::string walltime) {
  const std::string number = StartsWith(walltime, "auto:") ? walltime.substr(5) : walltime;
  return IsNumber(number) ? walltime + "s" : walltime;
}

}  // namespace cigri::gridsub
