// Runs a scenario and keeps all that happened, for assertions.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "policy/reason.h"
#include "sim/report.h"

namespace cigri::sim::test {

inline std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string FaultsOf(const ReadResult& read) {
  std::string all;
  for (const auto& fault : read.faults) all += jdl::Text(fault, "scenario") + "\n";
  return all;
}

class Outcome : public Observer {
 public:
  /// A scenario's text; `set` as --set would have it.
  explicit Outcome(const std::string& text,
                   std::vector<std::pair<std::string, std::string>> set = {},
                   double until = 1e300) {
    const std::string folder = std::string(CIGRI_SOURCE_DIR) + "/tests/sim/scenarios";
    auto read = ReadScenario(text, folder, {.without = {}, .set = std::move(set), .policy = ""});
    EXPECT_EQ(FaultsOf(read), "");
    if (!read.faults.empty()) return;
    scenario = std::move(read.scenario);
    Collector collector(scenario);
    Engine engine(scenario, {this, &collector});
    report = collector.Finish(engine.Run(until), "test");
  }
  /// tests/sim/scenarios/ID.json
  static Outcome Of(const std::string& id,
                    std::vector<std::pair<std::string, std::string>> set = {},
                    double until = 1e300) {
    return Outcome(FileText(std::string(CIGRI_SOURCE_DIR) + "/tests/sim/scenarios/" + id + ".json"),
                   std::move(set), until);
  }

  void Ended(const Attempt& a) override { attempts.push_back(a); }
  void Decided(const Moment& m) override {
    for (const auto& r : m.result.reasons)
      reasons.insert({scenario_name(r.campaign), std::string(policy::ToString(r.code))});
  }

  bool ReadsReasons() const override { return true; }

  const std::string& NameOf(const Attempt& a) const { return scenario.campaigns[a.campaign].name; }
  const std::string& ClusterOf(const Attempt& a) const { return scenario.clusters[a.cluster].name; }

  /// Jobs of a campaign (on a cluster, "" = all) that run at `t`.
  int RunningAt(double t, const std::string& campaign = "", const std::string& cluster = "") const {
    int n = 0;
    for (const auto& a : attempts)
      n += a.started >= 0 && a.started <= t && t < a.ended &&
           (campaign.empty() || NameOf(a) == campaign) &&
           (cluster.empty() || ClusterOf(a) == cluster);
    return n;
  }
  /// When the jobs of a campaign started, in order.
  std::vector<double> Starts(const std::string& campaign) const {
    std::vector<double> starts;
    for (const auto& a : attempts)
      if (a.started >= 0 && NameOf(a) == campaign) starts.push_back(a.started);
    std::sort(starts.begin(), starts.end());
    return starts;
  }
  /// All attempts in the order in which they were sent.
  std::vector<Attempt> Sent() const {
    auto sent = attempts;
    std::sort(sent.begin(), sent.end(), [](const auto& a, const auto& b) { return a.job < b.job; });
    return sent;
  }
  int Count(End end, const std::string& campaign = "") const {
    return static_cast<int>(std::count_if(attempts.begin(), attempts.end(), [&](const auto& a) {
      return a.end == end && (campaign.empty() || NameOf(a) == campaign);
    }));
  }
  bool Had(const std::string& campaign, const std::string& code) const {
    return reasons.count({campaign, code}) != 0;
  }

  Scenario scenario;
  Report report;
  std::vector<Attempt> attempts;
  std::set<std::pair<std::string, std::string>> reasons;  ///< campaign, code: ever

 private:
  const std::string& scenario_name(std::int64_t id) const {
    return scenario.campaigns[id - 1].name;
  }
};

inline constexpr double kHour = 3600;

}  // namespace cigri::sim::test
