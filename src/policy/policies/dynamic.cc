// Policy dynamic: queues whose priority changes with every start (FBS-02..28). Reading (b) of
// FBS-25: a start costs its own queue QPD and gives QPI to all; only differences count, so all are
// shifted together until the lowest stands on its QPmin, and none may pass its QPmax.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "policy/policies/draws.h"

namespace cigri::policy {
namespace {

struct QueueState {
  std::string name{};
  Queue rule;
  double base = 0;           // priority = base + inc x starts - shift
  std::vector<int> units{};  // in order of submission
};

constexpr double kNormalWeight = 4;

class Queues {
 public:
  Queues(const AllocationState& alloc, const std::vector<Unit>& units, const State& state)
      : of_unit_(units.size()) {
    std::map<std::string, int> index{};
    for (std::size_t u = 0; u < units.size(); ++u) {
      const QueueState queue = QueueOf(alloc, alloc.campaigns[units[u].head()]);
      const auto [it, fresh] = index.try_emplace(queue.name, static_cast<int>(entries_.size()));
      if (fresh) {
        entries_.push_back(queue);
        const auto kept = state.priority.find(queue.name);
        entries_.back().base = kept == state.priority.end() ? queue.rule.min : kept->second;
      }
      entries_[it->second].units.push_back(static_cast<int>(u));
      of_unit_[u] = it->second;
    }
    Settle();
  }

  std::vector<QueueState>& entries() { return entries_; }
  int Of(int unit) const { return of_unit_[unit]; }
  double Priority(int q) const {
    return entries_[q].base + entries_[q].rule.inc * starts_ - shift_;
  }
  /// Counts a start; true when priorities were settled, so that every order must be made again.
  bool Start(int q) {
    entries_[q].base -= entries_[q].rule.dec;
    starts_ += 1;
    // Settling looks at every queue: with many of them not at every start.
    if (++unsettled_ < entries_.size() / 16) return false;
    Settle();
    return true;
  }
  void Keep(State& state) {
    Settle();
    for (std::size_t q = 0; q < entries_.size(); ++q)
      state.priority[entries_[q].name] = Priority(static_cast<int>(q));
  }

 private:
  static QueueState QueueOf(const AllocationState& alloc, const CampaignAllocation& c) {
    const auto it = alloc.config.queues.find(c.row->cls);
    if (it != alloc.config.queues.end()) return {it->first, it->second, 0, {}};
    // FBS-28: shares go with 1 / QPD, so a campaign of its own pays by its weight.
    if (alloc.config.aggregate != Aggregate::kUser) {
      QueueState own{"campaign " + std::to_string(c.row->id), Queue{}, 0, {}};
      own.rule.dec *= kNormalWeight / c.weight;
      return own;
    }
    // Of all campaigns of a user: sixty of them are no sixty queues.
    QueueState own{"user " + c.row->user, Queue{}, 0, {}};
    const auto weight = alloc.config.user_weights.find(c.row->user);
    if (weight != alloc.config.user_weights.end()) own.rule.dec /= weight->second;
    return own;
  }

  void Settle() {
    unsettled_ = 0;
    double lowest = std::numeric_limits<double>::infinity();
    for (auto& b : entries_) {
      b.base += b.rule.inc * starts_ - shift_;
      lowest = std::min(lowest, b.base - b.rule.min);
    }
    starts_ = shift_ = 0;
    for (auto& b : entries_) b.base = std::min(b.base - lowest, b.rule.max);
  }

  std::vector<QueueState> entries_;
  std::vector<int> of_unit_;
  double starts_ = 0, shift_ = 0;
  std::size_t unsettled_ = 0;
};

/// The queues of one cluster by descending priority, ties by first submission. Queues with one
/// QPI keep their order between starts of their own, so each QPI has a heap.
class Order {
 public:
  Order(const Queues& queues, const std::vector<QueueState>& entries)
      : queues_(queues), entries_(entries) {}
  void Push(int q) {
    auto& heap = heaps_[entries_[q].rule.inc];
    heap.push_back({entries_[q].base, -q});
    std::push_heap(heap.begin(), heap.end());
  }
  void Remake() {
    for (auto& [inc, heap] : heaps_) {
      for (auto& [base, q] : heap) base = entries_[-q].base;
      std::make_heap(heap.begin(), heap.end());
    }
  }
  /// Takes out the highest; -1 = none.
  int Pop() {
    std::vector<Entry>* best = nullptr;
    for (auto& [inc, heap] : heaps_)
      if (!heap.empty() && (best == nullptr || Before(heap.front(), best->front()))) best = &heap;
    if (best == nullptr) return -1;
    std::pop_heap(best->begin(), best->end());
    const int q = -best->back().second;
    best->pop_back();
    return q;
  }

