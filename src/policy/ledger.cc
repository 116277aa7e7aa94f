#include "policy/ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace cigri::policy {
namespace {

constexpr int kHeldAfter = 10;     // failures (design section 8; updator/lanes_to_hold.sql)
constexpr double kEpsilon = 1e-9;  // 0.1 x 10 must be 1 job, not 0
constexpr std::int64_t kPlenty = std::numeric_limits<std::int32_t>::max();

Code CodeOf(Unusable why) {
  switch (why) {
    case Unusable::kNo:
      return Code::kNone;
    case Unusable::kDisabled:
      return Code::kDisabled;
    case Unusable::kStale:
      return Code::kStale;
    case Unusable::kDrained:
      return Code::kDrained;
    case Unusable::kHours:
      return Code::kHours;
    case Unusable::kBreaker:
      return Code::kBreaker;
    case Unusable::kStress:
      return Code::kStress;
  }
  return Code::kDisabled;
}

// Jobs that wait or are on their way take the free slots first, then places of the queue.
void Fill(ClusterBook& book) {
  const Cluster& c = *book.row;
  const int pending = c.waiting + c.launching;
  const double slots = std::max(c.waiting_slots + c.launching_slots, pending);
  const double starts = pending == 0 ? 0 : std::min(1.0, std::max(0, c.free) / slots) * pending;
  const auto left_waiting = static_cast<std::int64_t>(std::ceil(pending - starts - kEpsilon));
  book.free = std::max(0.0, c.free - slots);
  book.queue = std::max<std::int64_t>(0, c.waiting_allowed - left_waiting);
  book.start_free = book.free;
}

/// Places of clusters in the ledger by their ids. Lanes mostly come in the order of ids, so the
/// next one is looked at first.
class Places {
 public:
  explicit Places(const std::vector<ClusterBook>& clusters) {
    for (std::size_t i = 0; i < clusters.size(); ++i)
      ids_.emplace_back(clusters[i].row->id, static_cast<int>(i));
    std::sort(ids_.begin(), ids_.end());
  }
  /// -1: there is no such cluster.
  int Of(std::int64_t id) {
    if (at_ >= ids_.size() || ids_[at_].first != id)
      at_ = static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), std::pair(id, 0)) -
                                     ids_.begin());
    return at_ < ids_.size() && ids_[at_].first == id ? ids_[at_++].second : -1;
  }

 private:
  std::vector<std::pair<std::int64_t, int>> ids_;
  std::size_t at_ = 0;
};

double LengthOf(const Campaign& c) { return c.need_s > 0 ? c.need_s : c.walltime_s; }

double WeightOf(const Campaign& c, const PolicyConfig& config) {
  if (c.weight > 0) return c.weight;
  const auto it = config.weights.find(c.priority);
  return it != config.weights.end() ? it->second : c.priority;
}

}  // namespace

Ledger::Ledger(const Snapshot& snapshot, const State& carried, double at)
    : config(snapshot.config), now(at) {
  OpenClusters(snapshot);
  OpenCampaigns(snapshot, carried);
}

int Ledger::AddMeter(double limit, double used, Code code, std::string name) {
  meters.push_back({limit, std::max(0.0, limit - used), code, std::move(name)});
  return static_cast<int>(meters.size()) - 1;
}

void Ledger::OpenClusters(const Snapshot& snapshot) {
  for (const auto& row : snapshot.clusters) clusters.push_back({.row = &row});
  std::sort(clusters.begin(), clusters.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.row->speed, a.row->id) < std::tuple(-b.row->speed, b.row->id);
  });
  for (auto& book : clusters) {
    const Cluster& c = *book.row;
    book.block = CodeOf(c.unusable);
    if (book.block == Code::kNone && c.mode == ClusterMode::kObserve) book.block = Code::kObserved;
    Fill(book);
    const double ours = c.launching + c.waiting + c.running;
    if (c.mode == ClusterMode::kLimited && c.limited != kNoLimit)
      book.uses.push_back({AddMeter(c.limited, ours, Code::kLimited, c.name), 1, 0});
    const double slots =
        std::max<double>(ours, c.launching_slots + c.waiting_slots + c.running_slots);
    if (c.max_running != kNoLimit)
      book.uses.push_back({AddMeter(c.max_running, slots, Code::kMaxRunning, c.name), 0, 1});
  }
}

