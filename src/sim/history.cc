#include "sim/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "core/histogram.h"
#include "policy/decide.h"
#include "policy/json.h"

namespace cigri::sim {
namespace {

using nlohmann::json;

constexpr int kPoints = 20;             // quantiles that stand for the lengths of a campaign's jobs
constexpr double kUnknownLength = 600;  // s: of jobs that nothing is known of

struct Lengths {
  std::vector<std::int64_t> hist = std::vector<std::int64_t>(kDurationBuckets, 0);
  double n = 0, sum_s = 0;  // seconds of a cluster of speed 1
};

class Maker {
 public:
  Maker(const json& answer, std::vector<std::string>& notes) : answer_(answer), notes_(notes) {}

  std::string Make() {
    const json& items = answer_.at("items");
    if (items.empty()) throw std::invalid_argument("no decision was stored in that time");
    begin_ = items.front().at("now").get<double>();
    policy::Snapshot first = items.front().at("snapshot").get<policy::Snapshot>();
    for (const auto& c : first.clusters) speeds_[c.id] = c.speed;
    ReadLengths();
    for (const auto& item : items) ReadClasses(item.at("snapshot").get<policy::Snapshot>());
    for (const auto& c : first.clusters) Cluster(c);
    for (const auto& item : items) {
      const auto snapshot = item.at("snapshot").get<policy::Snapshot>();
      for (const auto& c : snapshot.campaigns)
        Campaign(c, snapshot, item.at("now").get<double>() - begin_);
    }
    Usage(first);
    json out = {{"name", "history"},
                {"policy", first.config},
                {"clusters", clusters_},
                {"campaigns", campaigns_}};
    if (!usage_.empty()) out["usage"] = usage_;
    if (campaigns_.empty()) throw std::invalid_argument("no campaign was there in that time");
    Note("jobs that were in flight begin again");
    return out.dump(1) + "\n";
  }

 private:
  void Note(const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
  }

  // What took a second on a cluster of speed 2 takes two on one of speed 1.
  double SpeedOf(std::int64_t cluster) const {
    const auto it = speeds_.find(cluster);
    return it == speeds_.end() || it->second <= 0 ? 1 : it->second;
  }

  void ReadLengths() {
    for (const auto& d : answer_.value("durations", json::array())) {
      Lengths& lengths = lengths_[d.at("campaign").get<std::int64_t>()];
      lengths.n += d.at("n").get<double>();
      lengths.sum_s += d.at("sum_s").get<double>() * SpeedOf(d.at("cluster").get<std::int64_t>());
      const auto hist = d.at("hist").get<std::vector<std::int64_t>>();
      for (std::size_t i = 0; i < std::min(hist.size(), lengths.hist.size()); ++i)
        lengths.hist[i] += hist[i];
    }
  }

  static int Units(const policy::Placement& l) {
    return l.class_units > 0 ? l.class_units : std::max(1, l.slots);
  }

  // Each class as it was when a campaign first asked for it; what local users held of it then stays
  // theirs.
  void ReadClasses(const policy::Snapshot& snapshot) {
    std::map<std::pair<std::int64_t, std::size_t>, int> ours;
    for (const auto& campaign : snapshot.campaigns)
      for (const auto& l : campaign.placements)
        ours[{l.cluster, l.resource_class}] += l.running * Units(l);
    for (const auto& c : snapshot.clusters)
      for (std::size_t of = 0; of < c.classes.size(); ++of) {
        const policy::ResourceClass& row = c.classes[of];
        units_[c.id].emplace(row.name, std::min(row.total, row.free + ours[{c.id, of + 1}]));
      }
  }

  // The class that its jobs need, "" = none.
  static std::string ClassOf(const policy::Placement& l, const policy::Snapshot& snapshot) {
    for (const auto& c : snapshot.clusters)
      if (c.id == l.cluster && l.resource_class > 0 && l.resource_class <= c.classes.size() &&
          c.classes[l.resource_class - 1u].name != policy::kNotCounted)
        return c.classes[l.resource_class - 1u].name;
    return "";
  }

