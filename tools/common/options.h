// The options that all tools share, and how a tool reads its command line.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tools/common/api.h"

namespace cigri::tools {

struct CommonOptions {
  std::string api;             ///< --api
  std::string color = "auto";  ///< --color
};

/// Adds --api, --color, --version and -h,--help to `app`.
void AddCommonOptions(CLI::App& app, CommonOptions& common);

/// Reads the command line into what `app` was told. Nothing: go on. Else the exit code to end
/// with (0: help or version was printed). Throws Fatal(kExitUsage) for a wrong command line, with
/// "did you mean" for an unknown long option.
std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv);

/// The API that the options name.
inline Api Connect(const CommonOptions& common) { return Api(ApiAddress(common.api)); }

}  // namespace cigri::tools
