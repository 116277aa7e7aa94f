#include <sql/cluster_status.h>
#include <sql/grid.h>
#include <sql/leases.h>
#include <sql/servers.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "core/error.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"

namespace cigri::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::int64_t DiskBytes(const std::string& folder) {
  std::int64_t bytes = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator
           it(folder, fs::directory_options::skip_permission_denied, failed),
       end;
       !failed && it != end; it.increment(failed))
    if (std::error_code gone; it->is_regular_file(gone))
      bytes += static_cast<std::int64_t>(it->file_size(gone));
  return bytes;
}

json ProcessesOf(const embedded::Home& home) {
  auto processes = embedded::GridProcesses(home);
  std::int64_t pss = 0;
  double cpu = 0, age = 0;  // the oldest is the server, the others are its sessions
  const auto server = embedded::PostgresProcesses(home);
  for (const auto& process : server) {
    pss += process.pss_kb, cpu += process.cpu_s;
    age = std::max(age, process.age_s);
  }
  if (const int pid = embedded::PostgresPid(home); pid != 0)
    processes.push_back({pid, 1, "postgres",
                         "PostgreSQL, " + std::to_string(server.size()) + " processes", age, pss,
                         cpu});
  json out = json::array();
  for (const auto& p : processes)
    out.push_back({{"name", p.name},
                   {"pid", p.pid},
                   {"age_s", p.age_s},
                   {"pss_mb", static_cast<double>(p.pss_kb) / 1024},
                   {"cpu_s", p.cpu_s},
                   {"command", p.command}});
  return out;
}

