#include "api/openapi/notation.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace cigri::api {
namespace {

using nlohmann::json;

const std::map<std::string, json, std::less<>>& Simple() {
  static const std::map<std::string, json, std::less<>> types = {
      {"int", {{"type", "integer"}}},
      {"number", {{"type", "number"}}},
      {"text", {{"type", "string"}}},
      {"bool", {{"type", "boolean"}}},
      {"null", {{"type", "null"}}},
      {"any", json::object()},
      {"object", {{"type", "object"}}},
      {"time", {{"type", "number"}, {"description", "seconds since 1970"}}}};
  return types;
}

class NotationReader {
 public:
  explicit NotationReader(std::string_view text) : text_(text) {}

  json Type() {
    json alternatives = json::array({One()});
    while (Take('|')) alternatives.push_back(One());
    if (alternatives.size() == 1) return alternatives[0];
    return {{"anyOf", alternatives}};
  }

  json Fields(char end) {
    json fields = json::array();
    while (!At(end)) {
      if (!fields.empty()) Expect(',');
      const std::string name = Word();
      const bool optional = Take('?');
      fields.push_back({{"name", name}, {"schema", Type()}, {"required", !optional}});
    }
    return fields;
  }

  void ExpectEnd() {
    if (!At('\0')) Fail("its end");
  }

 private:
  json One() {
    if (Take('[')) {
      json items = Type();
      Expect(']');
      return {{"type", "array"}, {"items", items}};
    }
    if (Take('{')) return Object();
    const std::string word = Word();
    if (const auto at = Simple().find(word); at != Simple().end()) return at->second;
    if (word.empty() || word[0] < 'A' || word[0] > 'Z') Fail("a type");
    return {{"$ref", "#/components/schemas/" + word}};
  }

  json Object() {
    if (Take('*')) {
      json values = Type();
      Expect('}');
      return {{"type", "object"}, {"additionalProperties", values}};
    }
    json properties = json::object(), required = json::array();
    for (auto& field : Fields('}')) {
      if (field["required"]) required.push_back(field["name"]);
      properties[field["name"].get<std::string>()] = field["schema"];
    }
    Expect('}');
    return {{"type", "object"}, {"properties", properties}, {"required", required}};
  }

  char Next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool At(char c) { return Next() == c; }
  bool Take(char c) {
    if (!At(c)) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(std::string(1, c));
  }
  std::string Word() {
    Next();
    const auto begin = at_;
    const std::string_view ends = " ,?|[]{}*";
    while (at_ < text_.size() && ends.find(text_[at_]) == ends.npos) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  [[noreturn]] void Fail(const std::string& wanted) const {
    throw std::logic_error("notation \"" + std::string(text_) + "\", character " +
                           std::to_string(at_ + 1) + ": not " + wanted);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

json SchemaOf(std::string_view notation) {
  NotationReader reader(notation);
  json schema = reader.Type();
  reader.ExpectEnd();
  return schema;
}

json FieldsOf(std::string_view notation) {
  NotationReader reader(notation);
  return reader.Fields('\0');
}

}  // namespace cigri::api
