#include "api/http/foreign_pages.h"

#include "core/text.h"

namespace cigri::api {
namespace {

// "https://grid.example:443" -> "grid.example:443".
std::string HostOfOrigin(const std::string& origin) {
  const auto at = origin.find("://");
  return at == origin.npos ? "" : Lower(origin.substr(at + 3));
}

std::string WithoutPort(const std::string& host) {
  const auto colon = host.rfind(':');
  return colon == host.npos || host.find(']', colon) != host.npos ? host : host.substr(0, colon);
}

// The names by which the client reached the proxy: a proxy that sends another Host names the first
// one in the other header. No page can make a browser send either of its own choice.
std::set<std::string> HostsOf(const Request& request) {
  std::set<std::string> hosts;
  for (const char* header : {"host", "x-forwarded-host"})
    for (const auto& host : Split(request.Header(header), ','))
      if (const std::string name(Trim(host)); !name.empty()) hosts.insert(Lower(name));
  return hosts;
}

void CheckHost(const std::set<std::string>& reached, const std::set<std::string>& hosts) {
  if (hosts.empty()) return;
  for (const auto& host : reached)
    if (hosts.count(host) != 0 || hosts.count(WithoutPort(host)) != 0) return;
  throw Forbidden("the request was sent to a host that is not in API_HOSTS");
}

// A name that leads to this machine only while its owner says so has a dot; `localhost` has none,
// nor has the "Host" of tools. Some write the path of the socket.
void CheckSocketHost(const Request& request, const std::set<std::string>& hosts) {
  const std::string host = WithoutPort(Lower(request.Header("host")));
  const bool address = host.find_first_not_of("0123456789.") == host.npos;
  if (address || host[0] == '/' || host[0] == '[' || host.find('.') == host.npos ||
      hosts.count(host) != 0)
    return;
  throw Forbidden("the request was sent to a host that is not in API_HOSTS: " + host);
}

}  // namespace

void RefuseForeignPages(const std::string& method, const Request& request,
                        const std::set<std::string>& hosts) {
  const Caller& caller = request.caller;
  if (!caller.named_by_proxy && !caller.named_by_kernel) return;
  const auto reached = HostsOf(request);
  if (caller.named_by_proxy) CheckHost(reached, hosts);
  else CheckSocketHost(request, hosts);
  if (method == "GET" || method == "HEAD" || method == "OPTIONS") return;
  const std::string origin = request.Header("origin");
  if (request.Header("sec-fetch-site") == "cross-site" ||
      (!origin.empty() && reached.count(HostOfOrigin(origin)) == 0))
    throw Forbidden("a page of another site sent this request");
  // A form of a page encodes what it sends, so that it is no JSON: CiGri 3's clients may say "form".
  if (!caller.named_by_proxy) return;
  const std::string type = Lower(request.content_type);
  if (method == "POST" && !request.body.empty() && !StartsWith(type, "application/json") &&
      !StartsWith(type, "application/x-www-form-urlencoded"))
    throw ApiError(415, "Unsupported media type",
                   "behind a proxy a POST is JSON, and its Content-Type says so",
                   "send Content-Type: application/json");
}

}  // namespace cigri::api
