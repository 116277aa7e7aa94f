// The description of the API by OpenAPI 3.1.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "api/http/router.h"

namespace cigri::api {

/// Made from the routes and from what descriptions.cc says of each. A route without a description
/// has no summary: a test finds it.
nlohmann::json OpenApi(const std::vector<Router::Entry>& routes);

/// Adds GET /openapi.json, which answers with the description of all routes of `router`, its own
/// included. REQUIRES: all others have been added.
void AddOpenApiRoute(Router& router);

}  // namespace cigri::api
