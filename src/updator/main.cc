// updator: asks the clusters how our jobs are and writes what they answer. The only one that folds.
#include <sql/batches.h>
#include <sql/campaigns.h>
#include <sql/cluster_status.h>
#include <sql/grid.h>
#include <sql/jobs.h>
#include <sql/placements.h>

#include <deque>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "updator/absences.h"
#include "updator/campaigns.h"
#include "updator/fold.h"
#include "updator/health.h"
#include "updator/poller.h"
#include "updator/strays.h"
#include "updator/watch.h"

namespace cigri::updator {
namespace {

using Clock = std::chrono::steady_clock;

struct Late {  // news of a job whose batch is not recorded yet
  std::int64_t cluster_id;
  News news;
};

class Updator {
 public:
  void Pass(module::Turn& turn) {
    // A pass that failed has lost the answers it had taken: begin again from what is in the tables.
    const bool anew = turn.fresh || !finished_;
    finished_ = false;
    db::Tx tx(turn.db);
    module::CheckEpoch(tx, turn.epoch);
    if (anew) Start(tx, turn);
    RefreshClusters(tx, turn);
    auto answers = mailbox_->TakeAll();
    memory_.Refresh(tx);

    std::map<std::int64_t, News> news;  // by job: the last word counts
    TakeLate(tx, news);                 // older than these answers: their word is the later one
    for (auto& answer : answers)
      if (answer.ok) {
        Gather(answer, news);
        if (answer.holds) held_.Look(tx, memory_, answer);
        if (!answer.feed) silent_.Look(tx, memory_, answer, names_[answer.cluster_id]);
      }
    GiveUpLost(tx, news);
    std::vector<News> list;
    for (auto& [id, n] : news) list.push_back(std::move(n));
    const Folded folded = list.empty() ? Folded{} : Fold(tx, list, names_);
    SaveTokens(tx, answers);
    for (const auto& a : answers)
      if (a.strays)
        JudgeStrays(tx, a.cluster_id, names_[a.cluster_id], *a.strays,
                    &shown_[a.cluster_id].unknown);

    const bool sweep = Clock::now() - swept_ > std::chrono::seconds(2) || anew;
    if (sweep) swept_ = Clock::now();
    HoldPrologues(tx, folded.campaigns);
    const bool moved = UpdateCampaigns(tx, folded.campaigns, sweep, limits_);
    SaveStatus(tx, answers);
    if (moved || !folded.ended.empty() || !folded.moved.empty()) tx.Raw("NOTIFY cigri_progress");
    tx.Commit();

    for (const auto& [job, state] : folded.moved) memory_.Moved(job, state);
    for (const auto job : folded.ended) memory_.Ended(job);
    for (const auto& a : answers)
      if (const auto it = pollers_.find(a.cluster_id); it != pollers_.end())
        it->second.poller->Taken();
    for (auto& [id, entry] : pollers_)
      if (entry.poller->Due()) entry.poller->Give(memory_.RefsOf(id));
    finished_ = true;
  }

 private:
  struct Entry {
    std::string fingerprint;
    std::unique_ptr<Poller> poller;
  };
  struct Shown {  // what gridstatus and cluster_status said last
    Clock::time_point status{}, resources{};
    cluster::Resources last;
    std::optional<cluster::Resources> pending;  // told, not yet written
    Memory::Counts counts;
    bool ok = true;
    Told told;
    std::set<std::string> unknown;  // jobs there that the last UNKNOWN_JOB named
    std::deque<std::pair<Clock::time_point, int>> calls;
  };

