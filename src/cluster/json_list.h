// Lists that an API answers, thousands of items long: read with simdjson.
#pragma once
#include <functional>
#include <string>

namespace simdjson::dom {
class element;
}

namespace cigri::cluster {

/// Calls `each` for the items of the array `key` of an answer, and returns the whole of it: valid
/// until this thread reads the next list. Bytes that are no UTF-8 (somebody's job name) are
/// replaced first. `each` must not read another. Throws CallFailed(kGarbage) naming `what`.
simdjson::dom::element EachInList(const std::string& what, std::string body, const char* key,
                                  const std::function<void(const simdjson::dom::element&)>& each);

/// Throws CallFailed(kGarbage): "cannot WHAT: the answer has SEEN".
[[noreturn]] void ThrowGarbage(const std::string& what, const std::string& seen);

}  // namespace cigri::cluster