void Ledger::OpenCampaigns(const Snapshot& snapshot, const State& carried) {
  Places places(clusters);
  std::vector<const Campaign*> rows;
  std::size_t total = 0;
  for (const auto& row : snapshot.campaigns) rows.push_back(&row), total += row.lanes.size();
  const auto before = [](const Campaign* a, const Campaign* b) {
    return a->submitted_at < b->submitted_at ||
           (a->submitted_at == b->submitted_at && a->id < b->id);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::sort(rows.begin(), rows.end(), before);
  campaigns.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) campaigns[i].row = rows[i];
  lanes.reserve(total);
  std::vector<const Lane*> by_cluster(clusters.size());
  for (std::size_t i = 0; i < campaigns.size(); ++i) {
    auto& book = campaigns[i];
    const Campaign& c = *book.row;
    book.scheduler = &SchedulerFor(c);
    book.project = c.project;
    if (const auto u = config.users.find(c.user); book.project.empty() && u != config.users.end())
      book.project = u->second.parent;
    book.weight = WeightOf(c, config);
    book.left = c.waiting;
    book.cap = kPlenty;
    if (c.priority == 0 || !(book.weight > 0))
      book.block = Code::kSuspended;
    else if (c.after != 0)
      book.block = Code::kAfter;
    if (config.policy == PolicyKind::kSla && config.sla_groups.count(c.sla_group) == 0)
      book.block = Code::kBadGroup;  // GRID-39; refused at submission, but groups can be removed
    book.in_play = book.block == Code::kNone;
    std::fill(by_cluster.begin(), by_cluster.end(), nullptr);
    for (const auto& lane : c.lanes) {
      if (const int place = places.Of(lane.cluster); place >= 0) by_cluster[place] = &lane;
      CountRunning(book, lane);
      book.held_jobs += lane.in_flight;
      book.held_slots += static_cast<double>(lane.in_flight) * lane.slots;
      if (c.replicas && !c.test) book.overdue += lane.overdue;
    }
    book.lanes_begin = static_cast<int>(lanes.size());
    // Where its data is comes first (GRID-22), else the fastest.
    for (const bool local : {true, false}) {
      for (std::size_t k = 0; k < clusters.size(); ++k) {
        if (by_cluster[k] == nullptr || by_cluster[k]->local != local) continue;
        LaneBook& lane = lanes.emplace_back();  // filled where it is: copying costs more
        lane.row = by_cluster[k];
        lane.campaign = static_cast<int>(i);
        lane.cluster = static_cast<int>(k);
        OpenLane(lane, carried);
        if (lane.block == Code::kNone) ++book.open_lanes;
      }
    }
    book.lanes_end = static_cast<int>(lanes.size());
  }
}

void Ledger::CountRunning(CampaignBook& campaign, const Lane& lane) const {
  if (lane.running <= 0) return;
  const double slots = static_cast<double>(lane.running) * lane.slots;
  const double age = std::max(0.0, now - lane.running_since / lane.running);
  campaign.running_slots += slots;
  campaign.running_seconds += slots * age;
  campaign.running_in_window += slots * std::min(age, config.usage_window_s);
}

void Ledger::OpenLane(LaneBook& book, const State& carried) {
  const Lane& lane = *book.row;
  const Campaign& campaign = *campaigns[book.campaign].row;
  const Cluster& cluster = *clusters[book.cluster].row;
  book.slots = std::max(1, lane.slots);
  book.avoid = lane.avoid;
  book.whole = !(lane.job_ratio > 0);
  book.cost = lane.job_ratio > 0 ? 1 / lane.job_ratio : std::max(1, lane.slots);
  book.left = kPlenty;
  lane_rates = lane_rates || lane.start_rate > 0;
  auto limit = [&](std::int64_t n, Code code) {
    if (n < book.left)
      book.left = static_cast<int>(std::max<std::int64_t>(0, n)), book.limit = code;
  };
  if (lane.max_jobs != kNoLimit) limit(lane.max_jobs - lane.in_flight, Code::kMaxJobs);
  if (!lane.proven && !campaign.test) {
    limit(config.first_ten - lane.in_flight, Code::kFirstTen);
    // The updator holds the lane when ten have failed: ten in all, not ten at a time.
    if (lane.tried > 0) limit(kHeldAfter - lane.tried - lane.in_flight, Code::kFirstTen);
  }
  if (lane.prologue == Prologue::kNeeded) limit(1, Code::kPrologueRuns);

  const auto hold =
      carried.holds.empty() ? carried.holds.end() : carried.holds.find({campaign.id, cluster.id});
  const bool too_short = config.survival_kills > 0 && lane.kills >= config.survival_kills &&
                         campaign.need_s > 0 && lane.median_life_s > 0 &&
                         lane.median_life_s < campaign.need_s;
  if (lane.slots > cluster.max)
    book.block = Code::kTooWide;
  else if (!lane.held.empty())
    book.block = Code::kHeld;
  else if (hold != carried.holds.end() && now < hold->second.until)
    book.block = Code::kSink;
  else if (lane.prologue == Prologue::kRunning)
    book.block = Code::kPrologueRuns;
  else if (lane.prologue == Prologue::kFailed)
    book.block = Code::kPrologueFailed;
  else if (campaign.test && (lane.tested || lane.in_flight > 0))
    book.block = Code::kTestDone;
  else if (too_short)
    book.block = Code::kTooShortLives;
}