 private:
  using Entry = std::pair<double, int>;  // base, -queue
  bool Before(const Entry& a, const Entry& b) const {
    const double pa = queues_.Priority(-a.second), pb = queues_.Priority(-b.second);
    return pa != pb ? pa > pb : a.second > b.second;
  }
  const Queues& queues_;
  const std::vector<QueueState>& entries_;
  std::map<double, std::vector<Entry>> heaps_;
};

class Dynamic : public Policy {
 public:
  void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
             Context& context) const override {
    Dealer dealer(alloc, MakeUnits(alloc, campaigns));
    Queues queues(alloc, dealer.units(), context.next);
    for (const bool only_affine : {true, false}) {
      if (only_affine && !alloc.affinities) continue;
      dealer.OnlyAffine(only_affine);
      for (std::size_t k = 0; k < alloc.clusters.size(); ++k)
        Round(alloc, dealer, queues, static_cast<int>(k), context.next).Run();
    }
    queues.Keep(context.next);
  }

 private:
  // FBS-17 on one cluster.
  class Round {
   public:
    Round(AllocationState& alloc, Dealer& dealer, Queues& queues, int cluster, State& next)
        : alloc_(alloc),
          dealer_(dealer),
          queues_(queues),
          cluster_(cluster),
          next_(next),
          order_(queues, queues.entries()),
          next_unit_(queues.entries().size(), 0) {
      std::set<int> here;
      for (const int u : dealer.At(cluster)) here.insert(queues.Of(u));
      for (const int q : here) order_.Push(q);
    }

    void Run() {
      for (int q = order_.Pop(); q >= 0; q = order_.Pop()) {
        if (const int holder = HolderAgainst(q); holder >= 0) {
          alloc_.clusters[cluster_].held_for = holder;
          break;
        }
        if (StartOne(q)) {
          const bool settled = queues_.Start(q);
          if (settled) order_.Remake();
          order_.Push(q);
        } else if (const int who = StuckIn(q); who >= 0) {
          stuck_.push_back({q, who});
        }
      }
      BookHold();
    }

   private:
    struct Stuck {
      int queue, campaign;
    };

    bool StartOne(int q) {
      const auto& units = queues_.entries()[q].units;
      for (std::size_t& at = next_unit_[q]; at < units.size(); ++at)
        if (dealer_.TakeOne(units[at], cluster_)) return true;
      return false;
    }

    // The first campaign of the queue that idle slots are too few for; -1 = it lacks other things.
    int StuckIn(int q) {
      const double free = alloc_.clusters[cluster_].free;
      for (const int u : queues_.entries()[q].units) {
        const int i = dealer_.Wants(u, cluster_);
        if (i < 0) continue;
        const int l = dealer_.PlacementOf(i, cluster_);
        const bool multi_slot = free > 0 && alloc_.placements[l].slots > free;
        if (multi_slot && alloc_.placements[l].block == Code::kNone &&
            alloc_.HasUnits(alloc_.placements[l]) && MayHold(i))
          return i;
      }
      return -1;
    }

    int HolderAgainst(int q) const {
      for (const auto& s : stuck_)
        if (queues_.Priority(s.queue) - queues_.Priority(q) >=
            queues_.entries()[s.queue].rule.gap - 1e-9)
          return s.campaign;
      return -1;
    }

    State::Pair Key(int campaign) const {
      return {alloc_.campaigns[campaign].row->id, alloc_.clusters[cluster_].row->id};
    }

    // FBS-05, bounded: on shared clusters what is kept idle may go to local users indefinitely.
    bool MayHold(int campaign) {
      const auto it = next_.ageing.find(Key(campaign));
      if (it == next_.ageing.end()) return true;
      State::Ageing& ageing = it->second;
      if (ageing.held_since > 0 &&
          alloc_.now - ageing.held_since >= alloc_.config.multi_slot_hold_s)
        ageing = {.rest_until = alloc_.now + alloc_.config.multi_slot_rest_s};
      return alloc_.now >= ageing.rest_until;
    }

    void BookHold() {
      const int held_for = alloc_.clusters[cluster_].held_for;
      for (const auto& s : stuck_) {
        const auto it = next_.ageing.find(Key(s.campaign));
        if (s.campaign != held_for) {
          if (it != next_.ageing.end()) it->second.held_since = 0;
        } else if (it == next_.ageing.end() || it->second.held_since == 0) {
          next_.ageing[Key(s.campaign)].held_since = alloc_.now;
        }
      }
    }

    AllocationState& alloc_;
    Dealer& dealer_;
    Queues& queues_;
    const int cluster_;
    State& next_;
    Order order_;
    std::vector<std::size_t> next_unit_;
    std::vector<Stuck> stuck_;
  };
};

}  // namespace

const Policy& DynamicPolicy() {
  static const Dynamic policy;
  return policy;
}

}  // namespace cigri::policy
