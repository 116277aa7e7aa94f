#include "api/admin/admin.h"

#include <algorithm>

#include "core/text.h"

namespace cigri::api {

using nlohmann::json;

void AddAdminRoutes(Router& router) {
  AddRuleRoutes(router);
  AddClusterAdminRoutes(router);
  AddDrainRoutes(router);
  AddUserAdminRoutes(router);
  AddCheckRoutes(router);
  AddPolicyRoutes(router);
  AddHistoryRoutes(router);
  AddLimitRoutes(router);
  AddAuditRoutes(router);
  AddErrorRoutes(router);
  AddSimulateRoutes(router);
}

json TransactChecked(Context& context, const std::function<json(db::Tx&)>& body) {
  // "ERROR:  text\nDETAIL:  ..." of the server: its first line says what is wrong.
  const auto first_line = [](const std::exception& e) {
    std::string line = Split(e.what(), '\n').front();
    return StartsWith(line, "ERROR:") ? std::string(Trim(line.substr(6))) : line;
  };
  try {
    return context.Transact(body);
  } catch (const db::UniqueViolation& e) {
    throw ApiError(409, "Conflict", first_line(e));
  } catch (const db::ConstraintViolation& e) {
    throw BadRequest(first_line(e));
  } catch (const db::DataError& e) {
    throw BadRequest(first_line(e));
  }
}

json ObjectBody(const Request& request, const std::vector<std::string>& keys) {
  json body = request.Json(16 << 20);  // operators: rules, scenarios
  if (!body.is_object()) throw BadRequest("the body must be a JSON object");
  for (const auto& [key, value] : body.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const auto near = DidYouMean(key, keys);
    throw BadRequest("unknown key \"" + key + "\"",
                     near ? "did you mean \"" + *near + "\"?" : "possible: " + Join(keys, ", "));
  }
  return body;
}

std::optional<std::string> OptionalText(const json& body, const std::string& key) {
  if (!body.contains(key) || body[key].is_null()) return std::nullopt;
  if (!body[key].is_string()) throw BadRequest("\"" + key + "\" must be a text");
  return body[key].get<std::string>();
}

std::string TextOf(const json& body, const std::string& key) {
  const auto text = OptionalText(body, key);
  if (!text || text->empty()) throw BadRequest("\"" + key + "\" is missing");
  return *text;
}

std::optional<int> OptionalInt(const json& body, const std::string& key) {
  if (!body.contains(key) || body[key].is_null()) return std::nullopt;
  const json& value = body[key];
  const bool fits = value.is_number_integer() && std::abs(value.get<double>()) < 2e9;
  if (!fits) throw BadRequest("\"" + key + "\" must be a whole number");
  return value.get<int>();
}

}  // namespace cigri::api