double Ledger::TotalRoom() const {
  double total = 0;
  for (const auto& c : clusters)
    if (c.block == Code::kNone) total += c.free + static_cast<double>(c.queue);
  return total;
}

bool Ledger::AllFull() const {
  return std::all_of(clusters.begin(), clusters.end(), [](const auto& c) { return c.Full(); });
}

std::int64_t Ledger::FreeJobs(const LaneBook& lane) const {
  const double free = clusters[lane.cluster].free;
  // A job wider than what is idle cannot start, unless it was measured to take less than it says.
  if (free <= 0 || (lane.whole && free + kEpsilon < lane.slots)) return 0;
  return static_cast<std::int64_t>(free / lane.cost + kEpsilon);
}

Room Ledger::MeterRoom(const LaneBook& lane, Room room) const {
  auto apply = [&](const MeterUse& use) {
    const double each = use.per_job + use.per_slot * lane.slots;
    if (each <= 0) return;
    const auto n = static_cast<std::int64_t>(std::floor(meters[use.meter].room / each + kEpsilon));
    if (n < room.jobs) room = {n, meters[use.meter].code, use.meter};
  };
  for (const auto& use : clusters[lane.cluster].uses) apply(use);
  for (const auto& use : campaigns[lane.campaign].uses) apply(use);
  for (int i = lane.uses_begin; i < lane.uses_end; ++i) apply(lane_uses[i]);
  return room;
}

// Slots that later jobs may use without keeping the wide one from starting when it could.
double Ledger::PassSlots(const ClusterBook& c) const {
  const double needs = lanes[c.wides[c.wide].lane].slots;
  if (c.free >= needs) return c.free - needs;
  return config.backfill ? c.spare : 0;
}

// A wide job that later ones have passed too often keeps them out, save those that do not delay it.
Room Ledger::GapRoom(const LaneBook& lane, Room room) const {
  const ClusterBook& c = clusters[lane.cluster];
  const LaneBook& wide = lanes[c.wides[c.wide].lane];
  const Campaign& who = *campaigns[lane.campaign].row;
  if (lane.campaign <= wide.campaign || lane.slots >= wide.slots) return room;
  if (who.test || who.cls == "urgent") return room;
  const double need = LengthOf(who);
  if (config.backfill && need > 0 && c.ends_by > 0 && now + need <= c.ends_by + kEpsilon)
    return room;
  const auto pass = static_cast<std::int64_t>(c.wides[c.wide].pass) +
                    static_cast<std::int64_t>(std::floor(PassSlots(c) / lane.cost + kEpsilon));
  return pass < room.jobs ? Room{pass, Code::kGapHold, -1} : room;
}

// Books `jobs` that start before a wide job of an earlier campaign.
void Ledger::PassWide(const LaneBook& lane, std::int64_t jobs) {
  ClusterBook& c = clusters[lane.cluster];
  if (!c.HasWide() || lane.campaign <= lanes[c.wides[c.wide].lane].campaign) return;
  auto& wide = c.wides[c.wide];
  const double harmless = std::floor(PassSlots(c) / lane.cost + kEpsilon);
  const double passing = std::max(0.0, static_cast<double>(jobs) - harmless);
  wide.passed += passing;
  wide.pass = std::max(0.0, wide.pass - passing);
}

