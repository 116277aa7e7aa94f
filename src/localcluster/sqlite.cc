#include "localcluster/sqlite.h"

#include <fcntl.h>
#include <unistd.h>

namespace cigri::localcluster {

Sqlite::Sqlite(const std::string& path) {
  // Users' command lines stand in it. SQLite gives its other files the mode of this one.
  if (const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); fd >= 0) close(fd);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) == SQLITE_OK) return;
  const std::string why = db_ == nullptr ? "no memory" : sqlite3_errmsg(db_);
  sqlite3_close(db_);
  throw StoreError(why);
}

Sqlite::~Sqlite() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

void Sqlite::Script(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    throw StoreError(sqlite3_errmsg(db_));
}

sqlite3_stmt* Sqlite::Prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr &&
      sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    throw StoreError(sqlite3_errmsg(db_));
  return statement;
}

Transaction::~Transaction() {
  if (done_) return;
  try {
    db_.Exec("ROLLBACK");
  } catch (const StoreError&) {
    // A full disk may have rolled it back already.
  }
}

}  // namespace cigri::localcluster
