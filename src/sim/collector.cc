#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/fairtree.h"
#include "policy/shares.h"
#include "sim/report.h"

namespace cigri::sim {
namespace {

constexpr double kLeastRun = 10;  // s: shorter jobs would make slowdowns of millions
constexpr double kNoEnd = 1e15;   // slots of who wants all that he can get

bool WasLost(End end) {
  return end == End::kPreempted || end == End::kLost || end == End::kCancelled || end == End::kCopy;
}

}  // namespace

Collector::Collector(const Scenario& scenario)
    : scenario_(scenario),
      longest_(scenario.campaigns.size(), 0),
      work_(scenario.campaigns.size(), 0),
      speed_(scenario.campaigns.size(), 0) {
  for (const auto& c : scenario.clusters) report_.clusters.push_back({.name = c.name});
  for (std::size_t i = 0; i < scenario.campaigns.size(); ++i) {
    const CampaignSpec& c = scenario.campaigns[i];
    const auto [it, fresh] = names_.try_emplace(c.user, static_cast<int>(users_.size()));
    if (fresh) {
      users_.emplace_back();
      report_.users.push_back({.name = c.user});
    }
    user_of_.push_back(it->second);
    report_.campaigns.push_back({.name = c.name, .user = c.user, .tasks = c.tasks});
    for (const auto& k : scenario.clusters)
      if (c.clusters.empty() ||
          std::find(c.clusters.begin(), c.clusters.end(), k.name) != c.clusters.end())
        speed_[i] += k.slots * k.speed;
  }
}

void Collector::Advance(User& user, double now) {
  user.used += user.running * (now - user.since);
  user.rightful_s += std::min(user.running, user.rightful) * (now - user.since);
  user.since = now;
}

void Collector::Submitted(int campaign, double now) { report_.campaigns[campaign].submitted = now; }

void Collector::Started(int campaign, int slots, double now) {
  User& user = users_[user_of_[campaign]];
  Advance(user, now);
  user.running += slots;
  auto& c = report_.campaigns[campaign];
  if (c.first_start < 0) c.first_start = now;
}

void Collector::Ended(const Attempt& a) {
  const double run = a.started < 0 ? 0 : a.ended - a.started, slot_s = run * a.slots;
  auto& cluster = report_.clusters[a.cluster];
  auto& campaign = report_.campaigns[a.campaign];
  User& owner = users_[user_of_[a.campaign]];
  Advance(owner, a.ended);
  owner.rightful = std::max(0.0, owner.rightful - a.slots);
  if (a.started >= 0) {
    owner.running -= a.slots;
    ++cluster.jobs;
    report_.makespan_s = std::max(report_.makespan_s, a.ended);
  }
  cluster.slot_s += slot_s;
  report_.used_slot_s += slot_s;
  report_.preempted += a.end == End::kPreempted;
  report_.lost += a.end == End::kLost;
  report_.cancelled += a.end == End::kCancelled;
  report_.copies += a.end == End::kCopy;
  report_.failures += a.end == End::kFailed || a.end == End::kWalltime;
  if (WasLost(a.end)) {
    ++cluster.preempted;
    cluster.lost_slot_s += slot_s;
    report_.lost_slot_s += slot_s;
  }
  if (a.end != End::kDone || a.kind == BatchKind::kPrologue) return;
  // Of two copies that are done before either is seen, one counts.
  if (scenario_.campaigns[a.campaign].replicas && !copied_.emplace(a.campaign, a.task).second)
    return;
  const double wait = a.started - campaign.submitted;
  waits_.push_back(static_cast<float>(wait));
  slowdown_sum_ += std::max(1.0, (wait + run) / std::max(run, kLeastRun));
  ++campaign.done;
  auto& user = report_.users[user_of_[a.campaign]];
  ++user.done;
  user.wait_s += wait;
  // A cluster that slows a job down makes no campaign longer than it is.
  const double plain = (run - a.slowed_s) * scenario_.clusters[a.cluster].speed;
  longest_[a.campaign] = std::max(longest_[a.campaign], plain);
  work_[a.campaign] += plain * a.slots;
}

void Collector::Over(int campaign, double now) { report_.campaigns[campaign].over = now; }

// Who wants something from now on, and by which share.
void Collector::CountWants(const Moment& moment) {
  std::map<std::int64_t, std::int64_t> given;
  for (const auto& g : moment.result.plan.allocations)
    if (!g.shadow) given[g.campaign] += g.n;
  std::vector<std::string> project(users_.size());
  for (auto& user : users_) user.most = user.held = user.share = 0;
  for (const auto& c : moment.snapshot.campaigns) {
    const int u = user_of_[c.id - 1];
    User& user = users_[u];
    const auto it = given.find(c.id);
    const std::int64_t more = it == given.end() ? 0 : it->second;
    if (c.priority > 0 && c.waiting > more) user.most = kNoEnd;
    for (const auto& l : c.placements) user.held += static_cast<double>(l.in_flight) * l.slots;
    if (!c.placements.empty()) user.most += static_cast<double>(more * c.placements[0].slots);
    const auto& users = scenario_.policy.users;
    const auto who = users.find(c.user);
    project[u] = !c.project.empty() || who == users.end() ? c.project : who->second.parent;
  }
  std::vector<std::pair<std::string, std::string>> wanting;
  for (std::size_t u = 0; u < users_.size(); ++u) {
    users_[u].most += users_[u].held;
    if (users_[u].most > 0) wanting.emplace_back(project[u], report_.users[u].name);
  }
  contended_ = wanting.size() > 1;
  if (wanting != wanting_) {
    shares_ = policy::DueParts(scenario_.policy, wanting);
    wanting_ = std::move(wanting);
  }
  auto share = shares_.begin();
  for (auto& user : users_)
    if (user.most > 0) user.share = *share++;
}

// `total` by shares among those who want it, each at most `most` and at least `least`.
std::vector<double> Collector::Due(double total, const std::vector<double>& most,
                                   const std::vector<double>& least) const {
  std::vector<double> shares, caps = most, due(users_.size(), 0);
  for (const auto& user : users_) shares.push_back(user.share);
  for (bool again = true; again;) {
    again = false;
    const auto filled = policy::WaterFill(std::max(0.0, total), shares, caps);
    for (std::size_t u = 0; u < users_.size(); ++u) {
      if (shares[u] <= 0) continue;
      due[u] = filled[u];
      if (least[u] <= filled[u]) continue;
      due[u] = least[u];
      total -= due[u];
      shares[u] = caps[u] = 0;
      again = true;
    }
  }
  return due;
}

// The time since the last decision, by the shares that held then. Jobs that began within the due
// of their user cannot be taken back: what they used was theirs.
void Collector::Settle(double now) {
  double used = 0;
  std::vector<double> most, least;
  for (auto& user : users_) {
    Advance(user, now);
    used += user.used - user.mark;
    most.push_back(user.most * (now - settled_));
    least.push_back(user.rightful_s);
  }
  if (contended_ && used > 0) {
    const auto due = Due(used, most, least);
    const double sum = std::accumulate(due.begin(), due.end(), 0.0);
    for (std::size_t u = 0; u < users_.size(); ++u) {
      users_[u].contended += users_[u].used - users_[u].mark;
      users_[u].due += sum > 0 ? due[u] * used / sum : 0;
    }
  }
  for (auto& user : users_) user.mark = user.used, user.rightful_s = 0;
  settled_ = now;
}

// What a user holds within its due of what local users leave is rightful, and stays so until its
// jobs end, whoever comes. While nobody else wants anything all is.
void Collector::Judge(const Moment& moment) {
  double left = 0;
  for (const auto& c : moment.snapshot.clusters)
    left += std::min(
        c.max, c.running_slots + (c.unusable == policy::Unusable::kNo ? c.free : 0));
  std::vector<double> most, least;
  for (const auto& user : users_) most.push_back(user.most), least.push_back(user.rightful);
  const auto due = contended_ ? Due(left, most, least) : most;
  for (std::size_t u = 0; u < users_.size(); ++u)
    users_[u].rightful = std::max(users_[u].rightful, std::min(users_[u].held, due[u]));
  for (const auto& g : moment.result.plan.allocations) {
    if (g.shadow) continue;
    const auto campaign = static_cast<std::size_t>(g.campaign - 1);
    const int u = user_of_[campaign];
    User& user = users_[u];
    for (int i = 0; i < g.n; ++i) {
      const bool within = user.held < due[u];
      user.held += scenario_.campaigns[campaign].slots;
      if (within) user.rightful = std::max(user.rightful, user.held);
    }
  }
}

void Collector::Decided(const Moment& moment) {
  Settle(moment.now);
  CountWants(moment);
  Judge(moment);
}

Report Collector::Finish(const Totals& totals, const std::string& label) {
  Settle(totals.until);
  Report r = std::move(report_);
  r.label = label;
  r.totals = totals;
  const double ratio = totals.until > 0 ? std::min(1.0, r.makespan_s / totals.until) : 0;
  const double capacity =
      scenario_.until > 0 ? totals.capacity_slot_s : totals.capacity_slot_s * ratio;
  const double local = scenario_.until > 0 ? totals.local_slot_s : totals.local_slot_s * ratio;
  if (capacity > 0) r.utilisation = r.used_slot_s / capacity;
  if (capacity > 0) r.with_local = (r.used_slot_s + local) / capacity;
  if (capacity - local > 0) r.of_left = r.used_slot_s / (capacity - local);
  if (!waits_.empty()) {
    const double n = static_cast<double>(waits_.size());
    r.wait_mean_s = std::accumulate(waits_.begin(), waits_.end(), 0.0) / n;
    const auto at = waits_.begin() + static_cast<std::ptrdiff_t>((waits_.size() - 1) * 95 / 100);
    std::nth_element(waits_.begin(), at, waits_.end());
    r.wait_p95_s = *at;
    r.slowdown = slowdown_sum_ / n;
  }
  double contended = 0, due = 0, all = 0, error = 0, slow = 0;
  std::int64_t over = 0;
  for (const auto& u : users_) contended += u.contended, due += u.due, all += u.used;
  for (std::size_t u = 0; u < users_.size(); ++u) {
    UserReport& user = r.users[u];
    user.slot_s = users_[u].used;
    user.part = all > 0 ? user.slot_s / all : 0;
    user.contended = contended > 0 ? users_[u].contended / contended : 0;
    user.due = due > 0 ? users_[u].due / due : 0;
    if (user.done > 0) user.wait_s /= static_cast<double>(user.done);
    error += std::abs(user.contended - user.due);
  }
  r.share_error = error / 2;
  for (std::size_t i = 0; i < r.campaigns.size(); ++i) {
    auto& c = r.campaigns[i];
    if (c.over < 0 || speed_[i] <= 0) continue;
    const double alone = std::max({longest_[i], work_[i] / speed_[i], kLeastRun});
    c.slowdown = std::max(1.0, (c.over - c.submitted) / alone);
    slow += c.slowdown;
    ++over;
  }
  r.campaign_slowdown = over > 0 ? slow / static_cast<double>(over) : 0;
  return r;
}

}  // namespace cigri::sim