template <typename T>
json ValueJson(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
template <typename T>
json ValueJson(const T& value) {
  return value;
}

// The columns of a row by their names.
template <typename Row>
json RowJson(const Row& row) {
  json out = json::object();
  row.Each([&](const char* name, const auto& value) { out[name] = ValueJson(value); });
  return out;
}

void ReadDatabase(const Database& database, json& status) {
  try {
    const auto connection = Open(database);
    db::RequireSchema(*connection);
    db::Tx tx(*connection);
    status["grid"] = RowJson(tx.One(sql::kGridStatus));
    status["server"] = RowJson(tx.One(sql::kDatabaseServer));
    for (const auto& row : tx.Exec(sql::kDatabaseStandbys))
      status["standbys"].push_back(RowJson(row));
    for (const auto& row : tx.Exec(sql::kClusterHealth)) status["clusters"].push_back(RowJson(row));
    for (const auto& row : tx.Exec(sql::kShowRunners)) status["runners"].push_back(RowJson(row));
    for (const auto& row : tx.Exec(sql::kModuleStatus)) status["modules"].push_back(RowJson(row));
    for (const auto& row : tx.Exec(sql::kModuleEnds)) status["ended"].push_back(RowJson(row));
  } catch (const Fatal& e) {
    status["error"] = e.what() + (e.hint().empty() ? "" : "; " + e.hint());
  }
}

std::string ModuleText(const json& status, const std::string& name, int pid) {
  for (const auto& module : status.value("modules", json::array()))
    if (module["name"] == name && module["pid"] == pid && module["idle_s"].is_number())
      return Pluralize(module["passes"].get<std::int64_t>(), "pass", "passes") + ", the last " +
             HumanDuration(module["idle_s"].get<double>()) + " ago";
  return "";
}

void PrintProcesses(const json& status) {
  std::printf("%-14s %8s %12s %8s %9s\n", "PROCESS", "PID", "AGE", "MB", "CPU");
  double mb = 0;
  for (const auto& p : status["processes"]) {
    const std::string name = p["name"], command = p["command"];
    std::string text = ModuleText(status, name, p["pid"]);
    if (name == "almighty")
      text = command.find("--standby") != command.npos ? "started to stand by" : "";
    if (name == "postgres") text = command;
    if (const auto at = command.find("--name "); at != command.npos)
      text = Split(command.substr(at + 7), ' ').front();
    mb += p["pss_mb"].get<double>();
    std::printf("%-14s %8d %12s %8.1f %7.1f s  %s\n", name.c_str(), p["pid"].get<int>(),
                HumanDuration(p["age_s"].get<double>()).c_str(), p["pss_mb"].get<double>(),
                p["cpu_s"].get<double>(), text.c_str());
  }
  std::printf("%-14s %8s %12s %8.1f\n", "all", "", "", mb);
}

// Modules that end as soon as they are started: the table above shows them for moments only.
void PrintEnded(const json& status) {
  for (const auto& m : status.value("ended", json::array()))
    std::printf("%s DOES NOT RUN: %s\n", m["name"].get<std::string>().c_str(),
                m.value("why", json("")).get<std::string>().c_str());
}

void PrintClusters(const json& status) {
  for (const auto& c : status.value("clusters", json::array())) {
    std::string text = c["enabled"].get<bool>() ? c["mode"].get<std::string>() : "disabled";
    if (c["drained"].get<bool>()) text = "drained: " + c["drain_reason"].get<std::string>();
    if (c["polled_s"].is_number())
      text += ", seen " + HumanDuration(c["polled_s"].get<double>()) + " ago";
    if (c["failing_s"].is_number()) text += ", FAILING: " + c.value("error", json("")).dump();
    std::printf("cluster %-12s %-6s %s\n", c["name"].get<std::string>().c_str(),
                c["kind"].get<std::string>().c_str(), text.c_str());
  }
}

// Which host serves which clusters.
void PrintRunners(const json& status) {
  if (!status.contains("runners") && !status.contains("error"))
    std::printf("NO RUNNER runs: no job is sent\n");
  for (const auto& r : status.value("runners", json::array())) {
    const auto clusters = r["clusters"].get<std::vector<std::string>>();
    const std::string names = clusters.empty() ? "no cluster" : Join(clusters, ", ");
    std::printf("runner on %s (%d) serves %s\n", r["host"].get<std::string>().c_str(),
                r["pid"].get<int>(), names.c_str());
  }
}

void PrintServer(const json& status) {
  const auto& server = status["server"];
  std::printf("  server at %s, PostgreSQL %s, started %s ago\n",
              server["address"].get<std::string>().c_str(),
              server["version"].get<std::string>().c_str(),
              HumanDuration(server["up_s"].get<double>()).c_str());
  for (const auto& s : status.value("standbys", json::array())) {
    if (!server["sees_standbys"].get<bool>()) {
      std::printf("  standby %s: this role may not see more; GRANT pg_monitor TO it\n",
                  s["name"].get<std::string>().c_str());
      continue;
    }
    std::string text = s["synchronous"].get<bool>() ? "synchronous" : "asynchronous";
    text += ", " + s["state"].get<std::string>();
    if (s["behind_bytes"].is_number()) {
      char behind[64];
      std::snprintf(behind, sizeof behind, ", %.1f MB behind",
                    s["behind_bytes"].get<double>() / 1048576);
      text += behind;
    }
    if (s["behind_s"].is_number()) text += ", " + HumanDuration(s["behind_s"].get<double>());
    std::printf("  standby %s of %s: %s\n", s["name"].get<std::string>().c_str(),
                s["address"].get<std::string>().c_str(), text.c_str());
  }
}

void Print(const json& status) {
  PrintProcesses(status);
  if (status.contains("error")) {
    std::printf("database: %s\n", status["error"].get<std::string>().c_str());
  } else {
    const auto& g = status["grid"];
    std::printf("grid %s, epoch %lld, led by %s; %lld campaigns at work, %lld jobs in flight\n",
                g["grid_id"].dump().c_str(), g["epoch"].get<long long>(),
                g["leader"].is_null() ? "nobody" : g["leader"].get<std::string>().c_str(),
                g["campaigns"].get<long long>(), g["live"].get<long long>());
    std::printf("database: %s, %.1f MB\n", status["database"].get<std::string>().c_str(),
                g["bytes"].get<double>() / 1048576);
    PrintServer(status);
    PrintEnded(status);
  }
  PrintRunners(status);
  PrintClusters(status);
  std::printf("jobs of embedded clusters running: %d\n", status["jobs"].get<int>());
  std::printf("disk: %.1f MB in %s\n", status["disk_mb"].get<double>(),
              status["home"].get<std::string>().c_str());
}

}  // namespace

int Status(bool as_json) {
  const auto home = OwnHome();
  const auto database = KnownDatabase(home, Config::Load());
  json status{{"home", home.dir}, {"database", database.name}};
  status["processes"] = ProcessesOf(home);
  status["jobs"] = embedded::JobProcesses(home).size();
  status["disk_mb"] = static_cast<double>(DiskBytes(home.dir)) / 1048576;
  const bool up = !status["processes"].empty();
  if (up || !database.own) ReadDatabase(database, status);
  if (as_json) {
    std::printf("%s\n", status.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  } else if (!up) {
    std::printf("the grid is down (%s); start it with `cigri up`\n", home.dir.c_str());
  } else {
    Print(status);
  }
  return up ? kExitOk : kExitNo;
}

}  // namespace cigri::cli
