#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "core/error.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"

namespace cigri::cli {
namespace {

// A job gets SIGTERM, its own grace, SIGKILL; its cigri-job keeps how it ended.
constexpr double kJobGrace = 12, kModuleGrace = 8;

void RemoveSockets(const embedded::Home& home) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(home.run(), failed))
    if (entry.is_socket(failed)) unlink(entry.path().c_str());
}

}  // namespace

int Down(bool keep_jobs) {
  const auto home = embedded::Home::FromEnvironment();
  if (access(home.dir.c_str(), F_OK) != 0) {
    std::printf("no grid in %s\n", home.dir.c_str());
    return kExitOk;
  }
  const auto lock = embedded::LockFile(home.dir + "/.up.lock", std::chrono::seconds(120));
  if (!lock)
    throw Fatal(kExitTryLater, "another `cigri up` or `cigri down` is at work in " + home.dir);
  // First those who would start the others again.
  const int modules = embedded::EndAll(embedded::GridProcesses, home, kModuleGrace);
  const int running = static_cast<int>(embedded::JobProcesses(home).size());
  if (!keep_jobs) embedded::EndAll(embedded::JobProcesses, home, kJobGrace);
  const int real = keep_jobs ? 0 : StopReal(home);
  const bool server = embedded::PostgresPid(home) != 0;
  embedded::StopPostgres(home);
  RemoveSockets(home);
  if (modules == 0 && !server && running == 0 && real == 0) {
    std::printf("the grid was down already\n");
    return kExitOk;
  }
  std::printf("grid down: %d processes ended%s", modules, server ? ", PostgreSQL stopped" : "");
  if (real != 0) std::printf(", %d real clusters stopped", real);
  if (running != 0 && keep_jobs)
    std::printf(", %d running jobs go on; `cigri up` adopts them", running);
  if (running != 0 && !keep_jobs)
    std::printf(", %d running jobs killed; they go again after `cigri up`", running);
  std::printf("\n");
  return kExitOk;
}

}  // namespace cigri::cli
