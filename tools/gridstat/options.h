// What gridstat may be asked for.
#pragma once
#include <optional>
#include <string>

#include "tools/common/options.h"

namespace cigri::gridstat {

struct GridstatOptions {
  tools::CommonOptions common;
  std::string campaign, job, user, params, summary, by = "user", since, until, fetch,
      archive;
  bool full = false, all = false, by_user = false, joblog = false, why = false, verbose = false,
       history = false;
  bool cinfos = false, out = false, err = false, jdl = false, events = false;
  bool dump = false, pretty = false, json = false, headerless = false;
  bool usage = false, csv = false;
  bool summed = false;  ///< -s
  bool watched = false;
  bool wait = false, quiet = false, follow = false, in_order = false, tag = false;
  std::optional<std::int64_t> offset, task;
  double watch_s = 2;
  bool colour = false;    ///< decided from --color and the terminal
  bool terminal = false;  ///< stdout is one: a user looks, and more may be said
};

/// Reads the command line. Nothing: an exit code has been decided (help). Throws Fatal(64).
std::optional<int> ReadOptions(int argc, char** argv, GridstatOptions& o);

}  // namespace cigri::gridstat
