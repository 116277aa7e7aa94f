// What a cluster can never take is refused when it is submitted, not when it is sent.
#pragma once
#include "api/http/context.h"
#include "api/submit/grid_info.h"
#include "api/submit/uploads.h"
#include "cluster/cluster.h"

namespace cigri::api {

/// Throws 400 naming the first cluster of `campaign` that can never take its jobs, the limit, and
/// the parameter when it is one's: of the uploaded ones when there is an upload, else of `lines`.
/// Looks at the first parameter and at each that could make a long command, and counts what a
/// command would have before it makes one; asks no cluster. (The
/// runner asks the same of every batch: limits may change.)
void CheckLimits(Context& context, const GridInfo& info, const jdl::Campaign& campaign,
                 const std::optional<ParameterUpload>& upload, const jdl::Lines& lines);

/// Takes out of `campaign` the clusters that can never run its jobs, whatever the parameters, while
/// another one can; returns a note for each. Throws 400 with all reasons when none can.
std::vector<std::string> LeaveOutUnable(Context& context, const GridInfo& info,
                                        jdl::Campaign& campaign);

/// The slots that the jobs of `campaign` can use on each cluster, by its name.
std::map<std::string, cluster::ResourceClass> ResourceClassesOf(db::Tx& tx, const GridInfo& info,
                                                                const jdl::Campaign& campaign);

}  // namespace cigri::api
