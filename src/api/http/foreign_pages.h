// Requests that a page of another site makes a browser send (CSRF).
#pragma once
#include <set>
#include <string>

#include "api/http/message.h"

namespace cigri::api {

/// For callers whom a proxy names: their browser identifies them for any page that asks.
/// Throws 403 when the request (`method` as it came) may change something and a page of another
/// site sent it, and when it was sent to a name of the server that is not in `hosts` (empty: any);
/// 415 for a POST of a type that a page may send to another site without asking it first.
void RefuseForeignPages(const std::string& method, const Request& request,
                        const std::set<std::string>& hosts);

}  // namespace cigri::api
