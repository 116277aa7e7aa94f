#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/admin/admin.h"
#include "api/http/server.h"
#include "api/submit/admission.h"
#include "clusterdb/clusterdb.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/session_nice.h"

namespace cigri::api {
namespace {

constexpr timespec kHousekeeping{30, 0};
constexpr auto kIdle = std::chrono::seconds(20);

// SIGHUP: read the certificate again. The others: end.
sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// A crowd of connections takes no descriptor from the database or the admission rules.
void RaiseFileLimit() {
  constexpr rlim_t kNeeded = 2 * limits::kAllConnections.value + 1000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kNeeded) return;
  limit.rlim_cur = std::min(limit.rlim_max, kNeeded);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Where we may, and PostgreSQL's sessions of readers with us (db/niceness.h); in a session of our
// own, since the modules have another niceness. What may come from the service's unit is ours
// alone: no program that we start inherits it.
void GoFirst() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  constexpr int kBeforeOthers = -5;
  const int nice = getpriority(PRIO_PROCESS, 0) + kBeforeOthers;
  if (setpriority(PRIO_PROCESS, 0, nice) != 0) return;
  setsid();
  if (getsid(0) == getpid()) SetSessionNice(getpid(), nice);  // not that of somebody's shell
}

void Listen(ApiServer& server, const Config& config) {
  const std::string socket = config.Get("API_SOCKET", CigriHome() + "/run/api.sock");
  std::filesystem::create_directories(std::filesystem::path(socket).parent_path());
  // The grid that an ordinary user has started runs that user's jobs alone. Whoever configures a
  // socket, for a grid of a service account, serves everybody.
  const bool for_all = geteuid() == 0 || config.Has("API_SOCKET");
  // The socket comes last: who asks there learns that all of it is served.
  if (config.Has("API_LISTEN")) {
    const int port = server.ListenTcp(config.Get("API_LISTEN"));
    log::info("serving on {} (port {}){}", config.Get("API_LISTEN"), port,
              config.Has("API_TLS_CERT") ? ", TLS" : "");
  }
  server.ListenUnix(socket, for_all ? 0666 : 0600);
  log::info("serving on {}", socket);
}

// A fresh grid has the shipped admission rules and the policy preset `site-default`; what an
// operator removed or changed stays so. What drivers can do is this version's. False while the
// database is away; throws when it is not ours.
bool InstallRules(Context& context) {
  try {
    auto db = context.pool.Get();
    db::RequireSchema(*db);
    db::Tx tx(*db);
    InstallShippedRules(tx);
    InstallDefaultPolicy(tx);
    clusterdb::StoreCapabilities(tx);
    tx.Commit();
    return true;
  } catch (const Fatal& e) {
    if (e.code() == kExitConfig) throw;
    log::warn("{}", e.what());
    return false;
  } catch (const std::exception& e) {
    log::warn("the shipped admission rules are not installed yet: {}", e.what());
    return false;
  }
}

int Main(int argc, char**) {
  if (argc > 1)
    throw Fatal(kExitUsage, "api takes no arguments",
                "it is configured by cigri.conf: docs/api.md");
  log::Init("api");
  ::mallopt(M_ARENA_MAX, 2);  // 64 threads would keep memory in 16 arenas
  const sigset_t signals = Signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: all inherit it
  RaiseFileLimit();
  GoFirst();
  const Config config = Config::Load();
  for (const auto& warning : config.Warnings()) log::warn("{}", warning);
  Context context(config, DatabaseConninfo(config));
  bool rules = InstallRules(context);
  ApiServer server(context, AllRoutes());
  Listen(server, config);
  for (;;) {
    const int signal = ::sigtimedwait(&signals, nullptr, &kHousekeeping);
    if (signal == SIGTERM || signal == SIGINT) break;
    server.RefreshCertificate(signal == SIGHUP);
    if (!rules) rules = InstallRules(context);
    context.pool.CloseIdle(kIdle);
    context.readers.CloseIdle(kIdle);
    ::malloc_trim(0);
  }
  log::info("ends");
  server.Stop();
  return 0;
}

}  // namespace
}  // namespace cigri::api

int main(int argc, char** argv) { return cigri::RunMain("api", cigri::api::Main, argc, argv); }
