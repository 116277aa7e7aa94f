#include "predictor/predictor.h"

#include <algorithm>
#include <cmath>

namespace cigri::predictor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
// A pass rests so many times as long as it took, so that it takes a twentieth of the time. On a small
// grid that is a cycle or two: a new campaign waits for its first forecast to send more jobs.
constexpr int kRests = 20;
constexpr milliseconds kLongestRest{1000};
constexpr seconds kHistoryEvery{10};
// The end of a campaign moves with time alone, but a change of a few seconds is not worth a write.
constexpr seconds kWriteEvery{2};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// In steps of a fifth: where nothing ends any more, the rate falls until it is 0, and the end that
// was expected of it goes. It falls in some 25 steps, so a step alone is written with the history.
std::int64_t StepOf(double rate) { return rate > 0 ? std::llround(4 * std::log2(rate)) : 0; }

// What has to change before a prediction is written again.
std::vector<std::int64_t> SignatureOf(const PlacementStats& f, const Forecast& forecast) {
  return {f.submitted,
          f.waiting,
          f.running,
          f.ended,
          static_cast<std::int64_t>(1000 * forecast.job_ratio),
          forecast.waiting_allowed.value_or(0),
          forecast.tasks_per_job,
          forecast.walltime_s.value_or(0),
          forecast.rate > 0 ? 1 : 0};
}

// Places of a queue that have doubled or halved: work waits for that, so it is written at once.
bool Leap(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& now) {
  const auto allowed = [](const auto& signature) {
    return signature.size() > 5 ? signature[5] : 0;
  };
  const auto a = allowed(before), b = allowed(now);
  return a != b && (a >= 2 * b || b >= 2 * a);
}

}  // namespace

void Predictor::Pass(module::Step& step) {
  if (step.fresh) Start();
  const auto began = Clock::now();
  if (began < next_) return;
  PredictAll(step);
  const auto now = Clock::now();
  next_ = now + std::min<Clock::duration>(kRests * (now - began), kLongestRest);
}

void Predictor::PredictAll(module::Step& step) {
  db::Tx tx(step.db, db::Tx::Sync::kOff);  // the next pass repeats it
  const auto campaigns = LoadStats(tx);
  Forget(campaigns);
  if (campaigns.empty()) return;
  const auto waiting = LoadWaiting(tx);
  const auto window_s =
      static_cast<double>(step.config.GetInt("CAMPAIGN_THROUGHPUT_WINDOW", 60, 1));
  ForecastRows rows;
  for (const auto& [id, stats] : campaigns) {
    const auto it = waiting.find(id);
    Forecasts(stats, it == waiting.end() ? 0 : it->second, window_s, rows);
  }
  if (rows.empty()) return;
  try {
    module::CheckEpoch(tx, step.epoch);  // who stood still knows less than who leads now
    rows.Write(tx);
    tx.Commit();
  } catch (...) {
    written_.clear();  // nothing of it is
    throw;
  }
}

void Predictor::Start() {
  memory_.clear();
  written_.clear();
  next_ = {};
}

bool Predictor::ToWrite(const Key& key, const std::vector<std::int64_t>& signature, double rate,
                        bool* history) {
  auto& written = written_[key];
  const auto now = Clock::now();
  const bool same = signature == written.signature;
  if (same && StepOf(rate) == written.rate_step) return false;
  if (now - written.at < (same ? kHistoryEvery : kWriteEvery) &&
      written.at != Clock::time_point{} && !Leap(written.signature, signature))
    return false;
  *history = written.history_at == Clock::time_point{} || now - written.history_at >= kHistoryEvery;
  if (*history) written.history_at = now;
  written.signature = signature;
  written.rate_step = StepOf(rate);
  written.at = now;
  return true;
}

void Predictor::Forecasts(const std::vector<PlacementStats>& stats, std::int64_t waiting,
                          double window_s, ForecastRows& rows) {
  const auto id = stats.front().campaign_id;
  const auto forecast = Decide(stats, waiting, Now(), window_s, memory_[id]);
  bool history = false;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const auto& f = stats[i];
    const auto& placement = forecast.placements[i];
    if (ToWrite({id, f.cluster_id}, SignatureOf(f, placement), placement.rate, &history))
      rows.Add(f, placement, forecast.left_on[i], history);
  }
  std::vector<std::int64_t> signature = SignatureOf(forecast.all, forecast.whole);
  signature.push_back(waiting);
  if (ToWrite({id, 0}, signature, forecast.whole.rate, &history))
    rows.Add(forecast.all, forecast.whole, forecast.left, history);
}

void Predictor::Forget(const std::map<std::int64_t, std::vector<PlacementStats>>& campaigns) {
  std::erase_if(memory_, [&](const auto& item) { return campaigns.count(item.first) == 0; });
  std::erase_if(written_, [&](const auto& item) { return campaigns.count(item.first.first) == 0; });
}

}  // namespace cigri::predictor
