// Asks one cluster how our jobs are, in a thread of its own: a slow cluster does not delay the
// others.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "module/module.h"

namespace cigri::updator {

/// One answer of a cluster, or why there is none.
struct Answer {
  std::int64_t cluster_id = 0;
  bool ok = false;
  bool feed = false;
  bool holds = false;        ///< jobs are submitted on hold there
  std::string error;         ///< when not ok
  bool unreachable = false;  ///< when not ok: the cluster did not answer at all
  cluster::PollResult poll;
  std::optional<cluster::Resources> resources;
  std::chrono::steady_clock::time_point began;  ///< jobs recorded later may be missing from it
  int failures = 0;                             ///< in a row
  double retry_in_s = 0;                        ///< until the next try, when not ok
  std::optional<double> skew_s;                 ///< how far the cluster's clock is ahead of ours
  /// After a full listing: jobs of this grid there that no poll asks about.
  std::optional<std::vector<cluster::RemoteJob>> unasked;
};

/// Answers on their way to the pass.
class Mailbox {
 public:
  void Put(Answer answer);
  std::vector<Answer> TakeAll();

 private:
  std::mutex mutex_;
  std::vector<Answer> answers_;
};

/// How often a cluster is asked, in seconds.
struct Pace {
  double poll_s = 5;    ///< between two polls while a campaign is active (FBS-15)
  double idle_s = 60;   ///< between two polls while none is
  double full_s = 600;  ///< between two full listings, of kinds without a feed
};

struct PollerSettings {
  std::int64_t cluster_id = 0;
  std::string name;
  std::string token;      ///< where the feed begins
  std::string grid_mark;  ///< part of every tag of this grid and of no tag of another grid
  Pace pace;
};

/// The jobs that a cluster is asked about. Nobody changes a list that has been published.
using JobList = std::shared_ptr<const std::vector<cluster::RemoteRef>>;

/// A poll costs one cycle of the grid: the poller asks for it when the answer is there. When a
/// Poller is destroyed its thread may be deep in a call; the thread then ends without a word.
class Poller {
 public:
  /// `waker` must outlive the Poller, not its thread.
  Poller(PollerSettings settings, std::unique_ptr<cluster::Cluster> cluster,
         std::shared_ptr<Mailbox> mailbox, module::Waker& waker);
  ~Poller();
  Poller(const Poller&) = delete;

  /// Whether the poller waits for a first list of jobs; a feed needs none.
  bool NeedsJobs() const;
  /// The jobs in flight on the cluster, as of the last commit. Thread-safe.
  void Publish(JobList jobs);
  /// The resource classes that the cluster is asked to count from now on. Thread-safe.
  void SetClasses(std::vector<std::string> classes);
  /// Whether anything is to be expected on the cluster.
  void SetBusy(bool busy);
  /// The next answer of a feed names all jobs. Thread-safe.
  void AskForAll();
  /// The pass has committed what one answer said. Publish the new list before.
  void Taken();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cigri::updator
