// Answers that a client may keep asking for: they come when they have changed.
#pragma once
#include "api/http/router.h"

namespace cigri::api {

constexpr std::int64_t kLongestWait = 60'000;  ///< ms, of ?wait

/// `handler`, whose answers get an ETag. Who sends it back in If-None-Match gets 304 while nothing
/// has changed; with `?wait=MS` the request waits, without a thread, until something has. The
/// answer may depend on the caller, the path and the query, and on nothing else of the request.
Handler Live(Handler handler);

}  // namespace cigri::api
