#include "predictor/predictor.h"

#include <algorithm>

namespace cigri::predictor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr milliseconds kLookEvery{250};
constexpr seconds kKeepEvery{10};
// The end of a campaign moves with time alone, but nobody sees less than a few seconds of it.
constexpr seconds kWriteEvery{2};

// Nobody waits for a copy of a job that is over before the copy would start.
constexpr double kLeastOverdueS = 10;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What has to change before a prediction is written again.
std::vector<std::int64_t> SignatureOf(const Facts& f, const Forecast& forecast) {
  return {f.submitted,
          f.waiting,
          f.running,
          f.ended,
          static_cast<std::int64_t>(1000 * forecast.job_ratio),
          forecast.waiting_allowed.value_or(0)};
}

// Places of a queue that have doubled or halved: work waits for that, so it is told at once.
bool Leap(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& now) {
  const auto allowed = [](const auto& signature) {
    return signature.size() > 5 ? signature[5] : 0;
  };
  const auto a = allowed(before), b = allowed(now);
  return a != b && (a >= 2 * b || b >= 2 * a);
}

}  // namespace

void Predictor::Pass(module::Turn& turn) {
  if (turn.fresh) Start();
  if (Clock::now() - looked_ < kLookEvery) return;
  looked_ = Clock::now();
  db::Tx tx(turn.db, db::Tx::Sync::kOff);  // the next pass repeats it
  const auto lanes = LoadLanes(tx);
  Forget(lanes);
  if (lanes.empty()) return;
  const auto waiting = LoadWaiting(tx);
  const double window_s =
      static_cast<double>(turn.config.GetInt("CAMPAIGN_THROUGHPUT_WINDOW", 60, 1));
  Rows rows;
  for (std::size_t from = 0; from < lanes.size();) {
    std::size_t to = from;
    while (to < lanes.size() && lanes[to].campaign_id == lanes[from].campaign_id) ++to;
    const auto id = lanes[from].campaign_id;
    const auto it = waiting.find(id);
    Campaign({lanes.begin() + static_cast<std::ptrdiff_t>(from),
              lanes.begin() + static_cast<std::ptrdiff_t>(to)},
             it == waiting.end() ? 0 : it->second, window_s, rows);
    from = to;
  }
  if (!rows.empty()) {
    rows.Write(tx);
    tx.Commit();
  }
}

void Predictor::Start() {
  lanes_.clear();
  shown_.clear();
  looked_ = {};
}

bool Predictor::ToWrite(const Key& key, const std::vector<std::int64_t>& signature, bool* keep) {
  auto& shown = shown_[key];
  const auto now = Clock::now();
  if (signature == shown.signature ||
      (now - shown.written < kWriteEvery && shown.written != Clock::time_point{} &&
       !Leap(shown.signature, signature)))
    return false;
  *keep = shown.kept == Clock::time_point{} || now - shown.kept >= kKeepEvery;
  if (*keep) shown.kept = now;
  shown.signature = signature;
  shown.written = now;
  return true;
}

void Predictor::Campaign(const std::vector<Facts>& lanes, std::int64_t waiting, double window_s,
                         Rows& rows) {
  const Facts all = Together(lanes);
  Forecast whole = WholeOf(all);
  policy::Work work;
  for (const auto& f : lanes) {
    const Key key{f.campaign_id, f.cluster_id};
    auto& lane = lanes_[key];
    const auto forecast = lane.Look(f, Now(), window_s);
    whole.rate += forecast.rate;
    work.done_in_window += lane.ended_in_window();
    work.window_s = std::max(work.window_s, lane.window());
    bool keep = false;
    if (ToWrite(key, SignatureOf(f, forecast), &keep)) rows.Add(f, forecast, std::nullopt, keep);
  }
  work.waiting = waiting + all.submitted + all.waiting;
  work.at_once = all.running;
  work.durations = DurationsOf(lanes);
  whole.overdue_s = policy::StragglerThreshold(work.durations);
  if (whole.overdue_s) whole.overdue_s = std::max(*whole.overdue_s, kLeastOverdueS);
  bool keep = false;
  std::vector<std::int64_t> signature = SignatureOf(all, whole);
  signature.push_back(waiting);
  if (ToWrite({all.campaign_id, 0}, signature, &keep))
    rows.Add(all, whole, policy::TimeLeft(work), keep);
}

void Predictor::Forget(const std::vector<Facts>& lanes) {
  std::set<std::int64_t> alive;
  for (const auto& f : lanes) alive.insert(f.campaign_id);
  const auto over = [&](const auto& item) { return alive.count(item.first.first) == 0; };
  std::erase_if(lanes_, over);
  std::erase_if(shown_, over);
}

}  // namespace cigri::predictor
