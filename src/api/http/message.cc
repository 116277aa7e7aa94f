#include "api/http/message.h"

#include <charconv>

namespace cigri::api {
namespace {

std::optional<std::int64_t> Integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

nlohmann::json ApiError::Body() const {
  nlohmann::json body = extra;
  body["status"] = status;
  body["title"] = title;
  body["message"] = what();
  if (!hint.empty()) body["hint"] = hint;
  for (const auto& f : faults) {
    nlohmann::json fault{{"key", f.key}, {"message", f.message}};
    if (f.line != 0) fault.update({{"line", f.line}, {"column", f.column}});
    if (!f.hint.empty()) fault["hint"] = f.hint;
    body["faults"].push_back(std::move(fault));
  }
  return body;
}

ApiError NotFound(const std::string& what) {
  return ApiError(404, "Not found", what + " does not exist");
}
ApiError InDoubt(const std::string& hint) {
  ApiError error(503, "Unavailable",
                 "the database went away in the middle of a commit: the request may or may not "
                 "have been carried out",
                 hint);
  error.extra["in_doubt"] = true;
  return error;
}
ApiError BadRequest(const std::string& message, const std::string& hint) {
  return ApiError(400, "Error", message, hint);
}
ApiError BadParameter(std::int64_t number, const std::string& problem, std::vector<Fault> faults) {
  ApiError error(400, "Error", "parameter " + std::to_string(number) + ": " + problem, "",
                 std::move(faults));
  error.extra = {{"parameter", number}, {"problem", problem}};
  return error;
}
ApiError Forbidden(const std::string& why) {
  return ApiError(403, "Forbidden", "Access denied: " + why);
}

std::int64_t Request::Id(const std::string& name) const {
  return Integer(captures.at(name)).value();
}

const std::string& Request::Word(const std::string& name) const { return captures.at(name); }

std::string Request::Query(const std::string& name, const std::string& fallback) const {
  const auto at = query.find(name);
  return at == query.end() ? fallback : at->second;
}

std::int64_t Request::QueryInt(const std::string& name, std::int64_t fallback, std::int64_t least,
                               std::int64_t most) const {
  if (!HasQuery(name)) return fallback;
  const auto value = Integer(Query(name));
  if (!value || *value < least || *value > most)
    throw BadRequest("\"" + name + "\" must be a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  return *value;
}

double Request::QueryTime(const std::string& name, double fallback) const {
  const std::string text = Query(name);
  if (text.empty()) return fallback;
  try {
    std::size_t used = 0;
    const double at = std::stod(text, &used);
    if (used == text.size() && at >= -1e11 && at <= 1e11) return at;
  } catch (const std::exception&) {
  }
  throw BadRequest("\"" + name + "\" is a time in seconds since 1970, as " + name + "=1790000000");
}

bool Request::Flag(const std::string& name) const {
  const std::string value = Query(name, "0");
  return value != "0" && value != "false";
}

std::string Request::Header(const std::string& lower_case_name) const {
  const auto at = headers.find(lower_case_name);
  return at == headers.end() ? "" : at->second;
}

nlohmann::json Request::Json(std::size_t most) const {
  if (body.empty()) return nullptr;
  // Read, it takes some ten times as much.
  if (body.size() > most)
    throw ApiError(413, "Payload too large",
                   "the body has more than " + std::to_string(most / 1024) + " kB");
  // A hundred thousand brackets would be a hundred thousand frames when the value is destroyed.
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > 32) throw BadRequest("the JSON body is nested deeper than 32 levels");
    return true;
  };
  try {
    return nlohmann::json::parse(body, shallow);
  } catch (const nlohmann::json::exception& e) {  // 1e999 is not a parse_error
    throw BadRequest(std::string("the body is no JSON: ") + e.what());
  }
}

std::string OneLine(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Reply Reply::Json(nlohmann::json body, int status) {
  Reply reply;
  reply.status = status;
  reply.json = std::move(body);
  return reply;
}

Reply Reply::Text(std::string body, std::string type) {
  Reply reply;
  reply.text = std::move(body);
  reply.content_type = std::move(type);
  return reply;
}

Reply Reply::Stream(std::function<void(const Write&)> body, std::string type) {
  Reply reply;
  reply.stream = std::move(body);
  reply.content_type = std::move(type);
  return reply;
}

Reply Reply::Later(std::chrono::milliseconds at_most, std::function<bool()> nothing_new) {
  Reply reply;
  reply.later = at_most;
  reply.nothing_new = std::move(nothing_new);
  return reply;
}

nlohmann::json LinkJson(const Request& request, const std::string& rel, const std::string& to,
                        const std::string& title) {
  nlohmann::json link{{"rel", rel}, {"href", request.Link(to)}};
  if (!title.empty()) link["title"] = title;
  return link;
}

}  // namespace cigri::api
