#include "core/config_check.h"

#include "core/error.h"

namespace cigri {
namespace {

struct Whole {
  const char* key;
  std::int64_t least, most;
};
constexpr std::int64_t kAny = 1'000'000'000;
// As the programs read them.
constexpr Whole kWhole[] = {{"SEND_WINDOW", 2, 300},
                            {"KEEP_CAMPAIGNS_DAYS", 0, kAny},
                            {"UPLOAD_KEEP", 60, kAny},
                            {"AUDIT_KEEP_DAYS", 30, kAny},
                            {"UPLOAD_MAX_MB", 0, kAny},
                            {"DATABASE_FREE_MB", 0, kAny},
                            {"CAMPAIGN_THROUGHPUT_WINDOW", 1, kAny},
                            {"NOTIFICATIONS_SMTP_PORT", 1, 65535},
                            {"NOTIFICATIONS_WINDOW", 0, 86400},
                            {"NOTIFICATIONS_PER_HOUR", 1, 10000},
                            {"TEST_CAMPAIGN_WAIT", 1, kAny},
                            {"EPILOGUE_WAIT", 1, kAny},
                            {"FULL_RECONCILIATION", 1, kAny},
                            {"API_TIMEOUT", 1, 86400},
                            {"LOCAL_MAX_FILE", 0, kAny}};
constexpr const char* kBooleans[] = {"API_READ_PARAM_FILES", "API_SSL", "LOCAL_PIN"};
constexpr const char* kSeconds[] = {"LEADER_TERM", "SAFETY_TICK"};

}  // namespace

void CheckValues(const Config& config) {
  for (const auto& [key, least, most] : kWhole) config.GetInt(key, least, least, most);
  for (const char* key : kBooleans) config.GetBool(key, false);
  for (const char* key : kSeconds)
    if (config.GetDouble(key, 0) > 86400)
      throw Fatal(kExitConfig, config.Named(key) + " is not a number of seconds from 0 to 86400");
  if (config.Has("API_LISTEN") && !ParseListenAddress(config.Get("API_LISTEN")))
    throw Fatal(kExitConfig, config.Named("API_LISTEN") + " is no address", kListenAddressHint);
}

}  // namespace cigri
