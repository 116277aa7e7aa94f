// What a simulation holds. Two sides: the clusters as they are, and the grid's view of them, which
// follows `see` seconds later. Internal to src/sim.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "policy/forecast/estimate.h"
#include "policy/forecast/stragglers.h"
#include "sim/engine.h"
#include "sim/local.h"
#include "sim/nodes.h"

namespace cigri::sim {

enum class Kind : std::uint8_t {
  kJobEnd,     // who: job
  kJobBegins,  // who: job
  kArrive,     // who: cluster
  kSeen,       // who: cluster
  kCampaign,   // who: campaign
  kLocalNext,  // who: cluster, n: load
  kLocalEnd,   // who: cluster, n: local job
  kNodeFails,  // who: cluster
  kNodeBack,   // who: cluster, n: node
  kWindow,     // who: cluster: down, up, closed or open again
  kCycle,
};

struct Event {
  double at = 0;
  std::uint64_t seq = 0;
  std::int32_t who = 0;
  std::uint32_t n = 0;  // of kJobEnd, kJobBegins: that attempt alone; a killed job has another
  Kind kind = Kind::kCycle;
  bool operator>(const Event& o) const { return at > o.at || (at == o.at && seq > o.seq); }
};

enum class View : std::uint8_t { kLaunching, kWaiting, kRunning, kGone };

struct Job {
  std::int64_t id = 0, task = 0;
  std::int32_t placement = 0;
  std::int32_t before = -1, after = -1;  // running jobs of a cluster, in order of their starts
  std::uint32_t turn = 0;                // raised whenever this place is used again or the job dies
  std::int16_t tries = 0, starts = 0;
  BatchKind kind = BatchKind::kTask;
  View view = View::kLaunching;  // as the grid sees it
  bool running = false;  // has its slots
  bool begun = false;    // ...and its node has booted
  bool ended = false;
  End end = End::kDone;  // planned when it starts
  double sent = 0, started = -1, stopped = 0;  // started: when it begins, known when it boots
  Nodes::Places places{};                      // while it runs
};

struct Seen {
  double at = 0;
  std::int32_t job = -1;  // -1: the cluster itself
  View view = View::kGone;
  int capacity = 0, local = 0;
  std::vector<int> local_units{};  // of each resource class
  bool down = false;
};

struct LocalRun {
  double started = 0, duration = 0;
  int slots = 0;
  ClassUnits needs{};
  Nodes::Places places{};
};

/// Units of a resource class.
struct ClassState {
  int total = 0, used = 0, local = 0;  // used: by jobs of ours
  int seen_local = 0;                  // by the grid
};

struct ClusterState {
  const ClusterSpec* spec = nullptr;
  int up = 0;  // slots of nodes that work
  int used = 0, local = 0, in_queue_slots = 0;
  bool down = false, closed = false;
  int seen_capacity = 0, seen_local = 0;  // by the grid
  std::vector<ClassState> classes;        // as in the spec
  std::deque<std::int32_t> queue;         // ours, in order of arrival
  std::deque<std::pair<double, std::int32_t>> arriving;
  std::int32_t first = -1, last = -1;  // running
  Nodes nodes{1, 1};
  std::vector<std::vector<std::int32_t>> on_node;  // running there by start, if it has several
  std::deque<LocalJob> local_queue;
  std::unordered_map<std::uint32_t, LocalRun> local_running;
  std::vector<LocalStream> streams;                // of each load...
  std::vector<std::optional<LocalJob>> next_local;  // ...its next job
  std::uint32_t local_ids = 0;
  std::uint64_t draws = 0;
  std::deque<Seen> seen;
  std::int64_t polls = 0;
  std::vector<std::pair<double, bool>> survival;  // of our last ends: length, killed here
  std::int64_t ended = 0;
  double ran_s = 0, kills = 0;  // of our jobs; halved when there are many
  double counted_at = 0, capacity_slot_s = 0, local_slot_s = 0;

  int capacity() const { return down ? 0 : up; }
  int free() const { return capacity() - used - local; }
  bool HasUnits(const ClassUnits& needs) const {
    if (needs.of == 0) return true;
    const ClassState& c = classes[static_cast<std::size_t>(needs.of) - 1];
    return !down && c.total - c.used - c.local >= needs.units;
  }
  void TakeUnits(const ClassUnits& needs, int n, int ClassState::*whose) {
    if (needs.of != 0) classes[static_cast<std::size_t>(needs.of) - 1].*whose += n * needs.units;
  }
};

struct PlacementState {
  int campaign = 0, cluster = 0;     // places in the scenario
  ClassUnits needs{};
  policy::Placement* row = nullptr;  // in the snapshot while the campaign is there
  int launching = 0, waiting = 0;
  std::int64_t ended = 0, n_ok = 0, not_ok = 0, killed = 0;
  double sum_s = 0, sum_sq = 0, longest_recent = 0;
  std::deque<std::pair<std::int64_t, double>> recent;  // task, length: latest successes in a row
  std::vector<double> lengths;                         // of the last successes
  std::vector<std::int64_t> hist;                      // of all successes (core/histogram.h)
  policy::LongJobs long_jobs{};
  predictor::PlacementEstimate predictor;
  bool fresh = true;  // something changed since the predictor looked
};

struct Redo {
  std::int64_t task = 0;
  std::int16_t tries = 0, starts = 0;
};

/// A task that waits, as `clairvoyant` knows it.
struct Ahead {
  double length = 0;  // at speed 1
  Redo task{};
};

/// Copies of a task that have ended and were of no use; `of_program`: by its own fault.
struct FailedCopies {
  int of_program = 0, all = 0;
};

struct CampaignState {
  const CampaignSpec* spec = nullptr;
  int place = -1;  // in the snapshot
  bool over = false;
  int first_placement = 0, placements = 0;
  std::int64_t next = 0, done = 0, failed = 0, in_flight = 0, n_ok = 0;
  double sum_s = 0, waiting_since = 0;
  std::int64_t counted_n = 10;  // successes that PlacementState::long_jobs is counted again at
  double overdue_s = 0;         // a job that runs longer is overdue, 0 = not known
  double used_slot_s = 0;  // by jobs that have ended
  std::deque<Redo> redo;
  std::vector<Ahead> ahead;  // clairvoyant: instead of redo, the shortest first
  double ahead_s = 0;        // ...their lengths together
  std::map<std::int64_t, std::vector<std::int32_t>> live;  // replicas: jobs of each task in flight
  std::map<std::int64_t, FailedCopies> failed_copies;      // replicas: by task
  std::unordered_set<std::int64_t> settled;                // replicas and black holes: tasks done
  // A task that is done gets no copy, nor one that may hang ("finalize": 1; ClaimReplicas).
  bool MayBeCopied(std::int64_t task) const {
    if (settled.count(task) != 0) return false;
    const auto failed = failed_copies.find(task);
    return failed == failed_copies.end() ||
           (failed->second.of_program < 1 && failed->second.all < 11);
  }
};

}  // namespace cigri::sim
