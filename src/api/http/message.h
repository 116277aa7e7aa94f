// A request as handlers see it, the reply they give, and the errors that become replies.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cigri::api {

/// Who asks: what the kernel, a token or a trusted proxy says (docs/api.md, "Who may do what").
struct Caller {
  std::string user;  ///< "" = not identified
  bool is_operator = false;
  bool named_by_proxy = false;   ///< a browser may stand behind it, and any page in the browser
  bool named_by_kernel = false;  ///< so may one behind `ssh -L` to the unix socket
  std::string source;            ///< "unix socket, uid 1000, pid 4242", "10.0.0.3, token 4"
  bool identified() const { return !user.empty(); }
};

/// What is wrong at one place of the caller's input, as `faults` of an error body.
struct Fault {
  int line = 0, column = 0;  ///< from 1; 0 = no place
  std::string key, message, hint;
};

/// Ends a handler with CiGri's error body {"status","title","message"(,"hint","faults")}.
class ApiError : public std::runtime_error {
 public:
  ApiError(int http_status, std::string a_title, const std::string& message,
           std::string a_hint = "", std::vector<Fault> a_faults = {})
      : std::runtime_error(message),
        status(http_status),
        title(std::move(a_title)),
        hint(std::move(a_hint)),
        faults(std::move(a_faults)) {}
  const int status;
  const std::string title, hint;
  const std::vector<Fault> faults;
  nlohmann::json extra = nlohmann::json::object();  ///< more members of the body ({"next": 3})
  nlohmann::json Body() const;
};

/// 404; `what` = "campaign 12".
ApiError NotFound(const std::string& what);
/// 503, "in_doubt": the commit was not answered. `hint` = "look before you repeat it".
ApiError InDoubt(const std::string& hint);
/// 400.
ApiError BadRequest(const std::string& message, const std::string& hint = "");
/// The `number`th parameter that was sent, from 1, cannot be one. Its number stands apart: a client
/// that has read it from a file says on which line.
ApiError BadParameter(std::int64_t number, const std::string& problem,
                      std::vector<Fault> faults = {});
/// 403; `why` = "campaign 12 belongs to alice".
ApiError Forbidden(const std::string& why);

/// One request. Path captures and query values are decoded.
struct Request {
  std::string method;  ///< GET for HEAD, and what `_method` says
  std::string path;    ///< without API_BASE and trailing slash
  std::multimap<std::string, std::string> query;
  std::multimap<std::string, std::string> form;     ///< of an urlencoded body
  std::map<std::string, std::string> captures;      ///< {id} of the pattern -> text
  std::multimap<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  std::string content_type;
  /// X-Cigri-Api-Path-Prefix. Not API_BASE: clients of CiGri 3 put theirs before each link.
  std::string link_prefix;
  std::string base;        ///< API_BASE when the path began with it
  bool of_cigri3 = false;  ///< from one of CiGri 3's clients: http/cigri3.h
  std::string id;          ///< of this request, as it stands in the log
  Caller caller;
  std::chrono::milliseconds waited{0};  ///< since the request arrived: Reply::Later
  bool accepts_brotli = false;          ///< answers that are compressed already

  /// The number captured by {name} (the pattern guarantees one).
  std::int64_t Id(const std::string& name = "id") const;
  /// The text captured by {name:text}.
  const std::string& Word(const std::string& name) const;
  /// Query values; the first of several. QueryInt throws 400 when it is no number in range.
  std::string Query(const std::string& name, const std::string& fallback = "") const;
  std::int64_t QueryInt(const std::string& name, std::int64_t fallback, std::int64_t least = 0,
                        std::int64_t most = 1'000'000'000) const;
  /// Seconds since 1970.
  double QueryTime(const std::string& name, double fallback) const;
  bool HasQuery(const std::string& name) const { return query.count(name) != 0; }
  /// Present and neither "0" nor "false": ?all, ?all=1.
  bool Flag(const std::string& name) const;
  std::string Header(const std::string& lower_case_name) const;
  /// The body as JSON; throws 400 with the place of the fault, 413 when it has more than `most`
  /// bytes. An empty body is null.
  nlohmann::json Json(std::size_t most = 1 << 20) const;
  /// A link of an answer: the prefixes, then `to` ("/campaigns/12").
  std::string Link(const std::string& to) const { return link_prefix + to; }
};

/// Sends one piece of a streamed body; false when the client has gone: stop then.
using Write = std::function<bool(std::string_view)>;

/// What a handler answers: JSON, else text, else a stream; or nothing yet.
struct Reply {
  int status = 200;
  nlohmann::json json;
  std::string json_text;  ///< the same as OneLine() writes it, where somebody had to; "" = not yet
  std::string text;
  std::string content_type;                  ///< "" = application/json
  std::function<void(const Write&)> stream;  ///< runs after the handler has returned: it owns
                                             ///< all it uses. Throwing cuts the connection.
  std::map<std::string, std::string> headers;
  std::chrono::milliseconds later{0};  ///< > 0: nothing yet
  std::function<bool()> nothing_new;   ///< asked before the handler is called again

  static Reply Json(nlohmann::json body, int status = 200);
  static Reply Text(std::string body, std::string type = "text/plain; charset=utf-8");
  static Reply Stream(std::function<void(const Write&)> body,
                      std::string type = "text/plain; charset=utf-8");
  /// Long polls: the handler is called again when there may be news and `nothing_new` does not deny
  /// them, or after `at_most`. The request waits without a thread. The handler looks at
  /// Request::waited, so that this ends; `nothing_new` must not wait.
  static Reply Later(std::chrono::milliseconds at_most, std::function<bool()> nothing_new);
};

/// JSON in one line. What a job printed or a user wrote may be no UTF-8: replaced, never a 500.
std::string OneLine(const nlohmann::json& json);

/// {"rel": rel, "href": link} (with "title" when given), as CiGri's `links` hold them.
nlohmann::json LinkJson(const Request& request, const std::string& rel, const std::string& to,
                        const std::string& title = "");

}  // namespace cigri::api
