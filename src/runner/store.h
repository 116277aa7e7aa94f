// All SQL of the runner. Each function is a part of one transaction; the caller commits.
#pragma once
#include <sql/restores.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "core/counters.h"
#include "db/db.h"
#include "runner/decide.h"

namespace cigri::runner {

/// Key of Batch::options: its memory was not asked for by the user but learnt (`mem: auto`).
inline constexpr char kAutoMemory[] = "mem_auto";

/// An intent: a batch that is sent, or may have been.
struct ClaimedBatch {
  std::int64_t id = 0, first_job_id = 0, campaign_id = 0;
  BatchKind kind = BatchKind::kTask;
  std::string tag;
  std::string cluster_login;  ///< who the owner of the campaign is on the cluster
  int slots = 1;
  int tasks_per_job = 1;                ///< elements that share a job
  double walltime_x = 1, memory_x = 1;  ///< of what the campaign asks for; the same for all tasks
  int least_walltime_s = 0;             ///< with `walltime: auto`
  std::vector<ClaimedTask> tasks;       ///< element by element; idx -1 for prologue and epilogue
  std::string node;  ///< an excluded node that the batch's one job tries; "" = any other node
};

/// `sign` more (1) or fewer (-1) of element `element` in `state`.
void CountElement(CounterDeltas& deltas, std::int64_t cluster, const ClaimedBatch& batch,
                  std::string_view state, int element, int sign);
/// The same of all its elements.
void CountBatch(CounterDeltas& deltas, std::int64_t cluster, const ClaimedBatch& batch,
                std::string_view state, int sign);

/// A batch whose outcome is unknown.
struct OpenBatch {
  ClaimedBatch batch;
  BatchState state = BatchState::kIntended;
  double created_at = 0;  ///< epoch s, the database's clock
  bool send_over = false, due = false;
  bool lost = false;  ///< an operator or the campaign's lost_after has given it up
  double quiet_s = 0;
  int absences = 0;
};

/// A recorded batch whose jobs are on hold on the cluster.
struct HeldBatch {
  std::int64_t batch_id = 0, campaign_id = 0;
  std::string tag, cluster_login;
  std::vector<std::string> remote_ids;
  bool again = false;  ///< it was released before
};

/// A campaign that sends nothing to the cluster because its user has no valid token there.
struct TokenWait {
  std::int64_t campaign_id = 0;
  std::string cluster_login;
  bool alive = false;  ///< the campaign still wants to run
};

/// A token that expires soon, or one that was reported so and is not any more.
struct ExpiringToken {
  std::int64_t campaign_id = 0;
  double token_s = 0, end_s = 0;  ///< until the token expires, until the campaign ends
  bool too_early = false;         ///< before the campaign ends
};

/// A cluster that has to be asked what it ran after the backup that was restored.
struct RestoredCluster {
  double state_of = 0;  ///< epoch s: what was sent later is not in the database
  std::int64_t last_campaign = 0;
  bool lost = false;  ///< an operator has given it up since
};

/// What became of the tags that a cluster has and the restored database does not.
struct AdoptedTags {
  std::size_t adopted = 0;
  std::vector<std::pair<std::int64_t, std::string>> unclear;  ///< campaign, tag without tasks
  bool rest = false;  ///< some must wait for batches of the backup whose outcome is unknown
};

/// What refusals taught about a cluster; nothing: no limit but the driver's.
struct LearntLimits {
  std::optional<int> max_array;
  std::optional<std::int64_t> max_bytes;
};

/// Clusters for which the plan grants something, or where the runner has something to finish.
std::set<std::int64_t> ClustersWithWork(db::Tx& tx);
/// What distinguishes the tags of this grid.
std::string GridId(db::Tx& tx);

/// The statements about one cluster.
class Store {
 public:
  /// `epoch`: of the grid, which batches remember; `lease`: of our lease on the cluster.
  Store(std::int64_t cluster_id, std::string grid_id, std::int64_t epoch, std::int64_t lease)
      : cluster_id_(cluster_id), grid_id_(std::move(grid_id)), epoch_(epoch), lease_(lease) {}

  /// Makes sure that this runner has the cluster until `tx` ends. Throws StaleEpoch.
  void HoldLease(db::Tx& tx) const;
  /// Whether the POST of a claimed batch may still start. Throws as HoldLease does.
  bool MayBeSent(db::Tx& tx, const ClaimedBatch& batch) const;
  /// This runner cannot reach the cluster. False when the leader cannot, either: no other runner
  /// would then be better.
  bool MarkUnreachable(db::Tx& tx) const;

