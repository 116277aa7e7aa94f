// gridsub [options] -- program {} ::: values: a campaign without a JDL.
#pragma once
#include <memory>

#include "tools/gridsub/skip.h"
#include "tools/gridsub/submit.h"

namespace cigri::gridsub {

/// A campaign made of the words behind `--`.
struct CommandCampaign {
  std::optional<JdlSource> source;  ///< none: nothing is submitted, and why has been printed
  ParameterPayload payload;
  int exit_code = kExitOk;           ///< without source
  std::shared_ptr<Skipper> skipper;  ///< with --creates or --resume
};

/// The JDL for the command behind `--` and its parameters, which are sent in blocks when there are
/// many. First prints on stderr which clusters, walltime and directory it will use.
CommandCampaign SourceOfCommand(tools::Api& api, const Args& args);

}  // namespace cigri::gridsub
