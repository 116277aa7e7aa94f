#include "updator/updator.h"

#include "core/log.h"
#include "core/retry.h"
#include "core/text.h"
#include "updator/decide.h"
#include "updator/orphans.h"

namespace cigri::updator {
namespace {

constexpr std::chrono::milliseconds kReadClustersEvery{2000};
constexpr std::chrono::seconds kFullCheckEvery{2};
// The longest time for which a placement is closed after faults of its cluster, and some more.
constexpr double kFaultOverS = 4000;
constexpr double kRefusedAgainS = 1800;
// Longer than a node is excluded without a trial.
constexpr double kNodeOverS = 2 * 86400;

}  // namespace

void Updator::Pass(module::Step& step) {
  const bool restart = step.fresh || !finished_;
  finished_ = false;
  db::Tx tx(step.db);
  module::CheckEpoch(tx, step.epoch);
  Store store(tx);
  if (restart) Restart(store, step.config);
  RefreshClusters(tx, step);
  const auto answers = mailbox_->TakeAll();
  memory_.Refresh(store);

  const bool full_check = restart || Clock::now() - last_full_check_ > kFullCheckEvery;
  if (full_check) last_full_check_ = Clock::now();
  Updates by_job;
  Gather(store, answers, by_job);
  if (full_check) {
    store.KeepPlansFor(memory_.size());
    GatherLost(store, by_job);
    store.CloseEvents({.codes = {"CLUSTER_FAULT"}, .unseen_s = kFaultOverS});
    store.CloseEvents(
        {.codes = {"SUBMIT_REFUSED"}, .fingerprint = kClusterFault, .unseen_s = kRefusedAgainS});
  }
  std::vector<StatusUpdate> updates;
  for (auto& [job, update] : by_job) updates.push_back(std::move(update));
  std::map<std::int64_t, std::string> names;
  for (const auto& [id, info] : clusters_) names[id] = info.name;

  const auto result = updates.empty() ? UpdateResult{} : ApplyStatusUpdates(tx, updates, names);
  WatchNodes(store, result, full_check);
  tokens_.Save(store, answers, early_);
  Reconcile(store, answers);
  const bool changed = UpdateCampaigns(tx, result.campaigns, full_check, limits_);
  status_.Write(store, answers, memory_, clusters_, step.waker);
  if (changed || !result.ended.empty() || !result.moved.empty()) store.NotifyProgress();
  tx.Commit();
  AfterCommit(result, answers);
  finished_ = true;
}

void Updator::Restart(Store& store, const Config& config) {
  pollers_.clear();
  mailbox_ = std::make_shared<Mailbox>();
  memory_.Load(store);
  tokens_.Load(store);
  early_.Clear();
  nodes_.Clear();
  absences_.clear();
  asked_for_all_.clear();
  // The events of a pass that failed were not committed.
  unresponsive_.ReportAgain();
  status_.ReportAgain();
  reported_orphans_.clear();
  grid_mark_ = "." + store.GridId() + ".";
  limits_.test_wait_s = static_cast<int>(config.GetInt("TEST_CAMPAIGN_WAIT", 600, 1));
  limits_.epilogue_wait_s = static_cast<int>(config.GetInt("EPILOGUE_WAIT", 3600, 1));
  full_s_ = static_cast<double>(config.GetInt("FULL_RECONCILIATION", 600, 1));
  clusters_read_ = {};
}

void Updator::RefreshClusters(db::Tx& tx, module::Step& step) {
  // Not in every cycle; but a change is seen soon, also when the grid then has nothing to do. Each
  // pass asks for the next read, because a cycle ends all earlier requests; for a whole time, since
  // two steps that ask for the rest of theirs keep a grid awake: each makes a pass that is too soon
  // for the other.
  if (const auto age = Clock::now() - clusters_read_; age < kReadClustersEvery) {
    step.waker.WakeIn(kReadClustersEvery);
    return;
  }
  clusters_read_ = Clock::now();
  std::set<std::int64_t> present;
  for (const auto& row : clusterdb::LoadClusters(tx)) {
    const auto id = row.config.id;
    clusters_[id] = {row.config.name, row.stress_limit};
    if (!row.enabled && memory_.RefsOf(id).empty()) continue;
    present.insert(id);
    const auto it = pollers_.find(id);
    if (it == pollers_.end() || it->second.fingerprint != row.fingerprint) StartPoller(row, step);
  }
  std::erase_if(pollers_, [&](const auto& item) { return present.count(item.first) == 0; });
  const bool busy = Store(tx).AnyCampaignActive();
  auto classes = Store(tx).RequestedClasses();
  for (auto& [id, entry] : pollers_) {
    entry.poller->SetClasses(std::move(classes[id]));
    entry.poller->SetBusy(busy);
  }
}

void Updator::StartPoller(const clusterdb::ClusterRow& row, module::Step& step) {
  const auto id = row.config.id;
  pollers_.erase(id);
  try {
    PollerSettings settings{.cluster_id = id,
                            .name = row.config.name,
                            .token = tokens_.Of(id),
                            .grid_mark = grid_mark_,
                            .pace = {.poll_s = row.min_cycle_s, .full_s = full_s_}};
    auto driver =
        clusterdb::MakeDriver(make_driver_, row, step.conninfo, clusterdb::Caller::kUpdator);
    auto poller =
        std::make_unique<Poller>(std::move(settings), std::move(driver), mailbox_, step.waker);
    pollers_[id] = {row.fingerprint, std::move(poller), std::nullopt};
  } catch (const std::exception& e) {
    // As if it did not answer: it is tried again with the next look at the clusters.
    Answer answer;
    answer.cluster_id = id;
    answer.error = std::string("cannot be driven: ") + e.what();
    answer.failures = ++undriven_[id];
    answer.retry_in_s = std::chrono::duration<double>(kReadClustersEvery).count();
    mailbox_->Put(std::move(answer));
    return;
  }
  undriven_.erase(id);
}

void Updator::Gather(Store& store, const std::vector<Answer>& answers, Updates& updates) {
  GatherEarly(store, updates);  // older than the answers: what those say is later
  for (const auto& answer : answers) {
    if (!answer.ok) continue;
    GatherAnswer(answer, updates);
    if (answer.holds) held_.Update(store, memory_, answer);
    if (!answer.feed)
      unresponsive_.Update(store, memory_, answer, clusters_[answer.cluster_id].name);
  }
}

// What an answer says of jobs in flight, where it differs from what we know.
void Updator::GatherAnswer(const Answer& answer, Updates& updates) {
  const double time = answer.poll.cluster_time;
  std::set<std::int64_t> seen;
  for (const auto& remote : answer.poll.jobs) {
    if (const auto* batch = memory_.BatchOf(remote.ref.tag)) {
      if (Compare(*batch, remote, time, updates))
        seen.insert(batch->first_job_id + remote.ref.index);
    } else if (remote.ref.tag.find(grid_mark_) != std::string::npos) {
      // Its batch may be recorded a moment from now, or its jobs may all have ended long ago.
      early_.Add({answer.cluster_id, remote, time});
    }
  }
  std::vector<std::int64_t> gone;
  if (!answer.feed) {
    gone = absences_[answer.cluster_id].Update(answer.poll.missing, answer.began);
  } else if (answer.poll.full) {
    gone = NotNamed(answer, seen);
  }
  for (const auto job : gone)
    Gone(job, cluster::EndCause::kUnknown,
         "the cluster does not know this job any more, nor how it ended", time, updates);
}

// Our jobs that a full answer of a feed leaves out. One that we know only since then may have been
// submitted behind it: then the feed has it, or the next full answer, which is asked for once.
std::vector<std::int64_t> Updator::NotNamed(const Answer& answer,
                                            const std::set<std::int64_t>& named) {
  std::vector<std::int64_t> gone;
  bool later = false;
  for (const auto& ref : memory_.RefsOf(answer.cluster_id)) {
    if (named.count(ref.job_id) != 0) continue;
    if (memory_.BatchOf(ref.tag)->known_since < answer.began)
      gone.push_back(ref.job_id);
    else
      later = true;
  }
  const auto poller = pollers_.find(answer.cluster_id);
  if (asked_for_all_.erase(answer.cluster_id) == 0 && later && poller != pollers_.end()) {
    poller->second.poller->AskForAll();
    asked_for_all_.insert(answer.cluster_id);
  }
  return gone;
}

void Updator::GatherEarly(Store& store, Updates& updates) {
  for (const auto& report : early_.TakeKnown(memory_))
    Compare(*memory_.BatchOf(report.remote.ref.tag), report.remote, report.cluster_time, updates);
  const auto tags = early_.Tags();
  if (!tags.empty()) early_.Settle(store.TagStates(tags));
}

// "gridadmin cluster lost": the jobs on that cluster have ended, and their tasks lose no try.
void Updator::GatherLost(Store& store, Updates& updates) {
  for (const auto job : store.LostJobs())
    if (updates.count(job) == 0)
      Gone(job, cluster::EndCause::kNodeFailed, "its cluster was given up as lost", 0, updates);
}

// Whether `remote` is a job of the batch. Most reports say what is known: nothing is copied then.
bool Updator::Compare(const KnownBatch& batch, const cluster::RemoteJob& remote,
                      double cluster_time, Updates& updates) const {
  if (remote.ref.index < 0 || remote.ref.index >= batch.n) return false;
  const auto job = batch.first_job_id + remote.ref.index;
  const auto* known = memory_.Find(job);
  if (known == nullptr) return true;
  if (Changes(known->state, remote.state))
    updates[job] = {job, remote, cluster_time};
  else
    updates.erase(job);
  return true;
}

void Updator::Gone(std::int64_t job_id, cluster::EndCause cause, const std::string& message,
                   double cluster_time, Updates& updates) const {
  if (memory_.Find(job_id) == nullptr) return;
  StatusUpdate update{job_id, {}, cluster_time};
  update.remote.state = cluster::RemoteState::kEnded;
  update.remote.cause = cause;
  update.remote.message = message;
  updates[job_id] = std::move(update);
}

// Excludes black-hole nodes, and gives them back when a trial or an operator says that they work.
void Updator::WatchNodes(Store& store, const UpdateResult& result, bool full_check) {
  const auto event_of = [&](const NodeKey& node) {
    db::Event event{.cls = "cluster", .code = "BLACK_HOLE_NODE"};
    event.cluster_id = node.first;
    event.fingerprint = node.second;
    return event;
  };
  for (const auto& hole : nodes_.Add(result.node_ends)) {
    // The programs of one user may all be broken, or made to fail on this node.
    if (store.UsersOf(hole.campaigns) < 2) continue;
    auto event = event_of(hole.node);
    event.count = hole.jobs;
    const auto until = hole.others_work ? store.ExcludeNode(hole.node) : std::nullopt;
    event.message = "node " + hole.node.second + " of " + clusters_[hole.node.first].name +
                    " failed " + std::to_string(hole.jobs) + " jobs of " +
                    std::to_string(hole.campaigns.size()) + " campaigns within seconds: ";
    event.message += until ? "it gets no job, and is tried again with one job in " +
                                 HumanDuration(*until)
                           : "it still gets jobs, since no other node of the cluster is known to "
                             "work";
    store.Raise(event);
    log::warn("{}", event.message);
    if (until) store.RefundFailures(hole.charged, "BLACK_HOLE_NODE");
  }
  std::vector<TrialEnd> trials;
  for (const auto& end : result.ends)
    if (const auto* batch = memory_.BatchById(end.batch_id); batch != nullptr && batch->tries_node)
      trials.push_back(end);
  for (const auto& row : store.SettleTrials(trials)) {
    log::info("node {}: the job that tried it {}", row.node, row.passed ? "succeeded" : "failed");
    auto event = event_of({row.cluster_id, row.node});
    event.message = "node " + row.node + " of " + clusters_[row.cluster_id].name +
                    " has failed the job that tried it, too";
    if (row.passed)
      store.Close(event);
    else
      store.Raise(event);
  }
  if (!full_check) return;
  for (const auto& row : store.ReadmitNodes())
    log::info("node {} gets jobs again: its event was closed", row.node);
  // A node that was not excluded has no trial that could close its event.
  store.CloseEvents({.codes = {"BLACK_HOLE_NODE"}, .unseen_s = kNodeOverS});
}

void Updator::Reconcile(Store& store, const std::vector<Answer>& answers) {
  for (const auto& answer : answers)
    if (answer.unasked)
      ReconcileOrphans(store, answer.cluster_id, clusters_[answer.cluster_id].name, *answer.unasked,
                       &reported_orphans_[answer.cluster_id]);
}

void Updator::AfterCommit(const UpdateResult& result, const std::vector<Answer>& answers) {
  for (const auto& [job, state] : result.moved) memory_.Moved(job, state);
  for (const auto job : result.ended) memory_.Ended(job);
  for (auto& [id, entry] : pollers_) {
    const auto version = memory_.VersionOf(id);
    if (!entry.poller->NeedsJobs() || entry.published == version) continue;
    entry.poller->Publish(
        std::make_shared<const std::vector<cluster::RemoteRef>>(memory_.RefsOf(id)));
    entry.published = version;
  }
  // Only now: a poller asks again when its last answer is in the list that it asks with.
  for (const auto& answer : answers)
    if (const auto it = pollers_.find(answer.cluster_id); it != pollers_.end())
      it->second.poller->Taken();
}

}  // namespace cigri::updator