  /// Claims against the grants of the cluster and writes the intents: at most `most` jobs, in
  /// batches of at most `max_array(campaign)`; `send_window_s` is how long a POST may still start.
  /// `hold`: the batches will be on hold until released. Throws StaleEpoch.
  std::vector<ClaimedBatch> Claim(db::Tx& tx, int most,
                                  const std::function<int(std::int64_t)>& max_array,
                                  int send_window_s, bool hold);
  /// The last claim has left campaigns out whose cursor somebody else had: it is to be made again.
  bool left_out() const { return left_out_; }

  /// What the jobs of a batch are: settings and parameters, as the driver sends them.
  cluster::Batch Build(db::Tx& tx, const ClaimedBatch& batch);

  /// The cluster has the elements of `remote` (element, remote id); it certainly does not have
  /// those of `missing`, which are requeued. False when the batch was not open any more. Throws
  /// StaleEpoch.
  bool Record(db::Tx& tx, const ClaimedBatch& batch,
              const std::vector<std::pair<int, std::string>>& remote,
              const std::vector<int>& missing, bool on_hold);
  /// The cluster has none of it: `end` is the batch's last state, its tasks are requeued. False
  /// when the batch was not open any more. Throws StaleEpoch.
  bool GiveBack(db::Tx& tx, const ClaimedBatch& batch, BatchState end, const std::string& why);
  /// What is wrong on the cluster, when an active error class says that such a refusal is its
  /// failure.
  std::optional<std::string> ClusterFault(db::Tx& tx, const std::string& refusal);
  /// Nobody knows whether the cluster took it: its tag is to be looked up.
  void Doubt(db::Tx& tx, const ClaimedBatch& batch, const std::string& why);
  /// Batches whose outcome is unknown, the oldest first.
  std::vector<OpenBatch> OpenBatches(db::Tx& tx);
  /// A lookup that settled nothing; `absent`: its answer was complete and the tag was not in it.
  void RecordLookup(db::Tx& tx, std::int64_t batch_id, bool absent, double next_lookup_s);

  /// Whether the updator hears from the cluster.
  bool Answers(db::Tx& tx);

  /// Nothing when the cluster knows nothing that the database does not.
  std::optional<RestoredCluster> Restored(db::Tx& tx);
  /// Puts the batches among `tags` that the database does not know in doubt, and takes their tasks
  /// from those that wait. Throws StaleEpoch.
  AdoptedTags AdoptTags(db::Tx& tx, const std::vector<std::string>& tags);
  /// The cluster has been asked; nothing happens while a batch of campaigns up to `last_campaign`
  /// is in doubt there.
  void EndReconciliation(db::Tx& tx, std::int64_t last_campaign);

  /// Batches to be released. Takes the notes of the updator about batches on hold again.
  std::vector<HeldBatch> TakeHeld(db::Tx& tx);
  void MarkReleased(db::Tx& tx, std::int64_t batch_id);

  std::vector<TokenWait> MissingTokens(db::Tx& tx);
  std::vector<ExpiringToken> ExpiringTokens(db::Tx& tx);

  LearntLimits Limits(db::Tx& tx);
  /// Keeps the lower of each limit and the one that is stored; a nullopt changes nothing.
  void LearnLimit(db::Tx& tx, std::optional<int> max_array, std::optional<std::int64_t> max_bytes,
                  const std::string& why);

 private:
  struct UnknownTag {
    std::string tag;
    std::vector<std::int64_t> idxs;
    int tasks_per_job;
  };
  void AdoptBatch(db::Tx& tx, const sql::CampaignsOfTagsRow& campaign, const UnknownTag& unknown);
  using TasksByCampaign = std::map<std::int64_t, std::vector<ClaimedTask>>;
  std::vector<Candidate> Candidates(db::Tx& tx, const std::function<int(std::int64_t)>& max_array);
  Ceiling CeilingNow(db::Tx& tx);
  TasksByCampaign TakeRetried(db::Tx& tx, const std::vector<Want>& wants);
  TasksByCampaign TakeFresh(db::Tx& tx, const std::vector<Want>& wants,
                            const TasksByCampaign& retried, bool one_post);
  std::vector<ClaimedTask> Replicas(db::Tx& tx, const Want& want);
  std::set<std::int64_t> TakePrologues(db::Tx& tx, const std::vector<Want>& wants);
  std::vector<ClaimedBatch> TakeBatches(db::Tx& tx, const std::vector<Want>& wants,
                                        const std::function<int(std::int64_t)>& max_array,
                                        bool one_post);
  void TryNodes(db::Tx& tx, std::vector<ClaimedBatch>& batches);
  void Intend(db::Tx& tx, std::vector<ClaimedBatch>& batches, int send_window_s, bool hold);

  std::int64_t cluster_id_;
  std::string grid_id_;
  std::int64_t epoch_, lease_;
  bool half_open_ = false;  // as the last claim saw it
  bool left_out_ = false;   // by the last claim
};

}  // namespace cigri::runner
