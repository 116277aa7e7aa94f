#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/text.h"
#include "jdl/escapes.h"
#include "tools/gridsub/inputs.h"
#include "tools/gridsub/launch.h"
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInText = 512 << 10;  // larger JDLs send their parameters in blocks

bool HasSettings(const Args& args) {
  return args.max_jobs != 0 || !args.name.empty() || !args.clusters.empty() ||
         !args.walltime.empty() || !args.directory.empty() || !args.resources.empty() ||
         !args.project.empty() || AnySetting(args.settings) || args.env_all || !args.env.empty();
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

// Before what the JDL sets up, which may use them.
void AddExports(json& jdl, const std::string& exports) {
  if (exports.empty()) return;
  const auto add = [&](json& block) {
    auto& setup = block["setup"];
    if (setup.is_array())
      setup.insert(setup.begin(), exports);
    else
      setup = exports + (setup.is_string() ? setup.get<std::string>() : "");
  };
  add(jdl);
  for (auto& [name, block] : jdl["clusters"].items())
    if (block.is_object() && block.contains("setup")) add(block);
}

// The text with the options put in. REQUIRES: a text without faults.
std::string WithSettings(const std::string& text, const Args& args) {
  json jdl = json::object();
  json read = json::parse(jdl::WithoutLoneBackslashes(text), nullptr, true, true);
  for (auto& [key, value] : read.items()) jdl[Lower(key)] = std::move(value);
  if (!args.clusters.empty()) OverrideClusters(jdl, args.clusters);
  if (!args.name.empty()) jdl["name"] = args.name;
  if (!args.walltime.empty()) Override(jdl, "walltime", args.walltime);
  if (!args.directory.empty()) Override(jdl, "exec_directory", args.directory);
  if (!args.resources.empty()) Override(jdl, "resources", args.resources);
  if (!args.project.empty()) Override(jdl, "project", args.project);
  if (args.max_jobs != 0) Override(jdl, "max_jobs", args.max_jobs);
  const json settings = SettingsJson(args.settings);
  for (const auto& [key, value] : settings.items()) Override(jdl, key, value);
  AddExports(jdl, AskedExports(args));
  return jdl.dump(1);
}

jdl::Result Check(const std::string& text, const Args& args) {
  jdl::Options options;
  options.may_read_files = true;
  options.uploaded = args.has_params();
  if (!args.csv.empty()) options.format = std::string(jdl::kFormatValues);
  return jdl::Parse(text, jdl::Defaults(), options);
}

bool CheckJdlSource(JdlSource& source, const Args& args) {
  source.checked = Check(source.text, args);
  PrintFaults(source.checked.faults, source.name);
  PrintFaults(source.checked.warnings, source.name, "warning: ");
  if (!source.checked.ok() || !HasSettings(args)) return source.checked.ok();
  source.text = WithSettings(source.text, args);
  source.checked = Check(source.text, args);
  PrintFaults(source.checked.faults, "command line");
  return source.checked.ok();
}

// {JDL_DIR} in a JDL file is the folder that the file lies in, so that a campaign can be shipped
// with its programs. Replaced in the text: within a JSON string, hence escaped as one.
std::string WithJdlDir(std::string text, const std::string& path) {
  if (text.find("{JDL_DIR}") == std::string::npos) return text;
  const auto folder = std::filesystem::absolute(path).parent_path().lexically_normal().string();
  const auto quoted = nlohmann::json(folder).dump();
  return ReplaceAll(std::move(text), "{JDL_DIR}", quoted.substr(1, quoted.size() - 2));
}

JdlSource ReadFile(const std::string& path) {
  Input input(path);
  JdlSource source;
  source.name = input.name();
  source.file = path == "-" ? "" : path;
  source.text = input.ReadAll(jdl::kMaxText);
  if (!source.file.empty()) source.text = WithJdlDir(std::move(source.text), path);
  return source;
}

// Blocks go as they are; in the text only their lines are left, so that faults of the server
// still name the right ones.
std::int64_t UploadParams(tools::Api& api, JdlSource& source) {
  Upload upload(api);
  for (const auto& block : source.checked.campaign.params.blocks())
    upload.Put(block, jdl::CountLines(block));
  const auto begin = source.checked.params_begin, end = source.checked.params_end;
  const auto lines = std::count(source.text.begin() + static_cast<std::ptrdiff_t>(begin),
                                source.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  source.text.replace(begin, end - begin,
                      "[" + std::string(static_cast<std::size_t>(lines), '\n') + "]");
  return upload.Release();
}

void UploadParamFile(tools::Api& api, const JdlSource& source, ParameterPayload* payload) {
  const auto& campaign = source.checked.campaign;
  try {
    const auto path = ParamFilePath(campaign.param_file, source.file);
    Input input(path);
    LineSink sink(api, path);
    const bool values = campaign.format == jdl::kFormatValues;
    AddLines(input, values ? LineUse::kValue : LineUse::kJdl, sink);
    if (sink.size() == 0) throw Fatal(kExitBadInput, path + " is empty: there is nothing to run");
    payload->upload = sink.ForceUpload();
    payload->positions = sink.positions();
  } catch (const Fatal& e) {
    if (e.code() != kExitBadInput) throw;
    const jdl::Fault place{source.checked.param_file_line, source.checked.param_file_column,
                           "param_file", e.what(), ""};
    throw Fatal(kExitBadInput, jdl::Text(place, source.name), e.hint());
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

std::optional<std::vector<JdlSource>> ReadSources(const Args& args) {
  std::vector<JdlSource> sources;
  for (const auto& path : args.files) sources.push_back(ReadFile(path));
  for (const auto& text : args.jsons) {
    sources.emplace_back();
    sources.back().name = "--json";
    sources.back().text = text;
  }
  bool good = true;
  for (auto& source : sources) good = CheckJdlSource(source, args) && good;
  if (!good) return std::nullopt;
  return sources;
}

ParameterPayload SendParameters(tools::Api& api, const Args& args, JdlSource& source) {
  ParameterPayload payload;
  const auto& campaign = source.checked.campaign;
  payload.format = campaign.format;
  if (args.has_params()) {
    LineSink sink(api, ParametersName(args));
    const bool values = campaign.format == jdl::kFormatValues;
    payload.columns = AddParameters(args, values ? LineUse::kValue : LineUse::kJdl, sink);
    if (sink.size() == 0)
      throw Fatal(kExitBadInput, ParametersName(args) + " is empty: there is nothing to run");
    payload.upload = sink.ForceUpload();
    payload.positions = sink.positions();
  } else if (campaign.source == jdl::Source::kFile) {
    UploadParamFile(api, source, &payload);
  } else if (campaign.source == jdl::Source::kParams &&
             (campaign.count > jdl::kBlockLines || source.text.size() > kMostInText)) {
    payload.upload = UploadParams(api, source);
  }
  return payload;
}

}  // namespace cigri::gridsub
