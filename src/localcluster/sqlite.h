// SQLite as this daemon uses it: statements are constants, values are bound.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace cigri::localcluster {

/// The store could not be written or read: disk full, I/O error, not a database.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A statement that runs; rows by `while (rows.Step())`. Reset when it goes.
class Rows {
 public:
  Rows(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  ~Rows() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool Step() {
    const int rc = sqlite3_step(statement_);
    if (rc == SQLITE_ROW) return true;
    if (rc == SQLITE_DONE) return false;
    throw StoreError(sqlite3_errmsg(db_));
  }
  std::int64_t Int(int column) { return sqlite3_column_int64(statement_, column); }
  double Real(int column) { return sqlite3_column_double(statement_, column); }
  bool Null(int column) { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string Text(int column) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr
               ? std::string()
               : std::string(text,
                             static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
};

class Sqlite {
 public:
  /// Throws StoreError.
  explicit Sqlite(const std::string& path);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  /// Gives cached pages back.
  void ReleaseMemory() { sqlite3_db_release_memory(db_); }
  /// Several statements without values.
  void Script(const char* sql);
  /// Runs `sql` with `values`. REQUIRES: `sql` is a literal: its address is the key of its plan.
  template <typename... Values>
  Rows Query(const char* sql, const Values&... values) {
    sqlite3_stmt* statement = Prepare(sql);
    int at = 0;
    (Bind(statement, ++at, values), ...);
    return Rows(db_, statement);
  }
  template <typename... Values>
  void Exec(const char* sql, const Values&... values) {
    Rows rows = Query(sql, values...);
    while (rows.Step()) {
    }
  }

 private:
  sqlite3_stmt* Prepare(const char* sql);
  template <typename T>
  void Bind(sqlite3_stmt* s, int at, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      sqlite3_bind_int64(s, at, static_cast<sqlite3_int64>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      sqlite3_bind_double(s, at, value);
    } else {
      const std::string_view text(value);
      sqlite3_bind_text(s, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
  }
  sqlite3* db_ = nullptr;
  std::map<const char*, sqlite3_stmt*> statements_;
};

/// BEGIN now, ROLLBACK when it goes without Commit().
class Transaction {
 public:
  explicit Transaction(Sqlite& db) : db_(db) { db_.Exec("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit() {
    db_.Exec("COMMIT");
    done_ = true;
  }

 private:
  Sqlite& db_;
  bool done_ = false;
};

}  // namespace cigri::localcluster
