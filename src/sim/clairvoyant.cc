// The yardstick of --compare: a scheduler that knows how long every task takes and when every local
// user comes. It keeps the shares of the policy among those who want something, and serves each
// user's campaigns by the work that is left; it starts no job that would be killed, and looks for
// places from the longest task down. Not an optimum, and no grid can have it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "policy/fairtree.h"
#include "sim/impl.h"
#include "sim/random.h"

namespace cigri::sim {
namespace {

constexpr double kForever = 1e300;
constexpr double kRounding = 1e-6;  // s
constexpr int kTries = 16;          // tasks whose own boots and transfers are looked at

// Slots of ours that are held until some time.
struct Held {
  double until = 0;
  int slots = 0;
};

/// A cluster as it will be, with what is sent so far.
class Outlook {
 public:
  Outlook(LocalFuture& local, bool preempts, double now, int left_now, std::vector<Held> held)
      : local_(local), preempts_(preempts), now_(now), left_now_(left_now), held_(std::move(held)) {
    std::sort(held_.begin(), held_.end(), [](auto& a, auto& b) { return a.until > b.until; });
    for (const auto& job : held_) held_now_ += job.slots;
  }

  /// How long `slots` slots stay free from now on; no longer than `most` is looked.
  double Gap(int slots, double most) {
    if (held_now_ + slots > left_now_) return 0;
    double gap = kForever;
    if (preempts_) {
      const auto& steps = local_.Steps(now_ + most);
      auto step = std::upper_bound(steps.begin(), steps.end(), now_,
                                   [](double at, const auto& s) { return at < s.at; });
      for (; step != steps.end() && step->at < now_ + most && gap >= kForever; ++step)
        if (HeldAt(step->at) + slots > step->left) gap = step->at - now_;
    }
    if (reserved_.slots > 0 && reserved_.until - now_ < gap &&
        HeldAt(reserved_.until) + reserved_.slots + slots > LeftAt(reserved_.until))
      gap = reserved_.until - now_;
    return gap;
  }
  /// When `slots` slots are free at the earliest; kForever: never.
  double FreeAt(int slots) {
    for (auto job = held_.rbegin(); job != held_.rend(); ++job)
      if (HeldAt(job->until) + slots <= LeftAt(job->until)) return job->until;
    return kForever;
  }
  /// Keeps slots free from `at` on: other jobs end before, or leave them.
  void Reserve(int slots, double at) { reserved_ = {at, slots}; }
  void Add(Held job) {
    const auto place = std::find_if(held_.begin(), held_.end(),
                                    [&](const Held& h) { return h.until < job.until; });
    held_.insert(place, job);
    held_now_ += job.slots;
  }

 private:
  int HeldAt(double at) const {
    int slots = 0;
    for (const auto& job : held_) {
      if (job.until <= at) break;
      slots += job.slots;
    }
    return slots;
  }
  int LeftAt(double at) {
    const auto& steps = local_.Steps(at);
    const auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                        [](double t, const auto& s) { return t < s.at; });
    return std::prev(after)->left;
  }

  LocalFuture& local_;
  bool preempts_;
  double now_;
  int left_now_, held_now_ = 0;
  std::vector<Held> held_;  // the last to end first
  Held reserved_{};
};

}  // namespace

