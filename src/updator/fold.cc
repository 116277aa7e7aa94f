#include "updator/fold.h"

#include <sql/jobs.h>
#include <sql/placements.h>
#include <sql/survival.h>
#include <sql/tasks.h>
#include <sql/usage.h>

#include <cmath>
#include <limits>

#include "core/histogram.h"
#include "core/text.h"
#include "db/counters.h"
#include "module/events.h"

namespace cigri::updator {
namespace {

using cluster::RemoteState;
using LaneKey = std::pair<std::int64_t, std::int64_t>;  // campaign, cluster

// Seconds between `then` (the cluster's clock) and the cluster's answer; 0 when not told.
double Ago(const News& news, double then) {
  if (news.cluster_time <= 0 || then <= 0) return 0;
  return std::max(0.0, news.cluster_time - then);
}

JobState StateOf(RemoteState state) {
  return state == RemoteState::kRunning ? JobState::kRunning : JobState::kRemoteWaiting;
}

struct Lane {
  int ended = 0, failures = 0, tests = 0;
  std::int64_t n_ok = 0, not_ok = 0;
  double sum = 0, sum_sq = 0, slot_s = 0;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  double first_start = std::numeric_limits<double>::infinity(), last_end = 0;
  std::vector<std::int64_t> hist;
  std::vector<double> recent_s;  // the last ends in order, a failure of the program infinite
  std::vector<std::int64_t> recent_idx;
  std::optional<double> longest_killed;
  std::optional<std::string> prologue, epilogue;

  void Remember(double lasted, std::int64_t idx) {
    constexpr std::size_t kMost = 20;  // policy key sink.count goes so far
    if (recent_s.size() == kMost) {
      recent_s.erase(recent_s.begin());
      recent_idx.erase(recent_idx.begin());
    }
    recent_s.push_back(lasted);
    recent_idx.push_back(idx);
  }
};

// How long jobs of ours lived on a cluster (table cluster_lives).
struct Lives {
  std::vector<std::int64_t> killed, ended;
};

void CountIn(std::vector<std::int64_t>& hist, double seconds) {
  const auto bucket = static_cast<std::size_t>(DurationBucket(seconds));
  if (hist.size() <= bucket) hist.resize(bucket + 1);
  ++hist[bucket];
}

// One failed end, booked.
struct Failure {
  Booking booking;
  std::int64_t campaign_id, cluster_id, idx, job_id;
  BatchKind kind;
  bool nowhere_else;  // no other copy lives, and the task is not counted: it must go somewhere
  std::string message;
};

class Folder {
 public:
  Folder(db::Tx& tx, const std::map<std::int64_t, std::string>& names) : tx_(tx), names_(names) {}

  Folded Run(const std::vector<News>& news) {
    std::vector<const News*> moves;
    for (const auto& n : news) {
      if (n.remote.state == RemoteState::kEnded)
        ends_.push_back(&n);
      else
        moves.push_back(&n);
    }
    if (!moves.empty()) Move(moves);
    if (!ends_.empty()) {
      BookFailures();
      End();
      WriteLanes();
      WriteLives();
      WriteTasks();
    }
    db::AddCounters(tx_, counters_, "updator");
    return std::move(folded_);
  }

 private:
  void Move(const std::vector<const News*>& moves) {
    std::vector<std::int64_t> ids;
    std::vector<std::string> states, nodes;
    std::vector<double> ago;
    for (const auto* n : moves) {
      ids.push_back(n->job_id);
      states.emplace_back(ToString(StateOf(n->remote.state)));
      ago.push_back(Ago(*n, n->remote.started_at));
      nodes.push_back(ValidUtf8(n->remote.node));
    }
    for (const auto& row : tx_.Exec(sql::kMoveJobs, ids, states,
                                    ago, nodes)) {
      const auto campaign = row.campaign_id;
      const auto cluster = row.cluster_id;
      const auto kind = FromString<BatchKind>(row.kind).value();
      const auto slots = row.slots;
      const std::string from = row.old_state, to = row.new_state;
      counters_.Add(campaign, cluster, kind, from, -1, slots,
                    from == "running" ? row["old_started"].as<double>(0) : 0);
      counters_.Add(campaign, cluster, kind, to, 1, slots,
                    to == "running" ? row["started"].as<double>(0) : 0);
      folded_.moved.emplace_back(row.job_id,
                                 FromString<JobState>(to).value());
    }
  }

