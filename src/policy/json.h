// The values of a decision as JSON, for stored snapshots, gridsim and tests. Members that are left
// out keep their default; unknown words of enums throw std::invalid_argument.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "policy/decide.h"

namespace cigri::policy {

void to_json(nlohmann::json& j, const Release& v);
void from_json(const nlohmann::json& j, Release& v);
void to_json(nlohmann::json& j, const Cluster& v);
void from_json(const nlohmann::json& j, Cluster& v);
void to_json(nlohmann::json& j, const Placement& v);
void from_json(const nlohmann::json& j, Placement& v);
void to_json(nlohmann::json& j, const Campaign& v);
void from_json(const nlohmann::json& j, Campaign& v);
void to_json(nlohmann::json& j, const Usage& v);
void from_json(const nlohmann::json& j, Usage& v);
void to_json(nlohmann::json& j, const RunningJob& v);
void from_json(const nlohmann::json& j, RunningJob& v);
void to_json(nlohmann::json& j, const Snapshot& v);
void from_json(const nlohmann::json& j, Snapshot& v);
void to_json(nlohmann::json& j, const Allocation& v);
void from_json(const nlohmann::json& j, Allocation& v);
void to_json(nlohmann::json& j, const Preempt& v);
void from_json(const nlohmann::json& j, Preempt& v);
void to_json(nlohmann::json& j, const Hold& v);
void from_json(const nlohmann::json& j, Hold& v);
void to_json(nlohmann::json& j, const Plan& v);
void from_json(const nlohmann::json& j, Plan& v);
void to_json(nlohmann::json& j, const Reason& v);
void from_json(const nlohmann::json& j, Reason& v);
void to_json(nlohmann::json& j, const State::Ageing& v);
void from_json(const nlohmann::json& j, State::Ageing& v);
void to_json(nlohmann::json& j, const State::Credit& v);
void from_json(const nlohmann::json& j, State::Credit& v);
void to_json(nlohmann::json& j, const State::Bucket& v);
void from_json(const nlohmann::json& j, State::Bucket& v);
void to_json(nlohmann::json& j, const State& v);
void from_json(const nlohmann::json& j, State& v);
/// The rows of policy_settings as one object. from_json throws std::invalid_argument on a fault.
void to_json(nlohmann::json& j, const PolicyConfig& v);
void from_json(const nlohmann::json& j, PolicyConfig& v);

}  // namespace cigri::policy