/// One decision with foresight: what is sent is in `sends`.
class Engine::Impl::Foresight {
 public:
  explicit Foresight(Impl& engine) : e_(engine) {
    for (std::size_t k = 0; k < e_.clusters_.size(); ++k) Look(static_cast<int>(k));
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& row : e_.snapshot_.campaigns) {
      const std::pair name(row.project, row.user);
      const auto at = static_cast<std::size_t>(
          std::find(names.begin(), names.end(), name) - names.begin());
      if (at == names.size()) names.push_back(name), users_.emplace_back();
      User& user = users_[at];
      const CampaignState& c = e_.campaigns_[row.id - 1];
      user.used += c.used_slot_s;
      user.held += static_cast<double>(c.in_flight * c.spec->slots);
      if (row.after == 0 && row.priority > 0 && !c.ahead.empty())
        user.campaigns.emplace_back(WorkOf(c), static_cast<int>(row.id) - 1);
    }
    const auto due = policy::DueParts(e_.scenario_.policy, names);
    for (std::size_t u = 0; u < users_.size(); ++u) {
      users_[u].due = std::max(1e-9, due[u]);
      std::sort(users_[u].campaigns.begin(), users_[u].campaigns.end());
    }
  }

  struct Sending {
    int placement = 0;
    Redo task{};
  };
  std::vector<Sending> sends;

  void Decide() {
    for (;;) {
      User* next = nullptr;
      for (auto& user : users_)
        if (!user.campaigns.empty() &&
            (next == nullptr || user.turn() < next->turn()))
          next = &user;
      if (next == nullptr) return;
      if (!Serve(*next)) next->campaigns.clear();
    }
  }

 private:
  struct User {
    double due = 1, held = 0, used = 0;
    // Who holds least for his share; of equals who has had least.
    std::pair<double, double> turn() const { return {held / due, used / due}; }
    std::vector<std::pair<double, int>> campaigns{};  // work, campaign
  };

  void Look(int k) {
    const ClusterState& c = e_.clusters_[k];
    std::vector<Held> held;
    const auto add = [&](std::int32_t job, double from) {
      const PlacementState& placement = e_.PlacementOf(e_.jobs_[job]);
      End end{};
      if (!e_.jobs_[job].running)
        from += e_.BootOf(placement.campaign, e_.jobs_[job].task, k);
      const double length = e_.LengthOf(e_.jobs_[job], placement, &end);
      held.push_back({from + length, e_.campaigns_[placement.campaign].spec->slots});
    };
    for (auto j = c.first; j >= 0; j = e_.jobs_[j].after) add(j, e_.jobs_[j].started);
    for (const auto j : c.queue) add(j, e_.now_);
    for (const auto& [at, j] : c.arriving) add(j, at);
    const bool open = !c.down && !c.closed && c.spec->mode != ClusterMode::kObserve;
    const bool theirs = !c.local_queue.empty() && !c.spec->preempts;
    const int left = open && !theirs ? c.capacity() - c.local : 0;
    outlooks_.emplace_back(e_.futures_[k], c.spec->preempts, e_.now_, left, std::move(held));
  }

  // From when a task is sent to its end, in seconds of the cluster.
  double TurnaroundOf(const Ahead& task, const PlacementState& placement) const {
    const ClusterSpec& cluster = *e_.clusters_[placement.cluster].spec;
    return cluster.submit_s + e_.BootOf(placement.campaign, task.task.task, placement.cluster) +
           e_.TransferOf(placement.campaign, task.task.task, placement.cluster) +
           task.length / cluster.speed;
  }

  double WorkOf(const CampaignState& c) const {
    const double work = c.ahead_s * c.spec->slots;
    double slots = 0;
    for (int l = c.first_placement; l < c.first_placement + c.placements; ++l)
      slots += e_.clusters_[e_.placements_[l]->cluster].spec->slots;
    const double alone = std::max(c.ahead.back().length, work / std::max(1.0, slots));
    const double stretch = 1 + (e_.now_ - c.spec->at) / std::max(1.0, alone);
    return work / (stretch * stretch);
  }

  bool Serve(User& user) {
    for (const auto& [work, i] : user.campaigns) {
      if (Place(i)) {
        user.held += e_.campaigns_[i].spec->slots;
        return true;
      }
      if (!reserved_ && e_.campaigns_[i].spec->slots > 1 && !e_.campaigns_[i].ahead.empty())
        Reserve(i);
    }
    return false;
  }

  // That ends before its slots are wanted; end(): none.
  std::vector<Ahead>::const_iterator LongestThatFits(const CampaignState& c,
                                                     const PlacementState& placement) {
    Outlook& outlook = outlooks_[placement.cluster];
    const ClusterSpec& cluster = *e_.clusters_[placement.cluster].spec;
    const double most = TurnaroundOf(c.ahead.back(), placement);
    const double gap = outlook.Gap(c.spec->slots, most);
    if (gap <= 0) return c.ahead.end();
    const double fits = (gap - cluster.submit_s) * cluster.speed;
    auto after = std::upper_bound(c.ahead.begin(), c.ahead.end(), fits,
                                  [](double f, const Ahead& a) { return f < a.length; });
    for (int tries = kTries; tries > 0 && after != c.ahead.begin(); --tries, --after) {
      const double turnaround = TurnaroundOf(*std::prev(after), placement);
      const double until = turnaround > most ? outlook.Gap(c.spec->slots, turnaround) : gap;
      if (turnaround <= until + kRounding) return std::prev(after);
    }
    return c.ahead.end();
  }

  // The longest task that fits anywhere; of equal ones where it ends first, then in the tightest
  // gap.
  bool Place(int i) {
    CampaignState& c = e_.campaigns_[i];
    if (c.ahead.empty()) return false;
    using Choice = std::tuple<double, double, double, int>;  // length, -end, -gap, placement
    Choice best{-1, 0, 0, -1};
    std::size_t task = 0;
    for (int l = c.first_placement; l < c.first_placement + c.placements; ++l) {
      const PlacementState& placement = *e_.placements_[l];
      if (!MaySend(placement, c)) continue;
      const auto longest = LongestThatFits(c, placement);
      if (longest == c.ahead.end()) continue;
      const double turnaround = TurnaroundOf(*longest, placement);
      const double most = std::max(turnaround, TurnaroundOf(c.ahead.back(), placement));
      const double gap = outlooks_[placement.cluster].Gap(c.spec->slots, most);
      const Choice here{longest->length, -turnaround, -gap, l};
      if (here <= best) continue;
      best = here;
      task = static_cast<std::size_t>(longest - c.ahead.begin());
    }
    const int l = std::get<3>(best);
    if (l < 0) return false;
    const PlacementState& placement = *e_.placements_[l];
    outlooks_[placement.cluster].Add(
        {e_.now_ + TurnaroundOf(c.ahead[task], placement), c.spec->slots});
    sends.push_back({l, c.ahead[task].task});
    ++sent_[l];
    c.ahead_s -= c.ahead[task].length;
    c.ahead.erase(c.ahead.begin() + static_cast<std::ptrdiff_t>(task));
    return true;
  }

  bool MaySend(const PlacementState& placement, const CampaignState& c) {
    const auto sent = sent_.find(PlaceOf(placement));
    const int n = placement.row->in_flight + (sent == sent_.end() ? 0 : sent->second);
    if (c.spec->test) return n == 0 && !placement.row->tested;
    if (placement.needs.of != 0 && UnitsLeft(placement) < placement.needs.units) return false;
    return placement.row->held.empty() && e_.clusters_[placement.cluster].spec->swallow_s <= 0 &&
           (c.spec->max_jobs == policy::kNoLimit || n < c.spec->max_jobs);
  }
  // Of its class, with all that is in flight there and what goes now taken off.
  int UnitsLeft(const PlacementState& placement) {
    const auto& of =
        e_.clusters_[placement.cluster].classes[static_cast<std::size_t>(placement.needs.of) - 1];
    int left = of.total - of.local;
    for (const auto& other : e_.placements_) {
      if (other == nullptr || other->cluster != placement.cluster ||
          other->needs.of != placement.needs.of)
        continue;
      const auto sent = sent_.find(PlaceOf(*other));
      left -= other->needs.units *
              (other->row->in_flight + (sent == sent_.end() ? 0 : sent->second));
    }
    return left;
  }
  int PlaceOf(const PlacementState& placement) const {
    return e_.PlacementOn(placement.campaign, placement.cluster);
  }

  void Reserve(int i) {
    const CampaignState& c = e_.campaigns_[i];
    std::pair<double, int> best{kForever, -1};
    for (int l = c.first_placement; l < c.first_placement + c.placements; ++l) {
      const int k = e_.placements_[l]->cluster;
      best = std::min(best, {outlooks_[k].FreeAt(c.spec->slots), k});
    }
    if (best.second < 0) return;
    outlooks_[best.second].Reserve(c.spec->slots, best.first);
    reserved_ = true;
  }

  Impl& e_;
  std::vector<Outlook> outlooks_;
  std::vector<User> users_;
  std::map<int, int> sent_;  // by placement
  bool reserved_ = false;
};

