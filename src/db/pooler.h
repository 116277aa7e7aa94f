// A pooler between us and the server that gives a session to another client after each transaction.
#pragma once
#include <pqxx/pqxx>
#include <string>

namespace cigri::db {

/// Whether `session` loses its server to a second session of `conninfo` between two transactions.
/// `backend_pid`: the server process of its last transaction. Costs nothing when the server itself
/// answers; else a second session, once a process and conninfo. REQUIRES: no transaction is open.
bool IsSharedByPooler(pqxx::connection_base& session, int backend_pid, const std::string& conninfo);

}  // namespace cigri::db
