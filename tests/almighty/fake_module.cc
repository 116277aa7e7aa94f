// Stands for any program of a grid, by the name it is started under. A module writes each pass to
// table fake_passes and obeys table fake_orders (hang, crash, stale); api and localcluster answer
// GET /health on their sockets.
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/config.h"
#include "core/error.h"
#include "core/log.h"
#include "db/native.h"
#include "http/server.h"
#include "module/module.h"

namespace {

using namespace cigri;

std::string g_name;

bool HasTable(db::Tx& tx) {
  return db::Native(tx).exec("SELECT to_regclass('fake_passes') IS NOT NULL")[0][0].as<bool>();
}

void Obey(const std::string& order) {
  if (order == "crash") raise(SIGSEGV);
  if (order == "hang")
    for (;;) pause();
  if (order == "throw") throw std::runtime_error("as ordered");
}

void Pass(module::Step& step) {
  std::string order;
  {
    db::Tx tx(step.db);
    if (g_name != "runner") module::CheckEpoch(tx, step.epoch);  // it outlives leaders
    if (!HasTable(tx)) return;
    db::Native(tx).exec_params(
        "INSERT INTO fake_passes (name, pid, step, epoch) VALUES ($1, $2, $3, $4)", g_name,
        static_cast<int>(getpid()), step.number, step.epoch);
    for (const auto& row : db::Native(tx).exec_params(
             "DELETE FROM fake_orders WHERE name = $1 RETURNING what", g_name))
      order = row[0].c_str();
    tx.Commit();
  }
  Obey(order);
}

void ServeHealth(const std::string& socket) {
  http::GuardServer server;
  server.Get("/health", [](const httplib::Request&, httplib::Response& r) {
    r.set_content("{}", "application/json");
  });
  std::string why;
  if (!server.BindUnix(socket, 0666, &why)) throw Fatal(kExitUnavailable, why);
  server.Serve();
}

int Serve(int argc, char** argv) {
  std::string socket = CigriHome() + "/run/api.sock";
  std::vector<std::thread> others;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--socket") == 0) socket = argv[i + 1];
    if (std::strcmp(argv[i], "--grid-socket") == 0) others.emplace_back(ServeHealth, argv[i + 1]);
  }
  ServeHealth(socket);
  return 0;
}

int Main(int argc, char** argv) {
  log::Init(g_name);
  if (g_name == "api" || g_name == "localcluster") return Serve(argc, argv);
  module::Options options{g_name, "a fake module"};
  if (g_name == "runner") {
    options.loop_every = std::chrono::hours(1);  // it passes when it is woken
    options.notices = {"cigri_grants"};
    options.on_each_host = true;
  }
  return module::Run(argc, argv, options, Pass);
}

}  // namespace

int main(int argc, char** argv) {
  g_name = argv[0];
  g_name = g_name.substr(g_name.rfind('/') + 1);
  return RunMain(g_name.c_str(), Main, argc, argv);
}
