// Keys of CiGri 3's answers that more than one of our programs writes in CiGri 3's order.
#pragma once

namespace cigri {

/// A job, as `GET /jobs/ID` of CiGri 3 and its `gridstat -j` show it.
inline constexpr const char* kCigri3JobKeys[] = {
    "id",       "param",         "grid_user",      "campaign_id",     "param_id",
    "batch_id", "cluster_id",    "collect_id",     "state",           "return_code",
    "submission_time", "start_time", "stop_time",  "node_name",       "resources_used",
    "remote_id", "tag",          "runner_options", "nodb",            "cluster_name"};

/// OAR left the output of CiGri 3's jobs in exec_directory, where scripts gather it: the first thing
/// that such a job does is to give its output that name too. The output of a local cluster's job has
/// no name of its own before it holds something: only what is open can be linked.
inline constexpr char kCigri3OutputSetup[] =
    R"sh((for s in 1:stdout 2:stderr; do p=/proc/$$/fd/${s%:*} n=OAR.cigri.$CIGRI_CAMPAIGN_ID.${OAR_JOB_ID:-$CIGRI_JOB_ID}.${s#*:}; ln -Lf $p "$n" || { f=$(readlink $p) && [ -e "$f" ] && ln -sf "$f" "$n"; }; done) 2>/dev/null)sh";

}  // namespace cigri