  void BookFailures() {
    std::map<std::int64_t, const News*> failed;
    for (const auto* n : ends_)
      if (!Book({.cause = n->remote.cause, .wait_status = n->remote.wait_status}).success)
        failed[n->job_id] = n;
    if (failed.empty()) return;
    std::vector<std::int64_t> ids;
    for (const auto& [id, n] : failed) ids.push_back(id);
    for (const auto& row : tx_.Exec(sql::kFactsOfEnds, ids)) {
      const auto job_id = row.job_id;
      const News& n = *failed.at(job_id);
      EndFacts f;
      f.cause = n.remote.cause;
      f.wait_status = n.remote.wait_status;
      f.kind = FromString<BatchKind>(row.kind).value();
      f.kill_reason = row.kill_reason;
      f.test_campaign = row.test_campaign;
      f.other_clusters = row.other_clusters;
      f.max_tries = row.max_tries;
      f.program = row.program;
      f.again = row.again;
      f.free = row.free;
      f.free_here = row.free_here;
      Failure failure{Book(f),
                      row.campaign_id,
                      row.cluster_id,
                      row.idx,
                      job_id,
                      f.kind,
                      !row.other_copy && !row.counted,
                      Message(n, row.kill_detail, NotThere(n, row))};
      failures_.emplace(job_id, std::move(failure));
    }
  }

  // What the first job on a cluster finds missing; once one has succeeded there, codes 126 and 127
  // are the program's own. Without the cluster's name, which people see beside it: the same on all
  // clusters is one failure.
  static std::string NotThere(const News& n, const pqxx::row& row) {
    if (n.remote.cause == cluster::EndCause::kBadDirectory)
      return "not on the cluster: " + row.directory;
    if (n.remote.cause != cluster::EndCause::kExited || row.proved ||
        row.idx < 0)
      return "";
    const std::string file = row.program_file;
    if (n.remote.wait_status == 127 << 8) return "not on the cluster: " + file;
    if (n.remote.wait_status == 126 << 8) return "not executable on the cluster: " + file;
    return "";
  }

  static std::string Message(const News& n, const std::string& kill_detail,
                             const std::string& not_there) {
    std::string text = kill_detail;
    if (text.empty() && n.remote.wait_status && n.remote.cause == cluster::EndCause::kExited)
      text = WaitStatusText(*n.remote.wait_status);
    if (!not_there.empty()) text = not_there + (text.empty() ? "" : ": " + text);
    if (!n.remote.message.empty()) text += (text.empty() ? "" : ": ") + n.remote.message;
    text = ValidUtf8(text.substr(0, 2000));
    std::erase(text, '\0');
    return text;
  }

  void End() {
    std::vector<std::int64_t> ids;
    std::vector<bool> ok;
    std::vector<std::string> accounts, codes, nodes;
    std::vector<std::optional<std::int64_t>> statuses;
    std::vector<std::optional<double>> started;
    std::vector<double> ended;
    std::vector<std::optional<std::string>> messages;
    for (const auto* n : ends_) {
      const auto it = failures_.find(n->job_id);
      const bool success = it == failures_.end() && n->remote.wait_status == 0 &&
                           n->remote.cause == cluster::EndCause::kExited;
      if (!success && it == failures_.end()) continue;  // not live any more: folded before
      ids.push_back(n->job_id);
      ok.push_back(success);
      accounts.emplace_back(ToString(success ? Account::kNone : it->second.booking.account));
      codes.push_back(success ? "" : it->second.booking.code);
      statuses.push_back(n->remote.wait_status ? std::optional<std::int64_t>(*n->remote.wait_status)
                                               : std::nullopt);
      started.push_back(n->remote.started_at > 0 && n->cluster_time > 0
                            ? std::optional(Ago(*n, n->remote.started_at))
                            : std::nullopt);
      ended.push_back(Ago(*n, n->remote.ended_at));
      nodes.push_back(ValidUtf8(n->remote.node));
      messages.push_back(success ? std::nullopt : std::optional(it->second.message));
    }
    for (const auto& row :
         tx_.Exec(sql::kEndJobs, ids, ok, accounts,
                  codes, statuses, started, ended,
                  nodes, messages))
      Ended(row);
  }

