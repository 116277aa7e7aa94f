// Tasks and the attempts made at them.
#pragma once
#include "api/read/params.h"

namespace cigri::api {

/// One row of AttemptsOfTasks; a task that was never sent has a row too, state "pending".
struct Attempt {
  std::int64_t idx = 0;
  std::optional<std::int64_t> job_id, cluster_id, batch_id;
  std::optional<int> wait_status;
  std::optional<double> submitted, started, ended;
  std::string remote_id, state, cluster, kind, exit_class, code, node, message;
  /// What the job measured of itself.
  std::optional<double> cpu_s, peak_mb, read_mb, written_mb, transfer_s;
  int attempt = 0;
  bool counted = false;          ///< the success of its task
  bool needs_attention = false;  ///< the last of a task that waits for its user
  /// How its task ended, which is not tried again.
  bool IsFinal() const { return counted || needs_attention; }
  bool HasEnded() const { return state == "terminated" || state == "event"; }
};

/// Every attempt of tasks `idxs` (ascending), by task, oldest first.
std::vector<Attempt> AttemptsOf(db::Tx& tx, std::int64_t campaign,
                                const std::vector<std::int64_t>& idxs);

/// Some tasks of a campaign, in order of their index.
enum class Which { kFailed, kDone, kRunning, kWaiting, kEnded, kFinished };
/// "failed", "done", "running", "waiting"; throws 400 for anything else.
Which WhichOf(const std::string& word);
/// The next `limit` of them after task `after` (-1: from the beginning).
std::vector<std::int64_t> NextTasks(db::Tx& tx, std::int64_t campaign, Which which,
                                    std::int64_t after, std::int64_t limit);

/// Its measurements as members of a job's JSON; null where there is none.
nlohmann::json MeasuredJson(const Attempt& a);

/// Exit code and signal of a raw wait status; -1 and 0 when nobody knows.
struct HowEnded {
  int exit = -1, signal = 0;
};
HowEnded Decode(const std::optional<int>& wait_status);

}  // namespace cigri::api