  void Start(db::Tx& tx, module::Turn& turn) {
    waker_ = &turn.waker;
    pollers_.clear();
    late_.clear();
    mailbox_ = std::make_shared<Mailbox>();
    memory_.Load(tx);
    tokens_.clear();
    saved_tokens_.clear();
    absences_.clear();
    silent_.TellAnew();
    for (const auto& row : tx.Exec(sql::kFeedTokens))
      tokens_[row.cluster_id] = row.feed_token;
    grid_mark_ = "." + tx.One(sql::kGridId).grid_id + ".";
    limits_.test_wait_s = static_cast<int>(turn.config.GetInt("TEST_CAMPAIGN_WAIT", 600, 1));
    limits_.epilogue_wait_s = static_cast<int>(turn.config.GetInt("EPILOGUE_WAIT", 3600, 1));
    clusters_read_ = {};
    slow_s_ = static_cast<double>(turn.config.GetInt("SLOW_SWEEP", 600, 1));
    for (auto& [id, shown] : shown_) shown.told = {};  // what was told may not have been committed
  }

  void RefreshClusters(db::Tx& tx, module::Turn& turn) {
    // Not in every round; but what was changed meanwhile is seen soon, also when the grid then
    // rests. (Asked for in each pass: a round ends all earlier wishes.)
    constexpr std::chrono::milliseconds kReadEvery{2000};
    if (const auto age = Clock::now() - clusters_read_; age < kReadEvery) {
      turn.waker.WakeIn(std::chrono::ceil<std::chrono::milliseconds>(kReadEvery - age));
      return;
    }
    clusters_read_ = Clock::now();
    std::set<std::int64_t> present;
    for (const auto& row : clusterdb::LoadClusters(tx)) {
      const auto id = row.config.id;
      names_[id] = row.config.name;
      stress_limits_[id] = row.stress_limit;
      if (!row.enabled && memory_.RefsOf(id).empty()) continue;
      present.insert(id);
      auto& entry = pollers_[id];
      if (entry.poller && entry.fingerprint == row.fingerprint) continue;
      try {
        entry.poller.reset();
        entry.poller = std::make_unique<Poller>(row, tokens_[id], mailbox_, turn.waker,
                                                turn.conninfo, grid_mark_, slow_s_);
        entry.fingerprint = row.fingerprint;
      } catch (const std::exception& e) {
        log::error("[{}] cannot be driven: {}", row.config.name, e.what());
        pollers_.erase(id);
      }
    }
    std::erase_if(pollers_, [&](const auto& item) { return present.count(item.first) == 0; });
    const bool alive = tx.One(sql::kAnyCampaignActive).any;
    for (auto& [id, entry] : pollers_) entry.poller->SetBusy(alive);
  }

  // What an answer says of jobs that we know to be in flight, where it differs from what we know.
  void Gather(const Answer& answer, std::map<std::int64_t, News>& news) {
    const bool complete = answer.feed && answer.poll.full;
    std::set<std::int64_t> seen;
    for (const auto& remote : answer.poll.jobs) {
      const auto* batch = memory_.BatchOf(remote.ref.tag);
      if (batch == nullptr) {
        // Perhaps recorded a moment from now; or long over, or of another grid.
        if (remote.ref.tag.find(grid_mark_) != std::string::npos &&
            !long_over_.count(remote.ref.tag))
          late_[remote.ref.tag].push_back(
              {answer.cluster_id, {0, remote, answer.poll.cluster_time}});
        continue;
      }
      if (Note(*batch, remote, answer.poll.cluster_time, news) && complete)
        seen.insert(batch->first_job_id + remote.ref.index);
    }
    if (!answer.feed)
      for (const auto job : absences_[answer.cluster_id].Look(answer.poll.missing, answer.began))
        Gone(job, answer, news);
    if (complete)
      for (const auto& ref : memory_.RefsOf(answer.cluster_id))
        if (seen.count(ref.job_id) == 0) Gone(ref.job_id, answer, news);
  }

