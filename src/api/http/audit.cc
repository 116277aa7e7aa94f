#include "api/http/audit.h"

#include <sql/audit.h>

#include <nlohmann/json.hpp>

namespace cigri::api {

void AddAudit(db::Tx& tx, const std::string& action, const std::string& subject,
              const nlohmann::json& what) {
  tx.Exec(sql::kAddAudit, action, subject,
          what.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace cigri::api
