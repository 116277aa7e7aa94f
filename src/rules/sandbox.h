// One Lua state for one run of one rule: budgets, and only the functions a rule may have.
#pragma once
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "rules/lua.h"
#include "rules/rules.h"

namespace cigri::rules {

/// A fresh Lua state that runs one rule once. Stops it by instructions, memory and CPU time, also
/// inside pcall; does not stop one C function that never returns: the child's limits do.
class Sandbox {
 public:
  explicit Sandbox(const Limits& limits);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;

  struct Result {
    std::optional<std::string> rejected;  ///< the text of reject()
    std::optional<std::string> fault;     ///< why it failed, "line 3: ..."
    nlohmann::json campaign;              ///< only when neither
    std::vector<std::string> notes;
  };
  Result Run(const std::string& code, const nlohmann::json& campaign, const nlohmann::json& user,
             const nlohmann::json& grid);
  /// Compiles without running; what is wrong, with its line.
  std::optional<std::string> Compile(const std::string& code);

 private:
  struct Inputs;
  friend struct Functions;
  static void* Allocate(void* self, void* block, std::size_t old_size, std::size_t new_size);
  static Sandbox& Of(lua_State* lua);
  static void OnCount(lua_State* lua, lua_Debug*);
  static int RunProtected(lua_State* lua);
  static int LoadProtected(lua_State* lua);
  void Take(Result* result, const nlohmann::json& before);
  std::string PopFault();
  bool final() const { return over_ != nullptr || rejected_.has_value(); }

  Limits limits_;
  std::size_t used_ = 0;
  std::int64_t instructions_ = 0;
  double cpu_end_ = 0;
  const char* over_ = nullptr;  ///< the limit that was passed: pcall cannot undo it
  bool reading_back_ = false;
  std::optional<std::string> rejected_;
  std::vector<std::string> notes_;
  lua_State* lua_ = nullptr;
};

}  // namespace cigri::rules
