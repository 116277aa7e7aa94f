// What an operator asks of an OAR cluster: whether all is as it should be.
#include <regex>

#include "cluster/check.h"
#include "cluster/oar.h"
#include "cluster/resource_request.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using Verdict = CheckItem::Verdict;

// OAR 3 ends in an error 500 over a level without a number, so that nobody would know whether it
// has taken the jobs.
bool CanBeResources(std::string text) {
  static const std::regex properties("\\{[^}]*\\}");
  text = std::regex_replace(text, properties, "");
  if (text.empty()) return true;
  static const std::regex level("[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9%]+");
  for (const auto& group : Split(text, '+'))
    for (const auto& part : Split(group, '/'))
      if (!Trim(part).empty() && !std::regex_match(std::string(Trim(part)), level)) return false;
  return true;
}

}  // namespace

std::string OarCluster::ExceedsLimit(const Batch& batch) {
  const auto& config = api_.config();
  // The shell of the API's host gets command and line as one argument of at most 128 KiB.
  const auto most = config.options.value("max_line", std::size_t{120000});
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto bytes = ElementArguments(batch.elements[i], static_cast<int>(i)).size();
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
  if (!CanBeResources(batch.resources))
    return "cluster " + config.name + " cannot read the resources \"" + batch.resources +
           "\": write levels with their numbers, such as /nodes=1/core=4";
  for (const auto* text : {&batch.properties, &batch.project, &batch.resources})
    if (!text->empty() && text->back() == '\\')
      return "cluster " + config.name + " cannot take \"" + *text + "\": it ends in a backslash";
  const auto resource_request = ResourceRequestOf(batch);
  if (resource_request.mem_mb > 0 && config.options.value("mem_property", "").empty())
    return "cluster " + config.name +
           " does not say which property holds the memory of a node: its operator sets the option "
           "mem_property (gridadmin cluster set " +
           config.name + " option.mem_property=...), or leave mem out";
  if (resource_request.gpus > 0 && !resource_request.plain &&
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
    const auto tried = dialect_->tried_version();
    const bool known = StartsWith(oar, tried + ".");
    items.push_back({"version", known ? Verdict::kOk : Verdict::kWarn,
                     oar.empty() ? "the API does not tell the version of OAR"
                     : known
                         ? "OAR " + oar
                         : "OAR " + oar + ": spoken to as " + tried + ", not tried on a real one"});
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
    const auto who = TextIn(
        api_.GetJson("ask " + api_.config().name + " who we are", dialect_->Identity(), user),
        "authenticated_user");
    if (who == user) return {"authorised", Verdict::kOk, "as " + who};
    return {"authorised", Verdict::kFail,
            "the API takes us for " + (who.empty() ? "nobody" : "\"" + who + "\"") +
                ", not for \"" + user +
                "\": does the site trust this host's identity header (auth_header)?"};
  } catch (const CallFailed& e) {
    auto item = CheckFailure("authorised", e);
    if (e.why() == CallFailed::Why::kAuth)
      item.detail += "; or user " + user + " has another name there (gridadmin mapping)";
    return item;
  }
}

CheckItem OarCluster::CheckResources() {
  try {
    const auto r = GetResources({});
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
