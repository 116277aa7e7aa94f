// The main loop of every module: steps from the almighty, a live database, an epoch, an orderly
// exit.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/config.h"
#include "db/db.h"

namespace cigri::module {

/// Another almighty leads: what this process believes may be old. A pass must not catch it; Run()
/// then ends the process.
class StaleEpoch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Asks for a cycle of the whole grid. Thread-safe; costs a write to a pipe at most.
class Waker {
 public:
  virtual ~Waker() = default;
  /// At once (many of them are one cycle).
  virtual void Wake() = 0;
  /// In `delay` at the latest, for what becomes due without an event. An earlier one is kept.
  virtual void WakeIn(std::chrono::milliseconds delay) = 0;
};

/// What a pass is given.
struct Step {
  db::Connection& db;  ///< alive when the pass begins; nobody else uses it
  const Config& config;
  std::int64_t epoch;   ///< for CheckEpoch() in every transaction that claims, applies or adopts
  std::int64_t number;  ///< of the cycle; rises, may skip
  bool fresh;    ///< first pass on this connection: what was remembered of the tables may be wrong
  Waker& waker;  ///< lives as long as the process
  const std::string& conninfo;  ///< for the connections of the module's own threads
};

struct Options {
  std::string name;         ///< "updator": in logs, in table `modules`, in pg_stat_activity
  std::string description;  ///< one line for --help
  /// Alone (--loop): the longest time between two passes.
  std::chrono::milliseconds loop_every{5000};
  /// Alone: notices that start a pass.
  std::vector<std::string> notices{"cigri_wake"};
  /// Each host has one: it writes no row of table `modules`.
  bool on_each_host = false;
};

/// The main function of a module. Runs `pass` once for each step until it is asked to exit; returns
/// the exit code. Where steps come from:
///  - from the almighty (stdin is a pipe): lines "step <n>", answered on stdout by
///    "done <n> <ms>"; "wake" and "wake <ms>" go out through step.waker; "fatal <why>" before a
///    Fatal ends the process; so does EOF;
///  - `--once`: one pass; an error of it ends the program with its exit code;
///  - `--loop`: by timer and NOTIFY (Options::notices).
/// Nothing else may write to stdout. Run() logs an exception of a pass and takes the next step; it
/// waits for a lost database and answers steps without a pass meanwhile; StaleEpoch and SIGTERM end
/// the process. Environment: CIGRI_DB, CIGRI_EPOCH (else the present
/// one), CIGRI_HOME, CIGRICONFFILE.
int Run(int argc, char** argv, const Options& options, const std::function<void(Step&)>& pass);

/// Makes sure that `epoch` leads until `tx` ends. Throws StaleEpoch. For every transaction of a
/// module whose rows another leader would write otherwise.
void CheckEpoch(db::Tx& tx, std::int64_t epoch);

}  // namespace cigri::module
