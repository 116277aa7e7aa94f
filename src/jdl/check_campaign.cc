#include <array>

#include "core/pluralize.h"
#include "core/text.h"
#include "jdl/check.h"
#include "jdl/keys.h"
#include "jdl/values.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

Found Top(const Document& doc, const char* key) { return Find(doc.root, "", key); }

void CheckName(Document& doc, Campaign& campaign) {
  const auto found = Top(doc, "name");
  if (!found) return doc.Fault("", "the mandatory key \"name\" is missing", "\"name\": \"...\"");
  campaign.name = ReadText(doc, found).value_or("?");
  if (campaign.name.empty()) doc.Fault("name", "must not be empty");
  if (const auto problem = NameProblem(campaign.name, 255); !problem.empty())
    doc.Fault("name", problem);
}

void CheckType(Document& doc, Campaign& campaign) {
  const auto type = ReadText(doc, Top(doc, "jobs_type")).value_or("default");
  if (type == "test") {
    campaign.type = "test";
  } else if (type == "desktop_computing") {
    doc.Fault("jobs_type", "desktop_computing campaigns are not supported");
  } else if (type != "default" && type != "normal") {
    const auto near = DidYouMean(type, {"default", "normal", "test"});
    doc.Fault("jobs_type", "must be default (or normal) or test, not \"" + Shown(type) + "\"",
              near ? "did you mean \"" + *near + "\"?" : "");
  }
}

void TakeParams(Document& doc, Campaign& campaign) {
  campaign.source = Source::kParams;
  campaign.params = std::move(doc.params.lines);
  campaign.count = campaign.params.size();
  if (campaign.count == 0)
    doc.Fault("params", "is empty: there is nothing to run", "give at least one parameter");
}

void TakeCount(Document& doc, const Found& found, Campaign& campaign) {
  campaign.source = Source::kCount;
  if (found.value->is_string())
    return doc.Fault("nb_jobs", "must be a number, not a text", "write it without quotes");
  campaign.count = ReadWhole(doc, found, 1, 2147483647).value_or(0);
}

void TakeFile(Document& doc, const Found& found, const Options& options, Campaign& campaign) {
  campaign.source = Source::kFile;
  campaign.param_file = ReadText(doc, found).value_or("");
  if (!options.may_read_files)
    doc.Fault("param_file", "is a file of yours, which the server does not read",
              "submit with CiGri-NG's gridsub, which reads it as you; operators of a site "
              "that trusts its users may set API_READ_PARAM_FILES");
  else if (found.value->is_string() && campaign.param_file.empty())
    doc.Fault("param_file", "must not be empty");
}

void WarnOfUnused(Document& doc, const char* winner, std::initializer_list<const char*> losers) {
  for (const char* key : losers)
    if (doc.root.contains(key) && Top(doc, key))
      doc.Warn(key, std::string("has no effect: ") + winner + " wins over it");
}

// params wins over nb_jobs, nb_jobs over param_file, as in CiGri 3.
void CheckSource(Document& doc, const Options& options, Campaign& campaign) {
  if (const auto params = Top(doc, "params"))
    doc.Fault("params", "must be an array of texts", "\"params\": [\"first\", \"second\"]");
  const auto count = Top(doc, "nb_jobs"), file = Top(doc, "param_file");
  if (options.uploaded) {
    campaign.source = Source::kUpload;
  } else if (doc.params.given) {
    TakeParams(doc, campaign);
    WarnOfUnused(doc, "params", {"nb_jobs", "param_file"});
  } else if (doc.root.contains("nb_jobs") && !doc.root["nb_jobs"].is_null()) {
    TakeCount(doc, {&doc.root["nb_jobs"], "nb_jobs"}, campaign);
    WarnOfUnused(doc, "nb_jobs", {"param_file"});
  } else if (file) {
    TakeFile(doc, file, options, campaign);
  } else if (doc.has_text && !Top(doc, "params")) {
    doc.Fault("", "there are no parameters", "give \"params\", \"nb_jobs\" or \"param_file\"");
  }
}