  void Ended(const pqxx::row& row) {
    const auto job_id = row.job_id;
    const auto campaign = row.campaign_id;
    const auto cluster = row.cluster_id;
    const auto idx = row.idx;
    const auto kind = FromString<BatchKind>(row.kind).value();
    const auto slots = row.slots;
    const bool ok = row.ok, counted = row.counted;
    folded_.ended.push_back(job_id);
    folded_.campaigns.insert(campaign);

    const std::string old_state = row.old_state;
    counters_.Add(campaign, cluster, kind, old_state, -1, slots,
                  old_state == "running" ? row["live_started"].as<double>(0) : 0);
    const auto failure = failures_.find(job_id);
    if (ok) {
      counters_.Add(campaign, cluster, kind, counted || idx < 0 ? "terminated" : "duplicate", 1,
                    slots);
      if (counted) won_.emplace(campaign, idx);
    } else {
      const auto& b = failure->second.booking;
      counters_.Add(campaign, cluster, kind, "event", 1, slots);
      counters_.Add(campaign, cluster, kind, b.again ? "again" : ToString(b.account), 1, slots);
    }

    auto& lane = lanes_[{campaign, cluster}];
    const double end = row.ended;
    const double start = !row.started ? end : row.started;
    const double lasted = std::max(0.0, end - start);
    lane.slot_s += lasted * static_cast<double>(slots);
    lane.first_start = std::min(lane.first_start, start);
    lane.last_end = std::max(lane.last_end, end);
    if (kind == BatchKind::kPrologue || kind == BatchKind::kEpilogue) {
      const bool certain = ok || failure->second.booking.account == Account::kProgram;
      if (certain)
        (kind == BatchKind::kPrologue ? lane.prologue : lane.epilogue) = ok ? "done" : "failed";
      return;
    }
    if (kind == BatchKind::kTest) ++lane.tests;
    const bool preempted = !ok && failure->second.booking.account == Account::kPreemption;
    if (!!row.started) {
      auto& lives = lives_[cluster];
      CountIn(preempted ? lives.killed : lives.ended, lasted);
      if (preempted) lane.longest_killed = std::max(lane.longest_killed.value_or(0), lasted);
    }
    if (ok) {
      ++lane.n_ok;
      ++lane.ended;
      lane.sum += lasted;
      lane.sum_sq += lasted * lasted;
      lane.least = std::min(lane.least, lasted);
      lane.most = std::max(lane.most, lasted);
      CountIn(lane.hist, lasted);
      if (counted) lane.Remember(lasted, idx);
    } else {
      ++lane.not_ok;
      const auto& b = failure->second.booking;
      if (b.account == Account::kProgram && !b.again) {
        ++lane.ended;
        ++lane.failures;
        lane.Remember(std::numeric_limits<double>::infinity(), idx);
      }
    }
  }

