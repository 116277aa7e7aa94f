// Where and how the jobs of `gridsub -- PROGRAM` run: clusters, directory, environment.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/common/api.h"
#include "tools/gridsub/args.h"

namespace cigri::gridsub {

/// The JDL for `words`, without parameters and command. Says on stderr which clusters, walltime,
/// directory and environment it has, unless --quiet.
nlohmann::json LaunchJdl(tools::Api& api, const Args& args, const std::string& program);

/// The lines of `setup` that --env and --env-all ask for.
std::string AskedExports(const Args& args);

/// --directory as a path from the root; ours when it was not given.
std::string DirectoryOf(const Args& args);
/// Whether each task has a directory of its own: --directory 'run/{#}'.
bool HasOwnDirectories(const Args& args);
/// exec_file that makes the directory of the task and runs there.
std::string InOwnDirectory(const Args& args, const std::string& exec_file,
                           const std::vector<std::string>& columns);
/// The program as it is found from the directory of the jobs: what is here and not there gets its
/// path from the root.
std::string ProgramFrom(const Args& args, const std::string& program);

}  // namespace cigri::gridsub
