// What a simulation was like, in the numbers that users compare schedulers by.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine.h"

namespace cigri::sim {

struct UserReport {
  std::string name{};
  std::int64_t done = 0;
  double slot_s = 0;
  double part = 0;  ///< of all slot-seconds of the grid's users
  /// While at least two users wanted slots: what it had and what it was due, as parts.
  double contended = 0, due = 0;
  double wait_s = 0;  ///< mean
};
struct CampaignReport {
  std::string name{}, user{};
  std::int64_t tasks = 0, done = 0;
  double submitted = 0, first_start = -1, over = -1;  ///< -1: did not happen
  /// Turnaround over what it takes alone on all its clusters (or its longest task), 10 s at least.
  double slowdown = 0;
};
struct ClusterReport {
  std::string name{};
  std::int64_t jobs = 0, preempted = 0;
  double slot_s = 0, lost_slot_s = 0;
};

struct Report {
  std::string label{};  ///< policy or preset
  Totals totals{};
  double makespan_s = 0;   ///< last end of a job
  double used_slot_s = 0;  ///< by jobs of the grid, lost ones too
  double utilisation = 0;  ///< part of all slots that our jobs used until the makespan
  double with_local = 0;   ///< local users' included
  double of_left = 0;      ///< of what local users left
  double wait_mean_s = 0, wait_p95_s = 0;  ///< from submission of the campaign to the start
  double slowdown = 0;  ///< mean over tasks: (wait + run) / run, run at least 10 s
  double campaign_slowdown = 0;
  /// Part of the contended slots that others should have had; a job that was given within the due
  /// of its user is not held against it afterwards.
  double share_error = 0;
  std::int64_t preempted = 0, lost = 0, cancelled = 0, failures = 0, copies = 0;
  double lost_slot_s = 0;  ///< run by jobs that were preempted, lost, cancelled or copies
  /// --compare: makespan over the least that is possible, and mean campaign slowdown over that of
  /// `clairvoyant`; 0 = not known.
  double to_bound = 0, to_clairvoyant = 0;
  std::vector<UserReport> users{};
  std::vector<CampaignReport> campaigns{};
  std::vector<ClusterReport> clusters{};
};

nlohmann::json ToJson(const Report& report);
/// For readers. `most` users, campaigns and clusters are shown.
std::string ToText(const Report& report, std::size_t most = 20);
/// A row a report.
std::string CompareText(const std::vector<Report>& reports);

/// No scheduler can be done earlier: for every time, the work submitted from then on, divided by
/// what the clusters' own users leave from then on (where they do not preempt: by all slots).
double LeastMakespan(const Scenario& scenario);

/// Makes a Report of what it receives.
class Collector : public Observer {
 public:
  explicit Collector(const Scenario& scenario);
  void Submitted(int campaign, double now) override;
  void Started(int campaign, int slots, double now) override;
  void Ended(const Attempt& attempt) override;
  void Over(int campaign, double now) override;
  void Decided(const Moment& moment) override;
  Report Finish(const Totals& totals, const std::string& label);

 private:
  struct User {
    double running = 0, since = 0, used = 0;
    double contended = 0, due = 0, mark = 0;
    // As of the last decision: what it has in flight, what it could take at most.
    double share = 0, held = 0, most = 0;
    double rightful = 0;    // slots in flight that it got within its due...
    double rightful_s = 0;  // ...what those that run used since the last decision
  };
  void Advance(User& user, double now);
  void Settle(double now);
  void CountWants(const Moment& moment);
  void Judge(const Moment& moment);
  std::vector<double> Due(double total, const std::vector<double>& most,
                          const std::vector<double>& least) const;

  const Scenario& scenario_;
  std::vector<int> user_of_;  // by campaign
  std::vector<User> users_;
  // Who wanted something at the last decision, by project and name, and their shares.
  std::vector<std::pair<std::string, std::string>> wanting_;
  std::vector<double> shares_;
  std::map<std::string, int> names_;
  std::vector<float> waits_;
  double slowdown_sum_ = 0;
  bool contended_ = false;
  double settled_ = 0;  // time of the last decision
  std::vector<double> longest_, work_;  // by campaign
  std::set<std::pair<int, std::int64_t>> copied_;  // campaign, task: done, and may be done twice
  std::vector<double> speed_;           // by campaign: slots x speed that it could have
  Report report_;
};

}  // namespace cigri::sim
