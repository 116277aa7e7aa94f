// Admission rules as the API uses them: rows of the database, and what a rule may know.
#pragma once
#include <string>
#include <vector>

#include "api/http/context.h"
#include "rules/rules.h"

namespace cigri::api {

/// All that rules::Admit needs besides the campaign; loaded in one transaction, before it runs.
struct Admission {
  std::vector<rules::Rule> rules;  ///< those in force and on trial
  nlohmann::json user, grid;
  bool reported_broken = false;  ///< an event RULE_BROKEN is open
  rules::Verdict Admit(const nlohmann::json& campaign) const {
    return rules::Admit(rules, campaign, user, grid);
  }
};
/// `user` is the campaign's. The fields are those of docs/admission-rules.md.
Admission LoadAdmission(db::Tx& tx, const std::string& user);

/// Adds the shipped rules that this grid has never had; for `cigri up` after a migration.
void InstallShippedRules(db::Tx& tx);

}  // namespace cigri::api
