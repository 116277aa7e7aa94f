#include "cluster/gridengine_class.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

constexpr double kMostUnits = 100'000;  // of one host or queue

int UnitsIn(const std::string& number) {
  const double value = std::strtod(number.c_str(), nullptr);
  return value > 0 ? static_cast<int>(std::min(value, kMostUnits)) : 0;
}

}  // namespace

ResourceClass GridEngineClass::Of(int units) const {
  if (!gpus && queue.empty()) return {};
  auto request = nlohmann::json::object();
  if (gpus) request["gpus"] = true;
  if (!queue.empty()) request["queue"] = queue;
  return {request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), units};
}

std::optional<GridEngineClass> GridEngineClass::Read(const std::string& request) {
  const auto json = nlohmann::json::parse(request, nullptr, false);
  GridEngineClass what{At(json, "gpus") == true, TextIn(json, "queue")};
  if (what.Of(1).request.empty()) return std::nullopt;
  return what;
}

std::string GridEngineClass::Name() const {
  return std::string(gpus ? "GPUs" : "slots") + (queue.empty() ? "" : " of queue " + queue);
}

bool StartsJobs(const pugi::xml_node& queue) {
  return std::string_view(queue.child_value("state")).find_first_of("udaAEsSDCc") ==
         std::string_view::npos;
}

std::map<std::string, Consumable> ConsumablesIn(const pugi::xml_document& xml,
                                                const std::string& resource) {
  std::map<std::string, Consumable> found;
  for (const auto& match : xml.select_nodes("//Queue-List")) {
    const auto queue = match.node();
    const std::string name = queue.child_value("name");
    for (const auto& item : queue.children("resource")) {
      if (item.attribute("name").value() != resource) continue;
      // "hc": a consumable of the host, which its queues share; "gc": of all; "qc": of the queue.
      const std::string type = item.attribute("type").value();
      const std::string whose = StartsWith(type, "g")   ? "global"
                                : StartsWith(type, "h") ? name.substr(name.find('@') + 1)
                                                        : name;
      Consumable& one = found[whose];
      one.idle = UnitsIn(item.child_value());
      one.usable = one.usable || StartsJobs(queue);
    }
  }
  return found;
}

std::optional<int> ComplexValue(const std::string& text, const std::string& resource) {
  bool values = false;  // lines that end with a backslash go on
  for (const auto& line : Split(text, '\n')) {
    if (!StartsWith(line, " ")) values = StartsWith(line, "complex_values");
    if (!values) continue;
    for (auto word : Split(line, ' '))
      for (const auto& pair : Split(word, ','))
        if (StartsWith(pair, resource + "=")) return UnitsIn(pair.substr(resource.size() + 1));
  }
  return std::nullopt;
}

}  // namespace cigri::cluster
