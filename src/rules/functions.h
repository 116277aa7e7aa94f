// What a rule may call.
#pragma once
#include "rules/sandbox.h"

namespace cigri::rules {

/// The functions of a rule, as Lua sees them. Friends of Sandbox: they write its notes and its end.
struct Functions {
  /// Opens base, string, table and math without what a rule must not have, and adds reject, warn,
  /// require_that, set_priority and guarded find, rep and pcall. Raises on lack of memory.
  static void Open(lua_State* lua);

  static int Reject(lua_State* lua);
  static int Warn(lua_State* lua);
  static int RequireThat(lua_State* lua);
  static int SetPriority(lua_State* lua);
  static int Find(lua_State* lua);
  static int Rep(lua_State* lua);
  static int Pcall(lua_State* lua);
};

}  // namespace cigri::rules
