// The web page: files that web/ was built into, served as they are.
#pragma once
#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/http/message.h"

namespace cigri::api {

class Router;

/// GET /page/{name}: the scripts and styles of the page, for anybody: they hold no data.
void AddPageRoutes(Router& router);
/// The page itself, for a browser that asks for `/`; nothing when the client wants no HTML, when
/// PAGE is off, or when the page was not built.
std::optional<Reply> PageFor(const Context& context, const Request& request);

}  // namespace cigri::api
