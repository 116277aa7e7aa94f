// One SQL statement of sql/queries, or one migration: what the generated headers are made of.
#pragma once

namespace cigri::db {

struct Statement {
  const char* name;  ///< "runner_claim_tasks": its prepared name, and its name in logs
  const char* sql;
};

struct Migration {
  int number;
  const char* name;      ///< "0001_initial_schema"
  const char* checksum;  ///< SHA-256 of the file
  const char* sql;
};

}  // namespace cigri::db
