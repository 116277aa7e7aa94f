// What is behind Rows: for src/db alone.
#pragma once
#include <pqxx/pqxx>
#include <string>

#include "db/rows.h"

namespace cigri::db {

struct Rows::Impl {
  pqxx::result result;
  std::string statement;  ///< its name, for messages
};

}  // namespace cigri::db
