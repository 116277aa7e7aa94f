#include "localcluster/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/text.h"
#include "localcluster/store_sql.h"

namespace cigri::localcluster {
namespace {

constexpr double kRemembered = 7 * 86400.0;
constexpr double kRevokesKept = 30 * 86400.0;

std::string BootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

std::string JoinPlaces(const std::vector<int>& places) {
  std::vector<std::string> words;
  for (int p : places) words.push_back(std::to_string(p));
  return Join(words, " ");
}

std::vector<int> SplitPlaces(const std::string& text) {
  std::vector<int> places;
  for (const auto& word : Split(text, ' '))
    if (!word.empty()) places.push_back(std::stoi(word));
  return places;
}

// A statement with its values, reset when this goes: a read that stays open would keep the
// write-ahead log from being emptied.
class Rows {
 public:
  template <typename... Values>
  explicit Rows(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    SQLite::bind(statement_, values...);
  }
  ~Rows() {
    statement_.tryReset();
    statement_.clearBindings();  // a batch's body may be large
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool Next() { return statement_.executeStep(); }
  std::int64_t Int64(int column) const { return statement_.getColumn(column).getInt64(); }
  int Int(int column) const { return statement_.getColumn(column).getInt(); }
  double Real(int column) const { return statement_.getColumn(column).getDouble(); }
  std::string Text(int column) const { return statement_.getColumn(column).getString(); }

 private:
  SQLite::Statement& statement_;
};

template <typename... Values>
void Exec(SQLite::Statement& statement, const Values&... values) {
  Rows rows(statement, values...);
  rows.Next();
}

SQLite::Transaction Begin(SQLite::Database& db) {
  return SQLite::Transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
}

std::unique_ptr<SQLite::Database> Open(const std::string& path) {
  // Users' command lines stand in it. SQLite gives its other files the mode of this one.
  if (const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); fd >= 0) close(fd);
  auto db = std::make_unique<SQLite::Database>(
      path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX);
  db->exec(kSchema);
  return db;
}

StoredBatch BatchIn(const Rows& rows) {
  return {rows.Int64(0), rows.Int(1),  rows.Text(2), rows.Text(3),
          rows.Text(4),  rows.Real(5), rows.Int64(6)};
}

Ended ReadEnded(const Rows& rows) {
  auto batch = std::make_shared<Batch>();
  batch->tag = rows.Text(0);
  batch->user = rows.Text(1);
  batch->campaign = rows.Int64(2);
  batch->submitted_at = rows.Real(3);
  batch->n = rows.Int(4);
  batch->seq = rows.Int64(6);
  Ended e;
  e.change = rows.Int64(5);
  e.index = rows.Int(7);
  e.attempt = rows.Int(8);
  e.job_id = rows.Int64(9);
  e.task_index = rows.Int64(10);
  e.cause = static_cast<Cause>(rows.Int(11));
  e.status = rows.Int(12);
  e.started_at = rows.Real(13);
  e.ended_at = rows.Real(14);
  e.node = rows.Text(15);
  e.message = rows.Text(16);
  e.measured = {rows.Real(17), rows.Real(18), rows.Real(19), rows.Real(20),
                rows.Real(21)};
  e.batch = std::move(batch);
  return e;
}

}  // namespace

Store::Store(const std::string& path) : db_(Open(path)), sql_(std::make_unique<Statements>(*db_)) {
  ReadIdentity();
}

Store::~Store() = default;

void Store::ReadIdentity() {
  const std::string boot = BootId();
  auto transaction = Begin(*db_);
  {
    Rows rows(sql_->get_identity);
    if (rows.Next()) {
      instance_ = rows.Text(0);
      rebooted_ = rows.Text(1) != boot;
    }
  }
  if (instance_.empty()) {
    instance_ = RandomHex(6);
    Exec(sql_->add_identity, instance_, boot);
    // Ids are never issued again, not even after a loss of this file: numbers begin at the
    // milliseconds since 2026, and no cluster takes a thousand batches a second for long.
    SetMeta("next_seq", static_cast<std::int64_t>((WallClock() - 1767225600) * 1000));
  }
  transaction.commit();
}

void Store::KeepBoot() { Exec(sql_->set_boot, BootId()); }

std::int64_t Store::Meta(const char* key, std::int64_t fallback) {
  Rows rows(sql_->get_meta, key);
  return rows.Next() ? rows.Int64(0) : fallback;
}

void Store::SetMeta(const char* key, std::int64_t value) { Exec(sql_->set_meta, key, value); }

std::optional<StoredBatch> Store::FindTag(const std::string& tag) {
  Rows rows(sql_->batch_of_tag, tag);
  if (!rows.Next()) return {};
  return BatchIn(rows);
}

std::vector<std::string> Store::TagsSince(const std::string& prefix, double since) {
  std::vector<std::string> out;
  for (Rows rows(sql_->tags_since, since, prefix); rows.Next();) out.push_back(rows.Text(0));
  return out;
}

bool Store::IsRevoked(const std::string& tag) { return Rows(sql_->get_revoke, tag).Next(); }

void Store::Revoke(const std::string& tag, double now) {
  db_->exec("PRAGMA synchronous = FULL");
  Exec(sql_->add_revoke, tag, now);
  db_->exec("PRAGMA synchronous = NORMAL");
}

std::int64_t Store::AddBatch(const std::string& tag, const std::string& user, std::int64_t campaign,
                             int n, const std::string& body, double now) {
  db_->exec("PRAGMA synchronous = FULL");  // the answer promises it
  auto transaction = Begin(*db_);
  const std::int64_t seq = Meta("next_seq", 1);
  SetMeta("next_seq", seq + 1);
  Exec(sql_->add_batch, seq, tag, user, campaign, n, now, body);
  transaction.commit();
  db_->exec("PRAGMA synchronous = NORMAL");
  return seq;
}

std::vector<StoredBatch> Store::OpenBatches() {
  std::vector<StoredBatch> out;
  for (Rows rows(sql_->open_batches); rows.Next();) out.push_back(BatchIn(rows));
  return out;
}

std::vector<int> Store::EndedIndexes(std::int64_t seq) {
  std::vector<int> out;
  for (Rows rows(sql_->ended_indexes, seq); rows.Next();) out.push_back(rows.Int(0));
  return out;
}

std::vector<Kept> Store::Running() {
  std::vector<Kept> out;
  for (Rows rows(sql_->get_running); rows.Next();)
    out.push_back({rows.Int64(0), rows.Int(1), rows.Int(2), rows.Real(3), rows.Int64(4),
                   SplitPlaces(rows.Text(5))});
  return out;
}

std::map<std::int64_t, std::int64_t> Store::Positions() {
  std::map<std::int64_t, std::int64_t> out;
  for (Rows rows(sql_->get_segments); rows.Next();) out[rows.Int64(0)] = rows.Int64(1);
  return out;
}

void Store::SavePositions(const std::map<std::int64_t, std::int64_t>& positions) {
  Flush flush;
  flush.positions = positions;
  Write(flush);
}

void Store::Write(const Flush& flush) {
  auto transaction = Begin(*db_);
  for (const auto& e : flush.ended) {
    Exec(sql_->add_ended, e.change, e.batch->seq, e.index, e.attempt, e.job_id, e.task_index,
         static_cast<int>(e.cause), e.status, e.started_at, e.ended_at, e.node, e.message);
    if (const auto& m = e.measured; m.cpu_s >= 0)
      Exec(sql_->add_measured, e.change, m.cpu_s, m.peak_mb, m.read_mb, m.written_mb,
           m.transfer_s);
    Exec(sql_->delete_running, e.batch->seq, e.index);
  }
  for (const Job* j : flush.started)
    Exec(sql_->put_running, j->batch->seq, j->index, j->pid, j->started_at, j->segment,
         JoinPlaces(j->places));
  for (std::int64_t seq : flush.closed) Exec(sql_->close_batch, seq);
  const auto& positions = flush.positions;
  Exec(sql_->delete_segments_before, positions.empty() ? 0 : positions.begin()->first);
  for (const auto& [id, position] : positions) Exec(sql_->put_segment, id, position);
  transaction.commit();
}

std::int64_t Store::ReserveChanges(std::int64_t n) {
  auto transaction = Begin(*db_);
  const std::int64_t next = Meta("next_change", 1);
  SetMeta("next_change", next + n);
  transaction.commit();
  return next;
}

std::vector<Ended> Store::ChangesSince(std::int64_t since, int limit, bool* known) {
  *known = since >= Meta("pruned", 0);
  std::vector<Ended> out;
  if (!*known) return out;
  for (Rows rows(sql_->ended_since, since, limit); rows.Next();) out.push_back(ReadEnded(rows));
  return out;
}

std::vector<Ended> Store::EndedOf(std::int64_t seq) {
  std::vector<Ended> out;
  for (Rows rows(sql_->ended_of_batch, seq); rows.Next();) out.push_back(ReadEnded(rows));
  return out;
}

std::optional<Ended> Store::EndedJob(std::int64_t seq, int index) {
  Rows rows(sql_->ended_job, seq, index);
  if (!rows.Next()) return {};
  return ReadEnded(rows);
}

std::int64_t Store::FirstToKeep(double now, std::int64_t max_jobs) {
  Rows too_many(sql_->newest_to_forget, max_jobs);
  const std::int64_t first = too_many.Next() ? too_many.Int64(0) + 1 : 0;
  Rows young(sql_->oldest_since, now - kRemembered);
  return std::max(first, young.Next() ? young.Int64(0) : std::numeric_limits<std::int64_t>::max());
}

void Store::Prune(double now, std::int64_t max_jobs) {
  auto transaction = Begin(*db_);
  const std::int64_t first = FirstToKeep(now, max_jobs);
  std::int64_t last = 0;  // that goes: a token below it has lost something
  if (Rows rows(sql_->last_before, first); rows.Next()) last = rows.Int64(0);
  if (last > 0) {
    Exec(sql_->prune_ended, last);
    Exec(sql_->prune_measured, last);
    SetMeta("pruned", last);
    Exec(sql_->prune_batches, now - 3600);
  }
  Exec(sql_->prune_revokes, now - kRevokesKept);
  transaction.commit();
}

void Store::Checkpoint() { db_->exec("PRAGMA wal_checkpoint(TRUNCATE)"); }

void Store::ReleaseMemory() { db_->exec("PRAGMA shrink_memory"); }

}  // namespace cigri::localcluster