  void Cluster(const policy::Cluster& c) {
    const int local = std::max(0, c.max - c.free - c.running_slots);
    names_[c.id] = c.name;
    if (c.max - local < 1) {
      Note("cluster " + c.name + " had no slot that local users left: left out");
      return;
    }
    usable_.insert(c.id);
    json out = {{"name", c.name}, {"slots", c.max - local}, {"speed", c.speed}};
    if (local > 0)
      Note("the " + std::to_string(local) + " slots of " + c.name +
           " that local users hold stay theirs");
    if (units_.count(c.id) != 0) out["resource_classes"] = units_[c.id];
    out["mode"] = std::string(ToString(c.mode));
    if (c.limited != policy::kNoLimit) out["limit"] = c.limited;
    if (c.max_running != policy::kNoLimit) out["max_running"] = c.max_running;
    if (c.unusable != policy::Unusable::kNo) {
      out["closed"] = json::array({{{"from", 0}}});
      Note("cluster " + c.name + " could not be used then, and stays so: " + c.why);
    }
    clusters_.push_back(std::move(out));
  }

  json Duration(const policy::Campaign& c) {
    const auto it = lengths_.find(c.id);
    if (it != lengths_.end() && it->second.n > 0) {
      json values = json::array();
      double sum = 0;
      std::vector<double> points;
      for (int i = 0; i < kPoints; ++i) {
        points.push_back(HistogramQuantile(it->second.hist, (i + 0.5) / kPoints));
        if (std::isfinite(points.back())) sum += points.back();
      }
      const double mean = it->second.sum_s / it->second.n;
      for (const double p : points)  // a bucket is 19 % wide; the mean is known exactly
        values.push_back(sum > 0 && std::isfinite(p) ? p * mean * kPoints / sum : mean);
      return values;
    }
    for (const auto& l : c.placements)
      if (l.mean_s > 0) return l.mean_s * SpeedOf(l.cluster);
    const double length = c.need_s > 0 ? c.need_s : kUnknownLength;
    Note("no job of campaign " + std::to_string(c.id) +
         " has succeeded yet: its jobs are taken to last " +
         std::to_string(static_cast<int>(length)) + " s");
    return length;
  }

  void Campaign(const policy::Campaign& c, const policy::Snapshot& snapshot, double at) {
    if (!seen_.insert(c.id).second) return;
    json out = {{"name", std::to_string(c.id)},
                {"user", c.user},
                {"at", std::max(0.0, at)},
                {"priority", c.priority},
                {"duration", Duration(c)}};
    std::int64_t tasks = c.waiting;
    json on = json::array(), data = json::array(), verified = json::array(),
         affinity = json::object(), classes = json::object(), units = json::object();
    int slots = 1, most = policy::kNoLimit;
    double rate = 0;
    for (const auto& l : c.placements) {
      tasks += l.in_flight;
      if (usable_.count(l.cluster) == 0) continue;
      const std::string& name = names_.at(l.cluster);
      if (!l.held.empty()) {
        Note("campaign " + std::to_string(c.id) + " was held on " + name + " and stays so");
        continue;
      }
      const std::string of = ClassOf(l, snapshot);
      if (!of.empty() && units_[l.cluster][of] < Units(l)) {
        Note("campaign " + std::to_string(c.id) + " needs more of a resource class than " + name +
             " had: it stays away from there");
        continue;
      }
      if (!of.empty()) classes[name] = of, units[name] = Units(l);
      on.push_back(name);
      if (l.local) data.push_back(name);
      if (l.verified) verified.push_back(name);
      if (l.affinity > 0) affinity[name] = l.affinity;
      slots = std::max(slots, l.slots);
      rate = std::max(rate, l.start_rate);
      if (l.max_jobs > 0 && l.verified) most = std::max(most, l.max_jobs);
    }
    if (tasks <= 0) return;
    if (on.empty())
      return Note("campaign " + std::to_string(c.id) + " could run nowhere: left out");
    out["tasks"] = tasks, out["clusters"] = on, out["slots"] = slots;
    if (!classes.empty()) out["resource_class"] = classes, out["class_units"] = units;
    if (!data.empty()) out["data_on"] = data;
    if (!verified.empty()) out["verified_on"] = verified;
    if (!affinity.empty()) out["affinity"] = affinity;
    if (most != policy::kNoLimit) out["max_jobs"] = most;
    if (!c.project.empty()) out["project"] = c.project;
    if (!c.cls.empty()) out["class"] = c.cls;
    if (!c.scheduler.empty()) out["scheduler"] = c.scheduler;
    if (!c.sla_group.empty()) out["sla_group"] = c.sla_group;
    if (c.test) out["type"] = "test";
    if (c.weight > 0) out["weight"] = c.weight;
    if (c.replicas) out["replicas"] = true;
    if (c.affinity_wait_s > 0) out["affinity_wait"] = c.affinity_wait_s;
    if (c.min_duration_s > 0) out["min_duration"] = c.min_duration_s;
    if (c.deadline > 0) out["deadline"] = std::max(1.0, at + c.deadline - c.submitted_at);
    if (rate > 0) out["start_rate"] = rate;
    for (const auto& other : campaigns_)
      if (other.at("name") == std::to_string(c.after)) out["after"] = {std::to_string(c.after)};
    if (!c.licences.empty()) out["licences"] = c.licences;
    campaigns_.push_back(std::move(out));
  }

