// What the child does: all rules in turn, reported line by line, so that whoever reads knows which
// rule ran when the child died.
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rules/rules.h"

namespace cigri::rules {

/// Takes {"rules":[{id,name,code,mode}],"campaign","user","grid","limits"} and says, in order:
/// {"rule":i} before rule i, {"ran":i,"ms","notes","changes"[,"rejected"|"fault"]} after it, and
/// {"campaign":...} at the end, which is not reached after a rule in force has refused or failed.
void Evaluate(const nlohmann::json& request, const std::function<void(const nlohmann::json&)>& say);

/// What makes `after` of `before`, a line for each place: "/clusters/c1/walltime 7200 -> 3600".
std::vector<std::string> Changes(const nlohmann::json& before, const nlohmann::json& after);

nlohmann::json ToJson(const Limits& limits);

}  // namespace cigri::rules
