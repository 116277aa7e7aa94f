#include "tools/gridsub/launch.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "core/config.h"
#include "core/text.h"
#include "jdl/command.h"
#include "tools/gridsub/environment.h"

namespace cigri::gridsub {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A choice and, for the user, where it comes from.
template <typename T>
struct Chosen {
  T value;
  std::string from;
};

struct Known {
  std::vector<std::string> enabled;
  std::set<std::string> local;  ///< those of this machine
};

Known KnownClusters(tools::Api& api) {
  const auto body = tools::Expect(api.Get("/clusters?full=1"), "list the clusters");
  Known known;
  for (const auto& cluster : body.value("items", json::array())) {
    if (!cluster.is_object()) continue;
    const auto name = cluster.value("name", "");
    if (cluster.value("enabled", json(true)) != json(false)) known.enabled.push_back(name);
    if (cluster.value("kind", "") == "local") known.local.insert(name);
  }
  return known;
}

Chosen<std::vector<std::string>> Clusters(const Known& known, const Args& args,
                                          const Config& config) {
  if (!args.clusters.empty()) return {Split(args.clusters, ','), ""};
  if (const auto usual = config.Get("DEFAULT_CLUSTERS"); !usual.empty()) {
    std::vector<std::string> names;
    for (const auto& name : Split(usual, ',')) names.emplace_back(Trim(name));
    return {names, " (DEFAULT_CLUSTERS)"};
  }
  if (known.enabled.empty())
    throw Fatal(kExitNo, "the grid has no cluster to run on", "`gridadmin cluster add` adds one");
  return {known.enabled, " (all there are)"};
}

// The way the user came here ($PWD), which other hosts know too, rather than where links lead.
std::string WorkingDirectory() {
  struct stat here {
  }, named{};
  const char* pwd = std::getenv("PWD");
  if (pwd != nullptr && pwd[0] == '/' && stat(".", &here) == 0 && stat(pwd, &named) == 0 &&
      here.st_ino == named.st_ino && here.st_dev == named.st_dev)
    return pwd;
  std::error_code error;
  const auto path = fs::current_path(error);
  if (error)
    throw Fatal(kExitBadInput, "the working directory cannot be used: " + error.message(),
                "cd to one that is there, or name one: --directory DIR");
  return path.string();
}

// Lines for `setup`, and what is said of them.
Chosen<std::string> Environment(const Args& args, bool all_local) {
  if (args.env_all || !args.env.empty()) return {AskedExports(args), "as asked for"};
  if (all_local) try {
      return {ExportsOfAll(Carry::kNoSecrets), "yours"};
    } catch (const Fatal&) {  // too large: nobody asked for it
    }
  const auto active = ActiveEnvironment();
  if (active.empty()) return {"", "the cluster's"};
  return {"", "the cluster's, without your " + active + " (--env-all carries it)"};
}

// On this machine a folder that is not there cannot come to be there.
void CheckDirectory(const Args& args, bool all_local) {
  if (args.directory.empty() || !all_local || HasOwnDirectories(args)) return;
  const auto directory = DirectoryOf(args);
  std::error_code error;
  const auto found = fs::status(directory, error);
  if (directory.find_first_of("${~") != directory.npos || fs::is_directory(found)) return;
  if (fs::exists(found))
    throw Fatal(kExitBadInput,
                "--directory " + args.directory + ": " + directory + " is no folder");
  if (found.type() != fs::file_type::not_found)
    throw Fatal(kExitBadInput,
                "--directory " + args.directory + ": cannot look there: " + error.message());
  throw Fatal(kExitBadInput, "--directory " + args.directory + ": there is no " + directory,
              "mkdir -p " + ShellQuote(args.directory));
}

}  // namespace

