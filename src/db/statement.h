// What the generated headers of sql/queries and sql/migrations are made of.
#pragma once
#include <cstddef>

namespace cigri::db {

/// A statement without rows; its `-- name:` is its prepared name and its name in logs.
struct Command {
  const char* name;
  const char* sql;
  bool generic = false;  ///< `-- plan: generic`
};

/// A statement whose rows become `R`, the struct generated from its `-- returns:` lines.
template <typename R>
struct Query {
  const char* name;
  const char* sql;
  bool generic = false;  ///< `-- plan: generic`
  /// For `n` values: a plan that serves any few takes less time than a plan of their own.
  constexpr Query Of(std::size_t n) const { return {name, sql, generic || n <= 16}; }
};

struct Migration {
  int number;
  const char* name;      ///< "0001_initial_schema"
  const char* checksum;  ///< SHA-256 of the file
  const char* sql;
};

}  // namespace cigri::db
