// Requests that a page of another site makes a browser send (CSRF).
#pragma once
#include <set>
#include <string>

#include "api/http/message.h"

namespace cigri::api {

/// For callers whom a proxy or the kernel names: their browser, behind the proxy or behind
/// `ssh -L`, identifies them for any page that asks. Tokens are not concerned: no page has one.
/// Throws 403 when the request (`method` as it came) may change something and a page of another
/// site sent it, and when it was sent to a name of the server that is not in `hosts` (a proxy's,
/// empty: any; on the unix socket also an address, and names that no foreign DNS server answers
/// for: those without a dot); behind a proxy 415 for a POST of a type that a page may send to
/// another site without asking it first.
void RefuseForeignPages(const std::string& method, const Request& request,
                        const std::set<std::string>& hosts);

}  // namespace cigri::api
