// gridsub [options] -- program {} ::: values: a campaign without a JDL.
#pragma once
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {

/// The JDL for the command behind `--` and its parameters, which are sent in blocks when there are
/// many. First prints on stderr which clusters, walltime and directory it will use. nullopt when it
/// has faults, which are printed.
std::optional<std::pair<JdlSource, ParameterPayload>> SourceOfCommand(tools::Api& api,
                                                                      const Args& args);

}  // namespace cigri::gridsub