// Its tasks, the shortest first. A list of many tasks of one length costs nothing to search.
void Engine::Impl::LookAhead(int i) {
  CampaignState& c = campaigns_[i];
  for (auto& redo : c.redo) {
    const auto key = Key(scenario_.seed, Variate::kDuration, static_cast<std::uint64_t>(i),
                         static_cast<std::uint64_t>(redo.task));
    const Ahead task{c.spec->duration.At(key, redo.task), redo};
    c.ahead.insert(std::upper_bound(c.ahead.begin(), c.ahead.end(), task,
                                    [](auto& a, auto& b) { return a.length < b.length; }),
                   task);
    c.ahead_s += task.length;
  }
  c.redo.clear();
}

void Engine::Impl::ForeseeingCycle() {
  for (std::size_t k = futures_.size(); k < clusters_.size(); ++k)
    futures_.emplace_back(scenario_.clusters[k], scenario_.seed, static_cast<int>(k));
  for (const auto& row : snapshot_.campaigns) LookAhead(static_cast<int>(row.id) - 1);
  Foresight foresight(*this);
  foresight.Decide();
  policy::PlanResult result;
  for (const auto& send : foresight.sends)
    result.plan.allocations.push_back({.campaign = placements_[send.placement]->campaign + 1,
                                       .cluster = placements_[send.placement]->cluster + 1,
                                       .n = 1});
  for (auto* o : observers_) o->Decided({now_, snapshot_, result});
  const auto kind = [&](int l) {
    return scenario_.campaigns[placements_[l]->campaign].test ? BatchKind::kTest : BatchKind::kTask;
  };
  for (const auto& send : foresight.sends) Send(send.placement, kind(send.placement), send.task);
  for (const auto& row : snapshot_.campaigns) CountWaiting(campaigns_[row.id - 1]);
}

