#include "rules/functions.h"

#include <cstring>

#include "core/text.h"

namespace cigri::rules {
namespace {

std::string TextArgument(lua_State* lua, int index) {
  std::size_t n = 0;
  const char* s = luaL_checklstring(lua, index, &n);
  return ValidUtf8({s, std::min<std::size_t>(n, 2000)});
}

void Remove(lua_State* lua, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
  }
}

void Add(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

}  // namespace

void Functions::Open(lua_State* lua) {
  luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 1);
  // The instruction hook does not run inside a C function: what can be slow there goes.
  Remove(lua, {"dump", "gsub", "gmatch", "match", "format", "pack", "unpack", "packsize"});
  Add(lua, "find", Find);
  Add(lua, "rep", Rep);
  luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 1);
  Remove(lua, {"move", "pack", "unpack"});
  luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 1);
  luaL_requiref(lua, LUA_GNAME, luaopen_base, 1);
  Remove(lua, {"dofile", "load", "loadfile", "print", "collectgarbage", "rawequal", "rawget",
               "rawset", "rawlen", "getmetatable", "setmetatable", "xpcall", "require"});
  Add(lua, "pcall", Pcall);
  Add(lua, "reject", Reject);
  Add(lua, "warn", Warn);
  Add(lua, "require_that", RequireThat);
  Add(lua, "set_priority", SetPriority);
  lua_pop(lua, 4);
}

int Functions::Reject(lua_State* lua) {
  Sandbox::Of(lua).rejected_ = TextArgument(lua, 1);
  return luaL_error(lua, "rejected");
}

int Functions::Warn(lua_State* lua) {
  auto& notes = Sandbox::Of(lua).notes_;
  const std::string text = TextArgument(lua, 1);
  if (notes.size() < 100) notes.push_back(text);
  return 0;
}

int Functions::RequireThat(lua_State* lua) {
  if (lua_toboolean(lua, 1)) return 0;
  lua_remove(lua, 1);
  return Reject(lua);
}

int Functions::SetPriority(lua_State* lua) {
  const lua_Integer n = luaL_checkinteger(lua, 1);
  if (n < 0 || n > 9) return luaL_error(lua, "set_priority(%I): priorities are 0 to 9", n);
  if (lua_getglobal(lua, "campaign") != LUA_TTABLE) return luaL_error(lua, "no campaign");
  lua_pushinteger(lua, n);
  lua_setfield(lua, -2, "priority");
  return 0;
}

// Plain text only: a pattern can take any time on a text that a user chose. So can a naive search
// for a long text; memmem is linear.
int Functions::Find(lua_State* lua) {
  std::size_t n = 0, m = 0;
  const char* s = luaL_checklstring(lua, 1, &n);
  const char* what = luaL_checklstring(lua, 2, &m);
  const lua_Integer from = luaL_optinteger(lua, 3, 1);
  if (from < 1 || static_cast<std::size_t>(from - 1) > n) return 0;
  const void* found = memmem(s + from - 1, n - static_cast<std::size_t>(from - 1), what, m);
  if (found == nullptr) return 0;
  const auto at = static_cast<lua_Integer>(static_cast<const char*>(found) - s);
  lua_pushinteger(lua, at + 1);
  lua_pushinteger(lua, at + static_cast<lua_Integer>(m));
  return 2;
}

int Functions::Rep(lua_State* lua) {
  std::size_t n = 0;
  const char* s = luaL_checklstring(lua, 1, &n);
  const lua_Integer times = std::max<lua_Integer>(0, luaL_checkinteger(lua, 2));
  if (times > 100'000 || n * static_cast<std::size_t>(times) > 1'000'000)
    return luaL_error(lua, "string.rep: the result would pass 1000000 bytes");
  std::string out;
  for (lua_Integer i = 0; i < times; ++i) out.append(s, n);
  lua_pushlstring(lua, out.data(), out.size());
  return 1;
}

// As Lua's, but a rejection or a passed limit cannot be caught.
int Functions::Pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (status == LUA_ERRMEM && Sandbox::Of(lua).over_ == nullptr)
    Sandbox::Of(lua).over_ = "limit of memory";
  if (Sandbox::Of(lua).final()) return lua_error(lua);
  luaL_checkstack(lua, 1, "too many results");
  lua_pushboolean(lua, status == LUA_OK);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

}  // namespace cigri::rules
