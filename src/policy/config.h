// What an operator may say about deciding: rows (key, value) of policy_settings, checked as a
// whole.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/defaults.h"

namespace cigri::policy {

enum class PolicyKind {
  kFifo,
  kAffinity,
  kUsage,
  kSla,
  kLottery,
  kStride,
  kDynamic,
  kFairshare,
  kFairshareSimple
};
enum class Aggregate { kNone, kLevel, kUser, kProject };

/// A place in the share tree project > user. `parent` is another project, "" the root.
struct Share {
  double share = 1;
  std::string parent{};
};

/// One queue of policy dynamic: a class, by name (FBS-08..19).
struct Queue {
  double min = 0, max = 100;  ///< QPmin, QPmax
  double inc = 1, dec = 1;    ///< QPI, QPD
  double gap = 100;           ///< QPG: lower queues are held once so far below this stuck one
};

/// How the multi-slot jobs of a class age (FBS-13, FBS-19).
struct MultiSlotRule {
  double age = -1;   ///< SPG: age at which slots are kept free for one; -1 = never
  double step = 1;   ///< SPI: age that each narrower start adds
  double start = 0;  ///< the age with which one begins to wait
};

/// A limit on what is in flight. `name` "" means every user (project, campaign) on its own.
struct Quota {
  std::string scope{};  ///< grid, user, project, campaign, class
  std::string name{};
  std::string cluster{};      ///< its name; "" = over the grid
  int slots = -1, jobs = -1;  ///< -1 = not limited
};

/// At most `per_minute` starts for the whole grid, each cluster, user or campaign.
struct StartRate {
  std::string scope{};  ///< grid, cluster, user, campaign
  std::string name{};   ///< "" = each on its own
  double per_minute = 0;
  double burst = 1;
};

/// `fraction` of a cluster's slots that only campaigns of a class may use (FAIR-23).
struct Reserve {
  std::string cls{};      ///< a class, or "test" for campaigns of type test
  std::string cluster{};  ///< "" = of every cluster
  double fraction = 0;
};

/// Every key, its default and its meaning are in docs/policies.md; KnownKeys() lists them.
struct PolicyConfig {
  PolicyKind policy = PolicyKind::kFairshare;
  bool test_first = true;                  // CIG-21
  bool strict_priority = false;            // GRID-21
  int first_results = 0;                   // CIG-16
  int parallel_campaigns = 0;              // TECH-14: per user, 0 = all
  Aggregate aggregate = Aggregate::kUser;  // GRID-25
  int canary_jobs = kDefaultCanaryJobs;    // design section 8
  double affinity_wait_s = 0;              // GRID-23: for campaigns that say nothing
  double deadline_weight = 1;              // FAIR-22: within a user's share
  std::map<std::string, double> qos{};     // FAIR-22: quality of service of a class
  double qos_weight = 0;                   // what the highest one adds to a weight
  int user_priority = 9;                   // TECH-27: users give no more, operators any

  std::map<int, double> weights{};  // GRID-08: of a priority, default the number itself
  std::map<std::string, double> user_weights{};
  double usage_window_s = 600;                 // GRID-12
  std::map<std::string, double> sla_groups{};  // GRID-37: all integers or all fractions
  std::map<std::string, Share> projects{};     // the share tree
  std::map<std::string, Share> users{};        // `parent` is the user's project
  double fairshare_half_life_s = 7 * 86400;    // FAIR-13
  double fairshare_window_s = 14 * 86400;
  double fairshare_payback = 0.05;  // of the slots: more is not moved for what was used before
  bool simple_times_share = false;  // FAIR-18: which reading of fairshare-simple
  double simple_decay = 0.7;        // FAIR-15
  int simple_days = 7;
  double rank_usage = 1, rank_running = 1, rank_age = 0;  // TECH-22: our ranking formula

  std::map<std::string, Queue> queues{};  // dynamic
  std::vector<Quota> quotas{};
  std::vector<StartRate> start_rates{};
  std::map<std::string, int> licences{};  // pools
  std::vector<Reserve> reserves{};

  double urgent_percent = 0;          // GRID-34: 0 = no preemption
  double urgent_delay_s = 60;         // GRID-29
  double preempt_threshold_s = 1800;  // GRID-32
  bool scavenger_preempt = false;     // TECH-08
  bool sla_preempt = false;           // GRID-45

  double multi_slot_age = -1;       // FBS-19 SPG: starts that may pass; -1 = no hold
  double multi_slot_step = 1;       // SPI
  std::map<std::string, MultiSlotRule> multi_slot_classes{};  // of a class, in place of these
  double multi_slot_hold_s = 3600;  // then the hold is given up...
  double multi_slot_rest_s = 3600;  // ...for so long
  double multi_slot_queue = 1. / 16;  // a larger part of a cluster does not wait in its queue
  bool backfill = true;             // FAIR-08

  int black_hole_count = 0;  // CIG-11: 0 = off
  double black_hole_fraction = 0.05;
  double black_hole_min_s = 1;
  double black_hole_hold_s = 3600;
  int survival_kills = 3;      // bursts; 0 = off
  double straggler_times = 3;  // as often as elsewhere; 0 = off

  /// How multi-slot jobs of a class age.
  MultiSlotRule MultiSlotOf(const std::string& cls) const;
  /// Slots are kept free for some multi-slot jobs, whatever else there is.
  bool KeepsSlots() const;
  /// Whether a job of a class is too wide for the queue of a cluster of `max` slots: while narrower
  /// ones want some of them it waits in the grid, and slots are kept for it. Under fairshare, which
  /// knows who has had more than his due, and where no age is set.
  bool TooWideToQueue(const std::string& cls, int slots, int max) const;
};

/// One thing wrong (or odd) with a configuration.
struct Fault {
  std::string key{}, message{}, hint{};
};

/// Rows of policy_settings. Unknown keys and wrong types are faults ("did you mean"), and leave
/// their default in `config`.
struct Parsed {
  PolicyConfig config;
  std::vector<Fault> faults{};
};
Parsed ParseConfig(const std::map<std::string, nlohmann::json>& rows);
/// The rows that differ from the defaults: ParseConfig(ToRows(c)).config == c.
std::map<std::string, nlohmann::json> ToRows(const PolicyConfig& config);

/// What makes a configuration impossible: must be empty before it is taken (T-14).
std::vector<Fault> ValidateConfig(const PolicyConfig& config);
/// What is allowed and probably not meant (FBS-23), or combined by nobody before.
std::vector<Fault> LintConfig(const PolicyConfig& config);

struct KnownKey {
  std::string key{}, type{}, meaning{};
  nlohmann::json fallback;
};
const std::vector<KnownKey>& KnownKeys();

/// A named set of rows for a usual site.
struct Preset {
  std::string name{}, meaning{};
  std::map<std::string, nlohmann::json> rows{};
};
/// site-default first: what a fresh grid runs.
const std::vector<Preset>& Presets();

std::string ToString(PolicyKind kind);
std::string ToString(Aggregate aggregate);

}  // namespace cigri::policy
