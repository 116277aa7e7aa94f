#include "clusterdb/clusterdb.h"

#include <sql/clusters.h>
#include <sql/users.h>

#include <map>
#include <mutex>

#include "cluster/drivers.h"
#include "clusterdb/relay.h"
#include "clusterdb/user_tokens.h"
#include "core/config.h"
#include "core/error.h"
#include "core/text.h"
#include "secrets/secrets.h"

namespace cigri::clusterdb {

std::vector<ClusterRow> LoadClusters(db::Tx& tx) {
  std::vector<ClusterRow> rows;
  for (const auto& r : tx.Exec(sql::kLoadClusters)) {
    ClusterRow row;
    auto& c = row.config;
    c.id = r.id;
    c.name = r.name;
    c.kind = r.kind;
    c.api_url = r.api_url;
    c.auth_type = r.api_auth_type;
    c.auth_user = r.api_username;
    c.auth_password = r.api_password;
    c.auth_header = r.api_auth_header;
    c.resource_unit = r.resource_unit;
    c.properties = r.properties;
    c.options = nlohmann::json::parse(r.options);
    row.token_command = r.token_command;
    row.home = r.home.value_or("");
    row.api = r.api;
    row.stress_limit = r.stress_limit;
    row.enabled = r.enabled;
    row.min_cycle_s = r.min_cycle_s;
    for (const std::string& column :
         {r.name, r.kind, r.api_url, r.api_auth_type, r.api_username, r.api_password,
          r.api_auth_header, r.token_command, r.resource_unit, r.properties, r.options,
          std::to_string(r.min_cycle_s), r.api, row.home})
      row.fingerprint += column + '\n';
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<std::int64_t> AddCluster(db::Tx& tx, const cluster::Driver& driver,
                                       const std::string& name, const std::string& api_url) {
  const auto rows =
      tx.Exec(sql::kAddCluster, name, driver.kind, api_url, driver.capabilities.dedicated);
  if (rows.empty()) return std::nullopt;
  StoreCapabilities(tx);
  return rows[0].id;
}

void StoreCapabilities(db::Tx& tx) {
  for (const auto& driver : cluster::Drivers()) {
    const auto& c = driver.capabilities;
    tx.Exec(sql::kStoreCapabilities, driver.kind, c.feed, c.exact_walltime, c.dedicated,
            c.time_resolution_s, c.groups, c.output);
  }
}

namespace {

// A cluster of an unknown kind has no driver either: MakeCluster says so.
bool Dedicated(const std::string& kind) {
  const auto* driver = cluster::FindDriver(kind);
  return driver != nullptr && driver->capabilities.dedicated;
}

// Sessions that all drivers of the process share: the statements of a call take much less time than
// the call; one that another host makes has a session as long as it takes.
constexpr int kStatementSessions = 2, kCallSessions = 16;
std::shared_ptr<db::Pool> PoolOf(const std::string& conninfo, int sessions = kStatementSessions) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::weak_ptr<db::Pool>> pools;
  std::lock_guard lock(mutex);
  auto& kept = pools[{conninfo, sessions}];
  auto pool = kept.lock();
  if (!pool) kept = pool = std::make_shared<db::Pool>(conninfo, "cigri calls", sessions);
  return pool;
}

cluster::TokenSource TokensOf(const ClusterRow& row, const std::string& key_file,
                              const std::shared_ptr<db::Pool>& pool) {
  const auto given = [id = row.config.id, key_file, pool](const std::string& user) {
    auto db = pool->Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    const auto found = tx.Exec(sql::kUserClusterToken, id, user);
    if (found.empty()) return std::string();
    return SecretBox(key_file).Decrypt(found[0].token);
  };
  auto tokens = std::make_shared<UserTokens>(row.token_command, given);
  return [tokens](const std::string& user) { return tokens->Of(user); };
}

}  // namespace

std::unique_ptr<cluster::Cluster> MakeDriver(const ClusterRow& row, const std::string& conninfo,
                                             Caller caller) {
  auto config = row.config;
  const auto key_file = SecretKeyFile(Config::Load());
  if (SecretBox::IsEncrypted(config.auth_password)) {
    try {
      config.auth_password = SecretBox(key_file).Decrypt(config.auth_password);
    } catch (const Fatal& e) {
      // A host that has the key may serve it, and make our calls.
      if (caller == Caller::kRunner || conninfo.empty()) throw;
      config.no_password = e.what();
    }
  }
  if (!conninfo.empty() && !row.home.empty() && !StartsWith(row.home, HostName() + ":"))
    config.relay = RelayToHome(row.config.id, conninfo);
  if (conninfo.empty() || Dedicated(config.kind)) return cluster::MakeCluster(config);
  const auto pool = PoolOf(conninfo);
  // A cluster that is tried before it is saved has no row to count on.
  if (!row.api.empty()) config.limiter = MakeLimiter(pool, config.id, config.name, row.api, caller);
  // A runner serves what it reaches itself.
  if (!row.api.empty() && caller != Caller::kRunner)
    config.other_host = HostOfRunner(config.id, {PoolOf(conninfo, kCallSessions), pool}, caller);
  return cluster::MakeCluster(config, TokensOf(row, key_file, pool));
}

std::unique_ptr<cluster::Cluster> MakeDriver(const DriverFactory& factory, const ClusterRow& row,
                                             const std::string& conninfo, Caller caller) {
  return factory ? factory(row) : MakeDriver(row, conninfo, caller);
}

}  // namespace cigri::clusterdb
