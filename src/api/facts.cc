#include "api/facts.h"

#include <sql/api.h>

#include "core/error.h"
#include "core/text.h"

namespace cigri::api {
namespace {

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
  c.needs_token = row["needs_token"].as<bool>();
  c.has_token = row["has_token"].as<bool>();
  c.token_s = db::Opt<double>(row["token_s"]);
  return c;
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

Facts LoadFacts(db::Tx& tx, const Config& config, const std::string& user) {
  Facts facts;
  facts.defaults = GridDefaults(config);
  facts.admission = LoadAdmission(tx, user);
  facts.user_priority = tx.Exec(sql::api::kUserPriority)[0][0].as<int>();
  for (const auto& row : tx.Exec(sql::api::kClustersFacts, user)) {
    const ClusterFacts c = ClusterOf(row);
    facts.defaults.clusters[c.name] = DefaultsOf(row);
    facts.clusters[c.name] = c;
  }
  for (const auto& row : tx.Exec(sql::api::kSlaGroups)) {
    if (!facts.sla_groups) facts.sla_groups.emplace();
    facts.sla_groups->push_back(row[0].as<std::string>());
  }
  return facts;
}

}  // namespace cigri::api
