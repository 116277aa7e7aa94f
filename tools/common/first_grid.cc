#include "tools/common/first_grid.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/config.h"
#include "core/error.h"
#include "core/text.h"
#include "http/client.h"
#include "process/run.h"
#include "tools/common/api.h"

namespace cigri::tools {
namespace {

namespace fs = std::filesystem;

bool Answers(const std::string& address) {
  return http::Client(http::Endpoint::Parse(address), {}).Get("/health").outcome !=
         http::Outcome::kNotSent;
}

}  // namespace

void StartGridWhereNoneIs(const std::string& option) {
  if (ApiIsNamed(option)) return;
  const std::string own = "unix:" + CigriHome() + "/run/api.sock";
  // The site's socket is not ours to bring up.
  if (ApiAddress(option) != own || Answers(own)) return;
  std::error_code failed;
  const std::string cigri = fs::read_symlink("/proc/self/exe", failed).parent_path() / "cigri";
  if (access(cigri.c_str(), X_OK) != 0) return;
  std::fprintf(stderr, "gridsub: no grid is configured or running: starting one on this machine\n");
  process::Command up;
  // --embedded: PG* variables of this shell are for something else.
  up.argv = {cigri, "up", "--embedded"};
  up.time_limit = std::chrono::seconds(120);
  up.errors = process::Errors::kWithOutput;
  const auto result = process::Run(up);
  auto lines = Split(Trim(result.out), '\n');
  if (!result.Succeeded()) {
    std::string hint = "`cigri doctor` says what is wrong; --api names the grid of a site";
    if (StartsWith(lines.back(), "HINT: ") && lines.size() > 1) {
      hint = lines.back().substr(6);
      lines.pop_back();
    }
    throw Fatal(kExitUnavailable, "no grid came up: " + lines.back(), hint);
  }
  std::fprintf(stderr, "gridsub: %s; `cigri down` ends it\n", lines.back().c_str());
}

}  // namespace cigri::tools
