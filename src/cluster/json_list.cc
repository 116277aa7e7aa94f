#include "cluster/json_list.h"

#include <simdjson.h>

#include "cluster/cluster.h"
#include "cluster/rest_api.h"
#include "core/text.h"

namespace cigri::cluster {

simdjson::dom::element EachInList(const std::string& what, std::string body, const char* key,
                                  const std::function<void(const simdjson::dom::element&)>& each) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element root;
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  auto error = parser.parse(body).get(root);
  if (error == simdjson::UTF8_ERROR) {
    body = ValidUtf8(body);
    body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
    error = parser.parse(body).get(root);
  }
  simdjson::dom::array items;
  if (error != simdjson::SUCCESS || root[key].get(items) != simdjson::SUCCESS)
    throw CallFailed(CallFailed::Why::kGarbage, "cannot " + what + ": the answer is no list: " +
                                                    (body.empty() ? "(empty)" : ErrorText(body)));
  for (const auto item : items) each(item);
  return root;
}

void ThrowGarbage(const std::string& what, const std::string& seen) {
  throw CallFailed(CallFailed::Why::kGarbage, "cannot " + what + ": the answer has " + seen);
}

}  // namespace cigri::cluster
