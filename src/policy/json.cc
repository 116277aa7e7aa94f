#include "policy/json.h"

#include <stdexcept>

#include "policy/reason.h"

namespace cigri {

// Found by the argument's namespace, so they stand next to the enums.
static void to_json(nlohmann::json& j, ClusterMode v) { j = ToString(v); }
static void from_json(const nlohmann::json& j, ClusterMode& v) {
  const auto word = FromString<ClusterMode>(j.get<std::string>());
  if (!word) throw std::invalid_argument("no cluster mode " + j.dump());
  v = *word;
}
static void to_json(nlohmann::json& j, BatchKind v) { j = ToString(v); }
static void from_json(const nlohmann::json& j, BatchKind& v) {
  const auto word = FromString<BatchKind>(j.get<std::string>());
  if (!word) throw std::invalid_argument("no kind of batch " + j.dump());
  v = *word;
}

}  // namespace cigri

namespace cigri::policy {
namespace {

constexpr std::pair<Unusable, const char*> kUnusable[] = {
    {Unusable::kNo, "no"},        {Unusable::kDisabled, "disabled"},
    {Unusable::kStale, "stale"},  {Unusable::kDrained, "drained"},
    {Unusable::kHours, "hours"},  {Unusable::kBreaker, "breaker"},
    {Unusable::kStress, "stress"}};
constexpr std::pair<Prologue, const char*> kPrologue[] = {{Prologue::kNone, "none"},
                                                          {Prologue::kNeeded, "needed"},
                                                          {Prologue::kRunning, "running"},
                                                          {Prologue::kDone, "done"},
                                                          {Prologue::kFailed, "failed"}};

template <typename T, std::size_t N>
const char* WordOf(T value, const std::pair<T, const char*> (&words)[N]) {
  for (const auto& [v, word] : words)
    if (v == value) return word;
  return words[0].second;
}

template <typename T, std::size_t N>
T ValueOf(const nlohmann::json& j, const std::pair<T, const char*> (&words)[N]) {
  for (const auto& [value, word] : words)
    if (j == word) return value;
  throw std::invalid_argument("unknown word " + j.dump());
}

}  // namespace

static void to_json(nlohmann::json& j, Unusable v) { j = WordOf(v, kUnusable); }
static void from_json(const nlohmann::json& j, Unusable& v) { v = ValueOf(j, kUnusable); }
static void to_json(nlohmann::json& j, Prologue v) { j = WordOf(v, kPrologue); }
static void from_json(const nlohmann::json& j, Prologue& v) { v = ValueOf(j, kPrologue); }
static void to_json(nlohmann::json& j, Code v) { j = ToString(v); }
static void from_json(const nlohmann::json& j, Code& v) {
  const auto code = CodeFrom(j.get<std::string>());
  if (!code) throw std::invalid_argument("unknown reason " + j.dump());
  v = *code;
}

void to_json(nlohmann::json& j, const PolicyConfig& v) {
  j = nlohmann::json::object();
  for (const auto& [key, value] : ToRows(v)) j[key] = value;
}

void from_json(const nlohmann::json& j, PolicyConfig& v) {
  std::map<std::string, nlohmann::json> rows;
  for (const auto& [key, value] : j.items()) rows[key] = value;
  const Parsed parsed = ParseConfig(rows);
  if (!parsed.faults.empty()) throw std::invalid_argument(parsed.faults.front().message);
  v = parsed.config;
}

namespace {

// Functions of their own: written out at each of 120 fields they would be a third of this library.
template <typename T>
[[gnu::noinline]] void Write(nlohmann::json& j, const char* key, const T& value) {
  j[key] = value;
}
template <typename T>
[[gnu::noinline]] void Read(const nlohmann::json& j, const char* key, T& value) {
  const auto found = j.find(key);
  if (found != j.end()) found->get_to(value);
}

}  // namespace

#define CIGRI_WRITE(field) Write(j, #field, v.field);
#define CIGRI_READ(field) Read(j, #field, v.field);
// A field that is absent keeps the value that its type gives it.
#define CIGRI_JSON(Type, ...)                                             \
  void to_json(nlohmann::json& j, const Type& v) {                        \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CIGRI_WRITE, __VA_ARGS__))   \
  }                                                                       \
  void from_json(const nlohmann::json& j, Type& v) {                      \
    v = Type();                                                           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CIGRI_READ, __VA_ARGS__))    \
  }

CIGRI_JSON(Release, at, slots)
CIGRI_JSON(ResourceClass, name, total, free)

CIGRI_JSON(Cluster, id, name, max, free, waiting, waiting_slots, launching, launching_slots,
           running, running_slots, waiting_allowed, speed, life_s, mode, limited, max_running,
           unusable, why, releases, classes)
CIGRI_JSON(Placement, cluster, slots, in_flight, running, running_since, max_jobs, waiting_allowed,
           job_ratio, verified, tried, held, prologue, affinity, local, avoid, single, overdue,
           tested, mean_s, transfer_s, median_s, recent, recent_longest_s, bursts, killed_at,
           median_survival_s, straggler_share, straggler_times, start_rate, started, resource_class,
           class_units)
CIGRI_JSON(Campaign, id, user, project, test, active, priority, weight, sla_group, cls,
           submitted_at, waiting, done, scheduler, replicas, affinity_wait_s, waiting_since, need_s,
           mean_s, walltime_s, min_duration_s, after, after_failed, failed_tasks, not_before,
           deadline, max_jobs_total, licences, placements)
CIGRI_JSON(Usage, campaign, user, project, start, length, slot_seconds, jobs)
CIGRI_JSON(RunningJob, job, campaign, cluster, slots, started_at, for_campaign)
CIGRI_JSON(Snapshot, clusters, campaigns, usage, running, config)
CIGRI_JSON(Allocation, campaign, cluster, n, rank, kind, shadow)
CIGRI_JSON(Preempt, job, campaign, cluster, for_campaign, code, value, slots, lost_s)
CIGRI_JSON(Hold, campaign, cluster, code, since, until, requeue)
CIGRI_JSON(Recall, campaign, cluster, to, n, waiting)
CIGRI_JSON(Plan, allocations, preempt, recalls, holds)
CIGRI_JSON(Reason, campaign, cluster, code, numbers, other, main, detail)
CIGRI_JSON(State::Ageing, age, held_since, rest_until, in_vain)
CIGRI_JSON(State::Credit, usage, since, per_weight)
CIGRI_JSON(State::Bucket, tokens, at, given, started)
CIGRI_JSON(State::Lag, behind, slots, share, want, at)
CIGRI_JSON(State::SlotLife, taken, exposed_s, left, at)
CIGRI_JSON(State, decided_at, pass, priority, credit, ageing, holds, rates, lags, slot_lives)

}  // namespace cigri::policy
