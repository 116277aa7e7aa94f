// localcluster: the batch scheduler of one machine (docs/localcluster.md).
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/command_line.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "http/server.h"
#include "localcluster/api.h"
#include "localcluster/engine.h"

namespace cigri::localcluster {
namespace {

struct LocalclusterOptions {
  EngineOptions engine;
  ApiOptions api;
  std::string socket, grid_socket;
  double grace_s = 5;
  int pin_from = -1;  ///< below 0: jobs run on any CPU
};

void CheckName(const std::string& name) {
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_.-") != name.npos)
    throw Fatal(kExitUsage, "\"" + name + "\" cannot be the name of a cluster",
                "letters, digits and _.- are allowed");
}

// The CPU of each slot: those that this process may use, from number `first` on. None when there
// are not as many: two slots of one CPU would wait for each other while another CPU is idle.
std::vector<int> CpusOfSlots(int first, int slots) {
  cpu_set_t usable;
  std::vector<int> cpus;
  if (first < 0 || sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &usable) && n++ >= first && static_cast<int>(cpus.size()) < slots)
      cpus.push_back(cpu);
  if (static_cast<int>(cpus.size()) < slots) cpus.clear();
  return cpus;
}

// Returns the exit code when the command line was answered on its own (--help, wrong usage).
std::optional<int> ParseOptions(int argc, char** argv, LocalclusterOptions* o) {
  CommandLine line("localcluster", "Runs jobs on this machine for a grid and for local users");
  auto& launcher = o->engine.launcher;
  std::vector<std::string> trusted;
  line.Add({{"--name", &launcher.cluster, "name of the cluster", {.required = true}},
            {"--slots",
             &o->engine.slots,
             "jobs of one slot that run at a time",
             {.required = true, .range = {{1, 100000}}}},
            {"--nodes",
             &o->engine.nodes,
             "nodes that the slots are divided over",
             {.range = {{1, 100000}}}},
            {"--state",
             &launcher.state_dir,
             "folder of its own for what must survive",
             {.required = true}},
            {"--socket", &o->socket, "unix socket of its API", {.required = true}},
            {"--grid-socket", &o->grid_socket, "another one, for the account of the daemon alone"},
            {"--output", &launcher.output_dir, "folder for the output of jobs (STATE/output)"},
            {"--nice", &launcher.nice, "niceness of the jobs (10)", {.range = {{0, 19}}}},
            {"--grace", &o->grace_s, "seconds from TERM to KILL (5)", {.range = {{0.0, 3600.0}}}},
            {"--max-ended",
             &o->engine.max_ended,
             "ended jobs to remember (1000000)",
             {.range = {{1000, 100000000}}}},
            {"--max-file",
             &launcher.max_file_mb,
             "MB of the largest file that a job may write (1024; 0: any)",
             {.range = {{0, 1 << 30}}}},
            {"--pin-from",
             &o->pin_from,
             "give each slot a CPU of its own, the first slot this one (0: the first CPU)",
             {.range = {{0, 100000}}}},
            {"--max-walltime",
             &o->engine.max_walltime_s,
             "seconds that a job of a local user may take (604800)",
             {.range = {{1, 10 * 366 * 86400}}}},
            {"--trust", &trusted, "users that may submit for others: the grid's account"}});
  if (const auto code = line.Read(argc, argv)) return code;
  CheckName(launcher.cluster);
  if (o->engine.nodes > o->engine.slots) throw Fatal(kExitUsage, "more nodes than slots");
  launcher.cpus = CpusOfSlots(o->pin_from, o->engine.slots);
  launcher.grace_ms = static_cast<int>(o->grace_s * 1000);
  o->api.cluster = launcher.cluster;
  o->api.trusted.insert(trusted.begin(), trusted.end());
  return {};
}

void MakeFolders(LocalclusterOptions* o) {
  namespace fs = std::filesystem;
  auto& launcher = o->engine.launcher;
  std::error_code error;
  fs::create_directories(launcher.state_dir, error);
  if (error)
    throw Fatal(kExitConfig,
                "cannot make the folder " + launcher.state_dir + ": " + error.message());
  launcher.state_dir = fs::absolute(launcher.state_dir);
  if (launcher.output_dir.empty()) launcher.output_dir = launcher.state_dir + "/output";
  launcher.output_dir = fs::absolute(launcher.output_dir);
}

// Three descriptors a running job, files that wait for one, and the connections of both servers.
// Not more than needed: jobs inherit the limit, and some programs close every number below it.
void RaiseFileLimit(int slots) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto needed = 3 * static_cast<rlim_t>(slots) + 400;
  if (needed > limit.rlim_max)
    throw Fatal(kExitConfig,
                std::to_string(slots) + " slots need " + std::to_string(needed) +
                    " open files, the limit is " + std::to_string(limit.rlim_max),
                "raise it: ulimit -Hn, or LimitNOFILE= of its systemd unit");
  limit.rlim_cur = std::max(limit.rlim_cur, needed);
  setrlimit(RLIMIT_NOFILE, &limit);
}

