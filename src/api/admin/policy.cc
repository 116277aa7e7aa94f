// The policy: rows that operators edit, taken only when they are right as a whole.
#include <fmt/format.h>
#include <sql/cluster_status.h>
#include <sql/policy.h>
#include <sql/usage.h>

#include <cmath>

#include "api/admin/admin.h"
#include "api/read/read.h"
#include "core/log.h"
#include "core/text.h"
#include "policy/config.h"
#include "policy/fairtree.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using PolicyRows = std::map<std::string, json>;

PolicyRows Load(db::Tx& tx) {
  PolicyRows rows;
  for (const auto& row : tx.Exec(sql::kPolicySettingsWithAuthor))
    rows[row.key] = json::parse(row.value);
  return rows;
}

json FaultJson(const policy::Fault& fault) {
  return {{"key", fault.key}, {"message", fault.message}, {"hint", fault.hint}};
}

std::string Line(const policy::Fault& fault) {
  return fault.key + ": " + fault.message + (fault.hint.empty() ? "" : " (" + fault.hint + ")");
}

std::vector<policy::Fault> FaultsOf(const PolicyRows& rows, policy::PolicyConfig* config) {
  auto parsed = policy::ParseConfig(rows);
  auto faults = parsed.faults;
  for (auto& fault : policy::ValidateConfig(parsed.config)) faults.push_back(fault);
  *config = parsed.config;
  return faults;
}

Reply ShowPolicy(Context& context, const Request&) {
  const PolicyRows rows = context.Transact([](db::Tx& tx) { return Load(tx); });
  json settings = json::object();
  std::string text;
  for (const auto& key : policy::KnownKeys()) {
    const auto it = rows.find(key.key);
    const json& value = it == rows.end() ? key.fallback : it->second;
    settings[key.key] = value;
    text += key.key + " = " + value.dump() + (it == rows.end() ? "" : "   (set)") + "\n";
  }
  if (!text.empty()) text.pop_back();
  return Reply::Json({{"settings", settings}, {"text", text}});
}

Reply Explain(Context& context, const Request&) {
  const PolicyRows rows = context.Transact([](db::Tx& tx) { return Load(tx); });
  std::string text;
  json items = json::array();
  for (const auto& key : policy::KnownKeys()) {
    const auto it = rows.find(key.key);
    const json& value = it == rows.end() ? key.fallback : it->second;
    items.push_back(
        {{"key", key.key}, {"type", key.type}, {"value", value}, {"meaning", key.meaning}});
    text += key.key + " = " + value.dump() + "\n    " + key.meaning + "\n";
  }
  if (!text.empty()) text.pop_back();
  return Reply::Json({{"items", items}, {"text", text}});
}

Reply Lint(Context& context, const Request&) {
  const PolicyRows rows = context.Transact([](db::Tx& tx) { return Load(tx); });
  policy::PolicyConfig config;
  const auto faults = FaultsOf(rows, &config);
  json items = json::array();
  std::string text;
  for (const auto& fault : faults) {
    items.push_back(FaultJson(fault));
    text += "fault: " + Line(fault) + "\n";
  }
  json warnings = json::array();
  for (const auto& odd : policy::LintConfig(config)) {
    warnings.push_back(FaultJson(odd));
    text += "warning: " + Line(odd) + "\n";
  }
  if (text.empty()) text = "nothing to say\n";
  text.pop_back();
  return Reply::Json(
      {{"ok", faults.empty()}, {"faults", items}, {"warnings", warnings}, {"text", text}});
}

Reply PolicyHistory(Context& context, const Request&) {
  return context.Transact([](db::Tx& tx) { return Items(tx.Exec(sql::kPolicyHistory)); });
}

Reply ListPresets(Context&, const Request&) {
  json items = json::array();
  std::string text;
  for (const auto& preset : policy::Presets()) {
    json rows = json::object();
    for (const auto& [key, value] : preset.rows) rows[key] = value;
    items.push_back({{"name", preset.name}, {"meaning", preset.meaning}, {"settings", rows}});
    text += preset.name + ": " + preset.meaning + "\n    " + rows.dump() + "\n";
  }
  if (!text.empty()) text.pop_back();
  return Reply::Json({{"items", items}, {"text", text}});
}

// Campaign schedulers that a JDL can select.
Reply Schedulers(Context&, const Request&) {
  json items = json::array();
  std::string text;
  for (const auto& type : policy::SchedulerTypes()) {
    if (type.use != policy::SchedulerType::Use::kJdl) continue;
    items.push_back({{"name", type.name}, {"description", type.description}});
    text += (text.empty() ? "" : "\n") + type.name + ": " + type.description;
  }
  return Reply::Json({{"items", items}, {"text", text}});
}

std::string SharesText(const json& body) {
  std::string out;
  if (!body["utilisation"].is_null())
    out = fmt::format("our jobs had {:.1f} % of the slots that were up and left by local users\n\n",
                      body["utilisation"].get<double>() * 100);
  out += fmt::format("{:<16} {:<16} {:>8} {:>8} {:>8} {:>12} {:>9} {:>11}\n", "user", "project",
                     "due", "had", "error", "slot hours", "running", "waiting");
  for (const auto& i : body["items"]) {
    const double due = i["due"], had = i["had"];
    out += fmt::format("{:<16} {:<16} {:>6.1f} % {:>6.1f} % {:>+6.1f} % {:>12.2f} {:>9} {:>11}\n",
                       i["user"].get<std::string>(), i["project"].get<std::string>(), due * 100,
                       had * 100, (had - due) * 100, i["slot_s"].get<double>() / 3600,
                       i["running"].get<std::int64_t>(), i["waiting"].get<std::int64_t>());
  }
  out += fmt::format(
      "\nshare error {:.1f} %: what some had above what they were due, of the last {}",
      body["share_error"].get<double>() * 100, HumanDuration(body["window_s"].get<double>()));
  if (!body["aimed_at"].get<bool>())
    out +=
        fmt::format("\npolicy {} does not aim at these shares", body["policy"].get<std::string>());
  return out;
}