double LeastMakespan(const Scenario& scenario) {
  constexpr std::int64_t kCounted = 1'000'000;  // tasks of a campaign; above by their mean
  constexpr std::size_t kMostTimes = 100;
  std::vector<std::pair<double, double>> work;  // submission, slot-seconds
  double least = 0, fastest = 0;
  for (const auto& k : scenario.clusters) fastest = std::max(fastest, k.speed);
  for (std::size_t i = 0; i < scenario.campaigns.size(); ++i) {
    const CampaignSpec& c = scenario.campaigns[i];
    double sum = 0, longest = 0;
    for (std::int64_t n = 0; n < std::min(c.tasks, kCounted); ++n) {
      const double length = c.duration.At(Key(scenario.seed, Variate::kDuration, i,
                                              static_cast<std::uint64_t>(n)), n);
      sum += length, longest = std::max(longest, length);
    }
    if (c.tasks > kCounted) sum = c.duration.Mean() * static_cast<double>(c.tasks);
    work.emplace_back(c.at, c.test ? 0 : sum * c.slots);
    least = std::max(least, c.at + (c.test ? 0 : longest / fastest));
  }
  std::sort(work.begin(), work.end());
  double after = 0;  // of the campaigns from `n` on
  std::vector<std::pair<double, double>> begins;
  for (std::size_t n = work.size(); n-- > 0;) {
    after += work[n].second;
    if (n == 0 || work[n - 1].first < work[n].first) begins.emplace_back(work[n].first, after);
  }
  std::vector<LocalFuture> futures;
  for (std::size_t k = 0; k < scenario.clusters.size(); ++k)
    futures.emplace_back(scenario.clusters[k], scenario.seed, static_cast<int>(k));
  // What the clusters can do in [from, until).
  const auto can = [&](double from, double until) {
    double sum = 0;
    for (std::size_t k = 0; k < futures.size(); ++k) {
      const ClusterSpec& spec = scenario.clusters[k];
      if (!spec.preempts) {  // their jobs may be made to wait until ours are done
        sum += spec.slots * spec.speed * (until - from);
        continue;
      }
      const auto& steps = futures[k].Steps(until);
      for (std::size_t s = 0; s < steps.size() && steps[s].at < until; ++s) {
        const double begin = std::max(from, steps[s].at);
        const double end = s + 1 < steps.size() ? std::min(until, steps[s + 1].at) : until;
        if (end > begin) sum += steps[s].left * spec.speed * (end - begin);
      }
    }
    return sum;
  };
  const std::size_t stride = 1 + begins.size() / kMostTimes;
  for (std::size_t n = 0; n < begins.size(); n += stride) {
    const auto [from, todo] = begins[begins.size() - 1 - n];
    double low = from, high = std::max(least, from + 1);
    while (can(from, high) < todo && high < 20 * 365 * 86400.0) high = from + 2 * (high - from);
    for (int i = 0; i < 50 && high - low > 1e-3; ++i)
      (can(from, (low + high) / 2) < todo ? low : high) = (low + high) / 2;
    least = std::max(least, low);
  }
  return least;
}

}  // namespace cigri::sim
