// A transaction of libpqxx. For this folder and for its tests.
#pragma once
#include <pqxx/pqxx>
#include <string>
#include <utility>

namespace cigri::db {

/// What begins it ("BEGIN; SET ...") goes to the server in one message; pqxx::transaction sends its
/// BEGIN alone. Rolled back unless committed.
class OneMessageTransaction : public pqxx::dbtransaction {
 public:
  OneMessageTransaction(pqxx::connection_base& c, std::string begin)
      : namedclass("transaction"), dbtransaction(c), begin_(std::move(begin)) {
    Begin();
  }
  ~OneMessageTransaction() noexcept override { End(); }

 private:
  void do_begin() override {
    try {
      direct_exec(begin_.c_str());
    } catch (const pqxx::sql_error&) {  // an operator ended it after its BEGIN
      direct_exec("ROLLBACK");
      throw;
    }
  }
  void do_commit() override {
    try {
      direct_exec("COMMIT");
    } catch (const pqxx::statement_completion_unknown& e) {
      throw pqxx::in_doubt_error(e.what());
    } catch (const std::exception& e) {
      if (conn().is_open()) throw;
      throw pqxx::in_doubt_error(e.what());
    }
  }
  std::string begin_;
};

}  // namespace cigri::db
