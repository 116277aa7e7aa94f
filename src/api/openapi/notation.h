// A short notation for what requests and answers hold, as JSON Schema.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace cigri::api {

/// The JSON Schema of `notation`:
///   int, number, text, bool, null, any, object   as in JSON; text is a string
///   time                                         a number: seconds since 1970
///   Campaign                                     the type of that name in descriptions.cc
///   [text]                                       a list
///   {id int, name? text}                         an object; `?`: may be missing
///   {* int}                                      an object with any keys
///   int|null                                     one of them
/// Throws std::logic_error where it is none of these.
nlohmann::json SchemaOf(std::string_view notation);

/// "id int, name? text" as [{"name", "schema", "required"}], in this order.
nlohmann::json FieldsOf(std::string_view notation);

}  // namespace cigri::api