  // "gridadmin cluster lost": what was there is gone, at nobody's charge.
  void GiveUpLost(db::Tx& tx, std::map<std::int64_t, News>& news) {
    if (Clock::now() - swept_ <= std::chrono::seconds(2)) return;
    for (const auto& row : tx.Exec(sql::kLostJobs)) {
      const auto job = row.job_id;
      if (memory_.Find(job) == nullptr || news.count(job) != 0) continue;
      News n{job, {}, 0};
      n.remote.state = cluster::RemoteState::kEnded;
      n.remote.cause = cluster::EndCause::kNodeFailed;
      n.remote.message = "its cluster was given up as lost";
      news[job] = std::move(n);
    }
  }

  // Most answers say of most jobs what is known: nothing is copied for those.
  bool Note(const KnownBatch& batch, const cluster::RemoteJob& remote, double cluster_time,
            std::map<std::int64_t, News>& news) {
    if (remote.ref.index < 0 || remote.ref.index >= batch.n) return false;
    const auto job = batch.first_job_id + remote.ref.index;
    const auto* known = memory_.Find(job);
    if (known == nullptr) return true;
    const bool running = remote.state == cluster::RemoteState::kRunning;
    if (remote.state != cluster::RemoteState::kEnded &&
        known->state == (running ? JobState::kRunning : JobState::kRemoteWaiting))
      news.erase(job);
    else
      news[job] = {job, remote, cluster_time};
    return true;
  }

  void Gone(std::int64_t job_id, const Answer& answer, std::map<std::int64_t, News>& news) {
    if (memory_.Find(job_id) == nullptr) return;
    News n{job_id, {}, answer.poll.cluster_time};
    n.remote.state = cluster::RemoteState::kEnded;
    n.remote.cause = cluster::EndCause::kUnknown;
    n.remote.message = "the cluster does not know this job any more, nor how it ended";
    news[job_id] = std::move(n);
  }

  void TakeLate(db::Tx& tx, std::map<std::int64_t, News>& news) {
    if (late_.empty()) return;
    std::vector<std::string> unknown;
    for (auto it = late_.begin(); it != late_.end();) {
      const auto* batch = memory_.BatchOf(it->first);
      if (batch == nullptr) {
        unknown.push_back((it++)->first);
        continue;
      }
      for (auto& l : it->second) Note(*batch, l.news.remote, l.news.cluster_time, news);
      it = late_.erase(it);
    }
    if (unknown.empty()) return;
    std::map<std::string, std::string> states;
    for (const auto& row : tx.Exec(sql::kTagStates, unknown))
      states[row.tag] = row.state;
    for (const auto& tag : unknown) {
      const auto& state = states[tag];
      if (state == "intended" || state == "in_doubt") continue;
      if (state == "recorded" && memory_.BatchOf(tag) != nullptr) continue;
      // Recorded and all folded, refused, void, or nobody's: nothing to wait for.
      late_.erase(tag);
      if (long_over_.size() > 10000) long_over_.clear();
      long_over_.insert(tag);
    }
  }

  // A token is kept only when nothing before it waits in memory: a restart then asks for it again.
  void SaveTokens(db::Tx& tx, const std::vector<Answer>& answers) {
    std::set<std::int64_t> waiting;
    for (const auto& [tag, list] : late_)
      for (const auto& l : list) waiting.insert(l.cluster_id);
    for (const auto& a : answers)
      if (a.ok && a.feed && !a.poll.token.empty()) tokens_[a.cluster_id] = a.poll.token;
    for (const auto& a : answers) {
      if (!a.ok || !a.feed || waiting.count(a.cluster_id) != 0) continue;
      auto& saved = saved_tokens_[a.cluster_id];
      if (saved == tokens_[a.cluster_id]) continue;
      saved = tokens_[a.cluster_id];
      tx.Exec(sql::kSetFeedToken, a.cluster_id, saved);
    }
  }

  void HoldPrologues(db::Tx& tx, const std::set<std::int64_t>& campaigns) {
    if (campaigns.empty()) return;
    tx.Exec(sql::kHoldFailedPrologues,
            db::Array(std::vector<std::int64_t>(campaigns.begin(), campaigns.end())));
  }

