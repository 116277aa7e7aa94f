#include "predictor/decide.h"

#include <algorithm>
#include <cmath>

namespace cigri::predictor {
namespace {

// A cluster takes as much of what waits as it has of the ends lately; before any, of the jobs that
// run.
std::int64_t WaitingFor(std::int64_t waiting, double rate, double all_rates, std::int64_t running,
                        std::int64_t all_running) {
  const double part = all_rates > 0     ? rate / all_rates
                      : all_running > 0 ? double(running) / double(all_running)
                                        : 0;
  return static_cast<std::int64_t>(std::ceil(double(waiting) * part));
}

}  // namespace

CampaignForecast Decide(const std::vector<PlacementStats>& stats, std::int64_t waiting, double now,
                        double window_s, Memory& memory) {
  CampaignForecast out;
  out.all = Together(stats);
  out.whole = WholeOf(out.all);
  policy::Work work;
  const auto mean_s = KnownMean(out.all.n_ok, out.all.sum_s);
  std::vector<policy::Work> on;
  for (PlacementStats f : stats) {
    f.campaign_mean_s = mean_s;
    auto& placement = memory[f.cluster_id];
    out.placements.push_back(placement.Update(f, now, window_s));
    out.whole.rate += out.placements.back().rate;
    on.push_back({.waiting = f.submitted + f.waiting,
                  .at_once = f.running,
                  .durations = DurationsOf({f}),
                  .done_in_window = placement.ended_in_window(),
                  .window_s = placement.window()});
    work.done_in_window += placement.ended_in_window();
    work.window_s = std::max(work.window_s, placement.window());
  }
  work.waiting = waiting + out.all.submitted + out.all.waiting;
  work.at_once = out.all.running;
  work.durations = DurationsOf(stats);
  out.whole.overdue_s = policy::StragglerThreshold(out.all.hist);
  out.left = policy::TimeLeft(work);
  for (std::size_t i = 0; i < on.size(); ++i) {
    on[i].waiting += WaitingFor(waiting, out.placements[i].rate, out.whole.rate, on[i].at_once,
                                out.all.running);
    const bool any = on[i].waiting + on[i].at_once > 0;
    out.left_on.push_back(any ? policy::TimeLeft(on[i]) : std::nullopt);
  }
  return out;
}

}  // namespace cigri::predictor
