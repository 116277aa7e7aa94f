// What an operator asks of an OAR cluster: its resources, and whether all is as it should be.
#include "cluster/check.h"
#include "cluster/oar.h"
#include "cluster/property_filter.h"
#include "cluster/wishes.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using Verdict = CheckItem::Verdict;

std::string PropertyOf(const nlohmann::json& resource, const std::string& name) {
  // The API calls the column resource_id "id".
  const auto& value = At(resource, name == "resource_id" ? "id" : name.c_str());
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

bool Usable(const nlohmann::json& resource) {
  return TextIn(resource, "state") == "Alive" && TextIn(resource, "drain") != "YES";
}

// The jobs of an OAR 3 list that hold resources now.
bool Holds(const OarItem& item) { return OarState(item.state) == RemoteState::kRunning; }

}  // namespace

Resources OarCluster::GetResources() {
  const auto& config = api_.config();
  const PropertyFilter filter(config.properties);
  const auto what = "read the resources of " + config.name;
  Resources r;
  // A unit (core, host...) counts as down when one of its resources is.
  std::map<std::string, bool> units;
  for (std::int64_t offset = 0, total = 1; offset < total;) {
    const auto path = dialect_->Resources();
    const auto page =
        api_.GetJson(what, offset == 0 ? path : dialect_->Page(path, offset), config.auth_user);
    const auto& items = At(page, "items");
    if (!items.is_array())
      throw CallFailed(CallFailed::Why::kGarbage, "cannot " + what + ": the answer is no list");
    for (const auto& item : items) {
      if (!filter.Accepts([&](const std::string& name) { return PropertyOf(item, name); }))
        continue;
      const auto [unit, fresh] = units.emplace(PropertyOf(item, config.resource_unit), true);
      unit->second = unit->second && Usable(item);
    }
    offset += static_cast<std::int64_t>(items.size());
    total = items.empty() ? 0 : static_cast<std::int64_t>(NumberIn(At(page, "total")));
  }
  r.max = static_cast<int>(units.size());
  for (const auto& [unit, usable] : units) r.unavailable += usable ? 0 : 1;
  r.used = UsedUnits(units);
  if (r.unavailable > 0)
    r.note = std::to_string(r.unavailable) + " of " + std::to_string(r.max) + " " +
             config.resource_unit + "s are not available";
  if (config.options.value("stress", true))
    r.stress = NumberIn(
        At(api_.GetJson(what, dialect_->StressFactor(), config.auth_user), "GLOBAL_STRESS"));
  r.cluster_time = api_.clock();
  return r;
}

int OarCluster::UsedUnits(const std::map<std::string, bool>& units) {
  const auto& config = api_.config();
  const auto what = "read what is in use on " + config.name;
  const auto path = dialect_->ResourceUse(config.resource_unit);
  int used = 0;
  if (path.empty()) return UsedByJobs();
  const auto answer = api_.GetJson(what, path, config.auth_user);
  for (const auto& item : At(answer, "items")) {
    const auto& value = At(item, config.resource_unit.c_str());
    const auto unit = units.find(value.is_string() ? value.get<std::string>() : value.dump());
    if (unit != units.end() && unit->second && !At(item, "jobs").empty()) ++used;
  }
  return used;
}

// OAR 3 has no list of what is in use: the resources of the jobs that run.
int OarCluster::UsedByJobs() {
  const auto what = "list live jobs of " + api_.config().name;
  int used = 0;
  for (const auto& item : List(what, dialect_->LiveJobs(""), api_.config().auth_user))
    if (Holds(item)) used += std::max(1, item.resources);
  return used;
}