void CheckFormat(Document& doc, const Options& options, Campaign& campaign) {
  campaign.columns = ReadTexts(doc, Top(doc, "columns"));
  const auto format = ReadText(doc, Top(doc, "format"));
  const bool values = !campaign.columns.empty() || doc.params.rows;
  campaign.format = format.value_or(std::string(values ? kFormatValues : kFormatLine));
  if (campaign.format != kFormatLine && campaign.format != kFormatValues)
    doc.Fault("format", "must be \"line\" or \"values\"");
  else if (values && campaign.format == kFormatLine)
    doc.Fault("format", "is \"line\", but the parameters have columns", "write \"values\"");
  if (options.uploaded && !options.format.empty()) campaign.format = options.format;
  if (options.uploaded && !options.columns.empty()) campaign.columns = options.columns;
  const auto problem = ColumnsProblem(campaign.columns);
  if (problem.empty()) return;
  doc.Fault("columns", problem);
  campaign.columns.clear();  // one fault, not what follows from it too
}

// Parameters that are texts become rows of one value.
Lines AsRows(const Lines& lines) {
  Lines rows;
  for (const auto& block : lines.blocks())
    for (const auto& line : DecodeBlock(block)) rows.Add(EncodeValues({line}));
  return rows;
}

void FitParamsToColumns(Document& doc, Campaign& campaign) {
  if (campaign.format != kFormatValues) return;
  const std::size_t columns = campaign.columns.size();
  if (campaign.source == Source::kParams) {
    const std::size_t have = doc.params.rows ? doc.params.row_length : 1;
    if (columns != 0 && have != columns)
      doc.Fault("params",
                "have " + Pluralize(have, "value") + " each for " + Pluralize(columns, "column"));
    if (!doc.params.rows) campaign.params = AsRows(campaign.params);
  } else if (campaign.source == Source::kFile && columns > 0) {
    doc.Fault("columns", "cannot be used with param_file, whose lines have none",
              "give the rows with gridsub --csv FILE");
  } else if (campaign.source == Source::kCount && columns > 1) {
    doc.Fault("columns", "nb_jobs gives one value for " + Pluralize(columns, "column"));
  }
}

void CheckLicences(Document& doc, Campaign& campaign) {
  const auto found = Top(doc, "licences");
  if (!found) return;
  if (!found.value->is_object())
    return doc.Fault("licences", "must be an object of names and numbers", "{\"matlab\": 1}");
  for (const auto& [name, n] : found.value->items())
    if (const auto problem = NameProblem(name, 64); !problem.empty())
      doc.Fault("licences", "\"" + Shown(name) + "\" " + problem);
    else if (const auto count = ReadWhole(doc, {&n, Join2("licences", name)}, 1, 1'000'000))
      campaign.licences[name] = static_cast<int>(*count);
}

// One id, or an array of them.
void ReadCampaigns(Document& doc, const char* key, std::vector<std::int64_t>& ids) {
  constexpr std::int64_t kMost = 9'000'000'000'000'000;
  const auto found = Top(doc, key);
  if (!found) return;
  if (!found.value->is_array()) {
    if (const auto id = ReadWhole(doc, found, 1, kMost)) ids.push_back(*id);
    return;
  }
  for (std::size_t i = 0; i < found.value->size(); ++i) {
    const std::string path = std::string(key) + "[" + std::to_string(i) + "]";
    if (const auto id = ReadWhole(doc, {&(*found.value)[i], path}, 1, kMost)) ids.push_back(*id);
  }
}

void CheckStart(Document& doc, Campaign& campaign) {
  ReadCampaigns(doc, "after", campaign.after);
  ReadCampaigns(doc, "after_ok", campaign.after);
  ReadCampaigns(doc, "after_any", campaign.after_any);
  constexpr std::size_t kMostNamed = 100;  // each cycle of the scheduling looks at all of them
  for (const auto& [key, named] : {std::pair("after", campaign.after.size()),
                                   std::pair("after_any", campaign.after_any.size())})
    if (named > kMostNamed)
      doc.Fault(key, "names more than " + std::to_string(kMostNamed) + " campaigns",
                "name one that waits for them");
  campaign.not_before = ReadTime(doc, Top(doc, "not_before"));
  campaign.deadline = ReadTime(doc, Top(doc, "deadline"));
  if (const auto n = ReadWhole(doc, Top(doc, "max_jobs_total"), 1, 2147483647))
    campaign.max_jobs_total = static_cast<int>(*n);
}

