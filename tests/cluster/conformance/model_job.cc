#include "model_job.h"

#include <optional>

#include "cluster/job_script.h"
#include "core/text.h"

namespace cigri::conformance {
namespace {

// N of an element whose command is "exit N"; nothing for other commands.
std::optional<int> ExitCodeOf(const std::string& words) {
  const auto data = Split(words, ' ').at(5);
  for (int n = 0; n < 256; ++n)
    if (data ==
        Split(cluster::ElementArguments({.command = "exit " + std::to_string(n)}, 0), ' ').at(5))
      return n;
  return std::nullopt;
}

}  // namespace

void ModelJob::Start() {
  if (state != State::kHeld) return;
  state = State::kRunning;
  const auto code = ExitCodeOf(words);
  if (!code) return;
  state = State::kEnded;
  wait_status = *code << 8;
}

void ModelJob::Delete() {
  if (state == State::kEnded) return;
  state = State::kEnded;
  deleted = true;
}

}  // namespace cigri::conformance