std::string OarCluster::WhyNot(const Batch& batch) {
  const auto& config = api_.config();
  // The shell of the API's host gets command and line as one argument of at most 128 KiB.
  const auto most = config.options.value("max_line", std::size_t{120000});
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto bytes = ElementWords(batch.elements[i], static_cast<int>(i)).size();
    if (bytes > most)
      return "cluster " + config.name + " takes commands of at most " + std::to_string(most) +
             " bytes once encoded; that of task " + std::to_string(batch.elements[i].task_index) +
             " has " + std::to_string(bytes) + " (" +
             std::to_string(batch.elements[i].command.size()) + " as written)";
  }
  for (const auto& type : batch.job_types)
    if (type == "idempotent")
      return "cluster " + config.name +
             " would run jobs of type idempotent twice: the grid itself submits again what is "
             "killed";
  for (const auto* text : {&batch.properties, &batch.project, &batch.resources})
    if (!text->empty() && text->back() == '\\')
      return "cluster " + config.name + " cannot take \"" + *text + "\": it ends in a backslash";
  const auto wishes = WishesOf(batch);
  if (wishes.mem_mb > 0 && config.options.value("mem_property", "").empty())
    return "cluster " + config.name +
           " does not say which property holds the memory of a node: its operator sets the option "
           "mem_property (gridadmin cluster set " +
           config.name + " option.mem_property=...), or leave mem out";
  if (wishes.gpus > 0 && !wishes.plain &&
      batch.resources.find(config.options.value("gpu_unit", "gpu")) == std::string::npos)
    return "cluster " + config.name + " gets both gpus and resources \"" + batch.resources +
           "\": write the GPUs into resources, or leave resources out";
  return "";
}

std::vector<CheckItem> OarCluster::Check(const std::string& cluster_user, bool submit) {
  std::vector<CheckItem> items;
  const auto& config = api_.config();
  try {
    const auto version = api_.GetJson("reach " + config.name, dialect_->Version(), cluster_user);
    items.push_back({"reachable", Verdict::kOk, api_.url()});
    const auto oar = TextIn(version, "oar_version");
    items.push_back({"version", oar.empty() ? Verdict::kWarn : Verdict::kOk,
                     oar.empty() ? "the API does not tell the version of OAR" : "OAR " + oar});
  } catch (const CallFailed& e) {
    items.push_back(CheckFailure("reachable", e));
    return items;
  }
  items.push_back(CheckClock(api_.clock()));
  items.push_back(CheckUser(cluster_user));
  items.push_back(CheckResources());
  const auto c = capabilities();
  items.push_back({"limits", Verdict::kOk,
                   "arrays of at most " + std::to_string(c.max_array) + " jobs and " +
                       std::to_string(c.max_bytes) + " bytes of commands"});
  if (submit) items.push_back(CheckTestJob(this, config, cluster_user, std::chrono::seconds(120)));
  return items;
}

CheckItem OarCluster::CheckUser(const std::string& user) {
  if (dialect_->Identity().empty())
    return {"authorised", Verdict::kSkipped, "this API does not say who it takes us for"};
  try {
    const auto who =
        TextIn(api_.GetJson("ask who we are", dialect_->Identity(), user), "authenticated_user");
    if (who == user) return {"authorised", Verdict::kOk, "as " + who};
    return {"authorised", Verdict::kFail,
            "the API takes us for " + (who.empty() ? "nobody" : "\"" + who + "\"") +
                ", not for \"" + user +
                "\": does the site trust this host's identity header (auth_header)?"};
  } catch (const CallFailed& e) {
    return CheckFailure("authorised", e);
  }
}

CheckItem OarCluster::CheckResources() {
  try {
    const auto r = GetResources();
    const auto text = std::to_string(r.max) + " " + api_.config().resource_unit + "s, " +
                      std::to_string(r.free()) + " free" + (r.note.empty() ? "" : "; " + r.note);
    if (r.max > 0) return {"resources", Verdict::kOk, text};
    return {"resources", Verdict::kFail,
            "no resource matches properties \"" + api_.config().properties + "\""};
  } catch (const CallFailed& e) {
    return CheckFailure("resources", e);
  } catch (const std::runtime_error& e) {
    return {"resources", Verdict::kFail,
            std::string("bad properties of this cluster: ") + e.what()};
  }
}

}  // namespace cigri::cluster
