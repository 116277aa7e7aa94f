// What the models read of a request's query.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text.h"

namespace cigri::conformance {

/// The values of `key` in the query of `target`.
inline std::vector<std::string> QueryOf(const std::string& target, const std::string& key) {
  std::vector<std::string> values;
  const auto at = target.find('?');
  if (at == target.npos) return values;
  for (const auto& part : Split(std::string_view(target).substr(at + 1), '&'))
    if (StartsWith(part, key + "=")) values.push_back(part.substr(key.size() + 1));
  return values;
}

/// The part of `items` that limit and offset ask for.
inline nlohmann::json Page(const nlohmann::json& items, const std::string& target) {
  const auto number = [&](const char* key, std::size_t fallback) {
    const auto values = QueryOf(target, key);
    return values.empty() ? fallback : std::stoul(values[0]);
  };
  const auto from = std::min(number("offset", 0), items.size());
  const auto to = std::min(from + number("limit", items.size()), items.size());
  auto page = nlohmann::json::array();
  for (auto i = from; i < to; ++i) page.push_back(items[i]);
  return page;
}

}  // namespace cigri::conformance
