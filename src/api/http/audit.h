// What users ask for, in the table of changes.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "db/db.h"

namespace cigri::api {

/// Records that the caller of this request did `action` ("retried") to `subject` ("campaign 12"),
/// and what came of it. For what changes no row of a table that has the trigger `audited`.
void AddAudit(db::Tx& tx, const std::string& action, const std::string& subject,
              const nlohmann::json& what);

}  // namespace cigri::api
