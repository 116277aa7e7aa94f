// JSON to Lua values and back. What a rule leaves in `campaign` is looked at as a stranger's.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "rules/lua.h"

namespace cigri::rules {

/// Pushes `value`; null becomes nil, so a key with null does not exist in Lua. May raise a Lua
/// error (memory): call it protected.
void PushJson(lua_State* lua, const nlohmann::json& value);

/// The value at `index` as JSON. `before` is what stood in its place (null when nothing did): it
/// settles what Lua cannot tell, {} from [], 2 from 2.0, null from absent. Throws
/// std::runtime_error with a readable message on cycles, functions, mixed tables, numbers that are
/// not finite, text that is not UTF-8, and more than 16 MB. Does not allocate in Lua.
nlohmann::json PullJson(lua_State* lua, int index, const nlohmann::json& before);

}  // namespace cigri::rules