  void WriteLanes() {
    std::vector<std::int64_t> campaigns, n_ok, not_ok;
    std::vector<int> clusters, ended, failures, tests;
    std::vector<double> sum, sum_sq, slot_s;
    std::vector<std::optional<double>> least, most, first_start, last_end;
    std::vector<std::optional<std::string>> hist, prologue, epilogue, recent_s, recent_idx;
    std::vector<std::optional<double>> longest_killed;
    for (const auto& [key, lane] : lanes_) {
      campaigns.push_back(key.first);
      clusters.push_back(static_cast<int>(key.second));
      ended.push_back(lane.ended);
      failures.push_back(lane.failures);
      n_ok.push_back(lane.n_ok);
      not_ok.push_back(lane.not_ok);
      sum.push_back(lane.sum);
      sum_sq.push_back(lane.sum_sq);
      slot_s.push_back(lane.slot_s);
      const bool any = lane.n_ok > 0;
      least.push_back(any ? std::optional(lane.least) : std::nullopt);
      most.push_back(any ? std::optional(lane.most) : std::nullopt);
      first_start.push_back(any ? std::optional(lane.first_start) : std::nullopt);
      last_end.push_back(lane.last_end > 0 ? std::optional(lane.last_end) : std::nullopt);
      hist.push_back(any ? std::optional(db::Array(lane.hist)) : std::nullopt);
      prologue.push_back(lane.prologue);
      epilogue.push_back(lane.epilogue);
      tests.push_back(lane.tests);
      const bool ends = !lane.recent_s.empty();
      recent_s.push_back(ends ? std::optional(db::Array(lane.recent_s)) : std::nullopt);
      recent_idx.push_back(ends ? std::optional(db::Array(lane.recent_idx)) : std::nullopt);
      longest_killed.push_back(lane.longest_killed);
    }
    if (campaigns.empty()) return;
    tx_.Exec(sql::kUpdatePlacements, campaigns, clusters, ended,
             failures, n_ok, sum, sum_sq,
             least, most, hist, first_start,
             last_end, prologue, epilogue, tests,
             recent_s, recent_idx, longest_killed);
    tx_.Exec(sql::kAddUsage, campaigns, clusters, slot_s,
             n_ok, not_ok);
  }

  void WriteLives() {
    std::vector<int> clusters;
    std::vector<std::string> killed, ended;
    for (const auto& [cluster, lives] : lives_) {
      clusters.push_back(static_cast<int>(cluster));
      killed.push_back(db::Array(lives.killed));
      ended.push_back(db::Array(lives.ended));
    }
    if (!clusters.empty())
      tx_.Exec(sql::kAddSurvival, clusters, killed, ended);
  }

  // Where the tasks go: forgotten elsewhere when won, else to retry or tofix.
  void WriteTasks() {
    if (!won_.empty()) {
      std::vector<std::int64_t> campaigns, idxs;
      for (const auto& [campaign, idx] : won_) {
        campaigns.push_back(campaign);
        idxs.push_back(idx);
      }
      tx_.Exec(sql::kForgetCountedTasks, campaigns, idxs);
    }
    if (failures_.empty()) return;
    AddTries();
    std::map<std::pair<std::int64_t, std::int64_t>, const Failure*> last;  // one place a task
    for (const auto& [job, f] : failures_)
      if (f.idx >= 0 && f.nowhere_else && f.booking.next != Next::kNothing &&
          won_.count({f.campaign_id, f.idx}) == 0)
        last[{f.campaign_id, f.idx}] = &f;
    PutRetry(last);
    PutToFix(last);
    for (const auto& [job, f] : failures_)
      if (f.idx < 0 && f.booking.account == Account::kProgram)
        Raise(f, f.kind == BatchKind::kPrologue ? "PROLOGUE_FAILED" : "EPILOGUE_FAILED");
  }

  void AddTries() {
    struct Spent {
      int attempts = 0, program = 0, again = 0, free = 0, cluster = 0;
    };
    std::map<std::pair<std::int64_t, std::int64_t>, Spent> spent;
    for (const auto& [job, f] : failures_) {
      if (f.idx < 0) continue;
      auto& s = spent[{f.campaign_id, f.idx}];
      ++s.attempts;
      s.cluster = static_cast<int>(f.cluster_id);
      if (f.booking.again)
        ++s.again;
      else if (f.booking.account == Account::kProgram)
        ++s.program;
      else if (f.booking.account != Account::kOurKill)
        ++s.free;
    }
    std::vector<std::int64_t> campaigns, idxs;
    std::vector<int> attempts, program, again, free, clusters;
    for (const auto& [key, s] : spent) {
      campaigns.push_back(key.first);
      idxs.push_back(key.second);
      attempts.push_back(s.attempts);
      program.push_back(s.program);
      again.push_back(s.again);
      free.push_back(s.free);
      clusters.push_back(s.cluster);
    }
    if (campaigns.empty()) return;
    tx_.Exec(sql::kAddTries, campaigns, idxs, attempts,
             program, again, free, clusters);
  }

