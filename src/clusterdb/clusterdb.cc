#include "clusterdb/clusterdb.h"

#include <sql/clusterdb.h>

#include "core/config.h"
#include "secrets/secrets.h"

namespace cigri::clusterdb {

std::vector<ClusterRow> LoadClusters(db::Tx& tx) {
  std::vector<ClusterRow> rows;
  for (const auto& r : tx.Exec(sql::clusterdb::kClusters)) {
    ClusterRow row;
    auto& c = row.config;
    c.id = r["id"].as<std::int64_t>();
    c.name = r["name"].as<std::string>();
    c.kind = r["kind"].as<std::string>();
    c.api_url = r["api_url"].as<std::string>();
    c.auth_type = r["api_auth_type"].as<std::string>();
    c.auth_user = r["api_username"].as<std::string>();
    c.auth_password = r["api_password"].as<std::string>();
    c.auth_header = r["api_auth_header"].as<std::string>();
    c.resource_unit = r["resource_unit"].as<std::string>();
    c.properties = r["properties"].as<std::string>();
    c.options = nlohmann::json::parse(r["options"].as<std::string>());
    row.token_command = r["token_command"].as<std::string>();
    row.enabled = r["enabled"].as<bool>();
    row.min_round_s = r["min_round_s"].as<double>();
    for (const char* column : {"name", "kind", "api_url", "api_auth_type", "api_username",
                               "api_password", "api_auth_header", "token_command", "resource_unit",
                               "properties", "options", "min_round_s"})
      row.fingerprint += r[column].c_str() + std::string(1, '\n');
    rows.push_back(std::move(row));
  }
  return rows;
}

std::unique_ptr<cluster::Cluster> MakeDriver(const ClusterRow& row, const std::string& conninfo) {
  auto config = row.config;
  const auto key_file = SecretKeyFile(Config::Load());
  if (SecretBox::IsEncrypted(config.auth_password))
    config.auth_password = SecretBox(key_file).Decrypt(config.auth_password);
  if (conninfo.empty()) return cluster::MakeCluster(config);
  return cluster::MakeCluster(config, [id = config.id, conninfo, key_file](const std::string& user) {
    db::Connection connection(conninfo, "cigri token");
    db::Tx tx(connection);
    const auto found = tx.Exec(sql::clusterdb::kUserToken, id, user);
    if (found.empty()) return std::string();
    return SecretBox(key_file).Decrypt(found[0][0].as<std::string>());
  });
}

}  // namespace cigri::clusterdb
