#include "api/openapi/document.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/http/live.h"
#include "api/openapi/descriptions.h"
#include "api/openapi/notation.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// "/clusters/{name:text}" -> "/clusters/{name}".
std::string PathOf(const std::string& pattern) {
  std::string path;
  bool kind = false;
  for (const char c : pattern) {
    if (c == ':') kind = true;
    if (c == '}') kind = false;
    if (!kind) path += c;
  }
  return path;
}

// A capture without a kind is a number.
json PathParameters(const std::string& pattern) {
  json parameters = json::array();
  for (const auto& segment : Split(pattern, '/')) {
    if (segment.size() < 3 || segment.front() != '{') continue;
    const auto parts = Split(segment.substr(1, segment.size() - 2), ':');
    parameters.push_back({{"name", parts[0]},
                          {"in", "path"},
                          {"required", true},
                          {"schema", SchemaOf(parts.size() > 1 ? "text" : "int")}});
  }
  return parameters;
}

// "text/plain", or a type of JSON.
json ContentOf(const std::string& what) {
  const bool mime = what.find('/') != what.npos && what[0] != '{';
  return {{mime ? what : "application/json", {{"schema", SchemaOf(mime ? "text" : what)}}}};
}

json ResponsesOf(const std::string& answer) {
  json responses = {
      {"default", {{"description", "refused"}, {"content", ContentOf("Error")}}}};
  const auto space = answer.find(' ');
  if (space == answer.npos) return responses;
  responses[answer.substr(0, space)] = {{"description", "done"},
                                        {"content", ContentOf(answer.substr(space + 1))}};
  return responses;
}

// What http/live.h adds to a route.
void AddWaiting(json& parameters, json& responses) {
  parameters.push_back({{"name", "wait"},
                        {"in", "query"},
                        {"required", false},
                        {"description", "ms to wait while the answer has the ETag of If-None-Match"},
                        {"schema", {{"type", "integer"}, {"minimum", 0}, {"maximum", kLongestWait}}}});
  parameters.push_back({{"name", "If-None-Match"},
                        {"in", "header"},
                        {"required", false},
                        {"schema", SchemaOf("text")}});
  responses["304"] = {{"description", "as it was"}};
}

// What submit/once.h adds to a route.
void AddKey(json& parameters) {
  parameters.push_back({{"name", "Idempotency-Key"},
                        {"in", "header"},
                        {"required", false},
                        {"description", "repeated with the same one, it is carried out once"},
                        {"schema", SchemaOf("text")}});
}
bool IsCarriedOutOnce(const std::string& method, const std::string& path) {
  return method == "POST" && (path == "/campaigns" || path == "/campaigns/{id}/jobs");
}

const char* NameOf(Access access) {
  if (access == Access::kAnyone) return "anyone";
  return access == Access::kUser ? "user" : "operator";
}

json OperationOf(const Router::Entry& route, const std::string& path, const Description* d) {
  const auto top = Split(path, '/');
  json operation = {{"operationId", route.method + " " + path},
                    {"summary", d == nullptr ? "" : d->summary},
                    {"tags", json::array({top.size() > 1 && !top[1].empty() ? top[1] : "root"})},
                    {"x-access", NameOf(route.access)},
                    {"responses", ResponsesOf(d == nullptr ? "" : d->answer)}};
  json parameters = PathParameters(route.pattern);
  for (const auto& field : FieldsOf(d == nullptr ? "" : d->query))
    parameters.push_back({{"name", field["name"]},
                          {"in", "query"},
                          {"required", false},
                          {"schema", field["schema"]}});
  if (route.live) AddWaiting(parameters, operation["responses"]);
  if (IsCarriedOutOnce(route.method, path)) AddKey(parameters);
  if (!parameters.empty()) operation["parameters"] = parameters;
  if (d != nullptr && *d->sent != '\0')
    operation["requestBody"] = {{"required", true}, {"content", ContentOf(d->sent)}};
  if (route.access == Access::kAnyone) operation["security"] = json::array();
  return operation;
}

}  // namespace

json OpenApi(const std::vector<Router::Entry>& routes) {
  std::map<std::string, const Description*> described;
  for (const auto& d : Descriptions()) described[d.route] = &d;
  json paths = json::object(), schemas = json::object();
  for (const auto& route : routes) {
    const std::string path = PathOf(route.pattern);
    const auto at = described.find(route.method + " " + path);
    paths[path][Lower(route.method)] =
        OperationOf(route, path, at == described.end() ? nullptr : at->second);
  }
  for (const auto& type : NamedTypes()) schemas[type.name] = SchemaOf(type.notation);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "CiGri-NG"},
            {"version", CIGRI_VERSION},
            {"description",
             "The API of a grid. On its unix socket the kernel says who asks; elsewhere a token "
             "does. x-access says who may call a route at all."}}},
          {"servers", json::array({json{{"url", "."}}})},
          {"security", json::array({json{{"token", json::array()}}})},
          {"paths", paths},
          {"components",
           {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"schemas", schemas}}}};
}

void AddOpenApiRoute(Router& router) {
  const auto document = std::make_shared<json>();
  router.Get(
      "/openapi.json", [document](Context&, const Request&) { return Reply::Json(*document); },
      Access::kAnyone);
  *document = OpenApi(router.Table());
}

}  // namespace cigri::api
