// The user's environment on its way to the jobs: --env, --env-all.
#pragma once
#include <string>
#include <vector>

namespace cigri::gridsub {

/// Lines for `setup` that export these variables of ours; "NAME=VALUE" gives another value. Throws
/// Fatal(kExitUsage) for a name that cannot be one or is not set.
std::string ExportsOf(const std::vector<std::string>& names);

/// Which variables are carried when nobody names them.
enum class Carry {
  kAll,       ///< --env-all: all but those of this session and host (HOME, SSH_..., DISPLAY)
  kNoSecrets  ///< nobody asked: without names that speak of passwords and tokens either
};
std::string ExportsOfAll(Carry carry);

/// What of the user's environment a job would miss: "conda (/home/me/conda)", "venv (...)"; "" when
/// neither is active.
std::string ActiveEnvironment();

}  // namespace cigri::gridsub
