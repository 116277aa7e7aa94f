#include "cluster/oar_class.h"

#include <stdexcept>

#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

constexpr char kClassProperties[] = "properties", kClassUnit[] = "unit";

std::string ClassText(const std::string& request, const char* key) {
  return TextIn(nlohmann::json::parse(request, nullptr, false), key);
}

}  // namespace

ResourceClass OarClassOf(const std::string& properties, const std::string& unit, int units) {
  if (Trim(properties).empty() && unit.empty()) return {};
  try {
    const PropertyFilter readable(properties);
  } catch (const std::runtime_error&) {
    return {};
  }
  auto request = nlohmann::json::object();
  if (!properties.empty()) request[kClassProperties] = properties;
  if (!unit.empty()) request[kClassUnit] = unit;
  return {request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), units};
}

OarClassCounter::OarClassCounter(const std::string& request, const std::string& resource_unit)
    : properties_(ClassText(request, kClassProperties)),
      unit_(ClassText(request, kClassUnit)),
      gpus_(!unit_.empty()),
      filter_(properties_) {
  if (properties_.empty() && unit_.empty())
    throw std::runtime_error("no resource class: " + request);
  if (unit_.empty()) unit_ = resource_unit;
}

void OarClassCounter::Add(const Values& value_of, bool usable) {
  const auto look = [&](const std::string& property) {
    const auto value = value_of(property);
    auto& shown = shown_[property];
    shown = shown || value.has_value();
    return value.value_or("");
  };
  // OAR asks its database, where names are in lower case.
  const bool of_class = filter_.Accepts([&](const std::string& name) { return look(Lower(name)); });
  const auto unit = look(unit_);
  // A resource without a GPU has 0 there.
  if (!of_class || unit.empty() || (gpus_ && unit == "0")) return;
  const auto [it, first] = usable_.try_emplace(unit, usable);
  it->second = it->second && usable;
  unit_of_[look("resource_id")] = unit;
}

std::set<std::string> OarClassCounter::UnitsOf(const std::set<std::string>& resource_ids) const {
  std::set<std::string> units;
  for (const auto& id : resource_ids)
    if (const auto it = unit_of_.find(id); it != unit_of_.end()) units.insert(it->second);
  return units;
}

std::string OarClassCounter::Name() const {
  return (gpus_ ? "GPUs" : "slots") + (properties_.empty() ? "" : " with " + properties_);
}

std::optional<ClassCount> OarClassCounter::Count(const std::set<std::string>& busy) const {
  for (const auto& [property, shown] : shown_)
    if (!shown) return std::nullopt;
  ClassCount count{.name = Name(), .total = static_cast<int>(usable_.size())};
  for (const auto& [unit, usable] : usable_) count.free += usable && busy.count(unit) == 0 ? 1 : 0;
  return count;
}

}  // namespace cigri::cluster