  void SaveStatus(db::Tx& tx, const std::vector<Answer>& answers) {
    std::map<std::int64_t, const Answer*> last;
    for (const auto& a : answers) {
      last[a.cluster_id] = &a;
      shown_[a.cluster_id].calls.emplace_back(Clock::now(), std::max(1, a.poll.calls));
    }
    for (const auto& [id, a] : last) {
      auto& shown = shown_[id];
      const bool news = a->ok != shown.ok || a->failures == 1;
      if (news || Clock::now() - shown.status >= std::chrono::seconds(1)) {
        Status(tx, *a, shown);
        shown.status = Clock::now();
      }
      if (a->ok && a->resources) shown.pending = *a->resources;
      shown.ok = a->ok;
    }
    for (auto& [id, shown] : shown_)
      if (shown.pending) Resources(tx, id, shown);
  }

  void Status(db::Tx& tx, const Answer& a, Shown& shown) {
    while (!shown.calls.empty() &&
           Clock::now() - shown.calls.front().first > std::chrono::minutes(1))
      shown.calls.pop_front();
    double calls = 0;
    for (const auto& [at, n] : shown.calls) calls += n;
    tx.Exec(sql::kSetClusterStatus, a.cluster_id, a.ok, a.failures, a.again_in_s,
            a.ok ? std::optional<std::string>() : std::optional(ValidUtf8(a.error)),
            a.resources ? a.resources->stress : 0.0, calls, std::optional<std::string>(), a.skew_s);
    TellHealth(tx, a, names_[a.cluster_id], stress_limits_[a.cluster_id], &shown.told);
  }

  // A snapshot when something changed (at most one a second), else one a minute.
  void Resources(db::Tx& tx, std::int64_t id, Shown& shown) {
    const cluster::Resources r = *shown.pending;
    const auto counts = memory_.CountsOf(id);
    const auto age = Clock::now() - shown.resources;
    const bool same = r.max == shown.last.max && r.used == shown.last.used &&
                      r.unavailable == shown.last.unavailable &&
                      counts.running == shown.counts.running &&
                      counts.waiting == shown.counts.waiting;
    if (age < std::chrono::seconds(1)) {
      waker_->WakeIn(std::chrono::milliseconds(1000));
      return;
    }
    shown.pending.reset();
    if (same && age < std::chrono::seconds(60)) return;
    tx.Exec(sql::kAddGridstatus, id, r.max, r.free(), r.used, r.unavailable,
            counts.running, counts.waiting + counts.submitted, r.stress, r.note);
    shown.resources = Clock::now();
    shown.last = r;
    shown.counts = counts;
  }

  std::shared_ptr<Mailbox> mailbox_;
  module::Waker* waker_ = nullptr;
  bool finished_ = false;  // the last pass came to its end
  Memory memory_;
  Limits limits_;
  std::string grid_mark_;
  double slow_s_ = 600;
  std::map<std::int64_t, double> stress_limits_;
  std::map<std::int64_t, std::string> names_, tokens_, saved_tokens_;
  std::map<std::string, std::vector<Late>> late_;
  std::set<std::string> long_over_;
  std::map<std::int64_t, Absences> absences_;  // by cluster
  std::map<std::int64_t, Shown> shown_;
  Clock::time_point clusters_read_{}, swept_{};
  HeldWatch held_;
  SilentWatch silent_;
  std::map<std::int64_t, Entry> pollers_;
};

int Main(int argc, char** argv) {
  Updator updator;
  const int code = module::Run(
      argc, argv, {.name = "updator", .description = "asks the clusters how our jobs are"},
      [&](module::Turn& turn) { updator.Pass(turn); });
  std::_Exit(code);  // threads may be deep in a call; nothing of theirs is lost
}

}  // namespace
}  // namespace cigri::updator

int main(int argc, char** argv) {
  return cigri::RunMain("updator", cigri::updator::Main, argc, argv);
}
