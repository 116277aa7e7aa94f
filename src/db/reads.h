// The transactions of sessions that only read. For this folder.
#pragma once
#include <pqxx/pqxx>
#include <set>
#include <string>
#include <vector>

#include "db/params.h"

namespace cigri::db {

/// What a session that reads is set to before its first transaction.
inline constexpr const char* kReadSettings =
    "SET default_transaction_isolation = 'repeatable read'; "
    "SET default_transaction_read_only = on; "
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off";

/// One snapshot. What begins it goes to the server together with its first statement, what was put
/// ahead of a statement together with that, and what ends it with the last ones: all of it may be
/// one message. The isolation is that of the session: libpqxx puts a statement of its own before
/// those of a message, and after one that of a transaction is settled.
class ReadTransaction : public pqxx::dbtransaction {
 public:
  struct Statement {
    const char *name, *sql;
    bool generic;  ///< how its plan is made (statement.h)
    Params params;
  };
  /// `prepared`: the names of the statements that the session has.
  ReadTransaction(pqxx::connection_base& c, std::set<std::string>* prepared);
  ~ReadTransaction() noexcept override { End(); }

  /// Goes along with the next statement that is run.
  void Ahead(Statement statement) { ahead_.push_back(std::move(statement)); }
  /// Nothing follows the next message.
  void NothingFollows() { last_ = true; }
  /// Its answer, which may be here already.
  pqxx::result Run(Statement statement);

 private:
  struct Answer {
    Statement statement;
    pqxx::result rows;
  };
  void do_begin() override {}
  pqxx::result do_exec(const char text[]) override;
  void do_commit() override;
  void do_abort() override;
  const Answer* Known(const Statement& statement) const;
  /// Sends what is ahead; the answer to the last of it. The others are kept.
  pqxx::result Send();
  std::string Execute(const Statement& statement);

  std::set<std::string>* prepared_;
  std::vector<Statement> ahead_;
  std::vector<Answer> answers_;
  bool generic_ = true, begun_ = false, last_ = false, ended_ = false;
};

}  // namespace cigri::db
