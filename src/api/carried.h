// What a cluster can never carry is refused when it is submitted, not when it is sent.
#pragma once
#include "api/context.h"
#include "api/facts.h"
#include "api/uploads.h"

namespace cigri::api {

/// Throws 400 naming the first cluster of `campaign` that can never carry its jobs, the limit, and
/// the parameter when it is one's: of the uploaded ones when there is a draft, else of `lines`.
/// Looks at the first parameter and at each of more than a thousand bytes; asks no cluster. (The
/// runner asks the same of every batch: limits may change.)
void RequireCarried(Context& context, const Facts& facts, const jdl::Campaign& campaign,
                    const std::optional<Draft>& draft, const jdl::Lines& lines);

}  // namespace cigri::api