void Ledger::NextWide(ClusterBook& c) {
  for (; c.HasWide(); ++c.wide) {
    const LaneBook& lane = lanes[c.wides[c.wide].lane];
    const bool wants = campaigns[lane.campaign].left > lane.avoid && lane.left > 0;
    if (wants && lane.given == 0) break;
  }
  c.ends_by = c.spare = 0;
  if (!c.HasWide()) return;
  const double needs = lanes[c.wides[c.wide].lane].slots;
  std::sort(c.releases.begin(), c.releases.end(),
            [](const auto& a, const auto& b) { return a.at < b.at; });
  double free = c.free;
  for (std::size_t i = 0; i < c.releases.size() && free < needs; ++i) {
    free += c.releases[i].slots;
    if (free >= needs) c.ends_by = c.releases[i].at, c.spare = std::min(c.free, free - needs);
  }
}

Room Ledger::RoomOf(int l) const {
  const LaneBook& lane = lanes[l];
  const ClusterBook& cluster = clusters[lane.cluster];
  const CampaignBook& campaign = campaigns[lane.campaign];
  if (cluster.block != Code::kNone) return {0, cluster.block, -1};
  if (lane.block != Code::kNone) return {0, lane.block, -1};
  if (campaign.block != Code::kNone) return {0, campaign.block, -1};
  if (cluster.held_for >= 0 && cluster.held_for != lane.campaign) return {0, Code::kGapHold, -1};
  // Where wide jobs are waited for here (FBS-19), none is parked in a cluster's queue.
  const bool waits_here = config.wide_gap >= 0 && lane.slots > 1;
  const std::int64_t places = FreeJobs(lane) + (waits_here ? 0 : cluster.queue);
  if (places <= 0) return {0, cluster.winner >= 0 ? Code::kServedBefore : Code::kFull, -1};
  Room room{places, Code::kFull, -1};
  if (lane.left < room.jobs) room = {lane.left, lane.limit, -1};
  const std::int64_t tasks = std::max<std::int64_t>(0, campaign.left - lane.avoid) +
                             (campaign.overdue == 0 ? 0 : OverdueElsewhere(lane));
  const std::int64_t demand = std::min(tasks, campaign.cap);
  if (demand < room.jobs) room = {demand, campaign.left > 0 ? Code::kAvoided : Code::kNoTask, -1};
  if (room.jobs > 0 && cluster.HasWide()) room = GapRoom(lane, room);
  if (room.jobs > 0 && !meters.empty()) room = MeterRoom(lane, room);
  return room;
}

Room Ledger::WhyOf(int l) const {
  const Room room = RoomOf(l);
  if (room.jobs > 0) return {room.jobs, Code::kNone, -1};
  if (room.code != Code::kFull && room.code != Code::kServedBefore) return room;
  if (lanes[l].left <= 0) return {0, lanes[l].limit, -1};
  const Room rule = MeterRoom(lanes[l], {1, Code::kNone, -1});
  return rule.jobs <= 0 ? rule : room;
}

std::int64_t Ledger::RulesAllow(int l) const {
  const LaneBook& lane = lanes[l];
  const CampaignBook& campaign = campaigns[lane.campaign];
  if (clusters[lane.cluster].block != Code::kNone || lane.block != Code::kNone) return 0;
  const std::int64_t jobs = std::min<std::int64_t>(lane.left, campaign.left - lane.avoid);
  return jobs <= 0 ? 0 : MeterRoom(lane, {jobs, Code::kNone, -1}).jobs;
}

// A copy goes where the slow one is not; to the same cluster only when there is no other.
std::int64_t Ledger::OverdueElsewhere(const LaneBook& lane) const {
  const CampaignBook& campaign = campaigns[lane.campaign];
  if (campaign.overdue == 0) return 0;
  if (campaign.open_lanes < 2) return campaign.overdue;
  std::int64_t total = 0;
  for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) total += lanes[l].row->overdue;
  return std::min(campaign.overdue, total - lane.row->overdue);
}

