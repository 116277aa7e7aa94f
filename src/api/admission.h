<<<<<<< HEAD
// The way of a campaign through the JDL's checks and the grid's admission rules.
=======
// Admission rules as the API uses them: rows of the database, and what a rule may know.
>>>>>>> main
#pragma once
#include <string>
#include <vector>

#include "api/context.h"
<<<<<<< HEAD
#include "api/facts.h"
#include "api/message.h"

namespace cigri::api {

/// A campaign that may be stored.
struct Admitted {
  jdl::Campaign campaign;
  std::vector<std::string> notes;    ///< for the user: warnings, what rules said
  std::vector<std::string> changes;  ///< what rules changed
};

/// Throws 400 with all faults unless there are none.
void RequireNoFaults(const std::vector<jdl::Fault>& faults, const std::string& title = "Error");
/// "priority: no number" and a hint behind it, as a note.
std::string NoteOf(const jdl::Fault& warning);

/// Runs the rules on `campaign` with its `jobs` parameters and checks what they left. Throws 400
/// "Admission rule error" when a rule refuses, or left something that is no campaign any more.
/// Takes as long as the rules: not inside a transaction.
Admitted Admit(const Context& context, const Facts& facts, jdl::Campaign campaign,
               std::int64_t jobs);
=======
#include "rules/rules.h"

namespace cigri::api {

/// All that rules::Admit needs beside the campaign; loaded in one transaction, before it runs.
struct Admission {
  std::vector<rules::Rule> rules;  ///< those in force and on trial
  nlohmann::json user, grid;
  rules::Verdict Admit(const nlohmann::json& campaign) const {
    return rules::Admit(rules, campaign, user, grid);
  }
};
/// `user` is the campaign's. The fields are those of docs/admission-rules.md.
Admission LoadAdmission(db::Tx& tx, const std::string& user);

/// Adds the shipped rules that this grid has never had; for `cigri up` after a migration.
void InstallShippedRules(db::Tx& tx);
>>>>>>> main

}  // namespace cigri::api