std::string AskedExports(const Args& args) {
  std::vector<std::string> names;
  for (const auto& word : args.env) {
    const bool value = word.find('=') != word.npos;  // it may have commas
    const auto parts = value ? std::vector<std::string>{word} : Split(word, ',');
    names.insert(names.end(), parts.begin(), parts.end());
  }
  return (args.env_all ? ExportsOfAll(Carry::kAll) : "") + ExportsOf(names);
}

bool HasOwnDirectories(const Args& args) {
  auto rest = ReplaceAll(ReplaceAll(args.directory, "{HOME}", ""), "{CAMPAIGN_ID}", "");
  const auto open = rest.find('{');
  return open != rest.npos && rest.find('}', open) != rest.npos;
}

std::string DirectoryOf(const Args& args) {
  const auto& given = args.directory;
  const bool from_root = !given.empty() && (given[0] == '/' || given[0] == '~' || given[0] == '$' ||
                                            StartsWith(given, "{HOME}"));
  if (from_root) return given;
  return given.empty() ? WorkingDirectory() : WorkingDirectory() + "/" + given;
}

std::string InOwnDirectory(const Args& args, const std::string& exec_file,
                           const std::vector<std::string>& columns) {
  const auto directory = "\"" + args.directory + "\"";
  const bool values = !jdl::Placeholders(exec_file, columns).empty();
  return "mkdir -p -- " + directory + " && cd -- " + directory + " || exit 1; " + exec_file +
         (values ? "" : " {}");
}

std::string ProgramFrom(const Args& args, const std::string& program) {
  const bool relative = program.find('/') != program.npos && program[0] != '/';
  const bool own_folder = !args.inputs.empty() || !args.outputs.empty();  // of each job
  std::error_code error;  // where it may not look, there is none
  if ((args.directory.empty() && !own_folder) || !relative || !fs::exists(program, error))
    return program;
  if (own_folder) {
    for (const auto& input : args.inputs)  // it comes along
      if (input.find(fs::path(program).filename().string()) != input.npos) return program;
  } else if (!HasOwnDirectories(args) && fs::exists(DirectoryOf(args) + "/" + program, error)) {
    return program;
  }
  return (fs::path(WorkingDirectory()) / program).lexically_normal().string();
}

json LaunchJdl(tools::Api& api, const Args& args, const std::string& program) {
  const Config config = Config::Load();
  const Known known = KnownClusters(api);
  const auto clusters = Clusters(known, args, config);
  bool all_local = true;
  json jdl = {{"name", args.name.empty() ? program : args.name}};
  for (const auto& name : clusters.value) {
    jdl["clusters"][name] = json::object();
    all_local = all_local && known.local.count(name) != 0;
  }
  CheckDirectory(args, all_local);
  const bool own_walltime = !args.walltime.empty();
  jdl["walltime"] =
      own_walltime ? args.walltime : WithUnit(config.Get("DEFAULT_JOB_WALLTIME", "1:00:00"));
  const bool own_directories = HasOwnDirectories(args);
  jdl["exec_directory"] = own_directories ? WorkingDirectory() : DirectoryOf(args);
  if (!args.resources.empty()) jdl["resources"] = args.resources;
  if (!args.project.empty()) jdl["project"] = args.project;
  if (args.max_jobs != 0) jdl["max_jobs"] = args.max_jobs;
  jdl.update(SettingsJson(args.settings));
  const auto environment = Environment(args, all_local);
  if (!environment.value.empty())
    jdl["setup"] = environment.value + jdl.value("setup", std::string());
  if (!args.results.quiet)
    std::fprintf(
        stderr, "gridsub: clusters %s%s; walltime %s%s; directory %s%s; environment %s\n",
        Join(clusters.value, ", ").c_str(), clusters.from.c_str(),
        jdl["walltime"].get<std::string>().c_str(), own_walltime ? "" : " (default)",
        own_directories ? args.directory.c_str() : jdl["exec_directory"].get<std::string>().c_str(),
        args.directory.empty() ? " (here)" : "", environment.from.c_str());
  return jdl;
}

}  // namespace cigri::gridsub
