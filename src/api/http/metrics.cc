#include "api/http/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sql/grid.h>
#include <sql/metrics.h>

#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <mutex>
#include <set>

#include "api/http/context.h"
#include "core/log.h"

namespace cigri::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Clock = std::chrono::steady_clock;

// Counters of what ended are summed from this process's start on; a minute's usage is final after
// as much time as no transaction takes.
constexpr double kSettled_s = 600;
// However often it is scraped, the database is asked once in so long.
constexpr auto kFresh = std::chrono::seconds(2);

struct Described {
  const char* name;
  MetricType type;
  std::array<const char*, 2> labels;
  const char* help;
};
constexpr auto kGauge = MetricType::Gauge, kCounter = MetricType::Counter;
// Labels have few values: clusters, states, classes, modules. Never a user, a campaign or a job.
const Described kDescribed[] = {
    {"cigri_cluster_slots",
     kGauge,
     {"cluster", "state"},
     "Slots of a cluster: free, of the grid's jobs, of local jobs, unavailable."},
    {"cigri_cluster_jobs", kGauge, {"cluster", "state"}, "Jobs of the grid in flight."},
    {"cigri_cluster_status_age_seconds",
     kGauge,
     {"cluster"},
     "Time since the last complete poll of a cluster."},
    {"cigri_cluster_up", kGauge, {"cluster"}, "Whether the API of a cluster answers."},
    {"cigri_cluster_drained", kGauge, {"cluster"}, "Whether an operator has drained a cluster."},
    {"cigri_cluster_served", kGauge, {"cluster"}, "Whether a living runner has a cluster."},
    {"cigri_runners", kGauge, {}, "Living runners, of all hosts."},
    {"cigri_campaigns", kGauge, {"state"}, "Campaigns that are not over."},
    {"cigri_tasks_waiting", kGauge, {}, "Tasks that were never sent."},
    {"cigri_tasks_oldest_unsent_age_seconds",
     kGauge,
     {},
     "Time since the submission of the oldest campaign with tasks that were never sent."},
    {"cigri_campaigns_submitted_total", kCounter, {}, "Campaigns submitted since the grid exists."},
    {"cigri_tasks_submitted_total", kCounter, {}, "Tasks submitted since the grid exists."},
    {"cigri_jobs_claimed_total", kCounter, {}, "Jobs claimed since the grid exists."},
    {"cigri_jobs_ended_total",
     kCounter,
     {"cluster", "class"},
     "Jobs that ended since the API started, by exit class."},
    {"cigri_slot_seconds_total",
     kCounter,
     {"cluster"},
     "Slot seconds used by jobs that ended since the API started."},
    {"cigri_slot_seconds_evicted_total",
     kCounter,
     {"cluster"},
     "Of these, slot seconds lost because a cluster killed the job for its own users."},
    {"cigri_events_open", kGauge, {"class"}, "Open events."},
    {"cigri_cycle_duration_seconds",
     kGauge,
     {},
     "The last passes of updator, predictor and metascheduler together."},
    {"cigri_module_pass_duration_seconds", kGauge, {"module"}, "The last pass of a module."},
    {"cigri_module_passes_total", kCounter, {"module"}, "Passes of a module since it started."},
    {"cigri_module_last_pass_age_seconds",
     kGauge,
     {"module"},
     "Time since the last pass of a module, as it reports it every 10 s."},
    {"cigri_leader_lease_seconds", kGauge, {}, "For how long the leader leads without renewing."},
    {"cigri_database_replication_lag_seconds",
     kGauge,
     {},
     "How far the slowest standby of the database is behind."},
    {"cigri_database_round_trip_seconds", kGauge, {}, "Time of the statement behind this scrape."},
    {"cigri_database_up", kGauge, {}, "Whether the database answers."},
};

// The families of one scrape, in the order of the table.
class Families {
 public:
  void Add(const std::string& name, double value, const std::string& one = "",
           const std::string& two = "") {
    for (std::size_t i = 0; i < std::size(kDescribed); ++i)
      if (name == kDescribed[i].name) return Add(i, value, {one, two});
    log::warn("there is no metric {}", name);
  }
  std::vector<MetricFamily> Take() {
    std::vector<MetricFamily> out;
    for (auto& [i, family] : families_) out.push_back(std::move(family));
    return out;
  }

