#include "api/facts.h"

#include <grp.h>
#include <pwd.h>
#include <sql/api.h>

#include "core/error.h"
#include "core/text.h"

namespace cigri::api {
namespace {

std::vector<std::string> GroupsOf(const std::string& user) {
  char buffer[4096];
  passwd pw{}, *found = nullptr;
  if (getpwnam_r(user.c_str(), &pw, buffer, sizeof buffer, &found) != 0 || found == nullptr)
    return {};
  std::vector<gid_t> ids(256);
  int n = static_cast<int>(ids.size());
  if (getgrouplist(user.c_str(), pw.pw_gid, ids.data(), &n) < 0) n = static_cast<int>(ids.size());
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) {
    group gr{}, *known = nullptr;
    std::vector<char> space(65536);  // a group may have many members
    if (getgrgid_r(ids[static_cast<std::size_t>(i)], &gr, space.data(), space.size(), &known) ==
            0 &&
        known != nullptr)
      names.emplace_back(gr.gr_name);
  }
  return names;
}

nlohmann::json UserJson(db::Tx& tx, const std::string& user, bool is_operator) {
  const auto row = tx.Exec(sql::api::kUserFacts, user)[0];
  nlohmann::json json{{"name", user}, {"groups", GroupsOf(user)}, {"operator", is_operator}};
  for (const char* number :
       {"active_campaigns", "active_test_campaigns", "running_jobs", "waiting_jobs"})
    json[number] = row[number].as<std::int64_t>();
  return json;
}

ClusterFacts ClusterOf(const pqxx::row& row) {
  ClusterFacts c;
  c.id = row["id"].as<std::int64_t>();
  c.name = row["name"].as<std::string>();
  c.kind = row["kind"].as<std::string>();
  c.mode = row["mode"].as<std::string>();
  c.resource_unit = row["resource_unit"].as<std::string>();
  c.login = row["cluster_login"].as<std::string>();
  c.enabled = row["enabled"].as<bool>();
  c.drained = row["drained"].as<bool>();
  c.failing = row["failing"].as<bool>();
  c.drain_reason = row["drain_reason"].as<std::string>("");
  c.max_resources = db::Opt<int>(row["max_resources"]);
  c.free_resources = db::Opt<int>(row["free_resources"]);
  return c;
}

// What rules see of a cluster: its options (max_walltime, ...) and what it is.
nlohmann::json ClusterJson(const pqxx::row& row, const ClusterFacts& c) {
  auto json = nlohmann::json::parse(row["options"].as<std::string>(), nullptr, false);
  if (!json.is_object()) json = nlohmann::json::object();
  json.update({{"id", c.id},
               {"kind", c.kind},
               {"state", c.State()},
               {"resource_unit", c.resource_unit},
               {"power", row["power"].as<int>()}});
  if (c.max_resources) json["resources"] = *c.max_resources;
  return json;
}

jdl::ClusterDefaults DefaultsOf(const pqxx::row& row) {
  jdl::ClusterDefaults d;
  d.resources = db::Opt<std::string>(row["default_resources"]);
  d.resource_unit = row["resource_unit"].as<std::string>();
  return d;
}

jdl::Defaults GridDefaults(const Config& config) {
  jdl::Defaults d;
  d.resources = config.Get("DEFAULT_JOB_RESOURCES", d.resources);
  if (config.Has("DEFAULT_JOB_WALLTIME")) {
    const auto walltime = ParseWalltime(config.Get("DEFAULT_JOB_WALLTIME"));
    if (!walltime)
      throw Fatal(kExitConfig, "DEFAULT_JOB_WALLTIME is no walltime", "write 01:00:00 or 3600");
    d.walltime_s = *walltime;
  }
  return d;
}

}  // namespace

std::string ClusterFacts::State() const {
  if (!enabled) return "disabled";
  if (drained) return "drained";
  return failing ? "not answering" : mode;
}

Facts LoadFacts(db::Tx& tx, const Config& config, const std::string& user, bool is_operator) {
  Facts facts;
  facts.defaults = GridDefaults(config);
  facts.user = UserJson(tx, user, is_operator);
  facts.grid = {{"clusters", nlohmann::json::object()}};
  for (const auto& row : tx.Exec(sql::api::kClustersFacts, user)) {
    const ClusterFacts c = ClusterOf(row);
    facts.grid["clusters"][c.name] = ClusterJson(row, c);
    facts.defaults.clusters[c.name] = DefaultsOf(row);
    facts.clusters[c.name] = c;
  }
  for (const auto& row : tx.Exec(sql::api::kAdmissionRules))
    facts.rules.push_back({row["id"].as<std::int64_t>(), row["name"].as<std::string>(),
                           row["code"].as<std::string>(), row["priority"].as<int>(),
                           rules::ModeFromString(row["mode"].as<std::string>()).value()});
  return facts;
}

}  // namespace cigri::api
