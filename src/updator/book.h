// To whom the end of a job is booked, and where its task goes next. A pure function
// (docs/design.md section 8, docs/states.md).
#pragma once
#include <optional>
#include <string>

#include "cluster/cluster.h"
#include "core/states.h"

namespace cigri::updator {

/// What is known when a job is seen ended.
struct EndFacts {
  cluster::EndCause cause = cluster::EndCause::kExited;
  std::optional<int> wait_status;
  BatchKind kind = BatchKind::kTask;
  std::string kill_reason;  ///< of table `kills`, "" when we did not ask for it
  bool test_campaign = false;
  bool other_clusters = false;  ///< the campaign names more than this one
  int max_tries = 2;
  int program = 0, again = 0, free = 0, free_here = 0;  ///< spent before this end (table `tries`)
};

enum class Next {
  kNothing,     ///< success, or not a task
  kRetryFront,  ///< goes again before new tasks
  kRetryBack,   ///< goes again after them (exit code 67)
  kToFix        ///< its tries are spent: waits for its user
};

struct Booking {
  bool success = false;
  Account account = Account::kNone;
  bool again = false;  ///< exit codes 66 and 67: counted apart
  std::string code;    ///< event code, "" for a success
  Next next = Next::kNothing;
  bool avoid_here = false;  ///< stay away from this cluster while another will do
  double delay_s = 0;       ///< before it may go again
};

constexpr int kMostAgain = 10;  ///< ends with 66 or 67 a task may have
constexpr int kFreeHere = 20;   ///< free ends on one cluster before a task goes elsewhere
constexpr int kMostFree = 60;   ///< free ends in all before its user is asked

Booking Book(const EndFacts& facts);

/// "exit code 3", "signal 9 (Killed)": for messages.
std::string WaitStatusText(int wait_status);

}  // namespace cigri::updator
