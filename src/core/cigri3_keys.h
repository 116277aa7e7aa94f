// Keys of CiGri 3's answers that more than one of our programs writes in CiGri 3's order.
#pragma once

namespace cigri {

/// A job, as `GET /jobs/ID` of CiGri 3 and its `gridstat -j` show it.
inline constexpr const char* kCigri3JobKeys[] = {
    "id",       "param",         "grid_user",      "campaign_id",     "param_id",
    "batch_id", "cluster_id",    "collect_id",     "state",           "return_code",
    "submission_time", "start_time", "stop_time",  "node_name",       "resources_used",
    "remote_id", "tag",          "runner_options", "nodb",            "cluster_name"};

}  // namespace cigri
