#include "api/submit/grid_info.h"

#include <sql/clusters.h>
#include <sql/policy.h>
#include <sql/users.h>

#include "core/error.h"
#include "core/text.h"
#include "policy/campaign_scheduler.h"

namespace cigri::api {
namespace {

ClusterTarget ClusterOf(const sql::ClustersForSubmissionRow& row) {
  ClusterTarget c;
  c.id = row.id;
  c.name = row.name;
  c.kind = row.kind;
  c.mode = row.mode;
  c.resource_unit = row.resource_unit;
  c.login = row.cluster_login;
  c.enabled = row.enabled;
  c.drained = row.drained;
  c.failing = row.failing;
  c.drain_reason = row.drain_reason.value_or("");
  c.max_resources = row.max_resources;
  c.free_resources = row.free_resources;
  c.needs_token = row.needs_token;
  c.has_token = row.has_token;
  c.token_s = row.token_s;
  return c;
}

jdl::ClusterDefaults DefaultsOf(const sql::ClustersForSubmissionRow& row) {
  jdl::ClusterDefaults d;
  d.resources = row.default_resources;
  d.resource_unit = row.resource_unit;
  return d;
}

jdl::Defaults GridDefaults(const Config& config) {
  jdl::Defaults d;
  d.resources = config.Get("DEFAULT_JOB_RESOURCES", d.resources);
  d.schedulers = policy::SelectableSchedulers();
  if (config.Has("DEFAULT_JOB_WALLTIME")) {
    const auto walltime = ParseWalltime(config.Get("DEFAULT_JOB_WALLTIME"));
    if (!walltime)
      throw Fatal(kExitConfig, "DEFAULT_JOB_WALLTIME is no walltime", "write 01:00:00 or 3600");
    d.walltime_s = *walltime;
  }
  return d;
}

// A row that somebody broke by hand counts as not set.
policy::PolicyConfig LoadPolicy(db::Tx& tx) {
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : tx.Exec(sql::kPolicySettings))
    rows[row.key] = nlohmann::json::parse(row.value);
  return policy::ParseConfig(rows).config;
}

}  // namespace

std::vector<policy::Member> LoadMembers(db::Tx& tx) {
  std::vector<policy::Member> members;
  for (const auto& row : tx.Exec(sql::kMembers))
    members.push_back({row.grid_user, policy::NameKindOf(row.kind).value(), row.name});
  return members;
}

std::string ClusterTarget::State() const {
  if (!enabled) return "disabled";
  if (drained) return "drained";
  return failing ? "not answering" : mode;
}

GridInfo LoadGridInfo(db::Tx& tx, const Config& settings, const std::string& user) {
  GridInfo info;
  info.defaults = GridDefaults(settings);
  info.admission = LoadAdmission(tx, user);
  info.user_priority = tx.One(sql::kHighestUserPriority).priority;
  for (const auto& row : tx.Exec(sql::kClustersForSubmission, user)) {
    const ClusterTarget c = ClusterOf(row);
    info.defaults.clusters[c.name] = DefaultsOf(row);
    info.clusters[c.name] = c;
  }
  const auto config = LoadPolicy(tx);
  info.members = policy::Members(config, LoadMembers(tx));
  info.needs_group = config.policy == policy::PolicyKind::kSla;
  return info;
}

}  // namespace cigri::api
