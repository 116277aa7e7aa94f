// The resources of an OAR cluster: read at every poll, thousands of lines on a large one.
#include <simdjson.h>

#include <unordered_map>

#include "cluster/json_list.h"
#include "cluster/oar.h"
#include "cluster/property_filter.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

using Item = simdjson::dom::element;

// A property as text, in `room` unless it is a string: the API writes the same ones now as a
// number, now as a string.
std::string_view TextOf(const Item& value, std::string* room) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return text;
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS)
    *room = std::to_string(number);
  else
    *room = value.is_null() ? "" : simdjson::minify(value);
  return *room;
}

std::string_view PropertyOf(const Item& resource, std::string_view name, std::string* room) {
  // The API calls the column resource_id "id".
  Item value;
  const auto key = name == "resource_id" ? "id" : name;
  return resource[key].get(value) == simdjson::SUCCESS ? TextOf(value, room) : "";
}

bool Usable(const Item& resource) {
  std::string room;
  return PropertyOf(resource, "state", &room) == "Alive" &&
         PropertyOf(resource, "drain", &room) != "YES";
}

// The jobs of an OAR 3 list that hold resources now.
bool Holds(const OarItem& item) { return OarState(item.state) == RemoteState::kRunning; }

}  // namespace

Resources OarCluster::GetResources() {
  const auto& config = api_.config();
  const PropertyFilter filter(config.properties);
  const auto what = "read the resources of " + config.name;
  const auto path = dialect_->Resources();
  Resources r;
  std::string room;
  ++polls_;
  for (std::int64_t offset = 0, total = 1; offset < total;) {
    auto page = PageOf(what, path, offset, config.auth_user);
    if (!page) break;
    const auto before = offset;
    total = EachOarItem(what, std::move(*page), [&](const Item& item) {
      ++offset;
      if (PropertyOf(item, "state", &room).empty())
        ThrowGarbage(what, "a resource without a state");
      if (!filter.Accepts(
              [&](const std::string& name) { return std::string(PropertyOf(item, name, &room)); }))
        return;
      auto& unit = units_[std::string(PropertyOf(item, config.resource_unit, &room))];
      // It counts as down when one of its resources is.
      const bool others = unit.poll != polls_ || unit.usable;
      unit = {polls_, others && Usable(item)};
    });
    if (offset == before) break;
  }
  std::erase_if(units_, [&](const auto& unit) { return unit.second.poll != polls_; });
  r.max = static_cast<int>(units_.size());
  for (const auto& [name, unit] : units_) r.unavailable += unit.usable ? 0 : 1;
  r.used = UsedUnits();
  if (r.unavailable > 0)
    r.note = std::to_string(r.unavailable) + " of " + std::to_string(r.max) + " " +
             config.resource_unit + "s are not available";
  if (config.options.value("stress", true))
    r.stress = NumberIn(
        At(api_.GetJson(what, dialect_->StressFactor(), config.auth_user), "GLOBAL_STRESS"));
  r.cluster_time = api_.clock();
  return r;
}

int OarCluster::UsedUnits() {
  const auto& config = api_.config();
  const auto path = dialect_->ResourceUse(config.resource_unit);
  if (path.empty()) return UsedByJobs();
  const auto what = "read what is in use on " + config.name;
  int used = 0;
  std::string room;
  EachOarItem(what, api_.GetBody(what, path, config.auth_user), [&](const Item& item) {
    Item value;
    if (item[config.resource_unit].get(value) != simdjson::SUCCESS) return;
    simdjson::dom::array jobs;
    const auto unit = units_.find(std::string(TextOf(value, &room)));
    if (unit != units_.end() && unit->second.usable &&
        item["jobs"].get(jobs) == simdjson::SUCCESS && jobs.size() > 0)
      ++used;
  });
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

}  // namespace cigri::cluster
