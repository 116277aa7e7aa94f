// The words of the local cluster: who a job belongs to, its batch, the job while it lives, its end.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "localcluster/protocol.h"
#include "process/spawn.h"

namespace cigri::localcluster {

/// A user as the password database knows it.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name, home, shell;
};

/// What one POST asked for. `seq` is never issued twice, not even after a loss of all state.
struct Batch {
  std::int64_t seq = 0;
  std::string tag, user, name, directory, setup;
  std::int64_t campaign = 0;     ///< 0: not the grid's, a job of a user of this machine
  std::vector<std::string> env;  ///< NAME=value, for all its jobs
  /// All that `setup` does, when it only exports variables.
  std::optional<std::vector<std::string>> exports{};
  bool best_effort = true;
  int walltime_s = 3600, slots = 1, n = 0;
  double submitted_at = 0;
  std::shared_ptr<const Account> account;
};

/// A file that takes the output of a job.
struct OutputFile {
  process::Fd fd{};
  dev_t device = 0;
  uid_t owner = 0;
  timespec changed_at{};
  int flags = 0;
};

enum class State { kWaiting, kRunning, kEnded };

struct Wrapper;

/// A job that waits or runs.
struct Job {
  std::shared_ptr<const Batch> batch;
  int index = 0, attempt = 1;
  std::int64_t job_id = 0, task_index = -1;
  std::string command;
  std::vector<std::string> env;
  State state = State::kWaiting;
  std::int64_t change = 0;  ///< number of its last change
  double started_at = 0;
  pid_t pid = 0;
  Wrapper* wrapper = nullptr;  ///< our own that stands over it; nullptr: another daemon's does
  process::Fd exit{};          ///< readable when that one has ended
  OutputFile out, err;         ///< not of another daemon's
  std::int64_t start_no = 0;   ///< in the order of starts
  std::int64_t segment = 0;    ///< of the records, that its marks go to
  bool marked = false;         ///< its start mark has been read
  bool kept = false;           ///< the store knows that it runs
  char killing = 0;            ///< a Cause, once it was asked to end
  std::vector<int> places;     ///< slots it takes
};

/// What a job measured of itself; -1: nothing.
struct Measured {
  double cpu_s = -1, peak_mb = -1, read_mb = -1, written_mb = -1, transfer_s = -1;
};

/// How a job ended; kept for a week.
struct Ended {
  std::shared_ptr<const Batch> batch;  ///< of one read from the store: seq, tag, user, campaign
  int index = 0, attempt = 1;
  std::int64_t job_id = 0, task_index = 0, change = 0;
  Cause cause = Cause::kUnknown;
  int status = -1;  ///< raw wait status, -1 when nobody knows
  double started_at = 0, ended_at = 0;
  Measured measured;
  std::string node, message;
};

/// "SEQ_INDEX", what the world calls a job.
inline std::string IdOf(std::int64_t seq, int index) {
  return std::to_string(seq) + "_" + std::to_string(index);
}
/// False when `id` is not of that form.
bool ParseId(const std::string& id, std::int64_t* seq, int* index);

/// A request that cannot be carried out. `why` is a word for the driver: batch, user, limit,
/// temporary, revoked, unknown.
class Refused : public std::runtime_error {
 public:
  Refused(int status, std::string why, const std::string& message, int limit = 0)
      : std::runtime_error(message), status_(status), limit_(limit), why_(std::move(why)) {}
  int status() const { return status_; }
  int limit() const { return limit_; }
  const std::string& why() const { return why_; }

 private:
  int status_, limit_;
  std::string why_;
};

/// The job cannot be started; `cause()` says whose fault it is.
class LaunchError : public std::runtime_error {
 public:
  LaunchError(Cause cause, const std::string& message)
      : std::runtime_error(message), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

/// Not now: the machine has no process or memory for it. Nothing has happened.
class TryLater : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Seconds since the epoch.
double WallClock();

}  // namespace cigri::localcluster
