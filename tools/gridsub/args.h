// What the user typed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/follow.h"
#include "tools/common/options.h"
#include "tools/gridsub/settings.h"
#include "tools/gridsub/skip.h"
#include "tools/gridsub/value_rows.h"

namespace cigri::gridsub {

struct Args {
  tools::CommonOptions common;
  std::vector<std::string> files;  ///< -f, then plain arguments; "-" is standard input
  std::vector<std::string> plain;
  std::vector<std::string> jsons;  ///< -j
  std::int64_t campaign = 0;       ///< -c
  std::string jobfile, jsonjob;    ///< -F, -J
  std::string param_file, csv;     ///< -a, --csv
  bool details = false, dry_run = false, wait = false;
  std::string type;
  std::int64_t retry = 0;         ///< --retry-failed
  std::vector<std::string> sets;  ///< --set key=value
  std::vector<std::string> notify;  ///< --notify
  std::string name, clusters, walltime, time, directory, resources, project, joblog;
  int max_jobs = 0;
  Settings settings;             ///< --cores, --mem ...: keys of the JDL
  std::vector<std::string> inputs, outputs;  ///< --input, --output: in `settings`, too
  std::vector<std::string> env;  ///< --env
  bool env_all = false;
  RowRules rows;                                    ///< -0, --colsep, -N
  SkipRules skip;                                   ///< --creates, --resume
  std::string delimiter;                            ///< of --csv
  bool once = false;                                ///< one run without values
  tools::ResultRequest results;                      ///< any of them implies --wait
  std::optional<std::vector<std::string>> command;  ///< what follows --

  bool has_params() const {
    return !jobfile.empty() || !jsonjob.empty() || !param_file.empty() || !csv.empty();
  }
};

/// Reads the command line. Nothing in `args`: end with the returned code (help, version).
/// Throws Fatal(kExitUsage) for what does not fit together.
std::optional<int> ReadArgs(int argc, char** argv, Args& args);

}  // namespace cigri::gridsub
