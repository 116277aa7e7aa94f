// All SQL of the local cluster: its tables, and each statement prepared once.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <string>

namespace cigri::localcluster {

// A store of our own, on this machine alone: SQLite, not the grid's database, since a cluster must
// be able to tell the truth while that is away.
inline constexpr char kSchema[] = R"sql(
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
CREATE TABLE IF NOT EXISTS revoked_tags (tag TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
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
CREATE TABLE IF NOT EXISTS measurements (
    change INTEGER PRIMARY KEY, cpu_s REAL NOT NULL, peak_mb REAL NOT NULL, read_mb REAL NOT NULL,
    written_mb REAL NOT NULL, transfer_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS segments (id INTEGER PRIMARY KEY, position INTEGER NOT NULL);
)sql";

// Statements that read whole rows begin with one of these; store.cc reads the columns in this
// order.
inline const std::string kBatchRows =
    "SELECT seq, n, tag, username, coalesce(body, ''), submitted_at, campaign FROM batches ";
inline const std::string kEndedRows =
    "SELECT b.tag, b.username, b.campaign, b.submitted_at, b.n, e.change, e.seq, e.idx, "
    "e.attempt, e.job_id, e.task_index, e.cause, e.status, e.started_at, e.ended_at, e.node, "
    "e.message, coalesce(m.cpu_s, -1), coalesce(m.peak_mb, -1), coalesce(m.read_mb, -1), "
    "coalesce(m.written_mb, -1), coalesce(m.transfer_s, -1) "
    "FROM ended AS e JOIN batches AS b USING (seq) "
    "LEFT JOIN measurements AS m USING (change) ";

/// The statements of a store. REQUIRES: the tables of kSchema exist in `db`.
struct Statements {
  explicit Statements(SQLite::Database& database) : db(database) {}
  SQLite::Database& db;
  using Statement = SQLite::Statement;

  Statement get_identity{db, "SELECT instance, boot FROM identity"};
  Statement add_identity{db, "INSERT INTO identity VALUES (?1, ?2)"};
  Statement set_boot{db, "UPDATE identity SET boot = ?1"};
  Statement get_meta{db, "SELECT value FROM meta WHERE key = ?1"};
  Statement set_meta{db,
                     "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2"};

  Statement batch_of_tag{db, kBatchRows + "WHERE tag = ?1"};
  Statement tags_since{db,
                       "SELECT tag FROM batches WHERE submitted_at >= ?1 AND "
                       "substr(tag, 1, length(?2)) = ?2 ORDER BY seq"};
  Statement open_batches{db, kBatchRows + "WHERE body IS NOT NULL ORDER BY seq"};
  Statement add_batch{db, "INSERT INTO batches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"};
  Statement close_batch{db, "UPDATE batches SET body = NULL WHERE seq = ?1"};

  Statement get_revoke{db, "SELECT 1 FROM revoked_tags WHERE tag = ?1"};
  Statement add_revoke{db, "INSERT OR IGNORE INTO revoked_tags VALUES (?1, ?2)"};

  Statement get_running{db, "SELECT seq, idx, pid, started_at, segment, places FROM running"};
  Statement put_running{db, "INSERT OR REPLACE INTO running VALUES (?1, ?2, ?3, ?4, ?5, ?6)"};
  Statement delete_running{db, "DELETE FROM running WHERE seq = ?1 AND idx = ?2"};

  Statement get_segments{db, "SELECT id, position FROM segments"};
  Statement put_segment{
      db, "INSERT INTO segments VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET position = ?2"};
  Statement delete_segments_before{db, "DELETE FROM segments WHERE id < ?1"};

  Statement add_ended{
      db, "INSERT OR IGNORE INTO ended VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"};
  Statement add_measured{db, "INSERT OR IGNORE INTO measurements VALUES (?1, ?2, ?3, ?4, ?5, ?6)"};
  Statement ended_indexes{db, "SELECT idx FROM ended WHERE seq = ?1"};
  Statement ended_since{db, kEndedRows + "WHERE e.change > ?1 ORDER BY e.change LIMIT ?2"};
  Statement ended_of_batch{db, kEndedRows + "WHERE e.seq = ?1 ORDER BY e.idx"};
  Statement ended_job{db, kEndedRows + "WHERE e.seq = ?1 AND e.idx = ?2"};

  // What Store::Prune() forgets. By number, which rises with time: no look at the rows that stay.
  Statement newest_to_forget{db, "SELECT change FROM ended ORDER BY change DESC LIMIT 1 OFFSET ?1"};
  Statement oldest_since{db,
                         "SELECT change FROM ended WHERE ended_at >= ?1 ORDER BY change LIMIT 1"};
  Statement last_before{db, "SELECT coalesce(max(change), 0) FROM ended WHERE change < ?1"};
  // Not the ends of an open batch: a forgotten end there is a job that runs again.
  Statement prune_ended{db,
                        "DELETE FROM ended WHERE change <= ?1 AND seq NOT IN "
                        "(SELECT seq FROM batches WHERE body IS NOT NULL)"};
  Statement prune_measured{db,
                           "DELETE FROM measurements WHERE change <= ?1 AND change NOT IN "
                           "(SELECT change FROM ended WHERE change <= ?1)"};
  Statement prune_batches{db,
                          "DELETE FROM batches WHERE body IS NULL AND submitted_at < ?1 "
                          "AND NOT EXISTS (SELECT 1 FROM ended AS e WHERE e.seq = batches.seq)"};
  Statement prune_revokes{db, "DELETE FROM revoked_tags WHERE at < ?1"};
};

}  // namespace cigri::localcluster
