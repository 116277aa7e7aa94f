// JSON of the small structs of a configuration: members that are left out keep their default.
#pragma once
#include <nlohmann/json.hpp>

#include "policy/config.h"

namespace cigri::policy {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Share, share, parent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Queue, min, max, inc, dec, gap)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(MultiSlotRule, age, step, start)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Quota, scope, name, cluster, slots, jobs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StartRate, scope, name, per_minute, burst)

inline void to_json(nlohmann::json& j, const Reserve& r) {
  j = {{"class", r.cls}, {"cluster", r.cluster}, {"fraction", r.fraction}};
}
inline void from_json(const nlohmann::json& j, Reserve& r) {
  r = {j.value("class", ""), j.value("cluster", ""), j.value("fraction", 0.0)};
}

}  // namespace cigri::policy
