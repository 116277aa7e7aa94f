// The sessions of this process with its PostgreSQL, in a world of its own clock (scheduler.h):
// others run while a statement waits for a lock, and a session is cut before a statement or after
// it, COMMIT included. The statements go through libpq's own names (sessions.cc), so the product
// does not know of it.
#pragma once
#include <cstdint>
#include <string>

namespace cigri::test::sessions {

/// The session of the simulation itself; `conninfo` without a schema.
void Begin(const std::string& conninfo);
void BeginRun();
void End();
/// What a schema needs before its tables: its own now(), which is the world's.
extern const char* const kClockSql;
/// Kills `process` of the world: its sessions are gone when this returns.
void Kill(int process);
/// What `process` writes is of this epoch.
void SetEpoch(int process, std::int64_t epoch);
/// What was committed under an epoch that was over, or on a cluster that another runner had taken.
int StaleWrites();
/// The calling process stands still: also its almighty when `outlived`, for long enough that
/// another one leads when it goes on, and before its almighty does.
void Pause(bool outlived);
/// The driver of a cluster was asked for something by this thread: what it does with the database
/// next depends on it ("find" and "submit" lead to a record).
void Called(const std::string& call);
/// A poll has told somebody that a killed job is over.
void KilledJobSeen();

}  // namespace cigri::test::sessions
