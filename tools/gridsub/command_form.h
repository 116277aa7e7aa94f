// gridsub [options] -- program {} ::: values: a campaign without a JDL.
#pragma once
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {

/// The JDL for what stands behind `--` and its parameters, sent in blocks when they are many. The
/// clusters, walltime and directory it will use are said on stderr first. Nothing when it has
/// faults, which are printed.
std::optional<std::pair<JdlSource, ParameterPayload>> SourceOfCommand(tools::Api& api,
                                                                      const Args& args);

}  // namespace cigri::gridsub