 private:
  void Add(std::size_t i, double value, const std::array<std::string, 2>& labels) {
    const auto& described = kDescribed[i];
    auto& family = families_[i];
    family.name = described.name;
    family.help = described.help;
    family.type = described.type;
    ClientMetric metric;
    for (std::size_t k = 0; k < labels.size(); ++k)
      if (described.labels[k] != nullptr) metric.label.push_back({described.labels[k], labels[k]});
    (described.type == kCounter ? metric.counter.value : metric.gauge.value) = value;
    family.metric.push_back(std::move(metric));
  }
  std::map<std::size_t, MetricFamily> families_;
};

// What ended on a cluster, each with the name of its class or "".
using Ends = std::map<std::string, std::array<double, 7>>;
const char* const kClasses[] = {"ok", "program", "infrastructure", "preemption", "our_kill"};

void AddEnds(db::Tx& tx, double from, double until, Ends& ends) {
  for (const auto& row : tx.Exec(sql::kEndedSince, from, until)) {
    auto& sum = ends[row.cluster];
    const double values[] = {double(row.ok),
                             double(row.program),
                             double(row.infrastructure),
                             double(row.preempted),
                             double(row.killed),
                             row.used,
                             row.lost};
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Histogram>& latency =
      prometheus::BuildHistogram()
          .Name("cigri_api_request_duration_seconds")
          .Help("Time to answer a request of the API, without waiting of long polls.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("cigri_api_requests_total")
                                                          .Help("Requests that the API answered.")
                                                          .Register(registry);
  std::mutex mutex;  // of what follows
  std::string text;
  bool database_up = false;
  Clock::time_point made_at{};
  double settled_until = 0;  // epoch s; 0: never asked
  Ends settled;

  std::string Collect(Context& context);
  void Ended(db::Tx& tx, Families& families);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Answered(const std::string& method, int status, std::chrono::duration<double> took) {
  // Whatever a client invents is one more value at most.
  static const std::set<std::string> kMethods = {"GET",   "POST",   "PUT",
                                                 "PATCH", "DELETE", "OPTIONS"};
  const std::string label = kMethods.count(method) != 0 ? method : "other";
  static const prometheus::Histogram::BucketBoundaries kBounds = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  impl_->latency.Add({{"method", label}}, kBounds).Observe(took.count());
  impl_->requests.Add({{"method", label}, {"code", std::to_string(status / 100) + "xx"}})
      .Increment();
}

// Sums from the minute on in which it was first asked: its former ends are no news.
void Metrics::Impl::Ended(db::Tx& tx, Families& families) {
  const double now = tx.One(sql::kNow).now;
  if (settled_until == 0) settled_until = std::floor(now / 60) * 60;
  const double settle = std::floor((now - kSettled_s) / 60) * 60;
  Ends all = settled;
  if (settle > settled_until) {
    AddEnds(tx, settled_until, settle, all);
    settled = all;
    settled_until = settle;
  }
  AddEnds(tx, settled_until, now + 60, all);
  for (const auto& [cluster, sum] : all) {
    for (std::size_t i = 0; i < std::size(kClasses); ++i)
      families.Add("cigri_jobs_ended_total", sum[i], cluster, kClasses[i]);
    families.Add("cigri_slot_seconds_total", sum[5], cluster);
    families.Add("cigri_slot_seconds_evicted_total", sum[6], cluster);
  }
}

std::string Metrics::Impl::Collect(Context& context) {
  Families families;
  const auto start = Clock::now();
  try {
    Families found;
    context.Read([&](db::Tx& tx) {
      found = {};
      for (const auto& row : tx.Exec(sql::kMetrics))
        found.Add(row.metric, row.value, row.one, row.two);
      Ended(tx, found);
    });
    found.Add("cigri_database_up", 1);
    found.Add("cigri_database_round_trip_seconds",
              std::chrono::duration<double>(Clock::now() - start).count());
    families = std::move(found);
    database_up = true;
  } catch (const std::exception& e) {
    log::warn("metrics without a database: {}", e.what());
    families.Add("cigri_database_up", 0);
    database_up = false;
  }
  auto all = registry.Collect();
  for (auto& family : families.Take()) all.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(all);
}

std::string Metrics::Text(Context& context, bool* database_up) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->text.empty() || Clock::now() - impl_->made_at > kFresh) {
    impl_->text = impl_->Collect(context);
    impl_->made_at = Clock::now();
  }
  *database_up = impl_->database_up;
  return impl_->text;
}

}  // namespace cigri::api
