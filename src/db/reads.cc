#include "db/reads.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "db/db.h"

namespace cigri::db {

ReadTransaction::ReadTransaction(pqxx::connection_base& c, std::set<std::string>* prepared)
    : namedclass("reads"), dbtransaction(c), prepared_(prepared) {
  Begin();
}

pqxx::result ReadTransaction::Run(Statement statement) {
  if (const Answer* known = Known(statement)) return known->rows;
  ahead_.push_back(std::move(statement));
  return Send();
}

const ReadTransaction::Answer* ReadTransaction::Known(const Statement& statement) const {
  const auto it = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& a) {
    return std::string_view(a.statement.name) == statement.name &&
           a.statement.params.values() == statement.params.values();
  });
  return it == answers_.end() ? nullptr : &*it;
}

pqxx::result ReadTransaction::Send() {
  if (ended_)
    throw Error(std::string(ahead_.back().name) + " follows the last statement of its snapshot");
  std::vector<std::string> texts;
  std::vector<std::size_t> places;  // of the statements among the texts
  if (!begun_) texts.emplace_back("BEGIN");
  for (const auto& s : ahead_) {
    if (prepared_->count(s.name) == 0) {
      conn().prepare(s.name, s.sql);
      conn().prepare_now(s.name);
      prepared_->insert(s.name);
    }
    if (s.generic != generic_) {
      texts.emplace_back(s.generic ? "SET LOCAL plan_cache_mode = force_generic_plan"
                                   : "SET LOCAL plan_cache_mode = force_custom_plan");
      texts.emplace_back(s.generic ? "SET LOCAL enable_seqscan = off"
                                   : "SET LOCAL enable_seqscan = on");
      generic_ = s.generic;
    }
    places.push_back(texts.size());
    texts.push_back(Execute(s));
  }
  if (last_) texts.emplace_back("COMMIT");

  pqxx::pipeline message(*this);
  message.retain(static_cast<int>(texts.size()));
  for (const auto& text : texts) message.insert(text);
  begun_ = true;
  message.complete();
  std::vector<pqxx::result> all;
  while (!message.empty()) all.push_back(message.retrieve().second);
  ended_ = last_;
  for (std::size_t i = 0; i + 1 < ahead_.size(); ++i)
    answers_.push_back({std::move(ahead_[i]), all[places[i]]});
  ahead_.clear();
  return all[places.back()];
}

std::string ReadTransaction::Execute(const Statement& statement) {
  std::string values;
  for (const auto& value : statement.params.values()) {
    values += values.empty() ? "" : ", ";
    values += value ? conn().quote(*value) : "NULL";
  }
  return "EXECUTE " + conn().quote_name(statement.name) +
         (values.empty() ? "" : "(" + values + ")");
}

pqxx::result ReadTransaction::do_exec(const char text[]) {
  if (!std::exchange(begun_, true)) direct_exec("BEGIN");
  return dbtransaction::do_exec(text);
}

void ReadTransaction::do_commit() {
  if (begun_ && !ended_) direct_exec("COMMIT");
}

void ReadTransaction::do_abort() {
  if (begun_ && !ended_) dbtransaction::do_abort();
}

}  // namespace cigri::db
