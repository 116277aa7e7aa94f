#include "tests/system/processes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/text.h"
#include "tests/system/child.h"

namespace cigri::test {
namespace {
namespace fs = std::filesystem;

const std::set<std::string> kParts{"almighty",      "updator",      "predictor",
                                   "metascheduler", "runner",       "nikita",
                                   "notifier",      "localcluster", "api"};

bool IsAlive(const std::string& proc) {
  const std::string stat = Slurp(proc + "/stat");
  const auto end = stat.rfind(") ");
  return end != stat.npos && stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

bool Belongs(const std::string& proc, const std::string& home) {
  const auto words = Split(Slurp(proc + "/environ"), '\0');
  return std::find(words.begin(), words.end(), "CIGRI_HOME=" + home) != words.end() ||
         Slurp(proc + "/cmdline").find(home + "/") != std::string::npos;
}

pid_t Postmaster(const std::string& home) {
  return std::atoi(Slurp(home + "/pg/postmaster.pid").c_str());
}

}  // namespace

std::vector<GridProcess> ProcessesOf(const std::string& home) {
  std::vector<GridProcess> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string proc = entry.path();
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1 || pid == getpid() || !Belongs(proc, home) || !IsAlive(proc)) continue;
    found.push_back({pid, std::string(Trim(Slurp(proc + "/comm"))),
                     ReplaceAll(Slurp(proc + "/cmdline"), std::string(1, '\0'), " ")});
  }
  return found;
}

std::vector<GridProcess> PartsOf(const std::string& home) {
  auto parts = ProcessesOf(home);
  const pid_t postmaster = Postmaster(home);
  std::erase_if(parts, [&](const GridProcess& p) {
    return kParts.count(p.name) == 0 && !(p.name == "postgres" && p.pid == postmaster);
  });
  return parts;
}

std::vector<std::string> SocketsBelow(const std::string& home) {
  std::vector<std::string> found;
  for (const auto& line : Split(Slurp("/proc/net/unix"), '\n')) {
    const auto at = line.find(home + "/");
    if (at != line.npos) found.push_back(line.substr(at));
  }
  return found;
}

pid_t ParentOf(pid_t pid) {
  const std::string stat = Slurp("/proc/" + std::to_string(pid) + "/stat");
  return std::atoi(stat.c_str() + stat.rfind(')') + 4);
}

}  // namespace cigri::test
