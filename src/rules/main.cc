// gridadmit: the short-lived child in which admission rules run. JSON on stdin, lines of JSON on
// stdout (evaluate.h); no database, no files, no environment. Started by rules::Admit only.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "core/session_nice.h"
#include "rules/confine.h"
#include "rules/evaluate.h"

namespace {

using cigri::Fatal;
using nlohmann::json;

void Cap(__rlimit_resource what, rlim_t most) {
  const rlimit limit{most, most};
  if (setrlimit(what, &limit) != 0) throw Fatal(cigri::kExitSoftware, "cannot limit the rules");
}

// The second wall: the hook in Lua does not run inside a C function that never returns.
void Confine(const json& limits, std::size_t rules) {
  Cap(RLIMIT_CORE, 0);
  Cap(RLIMIT_FSIZE, 0);
  const int cpu_ms = limits.at("cpu_ms");
  Cap(RLIMIT_CPU, 2 + 2 * rules * static_cast<rlim_t>(cpu_ms) / 1000);
  // Sanitizers map terabytes, and open files of their own at exit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Cap(RLIMIT_NOFILE, 0);
  if (const std::size_t most = limits.at("address_space_bytes"); most != 0) Cap(RLIMIT_AS, most);
#endif
}

// SIGPROF ends the process when one rule has used `cpu_ms` of CPU; 0 disarms.
void ArmCpuTimer(int cpu_ms) {
  const itimerval when{{0, 0}, {cpu_ms / 1000, cpu_ms % 1000 * 1000}};
  setitimer(ITIMER_PROF, &when, nullptr);
}

void WriteLine(const json& line) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) throw Fatal(cigri::kExitUnavailable, "nobody reads the verdict");
    done += static_cast<std::size_t>(n);
  }
}

int Main(int argc, char**) {
  if (argc > 1 || isatty(STDIN_FILENO))
    throw Fatal(cigri::kExitUsage, "this program is started by the API to run admission rules",
                "try a rule with `gridadmin rule test NAME --jdl FILE --user USER`");
  cigri::SetSessionNice(getpid(), getpriority(PRIO_PROCESS, 0));
  cigri::rules::GiveUpRights();
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  json request;
  try {
    request = json::parse(text);
  } catch (const json::exception& e) {
    throw Fatal(cigri::kExitBadInput, std::string("cannot read the request: ") + e.what());
  }
  Confine(request.at("limits"), request.at("rules").size());
  const int cpu_ms = request.at("limits").at("cpu_ms");
  cigri::rules::Evaluate(request, [cpu_ms](const json& line) {
    ArmCpuTimer(line.contains("rule") ? 2 * cpu_ms + 100 : 0);
    WriteLine(line);
  });
  return cigri::kExitOk;
}

}  // namespace

int main(int argc, char** argv) { return cigri::RunMain("gridadmit", Main, argc, argv); }
