#include <sql/jobs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "commands.h"
#include "core/error.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"
#include "localcluster/protocol.h"

namespace cigri::cli {
namespace {

// A job gets SIGTERM, its own grace, SIGKILL; its cigri-job keeps how it ended.
constexpr double kJobGrace = 12, kModuleGrace = 8;

// "campaigns 3 and 12", of the jobs that run now; "" when the database is away.
std::string CampaignsThatRun(const embedded::Home& home) {
  try {
    const auto connection = Open(KnownDatabase(home, Config::Load()));
    db::Tx tx(*connection);
    std::vector<std::string> ids;
    for (const auto& row : tx.Exec(sql::kCampaignsOnLocalClusters))
      ids.emplace_back(row.campaign_id);
    if (ids.empty()) return "";
    if (ids.size() > 5) return " of " + std::to_string(ids.size()) + " campaigns";
    return (ids.size() == 1 ? " of campaign " : " of campaigns ") + Join(ids, ", ");
  } catch (const std::exception&) {
    return "";
  }
}

std::string Jobs(int n) { return Pluralize(n, "running job"); }

void RemoveSockets(const embedded::Home& home) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(home.run(), failed))
    if (entry.is_socket(failed)) unlink(entry.path().c_str());
}

}  // namespace

int Down(bool keep_jobs) {
  const auto home = OwnHome();
  if (access(home.dir.c_str(), F_OK) != 0) {
    std::printf("no grid in %s\n", home.dir.c_str());
    return kExitOk;
  }
  const auto lock = embedded::LockFile(home.dir + "/.up.lock", std::chrono::seconds(120));
  if (!lock)
    throw Fatal(kExitTryLater, "another `cigri up` or `cigri down` is at work in " + home.dir);
  const auto whose = CampaignsThatRun(home);
  // First the processes that would restart the others.
  const int modules = embedded::EndAll(embedded::GridProcesses, home, kModuleGrace);
  const int running = static_cast<int>(embedded::JobProcesses(home).size());
  // No user has deleted these jobs: they end like jobs of a node that failed, uncharged.
  if (!keep_jobs)
    embedded::EndAll(embedded::JobProcesses, home, kJobGrace,
                     static_cast<char>(localcluster::Cause::kNodeFailed));
  const int real = keep_jobs ? 0 : StopReal(home);
  const bool server = embedded::PostgresPid(home) != 0;
  embedded::StopPostgres(home);
  RemoveSockets(home);
  if (modules == 0 && !server && running == 0 && real == 0) {
    std::printf("the grid was down already\n");
    return kExitOk;
  }
  std::printf("grid down: %s ended%s", Pluralize(modules, "process", "processes").c_str(),
              server ? ", PostgreSQL stopped" : "");
  if (real != 0) std::printf(", %s stopped", Pluralize(real, "real cluster").c_str());
  if (running != 0 && keep_jobs)
    std::printf(", %s%s left running; `cigri up` adopts what is there", Jobs(running).c_str(),
                whose.c_str());
  if (running != 0 && !keep_jobs)
    std::printf(", %s%s stopped; the next `cigri up` runs their tasks again, uncharged",
                Jobs(running).c_str(), whose.c_str());
  std::printf("\n");
  return kExitOk;
}

}  // namespace cigri::cli
