// Kills and cleans. A kill is a condition looked at in every round, not a list: what should not be
// in flight is asked to end until it is seen ended.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "clusterdb/clusterdb.h"
#include "module/module.h"
#include "nikita/killer.h"
#include "nikita/sweep.h"

namespace cigri::nikita {

class Nikita {
 public:
  void Pass(module::Turn& turn);

 private:
  using Clock = std::chrono::steady_clock;
  bool Soon(module::Turn& turn);
  bool Collect(module::Turn& turn);
  void EndDrains(db::Tx& tx);
  void CollectSlow(db::Tx& tx);
  void WipeQueues(db::Tx& tx);
  void Call(module::Turn& turn);
  void Report(db::Connection& db);
  void ReportStubborn(db::Tx& tx);
  Killer* KillerOf(db::Tx& tx, module::Turn& turn, std::int64_t cluster_id);

  struct Entry {
    std::string fingerprint;
    std::unique_ptr<Killer> killer;
  };
  std::map<std::int64_t, clusterdb::ClusterRow> rows_;
  std::map<std::int64_t, Entry> killers_;
  Clock::time_point looked_{}, slow_{}, rows_read_{}, stubborn_{};
  Sweeper sweeper_;
};

}  // namespace cigri::nikita