// FAIR-02, FAIR-04: what an operator would compute by hand when users complain.
Reply Shares(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    policy::PolicyConfig config;
    FaultsOf(Load(tx), &config);
    const auto window = request.QueryInt(
        "window", static_cast<std::int64_t>(config.fairshare_window_s), 1, 366 * 86400);
    const auto rows = tx.Exec(sql::kSharesByUser, window);
    std::vector<std::pair<std::string, std::string>> users;
    double all = 0;
    for (const auto& row : rows) {
      users.emplace_back(row.project, row.grid_user);
      all += row.slot_s;
    }
    const auto due = policy::DueParts(config, users);
    json items = json::array();
    double error = 0;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const double slot_s = rows[i].slot_s;
      const double had = all > 0 ? slot_s / all : 0;
      error += all > 0 ? std::abs(had - due[i]) / 2 : 0;
      items.push_back({{"user", users[i].second},
                       {"project", users[i].first},
                       {"due", due[i]},
                       {"had", had},
                       {"slot_s", slot_s},
                       {"running", rows[i].running},
                       {"waiting", rows[i].waiting}});
    }
    const auto used = tx.One(sql::kUtilisation, window);
    json body = {{"window_s", window},
                 {"policy", policy::ToString(config.policy)},
                 {"aimed_at", config.policy == policy::PolicyKind::kFairshare},
                 {"utilisation", OrNull(used.part)},
                 {"share_error", error},
                 {"items", items}};
    body["text"] = SharesText(body);
    return Reply::Json(body);
  });
}

// "preset": NAME stands for the settings of that preset, all others back to their defaults.
PolicyRows WantedRows(const json& body, const PolicyRows& present) {
  PolicyRows wanted = present;
  if (body.contains("preset")) {
    const std::string name = TextOf(body, "preset");
    std::vector<std::string> names;
    bool found = false;
    for (const auto& preset : policy::Presets()) {
      names.push_back(preset.name);
      if (preset.name != name) continue;
      found = true;
      wanted = preset.rows;
    }
    if (!found)
      throw BadRequest("there is no preset \"" + name + "\"; there are: " + Join(names, ", "));
  }
  for (const auto& [key, value] : body.items()) {
    if (key == "preset") continue;
    if (value.is_null())
      wanted.erase(key);
    else
      wanted[key] = value;
  }
  return wanted;
}

// A command line has only texts: a text that is valid JSON is taken as JSON.
json Typed(const json& body) {
  json out = json::object();
  for (const auto& [key, value] : body.items()) {
    out[key] = value;
    if (!value.is_string()) continue;
    const json read = json::parse(value.get<std::string>(), nullptr, false);
    if (!read.is_discarded()) out[key] = read;
  }
  return out;
}

Reply ChangePolicy(Context& context, const Request& request) {
  json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) throw BadRequest("the body is not an object {\"key\": value, ...}");
  body = Typed(body);
  std::vector<std::string> warnings;
  context.Transact([&](db::Tx& tx) {
    tx.Exec(sql::kLockPolicy);
    const PolicyRows present = Load(tx);
    const PolicyRows wanted = WantedRows(body, present);
    policy::PolicyConfig config;
    if (const auto faults = FaultsOf(wanted, &config); !faults.empty()) {
      std::string all;
      for (const auto& fault : faults) all += (all.empty() ? "" : "; ") + Line(fault);
      throw BadRequest(all);
    }
    for (const auto& odd : policy::LintConfig(config)) warnings.push_back(Line(odd));
    for (const auto& [key, value] : wanted) {
      const auto it = present.find(key);
      if (it == present.end() || it->second != value)
        tx.Exec(sql::kSetPolicy, key, std::optional(value.dump()), request.caller.user);
    }
    for (const auto& [key, value] : present)
      if (wanted.count(key) == 0)
        tx.Exec(sql::kSetPolicy, key, std::optional<std::string>(), request.caller.user);
    tx.Raw("NOTIFY cigri_wake");
  });
  log::info("{} changed the policy", request.caller.user);
  std::string text = "taken; it decides from the next cycle on";
  for (const auto& line : warnings) text += "\nwarning: " + line;
  return Reply::Json({{"text", text}, {"warnings", warnings}});
}

}  // namespace

void InstallDefaultPolicy(db::Tx& tx) {
  if (tx.One(sql::kAnyPolicySet).any) return;
  for (const auto& [key, value] : policy::Presets().front().rows)
    tx.Exec(sql::kSetPolicy, key, std::optional(value.dump()), "cigri");
}

void AddPolicyRoutes(Router& router) {
  router.Get("/admin/policy", ShowPolicy, Access::kOperator);
  router.Get("/admin/policy/explain", Explain, Access::kOperator);
  router.Get("/admin/policy/lint", Lint, Access::kOperator);
  router.Get("/admin/policy/history", PolicyHistory, Access::kOperator);
  router.GetLive("/admin/policy/shares", Shares, Access::kOperator);
  router.Get("/admin/policy/presets", ListPresets, Access::kOperator);
  router.Get("/admin/policy/schedulers", Schedulers, Access::kOperator);
  router.Patch("/admin/policy", ChangePolicy, Access::kOperator);
}

}  // namespace cigri::api
