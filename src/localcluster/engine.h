// The local cluster itself: what waits, what runs, what changed.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/limits.h"
#include "localcluster/intake.h"
#include "localcluster/job.h"
#include "localcluster/launcher.h"
#include "localcluster/records.h"
#include "localcluster/slots.h"
#include "localcluster/store.h"

namespace cigri::localcluster {

struct EngineOptions {
  LauncherOptions launcher;
  int slots = 1, nodes = 1;
  std::int64_t max_live = 10 * limits::kLocalJobs.value;  ///< jobs waiting and running
  std::int64_t max_ended = 1'000'000;                     ///< ends remembered
  int max_walltime_s = 7 * 86400;                         ///< of a job that is not the grid's
};

/// Who submits.
struct Caller {
  bool trusted = false;  ///< the grid or root: for every user, with the grid's numbers
  std::string user;      ///< "" when unknown
  bool MayActFor(const std::string& name) const {
    return trusted || (!user.empty() && user == name);
  }
};

/// One job as the world may see it, in any state.
struct JobView {
  std::shared_ptr<const Batch> batch;
  int index = 0, attempt = 1, status = -1;
  std::int64_t job_id = 0, task_index = 0;
  State state = State::kWaiting;
  Cause cause = Cause::kExited;
  double started_at = 0, ended_at = 0;
  Measured measured;
  std::string node, message;
};

struct Changes {
  std::vector<JobView> jobs;
  bool full = false;  ///< everything that lives: a job not listed has ended or was never known
  bool more = false;  ///< ask again with the token at once
  std::string token;
};

/// A job as its callers name it.
struct JobName {
  std::string id, tag;        ///< tag "" means any
  bool only_waiting = false;  ///< it goes on once it runs
};

struct Usage {
  int slots = 0, used = 0, best_effort = 0, local = 0;       ///< slots
  int ending = 0;                                            ///< of best_effort, asked to end
  std::int64_t waiting = 0, waiting_local = 0, running = 0;  ///< jobs; waiting_local in slots
};

/// Thread-safe. The jobs do not depend on it: what is in memory is found again from the store, the
/// record files and /proc by the next one (design.md section 7).
class Engine {
 public:
  /// Adopts what runs in `launcher.state_dir`. Throws Fatal.
  explicit Engine(EngineOptions options);
  ~Engine();

  /// Handles ends and times until Stop(). The jobs go on.
  void Run();
  void Stop();
  /// Starts nothing more, ends every job (cause node failed), returns when they are gone.
  void KillAll();

  struct Accepted {
    std::int64_t seq = 0;
    int n = 0;
  };
  /// Throws Refused, also when `caller` may not submit for the user. Durable before it returns.
  Accepted Submit(const std::string& body, const Caller& caller);
  /// The jobs with `tag`; with `revoke` it can never be submitted any more.
  std::vector<JobView> Find(const std::string& tag, bool revoke);
  /// The tags that begin with `prefix` of all batches that came after `since`, ended ones too.
  std::vector<std::string> TagsSince(const std::string& prefix, double since);
  Changes ChangesSince(const std::string& token, std::chrono::milliseconds wait);
  std::optional<JobView> Get(const std::string& id);
  /// Live jobs for which `wanted` holds, in order of submission.
  std::vector<JobView> Live(const std::function<bool(const Batch&)>& wanted);
  enum class Killed { kGone, kAsked, kBegun, kForeign };
  /// What became of each of `jobs`. A job that carries another tag is kForeign, one that runs and
  /// was to be ended only while it waits is kBegun, both untouched. No job of the list takes the
  /// slots of another one.
  std::vector<Killed> Kill(const std::vector<JobName>& jobs);
  Usage GetUsage();
  const std::string& instance() const { return store_.instance(); }
  /// The most bytes that a job can have written into a file.
  std::int64_t max_file_bytes() const;
  /// Path of the output of a job without .out or .err.
  std::string OutputStem(const JobView& job) const;
  /// The output of a running job, which may have no name yet; nothing when it does not run.
  process::Fd OpenOutput(const JobView& job, bool err);

 private:
  struct LiveBatch {
    std::shared_ptr<const Batch> batch;
    std::vector<std::unique_ptr<Job>> jobs;  // by index; null once ended
    int left = 0;
  };
  using Lock = std::unique_lock<std::mutex>;
  using Queue = std::map<std::pair<std::int64_t, int>, Job*>;  // by (seq, index): as they came

  void Restore();
  void RestoreBatch(const StoredBatch& stored);
  void RestoreRunning(const Kept& kept);
  void Adopt();
  void BecomesRunning(Job* job, pid_t pid, double started_at, std::vector<int> places,
                      std::int64_t segment);
  void CheckRoom(const Batch& batch, bool trusted) const;
  void Count(const Batch& batch, int jobs);
  void Enqueue(const std::shared_ptr<Batch>& batch, std::vector<std::unique_ptr<Job>> jobs);
  void Schedule();
  bool StartJob(Job* job);
  bool StartAll(Queue* queue);
  void MakeRoom(int needed);
  void Watch(Job* job);
  void OnExit(int fd);
  void OnWrapper(Wrapper* wrapper);
  void ReadRecords();
  void OnRecord(std::int64_t segment, const Record& record);
  void Lost(Job* job);
  void End(Job* job, Cause cause, int status, double started, double ended, std::string message,
           const Measured& measured = {});
  Killed KillOne(const JobName& name);
  void Signal(Job* job, Cause cause);
  void Changed(Job* job);
  std::int64_t NextChange();
  void Flush();
  void TryFlush();
  void ReleaseMemory();
  void NewSegmentIfLarge();
  void ArmTimer(std::chrono::milliseconds in);
  Job* FindLive(std::int64_t seq, int index);
  std::optional<std::int64_t> ParseToken(const std::string& token) const;
  Changes Collect(std::int64_t since, bool full);
  void Spread(Lock& lock, std::chrono::steady_clock::time_point until);
  bool SlotsWait() const;
  JobView View(const Job& job) const;
  static JobView View(const Ended& ended);

  EngineOptions options_;
  int lock_fd_;  // held while this daemon lives: two on one folder would run jobs twice
  Store store_;
  Records records_;
  Launcher launcher_;
  Slots slots_;

  mutable std::mutex mutex_;
  std::condition_variable news_, slots_wait_;
  std::map<std::int64_t, LiveBatch> batches_;  // by seq
  Queue normal_, best_effort_;
  std::map<std::int64_t, Job*> changes_;   // live jobs by number of their last change
  std::map<std::int64_t, Job*> running_;   // by order of start
  std::unordered_map<int, Job*> by_exit_;  // adopted ones, by the number of Job::exit
  std::vector<Ended> ended_;               // not yet in the store, by number of change
  std::vector<std::int64_t> closed_;       // batches to close with the next write
  std::int64_t change_ = 0, reserved_ = 0, stored_change_ = 0, starts_ = 0;
  std::int64_t waiting_local_ = 0, since_prune_ = 0, live_ = 0;
  std::map<std::string, std::int64_t> users_live_;  // of live_, those that are not the grid's
  int epoll_ = -1, timer_ = -1, wake_ = -1, waiters_ = 0, spreaders_ = 0;
  bool stopping_ = false, draining_ = false, segment_known_ = false, store_failing_ = false;
  std::chrono::steady_clock::time_point timer_at_{};
  double answers_left_ = 4;
  std::chrono::steady_clock::time_point answered_at_{};
};

}  // namespace cigri::localcluster
