// The options that all tools share.
#pragma once
#include <string>

#include "core/command_line.h"
#include "tools/common/api.h"

namespace cigri::tools {

struct CommonOptions {
  std::string api;             ///< --api
  std::string color = "auto";  ///< --color
};

/// Adds --api, --color, --version, -h,--help and the examples of the tool to `line`.
void AddCommonOptions(CommandLine& line, CommonOptions& common);

/// The API that the options name.
inline Api Connect(const CommonOptions& common) { return Api(ApiAddress(common.api)); }

}  // namespace cigri::tools
