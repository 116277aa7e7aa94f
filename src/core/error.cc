#include "core/error.h"

#include <csignal>
#include <cstdio>

namespace cigri {

int RunMain(const char* name, int (*body)(int, char**), int argc, char** argv) {
  // A peer that hangs up must be an error of one call, never the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return body(argc, argv);
  } catch (const Fatal& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    if (!e.hint().empty()) std::fprintf(stderr, "HINT: %s\n", e.hint().c_str());
    return e.code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: unexpected error, please report it: %s\n", name, e.what());
    return kExitSoftware;
  }
}

}  // namespace cigri
