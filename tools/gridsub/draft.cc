#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/text.h"
#include "tools/gridsub/inputs.h"
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInText = 512 << 10;  // larger JDLs send their parameters in blocks

bool HasSettings(const Args& args) {
  return args.max_jobs != 0 || !args.name.empty() || !args.clusters.empty() ||
         !args.walltime.empty() || !args.directory.empty() || !args.resources.empty() ||
         !args.project.empty();
}

// An option of the command line wins over the JDL, also over a cluster's own value.
void Override(json& jdl, const std::string& key, const json& value) {
  jdl[key] = value;
  for (auto& [name, block] : jdl["clusters"].items())
    if (block.is_object()) block.erase(key);
}

void OverrideClusters(json& jdl, const std::string& names) {
  json chosen = json::object();
  for (const auto& name : Split(names, ','))
    chosen[name] = jdl["clusters"].value(name, json::object());
  jdl["clusters"] = std::move(chosen);
}

// The text with the options put in. REQUIRES: a text without faults.
std::string WithSettings(const std::string& text, const Args& args) {
  json jdl = json::object();
  json read = json::parse(text, nullptr, true, true);
  for (auto& [key, value] : read.items()) jdl[Lower(key)] = std::move(value);
  if (!args.clusters.empty()) OverrideClusters(jdl, args.clusters);
  if (!args.name.empty()) jdl["name"] = args.name;
  if (!args.walltime.empty()) Override(jdl, "walltime", args.walltime);
  if (!args.directory.empty()) Override(jdl, "exec_directory", args.directory);
  if (!args.resources.empty()) Override(jdl, "resources", args.resources);
  if (!args.project.empty()) Override(jdl, "project", args.project);
  if (args.max_jobs != 0) Override(jdl, "max_jobs", args.max_jobs);
  return jdl.dump(1);
}

jdl::Result Check(const std::string& text, const Args& args) {
  jdl::Options options;
  options.may_read_files = true;
  options.uploaded = args.has_params();
  if (!args.csv.empty()) options.format = std::string(jdl::kFormatValues);
  return jdl::Parse(text, jdl::Defaults(), options);
}

bool CheckDraft(Draft& draft, const Args& args) {
  draft.checked = Check(draft.text, args);
  PrintFaults(draft.checked.faults, draft.name);
  PrintFaults(draft.checked.warnings, draft.name, "warning: ");
  if (!draft.checked.ok() || !HasSettings(args)) return draft.checked.ok();
  draft.text = WithSettings(draft.text, args);
  draft.checked = Check(draft.text, args);
  PrintFaults(draft.checked.faults, "command line");
  return draft.checked.ok();
}

// {JDL_DIR} in a JDL file is the folder that the file lies in, so that a campaign can be shipped
// with its programs. Replaced in the text: within a JSON string, hence escaped as one.
std::string WithJdlDir(std::string text, const std::string& path) {
  if (text.find("{JDL_DIR}") == std::string::npos) return text;
  const auto folder = std::filesystem::absolute(path).parent_path().lexically_normal().string();
  const auto quoted = nlohmann::json(folder).dump();
  return ReplaceAll(std::move(text), "{JDL_DIR}", quoted.substr(1, quoted.size() - 2));
}

Draft ReadFile(const std::string& path) {
  Input input(path);
  Draft draft;
  draft.name = input.name();
  draft.file = path == "-" ? "" : path;
  draft.text = input.ReadAll(jdl::kMaxText);
  if (!draft.file.empty()) draft.text = WithJdlDir(std::move(draft.text), path);
  return draft;
}

// Blocks go as they are; in the text only their lines are left, so that faults of the server
// still name the right ones.
std::int64_t UploadParams(tools::Api& api, Draft& draft) {
  Upload upload(api);
  for (const auto& block : draft.checked.campaign.params.blocks())
    upload.Put(block, jdl::CountLines(block));
  const auto begin = draft.checked.params_begin, end = draft.checked.params_end;
  const auto lines = std::count(draft.text.begin() + static_cast<std::ptrdiff_t>(begin),
                                draft.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  draft.text.replace(begin, end - begin,
                     "[" + std::string(static_cast<std::size_t>(lines), '\n') + "]");
  return upload.Release();
}

void UploadParamFile(tools::Api& api, const Draft& draft, Parcel* parcel) {
  const auto& campaign = draft.checked.campaign;
  try {
    const auto path = ParamFilePath(campaign.param_file, draft.file);
    Input input(path);
    LineSink sink(api, path);
    const bool values = campaign.format == jdl::kFormatValues;
    AddLines(input, values ? LineUse::kValue : LineUse::kJdl, sink);
    if (sink.size() == 0) throw Fatal(kExitBadInput, path + " is empty: there is nothing to run");
    parcel->upload = sink.ForceUpload();
    parcel->places = sink.places();
  } catch (const Fatal& e) {
    if (e.code() != kExitBadInput) throw;
    const jdl::Fault place{draft.checked.param_file_line, draft.checked.param_file_column,
                           "param_file", e.what(), ""};
    throw Fatal(kExitBadInput, jdl::Text(place, draft.name), e.hint());
  }
}

}  // namespace

void PrintFaults(const std::vector<jdl::Fault>& faults, const std::string& name,
                 const char* prefix) {
  for (auto fault : faults) {
    fault.message = prefix + fault.message;
    std::fprintf(stderr, "%s\n", jdl::Text(fault, name).c_str());
  }
}

std::optional<std::vector<Draft>> ReadDrafts(const Args& args) {
  std::vector<Draft> drafts;
  for (const auto& path : args.files) drafts.push_back(ReadFile(path));
  for (const auto& text : args.jsons) {
    drafts.emplace_back();
    drafts.back().name = "--json";
    drafts.back().text = text;
  }
  bool good = true;
  for (auto& draft : drafts) good = CheckDraft(draft, args) && good;
  if (!good) return std::nullopt;
  return drafts;
}

Parcel SendParameters(tools::Api& api, const Args& args, Draft& draft) {
  Parcel parcel;
  const auto& campaign = draft.checked.campaign;
  parcel.format = campaign.format;
  if (args.has_params()) {
    LineSink sink(api, ParametersName(args));
    const bool values = campaign.format == jdl::kFormatValues;
    parcel.columns = AddParameters(args, values ? LineUse::kValue : LineUse::kJdl, sink);
    if (sink.size() == 0)
      throw Fatal(kExitBadInput, ParametersName(args) + " is empty: there is nothing to run");
    parcel.upload = sink.ForceUpload();
    parcel.places = sink.places();
  } else if (campaign.source == jdl::Source::kFile) {
    UploadParamFile(api, draft, &parcel);
  } else if (campaign.source == jdl::Source::kParams &&
             (campaign.count > jdl::kBlockLines || draft.text.size() > kMostInText)) {
    parcel.upload = UploadParams(api, draft);
  }
  return parcel;
}

}  // namespace cigri::gridsub