void Ledger::Spend(LaneBook& lane, std::int64_t jobs) {
  ClusterBook& cluster = clusters[lane.cluster];
  CampaignBook& campaign = campaigns[lane.campaign];
  PassWide(lane, jobs);
  const std::int64_t start = std::min(jobs, FreeJobs(lane));
  cluster.free = std::max(0.0, cluster.free - static_cast<double>(start) * lane.cost);
  cluster.queue -= jobs - start;
  const double slots = static_cast<double>(jobs) * lane.slots;
  if (const double length = LengthOf(*campaign.row); cluster.HasWide() && length > 0)
    cluster.releases.push_back({now + length, static_cast<int>(slots)});
  auto spend = [&](const MeterUse& use) {
    meters[use.meter].room -= use.per_job * static_cast<double>(jobs) + use.per_slot * slots;
  };
  for (const auto& use : cluster.uses) spend(use);
  for (const auto& use : campaign.uses) spend(use);
  for (int i = lane.uses_begin; i < lane.uses_end; ++i) spend(lane_uses[i]);
  lane.left -= static_cast<int>(jobs);
  campaign.held_slots += slots;
  campaign.held_jobs += jobs;
  campaign.cap -= jobs;
  if (!lane.served) {
    lane.served = true;
    served.push_back(static_cast<int>(&lane - lanes.data()));
  }
  const std::int64_t here = lane.given + lane.copies + (lane.prologue ? 1 : 0) + jobs;
  if (here > cluster.winner_jobs) cluster.winner = lane.campaign, cluster.winner_jobs = here;
}

std::int64_t Ledger::Take(int l, std::int64_t want) {
  want = std::min(want, RoomOf(l).jobs);
  if (want <= 0) return 0;
  LaneBook& lane = lanes[l];
  CampaignBook& campaign = campaigns[lane.campaign];
  if (lane.row->prologue == Prologue::kNeeded) {
    Spend(lane, 1);
    lane.prologue = true;
    NextWide(clusters[lane.cluster]);
    return 1;
  }
  const std::int64_t copies = TakeCopies(l, std::min(want, OverdueElsewhere(lane)));
  campaign.overdue -= copies;
  const Offer offer{FreeJobs(lane), clusters[lane.cluster].queue,
                    std::min(want - copies, campaign.left - lane.avoid)};
  const std::int64_t n = std::max<std::int64_t>(0, campaign.scheduler->Jobs(*lane.row, offer));
  if (n > 0) Spend(lane, n);
  lane.given += static_cast<int>(n);
  campaign.left -= n;
  if (clusters[lane.cluster].HasWide()) NextWide(clusters[lane.cluster]);
  if (n > 0 && campaign.row->test) lane.block = Code::kTestDone;
  return copies + n;
}

std::int64_t Ledger::TakeCopies(int l, std::int64_t want) {
  if (want <= 0) return 0;
  LaneBook& lane = lanes[l];
  const Offer offer{FreeJobs(lane), 0, want};
  const std::int64_t n = SchedulerNamed("finalize").Jobs(*lane.row, offer);
  if (n <= 0) return 0;
  Spend(lane, n);
  lane.copies += static_cast<int>(n);
  return n;
}

std::int64_t Ledger::TakeSpare(int l, std::int64_t want) {
  // The rules for a task that waits hold for a copy too: ask as if `want` tasks waited.
  CampaignBook& campaign = campaigns[lanes[l].campaign];
  if (want <= 0 || lanes[l].row->prologue == Prologue::kNeeded) return 0;
  const std::int64_t left = campaign.left;
  campaign.left = want + lanes[l].avoid;
  const std::int64_t room = RoomOf(l).jobs;
  campaign.left = left;
  return TakeCopies(l, std::min(want, room));
}

std::vector<Unit> MakeUnits(Ledger& ledger, const std::vector<int>& campaigns) {
  std::vector<Unit> units;
  units.reserve(campaigns.size());
  const int parallel = ledger.config.parallel_campaigns;
  if (parallel <= 0) {
    for (const int i : campaigns) units.push_back({{i}});
    return units;
  }
  std::vector<int> order = campaigns;
  // TECH-17: the best priority, then the earliest.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return ledger.campaigns[a].row->priority > ledger.campaigns[b].row->priority;
  });
  std::unordered_map<std::string, std::vector<int>> of_user;  // user -> places in units
  std::unordered_map<std::string, std::size_t> seen;
  for (const int i : order) {
    if (!ledger.campaigns[i].in_play || ledger.Demand(i) == 0) continue;
    auto& mine = of_user[ledger.campaigns[i].row->user];
    const std::size_t nth = seen[ledger.campaigns[i].row->user]++;
    if (nth < static_cast<std::size_t>(parallel)) {
      mine.push_back(static_cast<int>(units.size()));
      units.push_back({{i}});
    } else {
      Unit& unit = units[mine[nth % parallel]];
      ledger.campaigns[i].behind = unit.campaigns.back();
      unit.campaigns.push_back(i);
    }
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.head() < b.head(); });
  return units;
}

}  // namespace cigri::policy
