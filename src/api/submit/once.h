// Requests that a client repeats because it does not know what became of them.
#pragma once
#include "api/http/router.h"

namespace cigri::api {

/// `carry_out`, unless the caller has had a request with the same header Idempotency-Key carried
/// out in the last day: then 200 with the campaign that it made, or added tasks to. Throws 400 for
/// a key that is not 1 to 64 printable characters; without the header it is carried out.
Reply Once(Context& context, const Request& request, const Handler& carry_out);

/// To be called by what carries it out, in the transaction that does.
void NoteRequestKey(db::Tx& tx, const Request& request, std::int64_t campaign);

}  // namespace cigri::api
