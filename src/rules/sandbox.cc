#include "rules/sandbox.h"

#include <cstdlib>

#include "core/text.h"
#include "rules/functions.h"
#include "rules/lua_json.h"

namespace cigri::rules {
namespace {

constexpr int kHookEvery = 1000;
// The chunk's name; Lua writes "line:3: ..." before a message.
constexpr char kChunk[] = "=line";

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

struct Sandbox::Inputs {
  const std::string* code;
  const nlohmann::json *campaign, *user, *grid;
};

Sandbox::Sandbox(const Limits& limits) : limits_(limits) {
  cpu_end_ = CpuSeconds() + 1e-3 * limits.cpu_ms;
  lua_ = lua_newstate(Allocate, this);
  if (lua_ == nullptr) throw std::runtime_error("not enough memory for a rule");
}

Sandbox::~Sandbox() { lua_close(lua_); }

Sandbox& Sandbox::Of(lua_State* lua) {
  void* self = nullptr;
  lua_getallocf(lua, &self);
  return *static_cast<Sandbox*>(self);
}

void* Sandbox::Allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
  auto& box = *static_cast<Sandbox*>(self);
  if (block == nullptr) old_size = 0;  // Lua passes the kind of a new object there
  if (new_size == 0) {
    std::free(block);
    box.used_ -= old_size;
    return nullptr;
  }
  if (!box.reading_back_ && new_size > old_size &&
      box.used_ + (new_size - old_size) > box.limits_.memory_bytes)
    return nullptr;
  void* grown = std::realloc(block, new_size);
  if (grown != nullptr) box.used_ += new_size - old_size;
  return grown;
}

void Sandbox::OnCount(lua_State* lua, lua_Debug*) {
  Sandbox& box = Of(lua);
  box.instructions_ += kHookEvery;
  if (box.over_ == nullptr && box.instructions_ > box.limits_.instructions)
    box.over_ = "limit of instructions";
  if (box.over_ == nullptr && CpuSeconds() > box.cpu_end_) box.over_ = "limit of time";
  if (box.over_ == nullptr) return;
  lua_sethook(lua, OnCount, LUA_MASKCOUNT, 1);  // whatever it does next, it raises again
  luaL_error(lua, "stopped");
}

int Sandbox::LoadProtected(lua_State* lua) {
  const auto& in = *static_cast<const Inputs*>(lua_touserdata(lua, 1));
  // "t": text only, bytecode can crash the interpreter.
  if (luaL_loadbufferx(lua, in.code->data(), in.code->size(), kChunk, "t") != LUA_OK)
    return lua_error(lua);
  return 1;
}

int Sandbox::RunProtected(lua_State* lua) {
  const auto& in = *static_cast<const Inputs*>(lua_touserdata(lua, 1));
  Functions::Open(lua);
  PushJson(lua, *in.campaign);
  lua_setglobal(lua, "campaign");
  PushJson(lua, *in.user);
  lua_setglobal(lua, "user");
  PushJson(lua, *in.grid);
  lua_setglobal(lua, "grid");
  LoadProtected(lua);
  lua_sethook(lua, OnCount, LUA_MASKCOUNT, kHookEvery);
  lua_call(lua, 0, 0);
  return 0;
}

std::string Sandbox::PopFault() {
  const char* text = lua_type(lua_, -1) == LUA_TSTRING ? lua_tostring(lua_, -1) : nullptr;
  std::string fault = text != nullptr ? ValidUtf8(text) : "it raised an error without a text";
  lua_pop(lua_, 1);
  if (over_ != nullptr) return std::string("it exceeded its ") + over_;
  if (StartsWith(fault, "line:")) fault = "line " + fault.substr(5);
  return fault;
}

std::optional<std::string> Sandbox::Compile(const std::string& code) {
  const Inputs in{&code, nullptr, nullptr, nullptr};
  lua_pushcfunction(lua_, LoadProtected);
  lua_pushlightuserdata(lua_, const_cast<Inputs*>(&in));
  if (lua_pcall(lua_, 1, 0, 0) == LUA_OK) return std::nullopt;
  return PopFault();
}

Sandbox::Result Sandbox::Run(const std::string& code, const nlohmann::json& campaign,
                             const nlohmann::json& user, const nlohmann::json& grid) {
  const Inputs in{&code, &campaign, &user, &grid};
  lua_pushcfunction(lua_, RunProtected);
  lua_pushlightuserdata(lua_, const_cast<Inputs*>(&in));
  const int status = lua_pcall(lua_, 1, 0, 0);
  lua_sethook(lua_, nullptr, 0, 0);
  // What is read back may allocate: out of memory outside a protected call would abort.
  reading_back_ = true;
  Result result;
  result.notes = notes_;
  if (rejected_) {
    result.rejected = rejected_;
  } else if (status != LUA_OK) {
    if (status == LUA_ERRMEM && over_ == nullptr) over_ = "limit of memory";
    result.fault = PopFault();
  } else {
    Take(&result, campaign);
  }
  return result;
}

void Sandbox::Take(Result* result, const nlohmann::json& before) {
  lua_getglobal(lua_, "campaign");
  try {
    result->campaign = PullJson(lua_, -1, before);
    if (!result->campaign.is_object()) result->fault = "it left no campaign";
  } catch (const std::exception& e) {
    result->fault = std::string("it spoilt the campaign: ") + e.what();
  }
  lua_settop(lua_, 0);
}

}  // namespace cigri::rules
