// libpqxx itself, for this folder and for tests. Nobody else includes this header.
#pragma once
#include <pqxx/pqxx>

#include "db/db.h"

namespace cigri::db {

/// The transaction behind `tx`.
pqxx::dbtransaction& Native(Tx& tx);

/// Calls `body`; an exception of libpqxx leaves as the one of ours that stands for it (db.h).
template <typename Body>
auto Translated(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const pqxx::in_doubt_error& e) {
    throw InDoubt(e.what());
  } catch (const pqxx::broken_connection& e) {
    throw Broken(e.what());
  } catch (const pqxx::unique_violation& e) {
    throw UniqueViolation(e.what(), e.sqlstate());
  } catch (const pqxx::integrity_constraint_violation& e) {
    throw ConstraintViolation(e.what(), e.sqlstate());
  } catch (const pqxx::data_exception& e) {
    throw DataError(e.what(), e.sqlstate());
  } catch (const pqxx::sql_error& e) {
    throw SqlError(e.what(), e.sqlstate());
  } catch (const pqxx::failure& e) {
    throw Error(e.what());
  } catch (const pqxx::conversion_error& e) {
    throw Error(e.what());
  }
}

}  // namespace cigri::db
