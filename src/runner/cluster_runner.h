// The runner of one cluster: a thread that claims, sends, records and clears doubts.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "clusterdb/clusterdb.h"
#include "db/db.h"
#include "module/events.h"
#include "module/module.h"
#include "runner/store.h"

namespace cigri::runner {

/// What all cluster runners of the process share. Outlives them.
struct Shared {
  db::Pool pool;
  std::string conninfo, grid_id;
  std::int64_t epoch;
  int send_window_s;
  module::Waker& waker;
  std::atomic<bool> stale{false};  ///< another almighty leads: the process is to end
};

/// Safe to kill at any moment: what was intended and not recorded is looked up by its tag by the
/// next one (docs/design.md section 5).
class ClusterRunner {
 public:
  ClusterRunner(const clusterdb::ClusterRow& row, Shared& shared);
  ~ClusterRunner();
  /// There may be something to do. Never blocks.
  void Wake();

 private:
  using Clock = std::chrono::steady_clock;
  void Loop();
  void Pass();
  bool ClaimAndSend();
  void Send(const ClaimedBatch& batch, Clock::time_point claimed_at);
  void Refused(const ClaimedBatch& batch, const cluster::SubmitRefused& why, std::size_t bytes = 0);
  void Tell(db::Tx& tx, const ClaimedBatch& batch, const cluster::SubmitRefused& why,
            const std::string& user, std::size_t bytes);
  void InDoubt(const ClaimedBatch& batch, const std::string& why);
  module::Event DoubtEvent(const std::string& why) const;
  void ClearDoubts();
  void LookUp(const OpenBatch& open);
  void ReleaseHeld();
  std::string UserThere(std::int64_t campaign);
  void Release(const ClaimedBatch& batch, const std::vector<std::string>& ids, bool again = false);
  void BackOff(const std::string& why);
  bool MayCall();
  void LookAtTokens();
  void ReadLimits();
  void LearnLimit(db::Tx& tx, const ClaimedBatch& batch, const cluster::SubmitRefused& why,
                  std::size_t bytes);
  bool TooLarge(const ClaimedBatch& batch, const cluster::Batch& spec);

  const std::int64_t id_;
  const std::string name_;
  Shared& shared_;
  Store store_;
  std::unique_ptr<cluster::Cluster> cluster_;
  cluster::Capabilities caps_;
  bool doubts_ = true;  // there may be open batches of an earlier life, or of ours
  int max_array_ = 0;   // both 0 until they are read: the driver's, or what was learnt
  std::size_t max_bytes_ = 0;
  const bool tokens_;                     // users have tokens there
  Clock::time_point tokens_at_{};         // next look at those that are missing
  std::map<std::int64_t, int> byte_cut_;  // by campaign: elements that fit into one POST
  int refusals_ = 0;                      // in a row, for the back-off
  Clock::time_point not_before_{};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace cigri::runner
