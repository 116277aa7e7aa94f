// One campaign on its way to the API, and what came back.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jdl/jdl.h"
#include "tools/common/api.h"
#include "tools/gridsub/args.h"
#include "tools/gridsub/upload.h"

namespace cigri::gridsub {

/// A JDL and where it comes from.
struct JdlSource {
  std::string name;  ///< for messages: the file, "--json", "" for the `--` form
  std::string file;  ///< where param_file is looked for: the JDL's path, "" = here
  std::string text;
  jdl::Result checked;
};

/// Prints every fault and warning of `result`: FILE:LINE:COL: key: message, HINT.
void PrintFaults(const std::vector<jdl::Fault>& faults, const std::string& name,
                 const char* prefix = "");

/// Reads and checks all JDLs of the command line, with its options put in. Prints all faults of
/// all of them; nothing when there is one.
std::optional<std::vector<JdlSource>> ReadSources(const Args& args);

/// What a submission carries besides its text.
struct ParameterPayload {
  std::optional<std::int64_t> upload;
  std::string format;
  std::vector<std::string> columns;
  std::optional<SourcePositions> positions;  ///< of parameters that do not stand in the JDL
};

/// Sends the parameters of an upload that do not travel in its text; shortens the text if they were
/// in it.
ParameterPayload SendParameters(tools::Api& api, const Args& args, JdlSource& source);

/// POST /campaigns. The campaign, or nothing after a refusal, whose message is printed. Throws
/// Fatal for other answers. With --dry-run the preview is printed and nothing is returned, too.
struct Outcome {
  std::int64_t campaign = 0;
  int exit_code = kExitOk;
};
Outcome Submit(tools::Api& api, const Args& args, const JdlSource& source,
               const ParameterPayload& payload);

/// -c N with parameters, -c N --set, --retry-failed N. The exit code; prints what was done.
int AddToCampaign(tools::Api& api, const Args& args);
int ChangeCampaign(tools::Api& api, const Args& args);
int RetryFailed(tools::Api& api, const Args& args);

}  // namespace cigri::gridsub
