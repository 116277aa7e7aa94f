// What the local cluster must not forget: batches, how jobs ended, revoked tags, what runs.
#pragma once
#include <SQLiteCpp/Exception.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "localcluster/job.h"

namespace SQLite {
class Database;
}

namespace cigri::localcluster {

struct Statements;

/// The store could not be written or read: disk full, I/O error, not a database.
using StoreError = SQLite::Exception;

/// A job that ran when the store was last written.
struct Kept {
  std::int64_t seq = 0;
  int index = 0;
  pid_t pid = 0;
  double started_at = 0;
  std::int64_t segment = 0;
  std::vector<int> places;
};

/// A batch as its POST came; `body` is "" once all its jobs have ended.
struct StoredBatch {
  std::int64_t seq = 0;
  int n = 0;
  std::string tag, user, body;
  double submitted_at = 0;
  std::int64_t campaign = 0;
};

/// One SQLite file. Written in few large transactions: what happened since the last one is found
/// again in the record files, from the positions that the same transaction keeps. A batch and a
/// revoked tag are on the disk before their call returns. Throws StoreError everywhere.
class Store {
 public:
  explicit Store(const std::string& path);
  ~Store();

  /// Made once with the store: part of every token, so that no other state's token is believed.
  const std::string& instance() const { return instance_; }
  /// The machine's boot at the last KeepBoot differs from the present one: nothing of ours can run.
  bool rebooted() const { return rebooted_; }
  /// What ran before this boot has been settled. Not before: the numbers of its processes are
  /// strangers' now, also for the next start after one that failed.
  void KeepBoot();

  std::optional<StoredBatch> FindTag(const std::string& tag);
  /// The tags of the batches that came after `since` and begin with `prefix`.
  std::vector<std::string> TagsSince(const std::string& prefix, double since);
  bool IsRevoked(const std::string& tag);
  void Revoke(const std::string& tag, double now);
  /// Returns the new batch's seq.
  std::int64_t AddBatch(const std::string& tag, const std::string& user, std::int64_t campaign,
                        int n, const std::string& body, double now);
  std::vector<StoredBatch> OpenBatches();
  std::vector<int> EndedIndexes(std::int64_t seq);

  std::vector<Kept> Running();
  std::map<std::int64_t, std::int64_t> Positions();
  void SavePositions(const std::map<std::int64_t, std::int64_t>& positions);

  struct Flush {
    std::vector<Ended> ended;
    std::vector<const Job*> started;   ///< running, marked, not kept yet
    std::vector<std::int64_t> closed;  ///< batches of which no job lives
    std::map<std::int64_t, std::int64_t> positions;
  };
  void Write(const Flush& flush);

  /// Numbers above every one that was ever given out, also by a daemon that died: `n` of them.
  std::int64_t ReserveChanges(std::int64_t n);
  /// Ends with a number above `since`, oldest first; false in `*known` when older ones than
  /// `since` have been forgotten.
  std::vector<Ended> ChangesSince(std::int64_t since, int limit, bool* known);
  std::vector<Ended> EndedOf(std::int64_t seq);
  std::optional<Ended> EndedJob(std::int64_t seq, int index);
  /// Forgets ends older than a week, and the oldest beyond `max_jobs`; batches and revoked tags
  /// likewise.
  void Prune(double now, std::int64_t max_jobs);
  /// Returns the space of a large write-ahead log.
  void Checkpoint();
  /// Gives cached pages back.
  void ReleaseMemory();

 private:
  std::int64_t Meta(const char* key, std::int64_t fallback);
  void SetMeta(const char* key, std::int64_t value);
  std::int64_t FirstToKeep(double now, std::int64_t max_jobs);
  void ReadIdentity();

  std::unique_ptr<SQLite::Database> db_;
  std::unique_ptr<Statements> sql_;
  std::string instance_;
  bool rebooted_ = false;
};

}  // namespace cigri::localcluster
