// The way of a campaign through the JDL's checks and the grid's admission rules.
#pragma once
#include <string>
#include <vector>

#include "api/http/context.h"
#include "api/http/message.h"
#include "api/submit/grid_info.h"

namespace cigri::api {

/// A campaign that may be stored.
struct Admitted {
  jdl::Campaign campaign;
  std::vector<std::string> notes;    ///< for the user: warnings, what rules said
  std::vector<std::string> changes;  ///< what rules changed
  std::string share_project;         ///< what it counts for, "" = none
};

/// Throws 400 with all faults unless there are none.
void RequireNoFaults(const std::vector<jdl::Fault>& faults, const std::string& title = "Error");
/// "priority: no number" and a hint behind it, as a note.
std::string NoteOf(const jdl::Fault& warning);

/// Throws 403 when the caller may not make a priority of `before` one of `after`: users lower it as
/// they like and raise it to user_priority of the policy, operators do what they like (TECH-27).
void RequireMayGive(const Request& request, const GridInfo& info, int before, int after);

/// Throws 400 when `campaign` names a project (share_project), class, group or licence pool that
/// nobody knows, or, unless an operator asks, one that its user is no member of. What it named
/// `before` stays: a rule may have said it. A rule gives any name.
void RequireMember(const GridInfo& info, const jdl::Campaign& campaign, const jdl::Campaign& before,
                   bool by_operator);

/// Runs the rules on `campaign` with its `jobs` parameters and checks what they left. Throws 400
/// "Admission rule error" when a rule refuses, or left something that is no campaign any more.
/// Takes as long as the rules: not inside a transaction. A rule that does not run is reported to
/// the operators (RULE_BROKEN) until a campaign has passed all rules.
Admitted Admit(Context& context, const GridInfo& info, jdl::Campaign campaign, std::int64_t jobs);

}  // namespace cigri::api
