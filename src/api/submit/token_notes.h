// What a submission says of the tokens that its clusters will ask for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/submit/grid_info.h"
#include "jdl/jdl.h"

namespace cigri::api {

/// A note for each cluster where the user has no token, or one that expires before `jobs` jobs can
/// have run at their walltimes on all that the campaign's clusters have.
std::vector<std::string> TokenNotes(const GridInfo& info, const jdl::Campaign& campaign,
                                    std::int64_t jobs);

}  // namespace cigri::api
