// What every route takes and answers, in the notation of notation.h.
#pragma once
#include <vector>

namespace cigri::api {

struct Description {
  const char* route;    ///< "GET /campaigns/{id}"
  const char* summary;
  const char* query;    ///< "limit int, all bool": all may be missing
  const char* sent;     ///< the body: "" none, "text/plain", or a type
  const char* answer;   ///< "200 Campaign", "200 text/plain"
};

struct NamedType {
  const char *name, *notation;
};

const std::vector<Description>& Descriptions();
const std::vector<NamedType>& NamedTypes();

}  // namespace cigri::api
