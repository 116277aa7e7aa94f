#include "localcluster/store.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/text.h"

namespace cigri::localcluster {
namespace {

// A store of our own, on this machine alone: SQLite, not the grid's database, since a cluster must
// be able to tell the truth while that is away.
constexpr char kSchema[] = R"sql(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -256;
PRAGMA journal_size_limit = 1048576;
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS identity (instance TEXT NOT NULL, boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, tag TEXT NOT NULL UNIQUE, username TEXT NOT NULL,
    campaign INTEGER NOT NULL, n INTEGER NOT NULL, submitted_at REAL NOT NULL,
    body TEXT);
CREATE INDEX IF NOT EXISTS batches_open ON batches (seq) WHERE body IS NOT NULL;
CREATE TABLE IF NOT EXISTS fences (tag TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ended (
    change INTEGER PRIMARY KEY, seq INTEGER NOT NULL, idx INTEGER NOT NULL,
    attempt INTEGER NOT NULL, job_id INTEGER NOT NULL, task_index INTEGER NOT NULL,
    cause INTEGER NOT NULL, status INTEGER NOT NULL,
    started_at REAL NOT NULL, ended_at REAL NOT NULL, node TEXT NOT NULL, message TEXT NOT NULL);
-- Unique: a record that is read twice cannot end a job twice.
CREATE UNIQUE INDEX IF NOT EXISTS ended_job ON ended (seq, idx);
CREATE TABLE IF NOT EXISTS running (
    seq INTEGER NOT NULL, idx INTEGER NOT NULL, pid INTEGER NOT NULL, started_at REAL NOT NULL,
    segment INTEGER NOT NULL, places TEXT NOT NULL, PRIMARY KEY (seq, idx)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (id INTEGER PRIMARY KEY, position INTEGER NOT NULL);
)sql";

constexpr double kRemembered = 7 * 86400.0;
constexpr double kFencesKept = 30 * 86400.0;

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

}  // namespace

Store::Store(const std::string& path) : db_(path) {
  db_.Script(kSchema);
  ReadIdentity();
}

void Store::ReadIdentity() {
  const std::string boot = BootId();
  Transaction tx(db_);
  {
    Rows rows = db_.Query("SELECT instance, boot FROM identity");
    if (rows.Step()) {
      instance_ = rows.Text(0);
      rebooted_ = rows.Text(1) != boot;
    }
  }
  if (instance_.empty()) {
    instance_ = RandomHex(6);
    db_.Exec("INSERT INTO identity VALUES (?1, ?2)", instance_, boot);
    // Ids are never issued again, not even after a loss of this file: numbers begin at the
    // milliseconds since 2026, and no cluster takes a thousand batches a second for long.
    SetMeta("next_seq", static_cast<std::int64_t>((WallClock() - 1767225600) * 1000));
  } else {
    db_.Exec("UPDATE identity SET boot = ?1", boot);
  }
  tx.Commit();
}

std::int64_t Store::Meta(const char* key, std::int64_t fallback) {
  Rows rows = db_.Query("SELECT value FROM meta WHERE key = ?1", key);
  return rows.Step() ? rows.Int(0) : fallback;
}

void Store::SetMeta(const char* key, std::int64_t value) {
  db_.Exec("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2", key,
           value);
}

std::optional<StoredBatch> Store::FindTag(const std::string& tag) {
  Rows rows = db_.Query(
      "SELECT seq, n, tag, username, coalesce(body, ''), submitted_at FROM batches WHERE tag = ?1",
      tag);
  if (!rows.Step()) return {};
  return StoredBatch{rows.Int(0),  static_cast<int>(rows.Int(1)),
                     rows.Text(2), rows.Text(3),
                     rows.Text(4), rows.Real(5)};
}

bool Store::IsFenced(const std::string& tag) {
  return db_.Query("SELECT 1 FROM fences WHERE tag = ?1", tag).Step();
}

void Store::Fence(const std::string& tag, double now) {
  db_.Script("PRAGMA synchronous = FULL");
  db_.Exec("INSERT OR IGNORE INTO fences VALUES (?1, ?2)", tag, now);
  db_.Script("PRAGMA synchronous = NORMAL");
}

std::int64_t Store::AddBatch(const std::string& tag, const std::string& user, std::int64_t campaign,
                             int n, const std::string& body, double now) {
  db_.Script("PRAGMA synchronous = FULL");  // the answer promises it
  Transaction tx(db_);
  const std::int64_t seq = Meta("next_seq", 1);
  SetMeta("next_seq", seq + 1);
  db_.Exec("INSERT INTO batches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", seq, tag, user, campaign, n,
           now, body);
  tx.Commit();
  db_.Script("PRAGMA synchronous = NORMAL");
  return seq;
}

std::vector<StoredBatch> Store::OpenBatches() {
  std::vector<StoredBatch> out;
  Rows rows = db_.Query(
      "SELECT seq, n, tag, username, body, submitted_at FROM batches WHERE body IS NOT NULL "
      "ORDER BY seq");
  while (rows.Step())
    out.push_back({rows.Int(0), static_cast<int>(rows.Int(1)), rows.Text(2), rows.Text(3),
                   rows.Text(4), rows.Real(5)});
  return out;
}

std::vector<int> Store::EndedIndexes(std::int64_t seq) {
  std::vector<int> out;
  Rows rows = db_.Query("SELECT idx FROM ended WHERE seq = ?1", seq);
  while (rows.Step()) out.push_back(static_cast<int>(rows.Int(0)));
  return out;
}

std::vector<Kept> Store::Running() {
  std::vector<Kept> out;
  Rows rows = db_.Query("SELECT seq, idx, pid, started_at, segment, places FROM running");
  while (rows.Step())
    out.push_back({rows.Int(0), static_cast<int>(rows.Int(1)), static_cast<pid_t>(rows.Int(2)),
                   rows.Real(3), rows.Int(4), SplitPlaces(rows.Text(5))});
  return out;
}

std::map<std::int64_t, std::int64_t> Store::Positions() {
  std::map<std::int64_t, std::int64_t> out;
  Rows rows = db_.Query("SELECT id, position FROM segments");
  while (rows.Step()) out[rows.Int(0)] = rows.Int(1);
  return out;
}

void Store::SavePositions(const std::map<std::int64_t, std::int64_t>& positions) {
  Flush flush;
  flush.positions = positions;
  Write(flush);
}

void Store::Write(const Flush& flush) {
  Transaction tx(db_);
  for (const auto& e : flush.ended) {
    db_.Exec("INSERT OR IGNORE INTO ended VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
             e.change, e.batch->seq, e.index, e.attempt, e.job_id, e.task_index,
             static_cast<char>(e.cause), e.status, e.started_at, e.ended_at, e.node, e.message);
    db_.Exec("DELETE FROM running WHERE seq = ?1 AND idx = ?2", e.batch->seq, e.index);
  }
  for (const Job* j : flush.started)
    db_.Exec("INSERT OR REPLACE INTO running VALUES (?1, ?2, ?3, ?4, ?5, ?6)", j->batch->seq,
             j->index, j->pid, j->started_at, j->segment, JoinPlaces(j->places));
  for (std::int64_t seq : flush.closed)
    db_.Exec("UPDATE batches SET body = NULL WHERE seq = ?1", seq);
  db_.Exec("DELETE FROM segments WHERE id < ?1",
           flush.positions.empty() ? 0 : flush.positions.begin()->first);
  for (const auto& [id, position] : flush.positions)
    db_.Exec("INSERT INTO segments VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET position = ?2",
             id, position);
  tx.Commit();
}

std::int64_t Store::ReserveChanges(std::int64_t n) {
  Transaction tx(db_);
  const std::int64_t next = Meta("next_change", 1);
  SetMeta("next_change", next + n);
  tx.Commit();
  return next;
}

Ended Store::ReadEnded(Rows& rows) {
  auto batch = std::make_shared<Batch>();
  batch->tag = rows.Text(0);
  batch->user = rows.Text(1);
  batch->campaign = rows.Int(2);
  batch->submitted_at = rows.Real(3);
  batch->n = static_cast<int>(rows.Int(4));
  Ended e;
  e.change = rows.Int(5);
  batch->seq = rows.Int(6);
  e.index = static_cast<int>(rows.Int(7));
  e.attempt = static_cast<int>(rows.Int(8));
  e.job_id = rows.Int(9);
  e.task_index = rows.Int(10);
  e.cause = static_cast<Cause>(rows.Int(11));
  e.status = static_cast<int>(rows.Int(12));
  e.started_at = rows.Real(13);
  e.ended_at = rows.Real(14);
  e.node = rows.Text(15);
  e.message = rows.Text(16);
  e.batch = std::move(batch);
  return e;
}

std::vector<Ended> Store::ChangesSince(std::int64_t since, int limit, bool* known) {
  *known = since >= Meta("pruned", 0);
  std::vector<Ended> out;
  if (!*known) return out;
  Rows rows = db_.Query(
      "SELECT b.tag, b.username, b.campaign, b.submitted_at, b.n, e.* "
      "FROM ended AS e JOIN batches AS b USING (seq) WHERE e.change > ?1 ORDER BY e.change LIMIT "
      "?2",
      since, limit);
  while (rows.Step()) out.push_back(ReadEnded(rows));
  return out;
}

std::vector<Ended> Store::EndedOf(std::int64_t seq) {
  std::vector<Ended> out;
  Rows rows = db_.Query(
      "SELECT b.tag, b.username, b.campaign, b.submitted_at, b.n, e.* "
      "FROM ended AS e JOIN batches AS b USING (seq) WHERE e.seq = ?1 ORDER BY e.idx",
      seq);
  while (rows.Step()) out.push_back(ReadEnded(rows));
  return out;
}

std::optional<Ended> Store::EndedJob(std::int64_t seq, int index) {
  Rows rows = db_.Query(
      "SELECT b.tag, b.username, b.campaign, b.submitted_at, b.n, e.* "
      "FROM ended AS e JOIN batches AS b USING (seq) WHERE e.seq = ?1 AND e.idx = ?2",
      seq, index);
  if (!rows.Step()) return {};
  return ReadEnded(rows);
}

std::int64_t Store::FirstToKeep(double now, std::int64_t max_jobs) {
  // By number, which rises with time: no look at the rows that stay.
  std::int64_t first = 0;
  Rows newest =
      db_.Query("SELECT change FROM ended ORDER BY change DESC LIMIT 1 OFFSET ?1", max_jobs);
  if (newest.Step()) first = newest.Int(0) + 1;
  Rows young = db_.Query("SELECT change FROM ended WHERE ended_at >= ?1 ORDER BY change LIMIT 1",
                         now - kRemembered);
  return std::max(first, young.Step() ? young.Int(0) : std::numeric_limits<std::int64_t>::max());
}

void Store::Prune(double now, std::int64_t max_jobs) {
  Transaction tx(db_);
  const std::int64_t first = FirstToKeep(now, max_jobs);
  std::int64_t last = 0;  // that goes: a token below it has lost something
  {
    Rows rows = db_.Query("SELECT coalesce(max(change), 0) FROM ended WHERE change < ?1", first);
    if (rows.Step()) last = rows.Int(0);
  }
  if (last > 0) {
    // Not those of an open batch: an end that is forgotten there is a job that runs again.
    db_.Exec(
        "DELETE FROM ended WHERE change <= ?1 AND seq NOT IN "
        "(SELECT seq FROM batches WHERE body IS NOT NULL)",
        last);
    SetMeta("pruned", last);
    db_.Exec(
        "DELETE FROM batches WHERE body IS NULL AND submitted_at < ?1 AND NOT EXISTS "
        "(SELECT 1 FROM ended AS e WHERE e.seq = batches.seq)",
        now - 3600);
  }
  db_.Exec("DELETE FROM fences WHERE at < ?1", now - kFencesKept);
  tx.Commit();
}

void Store::Checkpoint() { db_.Script("PRAGMA wal_checkpoint(TRUNCATE)"); }

}  // namespace cigri::localcluster
