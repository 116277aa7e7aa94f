#include "api/http/audit.h"

#include <sql/audit.h>

#include <nlohmann/json.hpp>

namespace cigri::api {

void AddAudit(db::Tx& tx, const std::string& action, const std::string& subject,
              const nlohmann::json& what) {
  tx.Exec(sql::kAddAudit, action, subject, OneLine(what));
}

}  // namespace cigri::api
