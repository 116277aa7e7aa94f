#include "predictor/decide.h"

#include <algorithm>

namespace cigri::predictor {
namespace {

// A copy needs some time to start: nobody waits for a copy of a job that ends before.
constexpr double kLeastOverdueS = 10;

}  // namespace

CampaignForecast Decide(const std::vector<PlacementStats>& stats, std::int64_t waiting, double now,
                        double window_s, Memory& memory) {
  CampaignForecast out;
  out.all = Together(stats);
  out.whole = WholeOf(out.all);
  policy::Work work;
  const auto mean_s = KnownMean(out.all.n_ok, out.all.sum_s);
  for (PlacementStats f : stats) {
    f.campaign_mean_s = mean_s;
    auto& placement = memory[f.cluster_id];
    out.placements.push_back(placement.Update(f, now, window_s));
    out.whole.rate += out.placements.back().rate;
    work.done_in_window += placement.ended_in_window();
    work.window_s = std::max(work.window_s, placement.window());
  }
  work.waiting = waiting + out.all.submitted + out.all.waiting;
  work.at_once = out.all.running;
  work.durations = DurationsOf(stats);
  out.whole.overdue_s = policy::StragglerThreshold(work.durations);
  if (out.whole.overdue_s) out.whole.overdue_s = std::max(*out.whole.overdue_s, kLeastOverdueS);
  out.left = policy::TimeLeft(work);
  return out;
}

}  // namespace cigri::predictor
