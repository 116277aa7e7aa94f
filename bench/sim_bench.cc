// gridsim under policy usage: 100 campaigns, 10 clusters, a million jobs, every end an event, as a
// ratio to a bare event loop of as many events in the same run; then a year of a grid of 10,000
// cores with five million jobs, and the memory that takes.
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <queue>
#include <random>

#include "core/tune_allocator.h"
#include "sim/report.h"

namespace cigri::sim {
namespace {

// Time of this thread on a core: a busy machine must not count.
double Now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The least a simulator could do: `pending` events wait, the first is taken, another is put in.
double BareLoop(std::int64_t events, int pending) {
  std::mt19937_64 random(7);
  std::vector<double> lengths(1 << 16);
  for (auto& x : lengths) x = std::exponential_distribution<>(1.0 / 3600)(random);
  using Event = std::pair<double, std::int64_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue;
  for (int i = 0; i < pending; ++i) queue.emplace(lengths[i & 0xffff], i);
  const double start = Now();
  double last = 0;
  for (std::int64_t i = 0; i < events; ++i) {
    last = queue.top().first;
    queue.pop();
    queue.emplace(last + lengths[i & 0xffff], i);
  }
  const double took = Now() - start;
  return last > 0 ? took : 1e300;
}

Scenario Grid(int campaigns, std::int64_t tasks, double length, double every, double cycle) {
  Scenario s;
  s.policy.policy = policy::PolicyKind::kUsage;
  s.cycle_s = cycle;
  for (int k = 0; k < 10; ++k) {
    ClusterSpec c;
    c.name = "cluster" + std::to_string(k);
    c.slots = 1000;
    c.speed = 1 + 0.1 * k;
    c.queue_s = 2 * cycle;  // as much waits there as ends until the next decision
    c.max_waiting = 500;
    s.clusters.push_back(c);
  }
  for (int i = 0; i < campaigns; ++i) {
    CampaignSpec c;
    c.name = "campaign" + std::to_string(i);
    c.user = "user" + std::to_string(i % 17);
    c.priority = 1 + i % 9;
    c.at = every * i;
    c.tasks = tasks;
    c.duration = {Distribution::Kind::kLognormal, length, 0.5, {}};
    s.campaigns.push_back(c);
  }
  return s;
}

struct Measure {
  double seconds = 0;
  Report report;
};

Measure Time(const Scenario& scenario) {
  Collector collector(scenario);
  Engine engine(scenario, {&collector});
  const double start = Now();
  const auto totals = engine.Run();
  Measure m{Now() - start, collector.Finish(totals, "usage")};
  std::printf(
      "  %ld jobs, %ld events, %ld decisions in %.2f s: %.0f jobs/s; %.1f %% used, %.1f days\n",
      static_cast<long>(totals.jobs), static_cast<long>(totals.events),
      static_cast<long>(totals.decisions), m.seconds, static_cast<double>(totals.jobs) / m.seconds,
      100 * m.report.utilisation, m.report.makespan_s / 86400);
  return m;
}

int Main(bool year) {
  TuneAllocator();  // as gridsim does
  bool good = true;
  const double by_default = DefaultCycle(Grid(100, 10'000, 3600, 0, 1).campaigns);
  for (const double cycle : {60.0, 10.0, by_default}) {
    std::printf("a million jobs of about an hour, 100 campaigns, decided every %.0f s at most:\n",
                cycle);
    const Measure m = Time(Grid(100, 10'000, 3600, 0, cycle));
    const double bare = BareLoop(m.report.totals.events, 10'000);
    const double ratio = bare / m.seconds;
    std::printf("  %.3f of the rate of a bare loop of as many events (%.3f s; at least 0.05)\n",
                ratio, bare);
    good = good && ratio >= 0.05 && m.report.totals.done == 1'000'000;
  }
  if (year) {
    std::puts("a year of 10,000 cores, five million jobs of 15 hours:");
    const Measure m = Time(Grid(500, 10'000, 15 * 3600, 365 * 86400.0 / 500, 60));
    good = good && m.report.totals.done == 5'000'000;
  }
  const double memory = PeakMegabytes();
  std::printf("peak memory %.0f MB (at most 2048)\n", memory);
  good = good && memory <= 2048;
  std::puts(good ? "all measures kept" : "a measure is missed");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cigri::sim

int main(int argc, char** argv) {
  return cigri::sim::Main(argc < 2 || std::strcmp(argv[1], "--short") != 0);
}
