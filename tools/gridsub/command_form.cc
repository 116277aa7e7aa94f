#include "tools/gridsub/command_form.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/config.h"
#include "core/text.h"
#include "tools/gridsub/inputs.h"
#include "tools/gridsub/parallel_form.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;

// A choice and, for the user, where it comes from.
template <typename T>
struct Chosen {
  T value;
  std::string from;
};

std::vector<std::string> EnabledClusters(tools::Api& api) {
  const auto body = tools::Expect(api.Get("/clusters"), "list the clusters");
  std::vector<std::string> names;
  for (const auto& cluster : body.value("items", json::array()))
    if (cluster.is_object() && cluster.value("enabled", json(true)) != json(false))
      names.push_back(cluster.value("name", ""));
  if (names.empty())
    throw Fatal(kExitNo, "the grid has no cluster to run on", "`gridadmin cluster add` adds one");
  return names;
}

Chosen<std::vector<std::string>> Clusters(tools::Api& api, const Args& args, const Config& config) {
  if (!args.clusters.empty()) return {Split(args.clusters, ','), ""};
  if (const auto usual = config.Get("DEFAULT_CLUSTERS"); !usual.empty()) {
    std::vector<std::string> names;
    for (const auto& name : Split(usual, ',')) names.emplace_back(Trim(name));
    return {names, " (DEFAULT_CLUSTERS)"};
  }
  return {EnabledClusters(api), " (all there are)"};
}

// The way the user came here ($PWD), which other hosts know too, rather than where links lead.
std::string WorkingDirectory() {
  struct stat here {
  }, named{};
  const char* pwd = std::getenv("PWD");
  if (pwd != nullptr && pwd[0] == '/' && stat(".", &here) == 0 && stat(pwd, &named) == 0 &&
      here.st_ino == named.st_ino && here.st_dev == named.st_dev)
    return pwd;
  return std::filesystem::current_path().string();
}

json JdlOf(tools::Api& api, const Args& args, const std::string& program) {
  const Config config = Config::Load();
  const auto clusters = Clusters(api, args, config);
  json jdl = {{"name", args.name.empty() ? program : args.name}};
  for (const auto& name : clusters.value) jdl["clusters"][name] = json::object();
  const bool own_walltime = !args.walltime.empty();
  jdl["walltime"] = own_walltime ? args.walltime : config.Get("DEFAULT_JOB_WALLTIME", "1:00:00");
  jdl["exec_directory"] = args.directory.empty() ? WorkingDirectory() : args.directory;
  if (!args.resources.empty()) jdl["resources"] = args.resources;
  if (!args.project.empty()) jdl["project"] = args.project;
  if (args.max_jobs != 0) jdl["max_jobs"] = args.max_jobs;
  std::fprintf(stderr, "gridsub: clusters %s%s; walltime %s%s; directory %s%s\n",
               Join(clusters.value, ", ").c_str(), clusters.from.c_str(),
               jdl["walltime"].get<std::string>().c_str(), own_walltime ? "" : " (default)",
               jdl["exec_directory"].get<std::string>().c_str(),
               args.directory.empty() ? " (here)" : "");
  return jdl;
}

std::vector<std::string> LinesOf(const std::string& path) {
  Input input(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input.stream(), line);) {
    lines.push_back(line);
    if (const auto problem = jdl::LineProblem(line); !problem.empty())
      throw Fatal(kExitBadInput, input.name() + ":" + std::to_string(lines.size()) +
                                     ": a value cannot be used: " + problem);
  }
  return lines;
}

// `:::: a b` are two sources, as in parallel.
std::vector<ParallelForm::Source> PerFile(const std::vector<ParallelForm::Source>& sources) {
  std::vector<ParallelForm::Source> out;
  for (const auto& source : sources) {
    if (!source.from_file) {
      out.push_back(source);
      continue;
    }
    for (const auto& file : source.values) out.push_back({true, source.linked, {file}});
  }
  return out;
}

// Where the values come from, for messages.
std::string NameOf(const Args& args, const ParallelForm& form) {
  if (args.has_params()) return ParametersName(args);
  const auto sources = PerFile(form.sources);
  if (sources.empty()) return "standard input";
  if (sources.size() > 1 || !sources[0].from_file) return "values";
  return sources[0].values[0] == "-" ? "standard input" : sources[0].values[0];
}

void AddRows(const ParallelForm& form, LineSink& sink) {
  auto sources = PerFile(form.sources);
  if (sources.empty() || (sources.size() == 1 && sources[0].from_file)) {
    Input input(sources.empty() ? "-" : sources[0].values[0]);  // streamed, not held
    return AddLines(input, LineUse::kValue, sink);
  }
  for (auto& source : sources)
    if (source.from_file) source = {false, source.linked, LinesOf(source.values[0])};
  ForEachRow(sources, [&](const std::vector<std::string>& row) {
    for (const auto& value : row)
      if (const auto problem = jdl::LineProblem(value); !problem.empty())
        throw Fatal(kExitBadInput, "a value cannot be used: " + problem);
    sink.Add(jdl::EncodeValues(row), 0);
  });
}

std::vector<std::string> AddValues(const Args& args, const ParallelForm& form, LineSink& sink) {
  if (args.has_params() && !form.sources.empty())
    throw Fatal(kExitUsage, "values come from ::: or from an option, not from both");
  if (args.has_params()) return AddParameters(args, LineUse::kValue, sink);
  if (form.sources.empty() && isatty(STDIN_FILENO) == 1)
    std::fprintf(stderr,
                 "gridsub: reading values from the terminal, one on each line; end with "
                 "Ctrl-D\n");
  AddRows(form, sink);
  return {};
}

}  // namespace

std::optional<std::pair<JdlSource, ParameterPayload>> SourceOfCommand(tools::Api& api,
                                                                      const Args& args) {
  const auto form = ReadParallelForm(*args.command);
  LineSink sink(api, NameOf(args, form));
  json jdl = JdlOf(api, args, std::filesystem::path(Split(form.words[0], ' ')[0]).filename());
  ParameterPayload payload;
  payload.columns = AddValues(args, form, sink);
  payload.format = std::string(jdl::kFormatValues);
  if (sink.size() == 0) throw Fatal(kExitBadInput, "there are no values: nothing to run");
  jdl["exec_file"] = ExecFileOf(form.words, payload.columns);
  jdl["format"] = payload.format;
  if (!payload.columns.empty()) jdl["columns"] = payload.columns;
  payload.positions = sink.positions();
  if (sink.uploaded()) {
    payload.upload = sink.ForceUpload();
  } else {
    jdl["params"] = json::array();  // a few: one call less than an upload
    for (const auto& line : sink.Held()) jdl["params"].push_back(jdl::DecodeValues(line));
    payload.columns.clear();
  }
  JdlSource source;
  source.text = jdl.dump();
  jdl::Options options;
  options.uploaded = payload.upload.has_value();
  source.checked = jdl::Parse(source.text, jdl::Defaults(), options);
  for (auto& fault : source.checked.faults) fault.line = 0;  // nobody wrote this text
  PrintFaults(source.checked.faults, "gridsub");
  if (!source.checked.ok()) return std::nullopt;
  return std::pair{std::move(source), std::move(payload)};
}

}  // namespace cigri::gridsub