void CheckPriority(Document& doc, Campaign& campaign) {
  const auto found = Top(doc, "priority");
  if (!found) return;
  const auto text = found.value->is_string() ? found.value->get<std::string>() : "";
  // Urgent is what an operator or a rule makes of a campaign; nobody submits one.
  const int most = doc.has_text ? 9 : kPriorityUrgent;
  if (const auto named = ParsePriority(text); named && *named <= most)
    campaign.priority = *named;
  else if (!found.value->is_string())
    campaign.priority = static_cast<int>(ReadWhole(doc, found, 0, most).value_or(kPriorityNormal));
  else
    doc.Fault("priority", "must be 0 to 9 or a name, not \"" + Shown(text) + "\"",
              "highest, high, above_normal, normal, below_normal, low, lowest, suspended");
}

void CheckFinalize(Document& doc, Campaign& campaign) {
  const auto found = Top(doc, "finalize");
  if (!found) return;
  if (*found.value == true || *found.value == "true")
    campaign.max_replicas = 1;
  else if (*found.value != "false")
    campaign.max_replicas = static_cast<int>(ReadWhole(doc, found, 0, 100).value_or(0));
}

void CheckClass(Document& doc, Campaign& campaign) {
  const auto cls = ReadText(doc, Top(doc, "class"));
  if (!cls) return;
  if (*cls == "urgent")
    doc.Fault("class", "urgent is an operator's word",
              "ask an operator to make the campaign urgent");
  else
    campaign.cls = ReadName(doc, Top(doc, "class"));
}

void CheckScheduler(Document& doc, const Defaults& defaults, Campaign& campaign) {
  const auto name = ReadText(doc, Top(doc, "scheduler"));
  if (!name) return;
  const auto& known = defaults.schedulers;
  if (name->size() > 64)
    doc.Fault("scheduler", "is longer than 64 bytes");
  else if (!known.empty() && std::find(known.begin(), known.end(), *name) == known.end())
    doc.Fault("scheduler", "there is no campaign scheduler \"" + Shown(*name) + "\"",
              "one of: " + Join(known, ", "));
  else
    campaign.scheduler = *name;
}

void CheckConduct(Document& doc, Campaign& campaign) {
  CheckPriority(doc, campaign);
  CheckFinalize(doc, campaign);
  CheckLicences(doc, campaign);
  CheckStart(doc, campaign);
  CheckClass(doc, campaign);
  const auto project = Top(doc, "project");  // a wrong one is a fault of the clusters' blocks
  if (project && project.value->is_string()) campaign.project = project.value->get<std::string>();
  campaign.share_project = ReadName(doc, Top(doc, "share_project"));
  campaign.sla_group = ReadName(doc, Top(doc, "sla_group"));
  campaign.max_tries = static_cast<int>(ReadWhole(doc, Top(doc, "max_tries"), 1, 1000).value_or(2));
  CheckRetry(doc, campaign);
  campaign.affinity_wait_s = ReadSeconds(doc, Top(doc, "affinity_wait"), 0);
  campaign.min_duration_s = ReadSeconds(doc, Top(doc, "min_duration"), 0);
  campaign.lost_after_s = ReadSeconds(doc, Top(doc, "lost_after"));
}

bool IsOff(const json& v) {
  return v.is_null() || v == false || v == "false" || v == "None" || v == "";
}

void CheckKeys(Document& doc) {
  for (const auto& [key, value] : doc.root.items()) {
    const auto scope = ScopeOf(key);
    if (!scope)
      doc.WarnOfUnknown(Shown(key), key);
    else if (*scope == KeyScope::kDead && !IsOff(value))
      doc.Warn(key, "has no effect");
  }
}

}  // namespace

std::optional<int> ParsePriority(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, int>, 9> kNames{
      {{"urgent", kPriorityUrgent},
       {"highest", 7},
       {"high", 6},
       {"above_normal", 5},
       {"normal", kPriorityNormal},
       {"below_normal", 3},
       {"low", 2},
       {"lowest", 1},
       {"suspended", 0}}};
  for (const auto& [name, n] : kNames)
    if (Lower(text) == name) return n;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') return text[0] - '0';
  return std::nullopt;
}

void CheckCampaign(Document& doc, const Defaults& defaults, const Options& options,
                   Campaign& campaign) {
  CheckKeys(doc);
  CheckName(doc, campaign);
  CheckType(doc, campaign);
  CheckSource(doc, options, campaign);
  CheckFormat(doc, options, campaign);
  FitParamsToColumns(doc, campaign);
  CheckConduct(doc, campaign);
  CheckScheduler(doc, defaults, campaign);
}

}  // namespace cigri::jdl
