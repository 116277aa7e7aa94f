#include "tools/gridsub/settings.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

enum class Form { kText, kNumber, kCampaigns, kLicences, kLines };
struct Setting {
  const char* names;
  const char* key;
  Form form;
  const char* help;
};
constexpr Setting kSettings[] = {
    {"--cores,--cpus-per-task", "cores", Form::kNumber, "cores of one job, on one node"},
    {"--mem", "mem", Form::kText, "memory of one job: 2G"},
    {"--gpus", "gpus", Form::kNumber, "GPUs of one job"},
    {"--priority", "priority", Form::kText, "0 to 9, or low, normal, high ..."},
    {"--after,--dependency", "after", Form::kCampaigns, "campaigns that must end first: 12,13"},
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

// "12,13", "afterok:12:13"
json CampaignsOf(const std::string& text) {
  std::string list = StartsWith(text, "afterok:") ? text.substr(8) : text;
  if (StartsWith(text, "afterok:")) list = ReplaceAll(list, ":", ",");
  json ids = json::array();
  for (const auto& id : Split(list, ',')) {
    if (!IsNumber(id))
      throw Fatal(kExitUsage, "--after " + text + ": \"" + id + "\" is no number of a campaign",
                  "like --after 12 or --after 12,13");
    ids.push_back(std::stoi(id));
  }
  return ids;
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

json ValueOf(Form form, const std::string& text) {
  switch (form) {
    case Form::kNumber:
      return NumberOf(text);
    case Form::kCampaigns:
      return CampaignsOf(text);
    case Form::kLicences:
      return LicencesOf(text);
    case Form::kLines:
      return Split(text, '\n');
    case Form::kText:
      break;
  }
  return text;
}

}  // namespace

void AddSettingOptions(CommandLine& line, Settings& settings) {
  for (const auto& setting : kSettings)
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
    if (const auto at = settings.find(setting.key); at != settings.end() && !at->second.empty())
      out[setting.key] = ValueOf(setting.form, at->second);
  return out;
}

std::string WalltimeOfTime(const std::string& text) {
  if (IsNumber(text))
    throw Fatal(kExitUsage,
                "--time " + text + " is " + text + " minutes for Slurm, and " + text +
                    " seconds as a walltime here",
                "write --time " + text + "m or --time " + text + "s");
  return text;
}

std::string WithUnit(std::string walltime) {
  return IsNumber(walltime) ? walltime + "s" : walltime;
}

}  // namespace cigri::gridsub
