// The head of a request (request line and headers), read strictly: what two readers could take for
// two different requests is refused here, before cpp-httplib sees it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cigri::http {

struct HeadLimits {
  std::size_t bytes = 32u << 10;
  std::size_t headers = 100;
};

/// A head, or the reason why it is none.
struct Head {
  std::string method, target, version;
  /// In their order, names as they came, values without the blanks around them. Nothing is
  /// percent-decoded.
  std::vector<std::pair<std::string, std::string>> headers;
  std::size_t bytes = 0;       ///< of the head, with its empty line
  std::size_t body_bytes = 0;  ///< Content-Length; 0 without one
  int status = 0;              ///< 0: a head; else the answer: 400, 411, 415, 431, 501 ...
  std::string fault;           ///< the reason, for the body of that answer

  /// The value of the only header of that name; "" when there is none, or more than one.
  std::string Value(std::string_view name) const;
};

/// The head that `bytes` begin with; nothing while it is incomplete and within the limits.
std::optional<Head> ReadHead(std::string_view bytes, const HeadLimits& limits);

/// The head in the form in which httplib 0.11 reads what came: it percent-decodes values, so "%" is
/// sent to it as "%25". `without` is a header that it shall not see.
std::string ForHttplib(const Head& head, std::string_view without = "");

/// Names of headers, without regard to case.
bool SameName(std::string_view a, std::string_view b);

}  // namespace cigri::http
