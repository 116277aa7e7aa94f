// Addresses and paths; client.cc speaks to them.
#include <cctype>

#include "core/error.h"
#include "core/text.h"
#include "http/client.h"

namespace cigri::http {

Endpoint Endpoint::Parse(const std::string& url) {
  Endpoint e;
  const auto bad = [&]() -> Fatal {
    return Fatal(
        kExitConfig, "\"" + url + "\" is no address of an API",
        "like unix:/run/cigri/api.sock, http://host:6668/oarapi-cigri, https://host/api or "
        "http://[2001:db8::1]:6668/api");
  };
  if (StartsWith(url, "unix:")) {
    e.scheme = "unix";
    const auto parts = Split(std::string_view(url).substr(5), ':');
    if (parts[0].empty() || parts[0][0] != '/' || parts.size() > 2) throw bad();
    e.host = parts[0];
    e.port = 80;
    if (parts.size() == 2) e.prefix = parts[1];
  } else {
    const auto at = url.find("://");
    if (at == url.npos) throw bad();
    e.scheme = url.substr(0, at);
    if (e.scheme != "http" && e.scheme != "https") throw bad();
    std::string rest = url.substr(at + 3);
    const auto slash = rest.find('/');
    if (slash != rest.npos) {
      e.prefix = rest.substr(slash);
      rest.resize(slash);
    }
    e.port = e.scheme == "http" ? 80 : 443;
    const auto colon = rest.rfind(':');
    if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
      const auto port = ParseWalltime(rest.substr(colon + 1));  // a positive whole number
      if (!port || *port > 65535) throw bad();
      e.port = *port;
      rest.resize(colon);
    }
    const bool in_brackets =
        rest.size() > 2 && rest.front() == '[' && rest.find(']') == rest.size() - 1;
    if (rest.empty() || rest.find_first_of(" @\t") != rest.npos ||
        (!in_brackets && rest.find_first_of(":[]") != rest.npos))
      throw bad();  // an IPv6 address is in brackets
    e.host = rest;
  }
  while (!e.prefix.empty() && e.prefix.back() == '/') e.prefix.pop_back();
  if (!e.prefix.empty() && e.prefix[0] != '/') throw bad();
  return e;
}

std::string Endpoint::Text() const {
  if (scheme == "unix") return "unix:" + host + (prefix.empty() ? "" : ":" + prefix);
  const bool usual = port == (scheme == "http" ? 80 : 443);
  return scheme + "://" + host + (usual ? "" : ":" + std::to_string(port)) + prefix;
}

std::string PercentEncode(std::string_view s, bool keep_slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : s) {
    if (std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~' ||
        (keep_slash && c == '/')) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

}  // namespace cigri::http
