// The runner's SQL: claiming, recording, giving back. Each function is one transaction's part; the
// caller commits.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"
#include "runner/decide.h"

namespace cigri::runner {

/// An intent: a batch that is, or may have been, sent.
struct ClaimedBatch {
  std::int64_t id = 0, first_job_id = 0, campaign_id = 0;
  BatchKind kind = BatchKind::kTask;
  std::string tag;
  int slots = 1;
  std::vector<ClaimedTask> tasks;  ///< element by element; idx -1 for prologue and epilogue
};

/// A batch whose outcome is not known.
struct OpenBatch {
  ClaimedBatch batch;
  BatchState state = BatchState::kIntended;
  double created_at = 0;  ///< epoch s, the database's clock
  bool send_over = false, due = false;
  bool lost = false;  ///< given up by a person or by the campaign's lost_after
  double quiet_s = 0;
  int looks = 0;
};

class Store {
 public:
  Store(std::int64_t cluster_id, std::string grid_id, std::int64_t epoch)
      : cluster_id_(cluster_id), grid_id_(std::move(grid_id)), epoch_(epoch) {}

  /// Claims against the grants of the cluster and writes the intents: at most `most` jobs, in
  /// batches of at most `max_array(campaign)`; `send_window_s` is how long a POST may still start.
  /// `hold`: the batches will be on hold until released.
  std::vector<ClaimedBatch> Claim(db::Tx& tx, int most,
                                  const std::function<int(std::int64_t)>& max_array,
                                  int send_window_s, bool hold);

  /// What the jobs of a batch are: settings and parameters, as the driver sends them.
  cluster::Batch Build(db::Tx& tx, const ClaimedBatch& batch);

  /// The cluster has the elements of `remote` (element, remote id); those of `missing` are
  /// certainly not there and go back. False when the batch was not open any more.
  bool Record(db::Tx& tx, const ClaimedBatch& batch,
              const std::vector<std::pair<int, std::string>>& remote,
              const std::vector<int>& missing, bool on_hold);
  /// None of it is there: `refused` or `void`; all tasks go back.
  bool GiveBack(db::Tx& tx, const ClaimedBatch& batch, BatchState end, const std::string& why);
  void Doubt(db::Tx& tx, const ClaimedBatch& batch, const std::string& why);

  std::vector<OpenBatch> OpenBatches(db::Tx& tx);
  void NoteLook(db::Tx& tx, std::int64_t batch_id, bool absent, double next_look_s);

 private:
  std::vector<Candidate> Candidates(db::Tx& tx);
  Ceiling CeilingNow(db::Tx& tx);
  void TakeTasks(db::Tx& tx, const std::vector<Want>& wants,
                 std::map<std::int64_t, std::vector<ClaimedTask>>& again,
                 std::map<std::int64_t, std::vector<ClaimedTask>>& fresh);
  std::string NewTag(std::int64_t campaign_id) const;

  std::int64_t cluster_id_;
  std::string grid_id_;
  std::int64_t epoch_;
  bool on_probation_ = false;  // as the last claim saw it
};

}  // namespace cigri::runner
