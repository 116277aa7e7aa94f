// A real PostgreSQL for tests: each test gets a schema of its own, with our tables in it.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "db/db.h"
#include "db/native.h"

namespace cigri::test {

/// The conninfo of the test server: $CIGRI_TEST_DB, else a private server of this process, started
/// on a unix socket below a temporary directory and ended with the process. The schema is chosen
/// by `options=-csearch_path=...` in the string, so children given it meet the same tables.
class PgTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  /// To be given to programs as $CIGRI_DB.
  const std::string& conninfo() const { return conninfo_; }
  std::unique_ptr<db::Connection> Connect(const std::string& who = "test");
  /// Runs SQL in a transaction of its own; one statement or several.
  pqxx::result Sql(const std::string& sql);
  /// False in fixtures that look at migration itself.
  virtual bool Migrated() const { return true; }
  /// SQL for the new schema before its tables are made. What it names comes before PostgreSQL's own.
  virtual std::string Before() const { return ""; }

 private:
  std::string conninfo_, schema_;
  std::unique_ptr<db::Connection> connection_;
};

/// Conninfo of the server, without a schema.
std::string TestServer();

}  // namespace cigri::test
