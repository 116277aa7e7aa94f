// The resources of an OAR cluster: read at every poll, thousands of lines on a large one.
#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include "cluster/json_list.h"
#include "cluster/oar.h"
#include "cluster/oar_class.h"
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

std::optional<std::string_view> LookUp(const Item& resource, std::string_view name,
                                       std::string* room) {
  // The API calls the column resource_id "id".
  Item value;
  const auto key = name == "resource_id" ? "id" : name;
  if (resource[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return TextOf(value, room);
}

std::string_view PropertyOf(const Item& resource, std::string_view name, std::string* room) {
  return LookUp(resource, name, room).value_or("");
}

bool Usable(const Item& resource) {
  std::string room;
  return PropertyOf(resource, "state", &room) == "Alive" &&
         PropertyOf(resource, "drain", &room) != "YES";
}

std::vector<OarClassCounter> CountersOf(const std::vector<std::string>& classes,
                                        const std::string& resource_unit,
                                        std::vector<std::string>* requests) {
  std::vector<OarClassCounter> counters;
  for (const auto& request : classes) try {
      counters.emplace_back(request, resource_unit);
      requests->push_back(request);
    } catch (const std::runtime_error&) {
      // Of another kind, or of another version of this driver: not counted.
    }
  return counters;
}

void AddTo(std::vector<OarClassCounter>& counters, const Item& resource) {
  std::string room;
  for (auto& counter : counters)
    counter.Add(
        [&](const std::string& name) -> std::optional<std::string> {
          const auto value = LookUp(resource, name, &room);
          return value ? std::optional<std::string>(*value) : std::nullopt;
        },
        Usable(resource));
}

// The jobs of an OAR 3 list that hold resources now.
bool Holds(const OarItem& item) { return OarState(item.state) == RemoteState::kRunning; }

}  // namespace

Resources OarCluster::GetResources(const std::vector<std::string>& classes) {
  const auto& config = api_.config();
  const PropertyFilter filter(config.properties);
  const auto what = "read the resources of " + config.name;
  const auto path = dialect_->Resources();
  std::vector<std::string> requests;
  auto counters = CountersOf(classes, config.resource_unit, &requests);
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
      AddTo(counters, item);
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
  std::map<std::string, std::set<std::string>> busy;  // by unit: each is asked for once
  const auto& in_use = busy[config.resource_unit] = BusyUnits(config.resource_unit);
  r.used = UsedUnits(in_use);
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const auto& unit = counters[i].unit();
    const bool by_unit = !dialect_->ResourceUse(unit).empty();
    if (by_unit && busy.count(unit) == 0) busy[unit] = BusyUnits(unit);
    if (const auto count = counters[i].Count(by_unit ? busy[unit] : counters[i].UnitsOf(in_use)))
      r.classes[requests[i]] = *count;
  }
  if (r.unavailable > 0)
    r.note = std::to_string(r.unavailable) + " of " + std::to_string(r.max) + " " +
             config.resource_unit + "s are not available";
  if (config.options.value("stress", true))
    r.stress = NumberIn(
        At(api_.GetJson(what, dialect_->StressFactor(), config.auth_user), "GLOBAL_STRESS"));
  r.cluster_time = api_.clock();
  return r;
}

// Values of `property` on which jobs run. OAR 3 has no such list: the resources of the jobs that
// run.
std::set<std::string> OarCluster::BusyUnits(const std::string& property) {
  const auto& config = api_.config();
  const auto path = dialect_->ResourceUse(property);
  std::set<std::string> busy;
  if (path.empty()) {
    const auto what = "list live jobs of " + config.name;
    for (const auto& item : List(what, dialect_->LiveJobs(""), config.auth_user))
      if (Holds(item)) {
        if (item.resources.empty()) busy.insert("of job " + std::to_string(item.id));
        for (const auto id : item.resources) busy.insert(std::to_string(id));
      }
    return busy;
  }
  const auto what = "read what is in use on " + config.name;
  std::string room;
  EachOarItem(what, api_.GetBody(what, path, config.auth_user), [&](const Item& item) {
    Item value;
    simdjson::dom::array jobs;
    if (item[property].get(value) == simdjson::SUCCESS &&
        item["jobs"].get(jobs) == simdjson::SUCCESS && jobs.size() > 0)
      busy.emplace(TextOf(value, &room));
  });
  return busy;
}

int OarCluster::UsedUnits(const std::set<std::string>& busy) const {
  if (dialect_->ResourceUse(api_.config().resource_unit).empty())
    return static_cast<int>(busy.size());
  return static_cast<int>(std::count_if(units_.begin(), units_.end(), [&](const auto& unit) {
    return unit.second.usable && busy.count(unit.first) != 0;
  }));
}

}  // namespace cigri::cluster