  // By the day, by the hour for the last one: enough for shares, and a bounded text.
  void Usage(const policy::Snapshot& snapshot) {
    std::map<std::tuple<double, std::int64_t, std::string, std::string>, std::pair<double, double>>
        sums;
    for (const auto& u : snapshot.usage) {
      const double ago = begin_ - u.start;
      const double width = ago > 86400 ? 86400 : 3600;
      const double from = std::ceil(std::max(ago, 1.0) / width) * width;
      auto& [slot_s, length] = sums[{from, u.campaign, u.user, u.project}];
      slot_s += u.slot_seconds;
      length = width;
    }
    for (const auto& [key, sum] : sums) {
      const auto& [ago, campaign, user, project] = key;
      usage_.push_back({{"campaign", std::to_string(campaign)},
                        {"user", user},
                        {"project", project},
                        {"ago", ago},
                        {"length", sum.second},
                        {"slot_s", sum.first}});
    }
  }

  const json& answer_;
  std::vector<std::string>& notes_;
  double begin_ = 0;
  json clusters_ = json::array(), campaigns_ = json::array(), usage_ = json::array();
  std::map<std::int64_t, std::string> names_;
  std::map<std::int64_t, std::map<std::string, int>> units_;  // of resource classes
  std::map<std::int64_t, Lengths> lengths_;
  std::map<std::int64_t, double> speeds_;
  std::set<std::int64_t> usable_, seen_;
};

}  // namespace

std::string ScenarioOf(const json& answer, std::vector<std::string>& notes) {
  try {
    return Maker(answer, notes).Make();
  } catch (const json::exception& e) {
    throw std::invalid_argument(std::string("the history is not as expected: ") + e.what());
  }
}

std::vector<Replayed> Replay(const json& answer) {
  std::vector<Replayed> all;
  for (const auto& item : answer.at("items")) {
    Replayed one{.id = item.at("id").get<std::int64_t>(), .at = item.at("now").get<double>()};
    const auto result = policy::Decide(
        item.at("snapshot").get<policy::Snapshot>(), item.at("state").get<policy::State>(), one.at,
        static_cast<std::uint64_t>(item.at("seed").get<std::int64_t>()));
    const json diff = json::diff(item.at("plan"), json(result.plan));
    one.same = diff.empty();
    if (!one.same) one.difference = diff.at(0).dump();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace cigri::sim