void Bind(http::GuardServer& server, const std::string& cluster, const std::string& path,
          int mode) {
  std::string why;
  if (!server.BindUnix(path, mode, &why))
    throw Fatal(kExitUnavailable, "cluster " + cluster + " cannot be served: " + why);
}

// SIGTERM: end, the jobs go on. SIGINT: end the jobs first.
[[noreturn]] void Serve(LocalclusterOptions& options, const sigset_t& signals) {
  Engine engine(options.engine);
  http::Limits limits;
  limits.max_request_bytes = 32u << 20;
  limits.request_deadline = std::chrono::seconds(30);
  limits.keep_alive_s = 60;
  limits.keep_alive_max = 1'000'000;
  limits.connections = 100;  // RaiseFileLimit() counts them
  // Two servers, so that users who take all threads of theirs do not keep the grid out.
  http::GuardServer server(limits), grid_server(limits);
  options.api.shutdown = [](bool kill) { ::kill(getpid(), kill ? SIGINT : SIGTERM); };
  AddRoutes(server, engine, options.api);
  AddRoutes(grid_server, engine, options.api);
  // Everybody may knock where root serves all users; the kernel tells who it is.
  Bind(server, options.api.cluster, options.socket, geteuid() == 0 ? 0666 : 0600);
  if (!options.grid_socket.empty())
    Bind(grid_server, options.api.cluster, options.grid_socket, 0600);
  std::thread loop([&] { engine.Run(); });
  std::thread http([&] { server.Serve(); });
  std::thread grid_http([&] {
    if (!options.grid_socket.empty()) grid_server.Serve();
  });
  log::info("{} slots on {}", options.engine.slots, options.socket);
  int signal = 0;
  sigwait(&signals, &signal);
  log::info("ending on signal {}", signal);
  if (signal == SIGINT) engine.KillAll();
  unlink(options.socket.c_str());
  if (!options.grid_socket.empty()) unlink(options.grid_socket.c_str());
  engine.Stop();
  loop.join();
  // Kept connections would hold the server's threads for a minute; nothing is left to be saved.
  std::_Exit(kExitOk);
}

int Main(int argc, char** argv) {
  signal(SIGIO, SIG_IGN);       // the kernel's word to the holder of a lease (Outputs)
  mallopt(M_ARENA_MAX, 1);  // a process that is to stay small
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  LocalclusterOptions options;
  if (const auto code = ParseOptions(argc, argv, &options)) return *code;
  log::Init("localcluster[" + options.api.cluster + "]");
  MakeFolders(&options);
  RaiseFileLimit(options.engine.slots);
  Serve(options, signals);
}

}  // namespace
}  // namespace cigri::localcluster

int main(int argc, char** argv) {
  return cigri::RunMain("localcluster", cigri::localcluster::Main, argc, argv);
}
