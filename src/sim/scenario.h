// What is simulated: clusters, campaigns, local load and the policy, as a scenario file says it
// (docs/gridsim.md has every key). Times are in seconds of the scenario's clock, from 0.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jdl/jdl.h"
#include "policy/model.h"

namespace cigri::sim {

/// How long something takes, or how many there are of it.
struct Distribution {
  enum class Kind { kConstant, kUniform, kExponential, kLognormal, kWeibull, kList };
  Kind kind = Kind::kConstant;
  double a = 0;  ///< uniform: least; exponential: mean; lognormal: median; weibull: scale
  double b = 0;  ///< uniform: most; lognormal: sigma of the logarithm; weibull: shape
  std::vector<double> list{};  ///< in turn, by the number of the task

  /// >= 0. `key` as random.h makes it, `n` the number of the task.
  double At(std::uint64_t key, std::int64_t n) const;
  double Mean() const;
  static Distribution Constant(double value) { return {Kind::kConstant, value, 0, {}}; }
};

/// From `from` to before `until`.
struct Window {
  double from = 0, until = 0;
};

/// Units of a cluster's resource class (TECH-21, FAIR-21) that a job takes with its slots.
inline constexpr int kMostUnits = 65535;
struct ClassUnits {
  int of = 0;  ///< place in ClusterSpec::resource_classes, from 1; 0: it needs none
  int units = 0;
};

struct LocalJob {
  double at = 0, duration = 0;
  int slots = 1;
  ClassUnits needs{};
};

/// Jobs of a cluster's own users: a stream by chance, or a list (of an SWF file).
struct LocalLoad {
  Distribution every{};  ///< time between two; a constant is the mean of an exponential one
  /// By hour of the day and day of the week (the scenario begins on a Monday): so many times as
  /// many jobs; empty = 1 throughout.
  std::vector<double> hours{}, weekdays{};
  Distribution duration{};
  Distribution slots = Distribution::Constant(1);  ///< at least 1, at most those of the cluster
  ClassUnits needs{};          ///< of each of its jobs
  double from = 0, until = 0;  ///< of the stream; until 0 = to the end
  std::vector<LocalJob> jobs{};
};

struct ClusterSpec {
  std::string name{};
  int slots = 1;
  std::vector<std::pair<std::string, int>> resource_classes{};  ///< name, units; on no node
  int nodes = 1;                   ///< share the slots; jobs are placed on them
  int bad_nodes = 0;               ///< the first ones end every job of ours...
  double bad_after_s = 2;          ///< ...after so long, with a failure
  double speed = 1;                ///< a job takes its duration / speed
  int overstates = 0;              ///< slots that it reports and does not have
  double submit_s = 0;             ///< from the claim to the cluster's queue
  double see_s = 0;                ///< from what happens to when the grid knows
  Distribution boot{};             ///< from when a job has its slots to when it begins
  double bandwidth = 0;            ///< bytes per second of one job; 0: files take no time
  std::string ratio = "adaptive";  ///< job ratio rule, or "none": a job takes its slots
  double queue_s = 5;              ///< flow control
  int max_waiting = -1;            ///< -1: half of the slots, at least 1
  ClusterMode mode = ClusterMode::kUnlimited;
  int limited = policy::kNoLimit, max_running = policy::kNoLimit;
  double failures = 0;                 ///< part of the jobs that fail, somewhere on their way
  double slow = 0, slow_factor = 10;   ///< part of the jobs that take so many times as long
  std::optional<Distribution> life{};  ///< a job of ours is killed after so long, if it still runs
  double swallow_s = 0;    ///< > 0: ends every job after it, with success (a black hole)
  double node_mtbf_s = 0;  ///< mean time between failures of one node, 0 = never
  double node_repair_s = 3600;
  std::vector<Window> down{};    ///< does not answer; its jobs are lost
  std::vector<Window> closed{};  ///< its operator lets us send nothing; jobs go on
  bool preempts = true;          ///< local jobs kill ours; else they wait for them
  std::vector<LocalLoad> local{};
};

struct CampaignSpec {
  std::string name{}, user{}, project{}, cls{}, sla_group{};
  bool test = false, replicas = false;
  double at = 0;
  std::int64_t tasks = 1;
  Distribution duration{};
  Distribution input{}, output{};  ///< bytes that each task moves
  Distribution transfer{};         ///< seconds that each task waits for its files in addition
  int slots = 1;
  std::map<std::string, ClassUnits> needs{};  ///< by cluster
  int priority = 4;
  double weight = 0;
  int tries = 2;
  double failures = 0;              ///< part of the tasks' runs that fail on their own
  int max_jobs = policy::kNoLimit;  ///< on each cluster
  int walltime_s = 0;               ///< 0 = none: nothing is killed for its length
  double need_s = 0;                ///< known from before; 0: learnt from its own jobs
  double prologue_s = 0;            ///< > 0: a job of its own on each cluster first
  std::string scheduler;
  double affinity_wait_s = 0;
  double min_duration_s = 0;  ///< shorter successes are not believed
  double deadline = 0;        ///< as `at`, 0 = none
  double start_rate = 0;      ///< most starts a minute on each cluster, 0 = not limited
  std::vector<int> after{};  ///< places of campaigns that have to be over first; all before its own
  std::map<std::string, int> licences{};
  std::vector<std::string> clusters{};     ///< empty = all
  std::map<std::string, int> affinity{};   ///< users_priority, by cluster
  std::vector<std::string> data_on{};      ///< clusters that have its data from the start
  std::vector<std::string> verified_on{};  ///< where a job of it has succeeded before
};

struct Scenario {
  std::string name{};
  std::uint64_t seed = 1;
  double until = 0;    ///< 0: to the end of the last campaign
  double cycle_s = 1;  ///< the grid decides again after so long, when something has changed
                       ///< (ReadScenario: DefaultCycle)
  double tick_s = 5;   ///< and after so long while a rule that looks at the clock holds work back
  policy::PolicyConfig policy{};
  bool clairvoyant = false;  ///< no policy decides, but one who knows the future (clairvoyant.cc)
  std::vector<ClusterSpec> clusters{};
  std::vector<CampaignSpec> campaigns{};
  std::vector<policy::Usage> usage{};  ///< from before; `campaign` is its place + 1, 0 = is over
  std::vector<std::string> notes{};    ///< what was assumed (SWF, history)
};

struct ReadResult {
  Scenario scenario{};
  std::vector<jdl::Fault> faults{};    ///< in the order of the text; none: it is good
  std::vector<jdl::Fault> warnings{};  ///< lint of its policy
};

/// What the command line changes before the whole is checked.
struct Edits {
  std::vector<std::string> without{};                      ///< names of clusters
  std::vector<std::pair<std::string, std::string>> set{};  ///< KEY, VALUE (JSON, else a word)
  std::string policy{};  ///< a policy or a preset instead of the scenario's, "" = its own
};

/// Of a scenario that names no `cycle`: a second, but of more than 100,000 tasks a 360th of their
/// mean length, a minute at most: the campaigns take hardly longer, with far fewer decisions.
double DefaultCycle(const std::vector<CampaignSpec>& campaigns);

/// Reads and checks a scenario as a whole. `folder` is where files that it names are looked for.
/// Never throws for what stands in `text`.
ReadResult ReadScenario(std::string_view text, const std::string& folder, const Edits& edits = {});
/// The one who knows the future: of the simulator alone, no grid can have it.
inline constexpr char kClairvoyant[] = "clairvoyant";
/// The rows of a scenario's policy with a policy or preset put in their place; nothing for an
/// unknown name.
std::optional<policy::PolicyConfig> PolicyNamed(const policy::PolicyConfig& base,
                                                const std::string& name);
/// Names that PolicyNamed knows.
std::vector<std::string> PolicyNames();

}  // namespace cigri::sim