  using Last = std::map<std::pair<std::int64_t, std::int64_t>, const Failure*>;

  void PutRetry(const Last& last) {
    std::vector<std::int64_t> campaigns, idxs;
    std::vector<int> ranks;
    std::vector<double> delays;
    std::vector<std::optional<std::int64_t>> avoid;
    std::vector<std::string> why;
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, int> told;
    for (const auto& [key, f] : last) {
      const auto& b = f->booking;
      if (b.next == Next::kToFix) continue;
      campaigns.push_back(key.first);
      idxs.push_back(key.second);
      ranks.push_back(b.next == Next::kRetryBack ? 1 : 0);
      delays.push_back(b.delay_s);
      avoid.push_back(b.avoid_here ? std::optional(f->cluster_id) : std::nullopt);
      why.push_back(b.code);
      if (b.account == Account::kPreemption) ++told[{key.first, f->cluster_id, b.code}];
    }
    if (!campaigns.empty())
      tx_.Exec(sql::kPutRetries, campaigns, idxs, ranks,
               delays, avoid, why);
    // One open line per campaign and cluster, with a count: to be read, not to be answered.
    for (const auto& [key, n] : told) {
      module::Event e{.cls = "notify", .code = std::get<2>(key), .message = ""};
      e.campaign_id = std::get<0>(key);
      e.cluster_id = std::get<1>(key);
      e.count = n;
      e.message =
          names_.at(*e.cluster_id) +
          ": local users took their slots back, jobs were killed, they go again (not your fault)";
      module::RaiseEvent(tx_, e);
    }
  }

  void PutToFix(const Last& last) {
    std::vector<std::int64_t> campaigns, idxs, jobs, events;
    for (const auto& [key, f] : last) {
      if (f->booking.next != Next::kToFix) continue;
      campaigns.push_back(key.first);
      idxs.push_back(key.second);
      jobs.push_back(f->job_id);
      events.push_back(Raise(*f, f->booking.code));
    }
    if (!campaigns.empty())
      tx_.Exec(sql::kPutNeedsAttention, campaigns, idxs, jobs,
               events);
  }

  // Failures with the same words on a cluster are one event with a count and a sample; equal
  // fingerprints on several clusters are shown as one failure (read/failures).
  std::int64_t Raise(const Failure& f, const std::string& code) {
    module::Event e{.cls = "job", .code = code, .message = f.message};
    e.campaign_id = f.campaign_id;
    e.cluster_id = f.cluster_id;
    e.job_id = f.job_id;
    e.idx = f.idx;
    // Digits differ from job to job (line numbers, paths): they do not make another failure. Those
    // of an exit code do.
    const auto status = code == "EXIT_ERROR" ? std::min<std::size_t>(f.message.find(':'), 300) : 0;
    e.fingerprint = f.message.substr(0, status);
    for (char c : f.message.substr(e.fingerprint.size(), 300))
      if (c < '0' || c > '9') e.fingerprint += c;
    e.sample = {{"job", f.job_id}, {"task", f.idx}, {"message", f.message}};
    return module::RaiseEvent(tx_, e);
  }

  db::Tx& tx_;
  const std::map<std::int64_t, std::string>& names_;
  std::vector<const News*> ends_;
  std::map<std::int64_t, Failure> failures_;             // by job
  std::set<std::pair<std::int64_t, std::int64_t>> won_;  // tasks counted by this fold
  std::map<LaneKey, Lane> lanes_;
  std::map<std::int64_t, Lives> lives_;  // by cluster
  CounterDeltas counters_;
  Folded folded_;
};

}  // namespace

Folded Fold(db::Tx& tx, const std::vector<News>& news,
            const std::map<std::int64_t, std::string>& cluster_names) {
  return Folder(tx, cluster_names).Run(news);
}

}  // namespace cigri::updator
