// The limits on what one user or address may take of the grid: one table, which the servers obey,
// `gridadmin limits` shows and docs/security.md repeats.
#pragma once
#include <cstdint>

namespace cigri::limits {

struct Limit {
  const char* name;   ///< as answers name it
  std::int64_t value;
  const char* unit;
  const char* scope;  ///< for whom it counts
  const char* answer; ///< what the client sees beyond it
  const char* setting = "";  ///< what an operator changes; "": it is compiled in
};

// A caller is a user (unix socket, token, named by a proxy) or an address without a valid token: an
// IPv4 address, or the /64 that an IPv6 address is in.
constexpr Limit kConnections{
    "connections", 64, "connections", "each caller",
    "its connection that has waited longest for a request is closed; 429 when none waits"};
constexpr Limit kAllConnections{"all-connections", 1500, "connections", "each socket",
                                "the greediest caller's oldest is closed; 503 when none waits"};
// More than cores would leave nothing of them to the others.
constexpr Limit kThreads{"threads", 4, "requests at work",
                         "each caller; on fewer cores as many as these, but 2",
                         "the next ones wait"};
constexpr Limit kPace{"pace", 1, "threads, in the mean",
                      "each caller who has had 100 ms of them, while others ask",
                      "the next ones wait, each 0.5 s at most"};
constexpr Limit kStrangerThreads{"stranger-threads", 16, "requests at work",
                                 "all callers without a valid token", "the next ones wait"};
constexpr Limit kAllThreads{"all-threads", 64, "requests at work", "each socket",
                            "the next ones wait"};
constexpr Limit kLongPolls{"long-polls", 64, "waiting requests", "each caller", "429"};
constexpr Limit kHeadBytes{"head-bytes", 32 << 10, "bytes", "each request", "431"};
constexpr Limit kHeaders{"headers", 100, "headers", "each request", "431"};
constexpr Limit kRequestTime{"request-time", 10, "s", "a head and a body up to 64 kB",
                             "the connection is closed"};
constexpr Limit kStrangerTime{"stranger-time", 2, "s",
                              "the same, of callers without a valid token",
                              "the connection is closed"};
constexpr Limit kBodyRate{"body-rate", 256 << 10, "bytes a second", "each longer body",
                          "the connection is closed"};
constexpr Limit kBodyBytes{"body-bytes", 112 << 20, "bytes", "each request", "413"};
constexpr Limit kStrangerBytes{"stranger-bytes", 16 << 10, "bytes",
                               "each request without a valid token", "403"};
constexpr Limit kFormBytes{"form-bytes", 8192, "bytes", "each form-encoded request", "415"};

// What the database and the clusters of this machine keep for a user.
constexpr Limit kUploads{"uploads", 100, "open uploads", "each user", "429"};
constexpr Limit kUploadMb{"upload-mb", 10'000, "MB of parameters", "each user", "413",
                          "UPLOAD_MAX_MB"};
constexpr Limit kFreeMb{"free-mb", 1000, "MB that stay free", "the disk of the database",
                        "503 to parameters", "DATABASE_FREE_MB"};
constexpr Limit kJdlBytes{"jdl-bytes", 64 << 20, "bytes", "each JDL", "400"};
constexpr Limit kTasks{"tasks", 10'000'000, "parameters at once", "each campaign", "400"};
constexpr Limit kBoostedTasks{"boosted-tasks", 10'000, "tasks boosted at once", "each request",
                              "400"};
constexpr Limit kTestCampaigns{"test-campaigns", 2, "active test campaigns", "each user", "403",
                               "rule test-campaigns"};
constexpr Limit kSubscriptions{"subscriptions", 1000, "subscriptions to notifications", "each user",
                               "429"};
constexpr Limit kLocalJobs{"local-jobs", 20'000, "jobs in the queue",
                           "each user of a local cluster besides the grid", "429"};
constexpr Limit kLocalFileMb{"local-file-mb", 1024, "MB", "each file of a job on a local cluster",
                             "SIGXFSZ to the job", "LOCAL_MAX_FILE"};

constexpr Limit kAll[] = {
    kConnections,  kAllConnections, kThreads,       kPace,          kStrangerThreads,
    kAllThreads,   kLongPolls,      kHeadBytes,     kHeaders,       kRequestTime,
    kStrangerTime, kBodyRate,       kBodyBytes,     kStrangerBytes, kFormBytes,
    kUploads,      kUploadMb,       kFreeMb,        kJdlBytes,      kTasks,
    kBoostedTasks, kTestCampaigns,  kSubscriptions, kLocalJobs,     kLocalFileMb};

}  // namespace cigri::limits
