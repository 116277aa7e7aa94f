#include "updator/store.h"

#include <sql/batches.h>
#include <sql/cluster_status.h>
#include <sql/grid.h>
#include <sql/kills.h>
#include <sql/policy.h>
#include <sql/usage.h>

#include "core/defaults.h"
#include "core/text.h"
#include "db/counters.h"

namespace cigri::updator {
namespace {

std::vector<std::int64_t> ListOf(const std::set<std::int64_t>& ids) {
  return {ids.begin(), ids.end()};
}

template <typename Enum>
Enum Word(const std::string& word) {
  return FromString<Enum>(word).value();
}

template <typename Row>
std::vector<KnownBatch> KnownBatches(const std::vector<Row>& rows) {
  std::vector<KnownBatch> out;
  for (const auto& row : rows) {
    KnownBatch batch;
    batch.id = row.id;
    batch.first_job_id = row.first_job_id;
    batch.campaign_id = row.campaign_id;
    batch.cluster_id = row.cluster_id;
    batch.tag = row.tag;
    batch.n = row.n;
    batch.cluster_user = row.cluster_login.value_or("");
    batch.walltime_s = row.walltime_s.value_or(0);
    batch.tries_node = row.tries_node;
    batch.tasks_per_job = row.tasks_per_job;
    out.push_back(std::move(batch));
  }
  return out;
}

}  // namespace

std::string Store::GridId() { return tx_.One(sql::kGridId).grid_id; }

int Store::CanaryJobs() {
  const auto row = tx_.First(sql::kCanaryJobs);
  return row ? row->n : kDefaultCanaryJobs;
}

bool Store::AnyCampaignActive() { return tx_.One(sql::kAnyCampaignActive).any; }

void Store::KeepPlansFor(std::size_t jobs) {
  // Fewer are read whole in a moment.
  if (jobs < 1000 || 4 * tx_.One(sql::kPlannedJobs).n > static_cast<double>(jobs)) return;
  tx_.Raw("ANALYZE (SKIP_LOCKED) live");
}

std::string Store::TransactionHorizon() {
  return tx_.One(sql::kTransactionHorizon).pg_snapshot_xmin;
}

std::vector<KnownBatch> Store::BatchesInFlight() {
  return KnownBatches(tx_.Exec(sql::kBatchesInFlight));
}

std::vector<KnownBatch> Store::BatchesRecordedSince(const std::string& horizon) {
  return KnownBatches(tx_.Exec(sql::kNewBatches, horizon));
}

std::vector<KnownJob> Store::JobsOf(const std::vector<KnownBatch>& batches) {
  db::RowSet<std::int64_t, std::int64_t> ranges;
  for (const auto& batch : batches)
    ranges.Add(batch.first_job_id, batch.first_job_id + batch.n - 1);
  std::vector<KnownJob> out;
  if (ranges.empty()) return out;
  for (const auto& row : tx_.Exec(sql::kLiveJobsOf, ranges))
    out.push_back(
        {row.job_id, row.batch_id, row.element, row.remote_id, Word<JobState>(row.state)});
  return out;
}

std::map<std::string, BatchState> Store::TagStates(const std::vector<std::string>& tags) {
  std::map<std::string, BatchState> out;
  for (const auto& row : tx_.Exec(sql::kTagStates, tags))
    out.emplace(row.tag, Word<BatchState>(row.state));
  return out;
}

std::vector<std::int64_t> Store::LostJobs() {
  std::vector<std::int64_t> out;
  for (const auto& row : tx_.Exec(sql::kLostJobs)) out.push_back(row.job_id);
  return out;
}

std::vector<MovedJob> Store::MoveJobs(const std::vector<StateChange>& changes) {
  db::RowSet<std::int64_t, std::string, double, std::string> rows;
  for (const auto& c : changes)
    rows.Add(c.job_id, std::string(ToString(c.state)), c.started_ago_s, c.node);
  std::vector<MovedJob> out;
  if (rows.empty()) return out;
  for (const auto& row : tx_.Exec(sql::kMoveJobs, rows))
    out.push_back({.job_id = row.job_id,
                   .campaign_id = row.campaign_id,
                   .cluster_id = row.cluster_id,
                   .slots = row.slots,
                   .kind = Word<BatchKind>(row.kind),
                   .from = Word<JobState>(row.old_state),
                   .to = Word<JobState>(row.new_state),
                   .started_before = row.old_started,
                   .started = row.started,
                   .rides = row.rides});
  return out;
}

std::vector<sql::InfoOfEndsRow> Store::EndInfos(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return {};
  tx_.Exec(sql::kLockEnds, ids);
  tx_.Exec(sql::kLockCopies, ids);
  return tx_.Exec(sql::kInfoOfEnds, ids);
}

std::vector<sql::ErrorClassesOfRow> Store::ErrorClassesOf(const std::vector<FailedJob>& jobs) {
  db::RowSet<std::int64_t, std::string, std::optional<std::int64_t>, std::string> rows;
  for (const auto& job : jobs) rows.Add(job.job_id, job.code, job.wait_status, job.message);
  if (rows.empty()) return {};
  return tx_.Exec(sql::kErrorClassesOf, rows);
}

void Store::CountErrorMatches(const std::map<std::string, ErrorMatches>& matches) {
  for (const auto& [name, m] : matches) tx_.Exec(sql::kCountErrorMatches, name, m.n, m.sample);
}

std::vector<sql::CountClusterFaultsRow> Store::CountClusterFaults(
    const std::map<PlacementKey, int>& faults) {
  db::RowSet<std::int64_t, std::int64_t, int> rows;
  for (const auto& [placement, n] : faults) rows.Add(placement.first, placement.second, n);
  if (rows.empty()) return {};
  return tx_.Exec(sql::kCountClusterFaults, rows);
}

std::vector<EndedJob> Store::EndJobs(const std::vector<JobEnd>& ends) {
  using MaybeNumber = std::optional<double>;
  db::RowSet<std::int64_t, bool, std::string, std::string, std::optional<std::int64_t>, MaybeNumber,
             double, std::string, std::optional<std::string>, MaybeNumber, MaybeNumber, MaybeNumber,
             MaybeNumber, MaybeNumber>
      rows;
  std::map<std::int64_t, const JobEnd*> by_job;
  for (const auto& e : ends) {
    rows.Add(e.job_id, e.exit.success, std::string(ToString(e.exit.exit_class)), e.exit.code,
             e.wait_status, e.started_ago_s, e.ended_ago_s, e.node, e.message, e.measured.cpu_s,
             e.measured.peak_mb, e.measured.read_mb, e.measured.written_mb,
             e.measured.transfer_s);
    by_job[e.job_id] = &e;
  }
  std::vector<EndedJob> out;
  if (rows.empty()) return out;
  for (const auto& row : tx_.Exec(sql::kEndJobs, rows))
    out.push_back({.job_id = row.job_id,
                   .campaign_id = row.campaign_id,
                   .cluster_id = row.cluster_id,
                   .idx = row.idx,
                   .slots = row.slots,
                   .kind = Word<BatchKind>(row.kind),
                   .from = Word<JobState>(row.old_state),
                   .counted = row.counted,
                   .started_before = row.live_started,
                   .started = row.started,
                   .ended = row.ended,
                   .exit = by_job.at(row.job_id)->exit,
                   .submitted = row.submitted,
                   .node = row.node.value_or(""),
                   .batch_id = row.batch_id,
                   .rides = row.rides,
                   .job_lived_s = by_job.at(row.job_id)->job_lived_s,
                   .transfer_s = by_job.at(row.job_id)->measured.transfer_s.value_or(0)});
  return out;
}

std::int64_t Store::UsersOf(const std::vector<std::int64_t>& campaigns) {
  return tx_.One(sql::kUsersOfCampaigns, campaigns).n;
}

std::optional<double> Store::ExcludeNode(const NodeKey& node) {
  const auto row = tx_.First(sql::kExcludeNode, node.first, node.second);
  return row ? std::optional(row->until_s) : std::nullopt;
}

void Store::RefundFailures(const std::vector<TaskKey>& tasks, const std::string& why) {
  db::RowSet<std::int64_t, std::int64_t> rows;
  for (const auto& [campaign, idx] : tasks) rows.Add(campaign, idx);
  if (rows.empty()) return;
  std::vector<std::int64_t> events;
  for (const auto& row : tx_.Exec(sql::kRefundFailures, rows, why))
    events.push_back(row.event_id.value());
  db::CloseEvents(tx_, "updator", {.ids = events});
}

std::vector<sql::SettleTrialsRow> Store::SettleTrials(const std::vector<TrialEnd>& ends) {
  db::RowSet<std::int64_t, bool, bool> rows;
  for (const auto& end : ends) rows.Add(end.batch_id, end.success, end.unknown);
  if (rows.empty()) return {};
  return tx_.Exec(sql::kSettleTrials, rows);
}

std::vector<sql::ReadmitNodesRow> Store::ReadmitNodes() { return tx_.Exec(sql::kReadmitNodes); }

void Store::AddCounters(const CounterDeltas& deltas) { db::AddCounters(tx_, deltas, "updator"); }

void Store::UpdatePlacements(const std::map<PlacementKey, PlacementSummary>& placements) {
  using MaybeNumber = std::optional<double>;
  using MaybeText = std::optional<std::string>;  // an array, or a word
  db::RowSet<std::int64_t, std::int64_t, int, int, std::int64_t, double, double, MaybeNumber,
             MaybeNumber, MaybeText, MaybeNumber, MaybeNumber, MaybeText, MaybeText, int, MaybeText,
             MaybeText, MaybeNumber, std::int64_t, double>
      rows;
  db::RowSet<std::int64_t, std::int64_t, double, std::int64_t, std::int64_t, std::int64_t,
             std::int64_t, std::int64_t, std::int64_t, double, std::int64_t, double, std::string>
      usage;
  for (const auto& [key, p] : placements) {
    const auto number = [](bool known, double value) {
      return known ? MaybeNumber(value) : std::nullopt;
    };
    const auto array = [](const auto& values) {
      return values.empty() ? std::nullopt : MaybeText(db::Array(values));
    };
    const bool any = p.n_ok > 0;
    rows.Add(key.first, key.second, p.ended, p.failures, p.n_ok, p.sum_s, p.sum_sq,
             number(any, p.min_s), number(any, p.max_s), array(p.hist), number(any, p.first_start),
             number(p.last_end > 0, p.last_end), p.prologue, p.epilogue, p.tests, array(p.recent_s),
             array(p.recent_idx), p.longest_killed_s, p.jobs, p.sum_transfer_s);
    usage.Add(key.first, key.second, p.slot_s, p.n_ok, p.not_ok, p.program, p.infrastructure,
              p.preempted, p.killed, p.lost_s, p.waited, p.wait_s, db::Array(p.waits));
  }
  if (rows.empty()) return;
  tx_.Exec(sql::kUpdatePlacements, rows);
  tx_.Exec(sql::kAddUsage, usage);
}

void Store::AddSurvival(const std::map<std::int64_t, ClusterSurvival>& survival) {
  db::RowSet<std::int64_t, std::string, std::string> rows;
  for (const auto& [cluster, s] : survival)
    rows.Add(cluster, db::Array(s.killed), db::Array(s.ended));
  if (!rows.empty()) tx_.Exec(sql::kAddSurvival, rows);
}

void Store::ForgetTasks(const std::set<TaskKey>& succeeded) {
  db::RowSet<std::int64_t, std::int64_t> rows;
  for (const auto& [campaign, idx] : succeeded) rows.Add(campaign, idx);
  if (!rows.empty()) tx_.Exec(sql::kForgetCountedTasks, rows);
}

void Store::AddTries(const std::map<TaskKey, SpentTries>& tries) {
  db::RowSet<std::int64_t, std::int64_t, int, int, int, int, int, int, std::int64_t, double, double,
             std::optional<std::int64_t>>
      rows;
  for (const auto& [task, t] : tries)
    rows.Add(task.first, task.second, t.attempts, t.program, t.user_requeues, t.infrastructure,
             t.preemption, t.our_kill, t.last_cluster, t.walltime_x, t.memory_x,
             t.least_walltime_s);
  if (!rows.empty()) tx_.Exec(sql::kAddTries, rows);
}

void Store::PutRetries(const std::vector<Failure>& failures) {
  using Cluster = std::optional<std::int64_t>;
  db::RowSet<std::int64_t, std::int64_t, int, double, Cluster, std::string, Cluster> rows;
  for (const auto& f : failures)
    rows.Add(f.campaign_id, f.idx, f.exit.next == NextStep::kRetryBack ? 1 : 0, f.exit.delay_s,
             f.exit.avoid_here ? Cluster(f.cluster_id) : std::nullopt, f.exit.code,
             f.exit.stay_here ? Cluster(f.cluster_id) : std::nullopt);
  if (!rows.empty()) tx_.Exec(sql::kPutRetries, rows);
}

void Store::PutNeedsAttention(const std::vector<Failure>& failures,
                              const std::vector<std::int64_t>& events) {
  db::RowSet<std::int64_t, std::int64_t, std::int64_t, std::int64_t> rows;
  for (std::size_t i = 0; i < failures.size(); ++i)
    rows.Add(failures[i].campaign_id, failures[i].idx, failures[i].job_id, events.at(i));
  if (!rows.empty()) tx_.Exec(sql::kPutNeedsAttention, rows);
}

std::vector<sql::ApplyWantedStatesRow> Store::ApplyWantedStates() {
  return tx_.Exec(sql::kApplyWantedStates);
}

std::vector<sql::PlacementsToHoldRow> Store::PlacementsToHold(
    const std::set<std::int64_t>& campaigns, int canary_jobs) {
  if (campaigns.empty()) return {};
  return tx_.Exec(sql::kPlacementsToHold, ListOf(campaigns), canary_jobs);
}

std::vector<sql::HeldByCanariesRow> Store::HeldByCanaries(const std::set<std::int64_t>& campaigns) {
  if (campaigns.empty()) return {};
  return tx_.Exec(sql::kHeldByCanaries, ListOf(campaigns));
}

void Store::HoldPlacement(std::int64_t campaign, std::int64_t cluster, std::int64_t event,
                          const std::string& why) {
  tx_.Exec(sql::kHoldPlacement, campaign, cluster, event, why);
}

void Store::HoldFailedPrologues(const std::set<std::int64_t>& campaigns) {
  if (!campaigns.empty()) tx_.Exec(sql::kHoldFailedPrologues, ListOf(campaigns));
}

void Store::RefundTasks(std::int64_t campaign, std::int64_t cluster) {
  std::vector<std::int64_t> events;
  for (const auto& row : tx_.Exec(sql::kRefundTasks, campaign, cluster))
    events.push_back(row.event_id);
  db::CloseEvents(tx_, "updator", {.ids = events});
}

bool Store::ReleasePlacements() {
  const auto repaired = tx_.Exec(sql::kFreeRepairedPlacements);
  return tx_.Exec(sql::kFreePlacements) + repaired > 0;
}

bool Store::RenewCanaries() { return tx_.Exec(sql::kRenewCanaries) > 0; }

std::vector<sql::StopHeldCampaignsRow> Store::StopHeldCampaigns() {
  return tx_.Exec(sql::kStopHeldCampaigns);
}

std::vector<std::int64_t> Store::ContinueCampaigns() {
  std::vector<std::int64_t> out;
  for (const auto& row : tx_.Exec(sql::kContinueCampaigns)) out.push_back(row.id);
  return out;
}

std::vector<sql::TakeBlackHolesRow> Store::TakeBlackHoles() {
  return tx_.Exec(sql::kTakeBlackHoles);
}

std::vector<sql::EndCandidatesRow> Store::EndCandidates(bool all,
                                                        const std::set<std::int64_t>& some) {
  return tx_.Exec(sql::kEndCandidates, all, ListOf(some));
}

std::optional<sql::LockCursorRow> Store::LockCursor(std::int64_t campaign) {
  return tx_.First(sql::kLockCursor, campaign);
}

sql::TasksLeftRow Store::TasksLeft(std::int64_t campaign) {
  return tx_.One(sql::kTasksLeft, campaign);
}

std::vector<sql::UnansweredTestsRow> Store::UnansweredTests(std::int64_t campaign, int wait_s) {
  return tx_.Exec(sql::kUnansweredTests, campaign, wait_s);
}

std::vector<sql::GiveUpEpiloguesRow> Store::GiveUpEpilogues(std::int64_t campaign, int wait_s,
                                                            const std::vector<int>& away) {
  return tx_.Exec(sql::kGiveUpEpilogues, campaign, wait_s, away);
}

bool Store::EpiloguesLeft(std::int64_t campaign) {
  return tx_.One(sql::kEpiloguesLeft, campaign).n > 0;
}

bool Store::BeginFinishing(std::int64_t campaign) {
  return tx_.Exec(sql::kBeginFinishing, campaign) > 0;
}

void Store::TerminateCampaign(std::int64_t campaign) {
  tx_.Exec(sql::kTerminateCampaign, campaign);
}

void Store::CompleteCancelled(std::int64_t campaign) {
  tx_.Exec(sql::kCompleteCancelled, campaign);
}

std::vector<sql::CancelledInFlightRow> Store::CancelledInFlight(std::int64_t campaign, int wait_s) {
  return tx_.Exec(sql::kCancelledInFlight, campaign, wait_s);
}

std::map<std::int64_t, std::string> Store::FeedTokens() {
  std::map<std::int64_t, std::string> out;
  for (const auto& row : tx_.Exec(sql::kFeedTokens)) out[row.cluster_id] = row.feed_token;
  return out;
}

void Store::SetFeedToken(std::int64_t cluster, const std::string& token) {
  tx_.Exec(sql::kSetFeedToken, cluster, token);
}

void Store::SetClusterStatus(const ClusterStatus& s) {
  const auto error = s.ok ? std::nullopt : std::optional(ValidUtf8(s.error));
  tx_.Exec(sql::kSetClusterStatus, s.cluster_id, s.ok, s.failures, s.retry_in_s, error, s.stress,
           s.calls_per_min, s.clock_skew_s);
}

void Store::AddSnapshot(std::int64_t cluster, const cluster::Resources& r,
                        const Memory::Counts& jobs) {
  tx_.Exec(sql::kAddGridstatus, cluster, r.max, r.free(), r.used, r.unavailable, jobs.running,
           jobs.waiting + jobs.submitted, r.stress, r.note);
}

void Store::PutResourceClasses(std::int64_t cluster,
                               const std::map<std::string, cluster::ClassCount>& classes) {
  db::RowSet<std::string, std::string, int, int> rows;
  for (const auto& [request, c] : classes) rows.Add(request, ValidUtf8(c.name), c.total, c.free);
  tx_.Exec(sql::kPutResourceClasses, cluster, rows);
}

std::map<std::int64_t, std::vector<std::string>> Store::RequestedClasses() {
  std::map<std::int64_t, std::vector<std::string>> classes;
  for (const auto& row : tx_.Exec(sql::kRequestedClasses))
    classes[row.cluster_id].push_back(row.request);
  return classes;
}

void Store::PutUnresponsive(std::int64_t cluster, const std::map<std::int64_t, double>& jobs) {
  db::RowSet<std::int64_t, double> rows;
  for (const auto& [job, age_s] : jobs) rows.Add(job, age_s);
  tx_.Exec(sql::kPutUnresponsiveJobs, cluster, rows);
}

void Store::PutStillHeld(std::int64_t cluster, const std::vector<std::int64_t>& batches) {
  if (!batches.empty()) tx_.Exec(sql::kPutStillHeld, cluster, batches);
}

std::vector<sql::ReconcileOrphansRow> Store::ReconcileOrphans(
    std::int64_t cluster, const std::vector<cluster::RemoteJob>& listed) {
  db::RowSet<std::string, std::string, int, std::string> rows;
  for (const auto& job : listed)
    rows.Add(job.ref.remote_id, job.ref.tag, job.ref.index, ValidUtf8(job.ref.cluster_user));
  if (rows.empty()) return {};
  return tx_.Exec(sql::kReconcileOrphans, cluster, rows);
}

std::size_t Store::SetDuplicates(std::int64_t cluster,
                                 const std::vector<sql::ReconcileOrphansRow>& duplicates) {
  std::vector<std::string> ids;
  db::RowSet<std::string, std::string, int, std::string> rows;
  for (const auto& d : duplicates) {
    ids.push_back(d.remote_id);
    rows.Add(d.remote_id, d.tag, d.element, d.cluster_user);
  }
  tx_.Exec(sql::kForgetDuplicates, cluster, ids);
  return tx_.Exec(sql::kAddDuplicates, cluster, rows);
}

void Store::NotifyProgress() { tx_.Raw("NOTIFY cigri_progress"); }

}  // namespace cigri::updator
