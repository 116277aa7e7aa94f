#include "api/submit/admit.h"

#include <algorithm>

#include "core/log.h"
#include "core/text.h"
#include "db/events.h"
#include "jdl/document.h"

namespace cigri::api {
namespace {

constexpr char kTitle[] = "Admission rule error";

Fault ToApi(const jdl::Fault& f) { return {f.line, f.column, f.key, f.message, f.hint}; }

// A campaign as rules see it: with its user, its size, and `type` for what a JDL calls jobs_type.
nlohmann::json ForRules(const jdl::Campaign& campaign, const std::string& user, std::int64_t jobs) {
  nlohmann::json seen = jdl::ToJson(campaign);
  seen["type"] = campaign.type;
  seen.erase("jobs_type");
  seen["user"] = user;
  seen["jobs"] = jobs;
  return seen;
}

nlohmann::json FromRules(nlohmann::json campaign) {
  if (campaign.contains("type")) campaign["jobs_type"] = campaign["type"];
  for (const char* key : {"type", "id", "user", "jobs"}) campaign.erase(key);
  return campaign;
}

// What a rule cannot see stays as it was.
void KeepParameters(jdl::Campaign& to, jdl::Campaign& from) {
  to.source = from.source;
  to.count = from.count;
  to.params = std::move(from.params);
  to.format = from.format;
  to.columns = from.columns;
}

const std::string& UserOf(const GridInfo& info) {
  return info.admission.user.at("name").get_ref<const std::string&>();
}

std::string OneOf(const GridInfo& info, policy::NameKind kind) {
  const auto mine = info.members.NamesOf(kind, UserOf(info));
  if (!mine.empty()) return "one of: " + Join(mine, ", ");
  return "you are a member of none; an operator makes you one with gridadmin member add " +
         UserOf(info) + " " + std::string(policy::ToString(kind)) + " NAME";
}

// GRID-39: a campaign of no group would wait indefinitely.
void RequireGroup(const GridInfo& info, const jdl::Campaign& campaign) {
  const auto kind = policy::NameKind::kSlaGroup;
  if (!info.needs_group || info.members.Knows(kind, campaign.sla_group)) return;
  const std::string what = campaign.sla_group.empty()
                               ? "is missing: this grid shares by groups"
                               : "\"" + jdl::Shown(campaign.sla_group) + "\" is no group";
  RequireNoFaults({{0, 0, "sla_group", what, OneOf(info, kind)}});
}

// Names by which a campaign is counted, each with the key that says it.
struct Name {
  policy::NameKind kind;
  std::string key, name;
  bool operator==(const Name& o) const { return key == o.key && name == o.name; }
};

std::vector<Name> NamesIn(const jdl::Campaign& c) {
  std::vector<Name> names;
  const auto add = [&](policy::NameKind kind, const std::string& key, const std::string& name) {
    if (!name.empty()) names.push_back({kind, key, name});
  };
  add(policy::NameKind::kProject, "share_project", c.share_project);
  add(policy::NameKind::kClass, "class", c.cls);
  add(policy::NameKind::kSlaGroup, "sla_group", c.sla_group);
  for (const auto& [pool, n] : c.licences)
    add(policy::NameKind::kLicence, "licences." + jdl::Shown(pool), pool);
  return names;
}

// `project` is the clusters' word, as in CiGri 3: it counts for the share only where its user is a
// member. So a name that was made for a cluster neither fails nor makes a branch of its own.
std::string ShareProject(const GridInfo& info, const jdl::Campaign& c) {
  if (!c.share_project.empty()) return c.share_project;
  const std::string& user = UserOf(info);
  if (info.members.Has(policy::NameKind::kProject, c.project, user)) return c.project;
  return info.members.ProjectOf(user);
}

Admitted Finish(const GridInfo& info, Admitted admitted) {
  RequireGroup(info, admitted.campaign);
  admitted.share_project = ShareProject(info, admitted.campaign);
  const std::string& project = admitted.campaign.project;
  if (!project.empty() && project != admitted.share_project &&
      info.members.AnyOf(policy::NameKind::kProject))
    admitted.notes.push_back(
        "project: \"" + jdl::Shown(project) +
        "\" is passed to the clusters; the campaign counts for " +
        (admitted.share_project.empty() ? "no project" : admitted.share_project) +
        " (share_project names a project that you are a member of)");
  return admitted;
}

void ReportBroken(Context& context, const rules::Verdict& verdict) {
  log::error("admission: {}", verdict.message);
  context.Transact([&](db::Tx& tx) {
    db::RaiseEvent(tx, {.cls = "cluster",
                        .code = "RULE_BROKEN",
                        .message = ValidUtf8(verdict.message),
                        .fingerprint = std::to_string(verdict.rule_id)});
  });
}

// A rule that has no memory for a campaign is not broken: nobody is notified.
void RequireRoomForRules(const std::vector<rules::Rule>& list, const nlohmann::json& seen,
                         const rules::Limits& limits) {
  const std::size_t most = limits.memory_bytes / 2;
  if (list.empty() || seen.dump().size() <= most) return;
  throw ApiError(400, kTitle,
                 "the campaign, with what each of its clusters gets, has more than the " +
                     std::to_string(most >> 20) + " MB that admission rules take",
                 "put into a file what the jobs read");
}

}  // namespace

void RequireNoFaults(const std::vector<jdl::Fault>& faults, const std::string& title) {
  if (faults.empty()) return;
  std::vector<Fault> list;
  for (const auto& f : faults) list.push_back(ToApi(f));
  const auto& first = faults.front();
  std::string message =
      "Error submitting campaign: " + (first.key.empty() ? "" : first.key + ": ") + first.message;
  if (faults.size() > 1) message += " (and " + std::to_string(faults.size() - 1) + " more)";
  throw ApiError(400, title, message, first.hint, std::move(list));
}

std::string NoteOf(const jdl::Fault& warning) {
  std::string note = (warning.key.empty() ? "" : warning.key + ": ") + warning.message;
  return warning.hint.empty() ? note : note + " (" + warning.hint + ")";
}

void RequireMayGive(const Request& request, const GridInfo& info, int before, int after) {
  if (request.caller.is_operator || after <= std::max(before, info.user_priority)) return;
  throw ApiError(403, "Forbidden",
                 "priority " + std::to_string(after) + " is more than you may give",
                 "up to " + std::to_string(std::max(before, info.user_priority)) +
                     " is allowed; operators give more (gridmod -p)");
}

void RequireMember(const GridInfo& info, const jdl::Campaign& campaign, const jdl::Campaign& before,
                   bool by_operator) {
  std::vector<jdl::Fault> faults;
  const auto had = NamesIn(before);
  for (const auto& n : NamesIn(campaign)) {
    if (std::find(had.begin(), had.end(), n) != had.end()) continue;
    const std::string kind(policy::ToString(n.kind)), shown = "\"" + jdl::Shown(n.name) + "\"";
    if (!info.members.Knows(n.kind, n.name))
      faults.push_back({0, 0, n.key, "there is no " + kind + " " + shown, OneOf(info, n.kind)});
    else if (!by_operator && !info.members.Has(n.kind, n.name, UserOf(info)))
      faults.push_back(
          {0, 0, n.key, "you are no member of " + kind + " " + shown,
           "an operator can change that: gridadmin member add " + UserOf(info) + " " + kind + " " +
               jdl::Shown(n.name)});
  }
  RequireNoFaults(faults);
}

Admitted Admit(Context& context, const GridInfo& info, jdl::Campaign campaign, std::int64_t jobs) {
  const auto& [list, user, grid, reported_broken] = info.admission;
  const auto seen = ForRules(campaign, user.at("name"), jobs);
  RequireRoomForRules(list, seen, context.rule_limits);
  const auto verdict = rules::Admit(list, seen, user, grid, context.rule_limits);
  if (!verdict.ok()) {
    const bool broken = verdict.outcome == rules::Outcome::kBroken;
    if (broken) ReportBroken(context, verdict);
    throw ApiError(
        400, kTitle, verdict.message,
        broken ? "tell the grid's operators: the rule is broken, not your campaign" : "");
  }
  if (reported_broken)
    context.Transact([](db::Tx& tx) { db::CloseEvents(tx, "api", {.codes = {"RULE_BROKEN"}}); });
  Admitted out{std::move(campaign), verdict.notes, verdict.changes, ""};
  if (verdict.campaign == seen) return Finish(info, std::move(out));
  auto again = jdl::FromJson(FromRules(verdict.campaign), info.defaults);
  RequireNoFaults(again.faults, kTitle);
  KeepParameters(again.campaign, out.campaign);
  out.campaign = std::move(again.campaign);
  return Finish(info, std::move(out));
}

}  // namespace cigri::api
