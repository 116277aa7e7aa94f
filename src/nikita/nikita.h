// Kills and cleans. A kill is a condition looked at in every pass, not a list: nikita asks clusters
// to end what should not be in flight until it sees the end.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "clusterdb/clusterdb.h"
#include "module/module.h"
#include "nikita/killer.h"
#include "nikita/retention.h"
#include "nikita/store.h"

namespace cigri::nikita {

class Nikita {
 public:
  explicit Nikita(clusterdb::DriverFactory make_driver = {}) : make_driver_(std::move(make_driver)) {}
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  bool TooSoon(module::Step& step);
  bool Collect(module::Step& step);
  void TrimQueues(db::Tx& tx);
  void Call(module::Step& step);
  Answers TakeAnswers();
  Killer* KillerOf(db::Tx& tx, module::Step& step, std::int64_t cluster_id);
  Killer* MakeKiller(const clusterdb::ClusterRow& row, module::Step& step);

  struct Entry {
    std::string fingerprint;
    std::unique_ptr<Killer> killer;
  };
  clusterdb::DriverFactory make_driver_;
  std::map<std::int64_t, clusterdb::ClusterRow> rows_;
  std::map<std::int64_t, Entry> killers_;
  Clock::time_point last_pass_{}, by_time_{}, rows_read_{}, reported_{};
  Retention retention_;
};

}  // namespace cigri::nikita
