#include "rules/lua_json.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/text.h"

namespace cigri::rules {
namespace {

using nlohmann::json;

const json kNothing;

// One walk over a rule's result, bounded in depth and in bytes: ten references to one table, 16
// levels deep, would otherwise be 10^16 nodes.
class Puller {
 public:
  explicit Puller(lua_State* lua) : lua_(lua) {}

  json Value(int index, const json& before, int depth) {
    if (depth > 40) throw std::runtime_error("it is nested too deep, or contains itself");
    Spend(64);
    json value = Convert(lua_absindex(lua_, index), before, depth);
    // Equal in value is the same: an integer that went through Lua as 3600.0 stays what it was.
    return value.is_primitive() && value == before ? before : value;
  }

 private:
  json Convert(int index, const json& before, int depth) {
    switch (lua_type(lua_, index)) {
      case LUA_TNIL:
        return nullptr;
      case LUA_TBOOLEAN:
        return lua_toboolean(lua_, index) != 0;
      case LUA_TNUMBER:
        return Number(index);
      case LUA_TSTRING:
        return Text(index);
      case LUA_TTABLE:
        return Table(index, before, depth);
      default:
        throw std::runtime_error(std::string("a ") + luaL_typename(lua_, index) +
                                 " is stored in it");
    }
  }

  json Number(int index) {
    if (lua_isinteger(lua_, index)) return static_cast<std::int64_t>(lua_tointeger(lua_, index));
    const double x = lua_tonumber(lua_, index);
    if (!std::isfinite(x)) throw std::runtime_error("a number in it is not finite");
    if (x == std::floor(x) && std::abs(x) < 9e15) return static_cast<std::int64_t>(x);
    return x;
  }

  std::string Text(int index) {
    std::size_t n = 0;
    const char* s = lua_tolstring(lua_, index, &n);
    Spend(n);
    if (!IsValidUtf8({s, n})) throw std::runtime_error("a text in it is not UTF-8");
    return {s, n};
  }

  json Table(int index, const json& before, int depth) {
    if (!lua_checkstack(lua_, 4)) throw std::runtime_error("it is nested too deep");
    lua_Integer numbered = 0, named = 0, last = 0;
    for (lua_pushnil(lua_); lua_next(lua_, index) != 0; lua_pop(lua_, 1)) {
      if (lua_isinteger(lua_, -2)) {
        ++numbered;
        last = std::max(last, lua_tointeger(lua_, -2));
      } else if (lua_type(lua_, -2) == LUA_TSTRING) {
        ++named;
      } else {
        lua_pop(lua_, 2);
        throw std::runtime_error("a key in it is neither a name nor a number");
      }
    }
    if (numbered != 0 && (named != 0 || last != numbered))
      throw std::runtime_error("a table in it is neither a list without gaps nor a set of names");
    if (numbered != 0 || (named == 0 && before.is_array()))
      return List(index, numbered, before, depth);
    return Object(index, before, depth);
  }

  json List(int index, lua_Integer n, const json& before, int depth) {
    json list = json::array();
    for (lua_Integer i = 1; i <= n; ++i) {
      lua_rawgeti(lua_, index, i);
      const auto at = static_cast<std::size_t>(i - 1);
      const bool had = before.is_array() && at < before.size();
      list.push_back(Value(-1, had ? before[at] : kNothing, depth + 1));
      lua_pop(lua_, 1);
    }
    return list;
  }

  json Object(int index, const json& before, int depth) {
    json object = json::object();
    for (lua_pushnil(lua_); lua_next(lua_, index) != 0; lua_pop(lua_, 1)) {
      const std::string key = Text(-2);
      const bool had = before.is_object() && before.contains(key);
      object[key] = Value(-1, had ? before[key] : kNothing, depth + 1);
    }
    if (before.is_object())
      for (const auto& [key, value] : before.items())
        if (value.is_null() && !object.contains(key)) object[key] = nullptr;
    return object;
  }

  void Spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kMost) throw std::runtime_error("it has become larger than 16 MB");
  }

  static constexpr std::size_t kMost = 16u << 20;
  lua_State* lua_;
  std::size_t spent_ = 0;
};

void PushString(lua_State* lua, const std::string& s) { lua_pushlstring(lua, s.data(), s.size()); }

}  // namespace

void PushJson(lua_State* lua, const json& value) {
  luaL_checkstack(lua, 8, "too deep");
  switch (value.type()) {
    case json::value_t::object:
      lua_createtable(lua, 0, static_cast<int>(value.size()));
      for (const auto& [key, item] : value.items()) {
        PushString(lua, key);
        PushJson(lua, item);
        lua_rawset(lua, -3);
      }
      return;
    case json::value_t::array:
      lua_createtable(lua, static_cast<int>(value.size()), 0);
      for (std::size_t i = 0; i < value.size(); ++i) {
        PushJson(lua, value[i]);
        lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
      }
      return;
    case json::value_t::string:
      return PushString(lua, value.get_ref<const std::string&>());
    case json::value_t::boolean:
      return lua_pushboolean(lua, value.get<bool>());
    case json::value_t::number_unsigned:
      if (value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
        return lua_pushnumber(lua, value.get<double>());
      [[fallthrough]];
    case json::value_t::number_integer:
      return lua_pushinteger(lua, value.get<lua_Integer>());
    case json::value_t::number_float:
      return lua_pushnumber(lua, value.get<double>());
    default:
      return lua_pushnil(lua);
  }
}

json PullJson(lua_State* lua, int index, const json& before) {
  return Puller(lua).Value(index, before, 0);
}

}  // namespace cigri::rules
