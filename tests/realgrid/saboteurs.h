// Who does the faults of a storm: one at the hosts, one at the database, one at OAR and Slurm. Each
// is a thread that goes by a seed, and heals at its end what it has broken.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cutting_proxy.h"
#include "tests/system/servers.h"

namespace cigri::test {

class Saboteur {
 public:
  explicit Saboteur(std::uint32_t seed) : random_(seed) {}
  virtual ~Saboteur() = default;
  Saboteur(const Saboteur&) = delete;
  void Begin();
  /// Ends it and heals.
  void End();
  /// What was done, and how often.
  std::map<std::string, int> Score() const;
  /// When something was done that may cost the grid its leader.
  std::vector<double> Disturbances() const;

 protected:
  virtual void DoOne() = 0;
  virtual void Heal() {}
  double Between(double least, double most);
  std::size_t Below(std::size_t n) { return random_() % n; }
  /// False when the storm is over meanwhile.
  bool Rest(double seconds);
  void Did(const std::string& what, bool disturbs = false);
  /// Calls `undo` after `seconds`, at the latest when the storm is over.
  void Later(double seconds, std::function<void()> undo);

 private:
  void UndoUntil(double time);

  std::mt19937 random_;
  std::atomic<bool> over_{false};
  std::thread thread_;
  std::deque<std::pair<double, std::function<void()>>> undos_;
  mutable std::mutex mutex_;
  std::map<std::string, int> score_;
  std::vector<double> disturbances_;
};

/// Kills and stops processes, cuts hosts from the database, from the clusters, or from all, fills
/// disks, and is the local user who comes first.
class HostSaboteur : public Saboteur {
 public:
  struct Host {
    Grid* grid;
    std::string cluster;
  };
  /// `database`, `clusters`: the addresses to be cut from.
  HostSaboteur(std::uint32_t seed, std::vector<Host> hosts, const Scripted& network,
               std::string database, std::string clusters);

 private:
  void DoOne() override;
  void Strike();
  void Cut();
  void Fill();
  void Preempt();

  std::vector<Host> hosts_;
  const Scripted& network_;
  std::string database_, clusters_;
  bool cut_ = false, filled_ = false;
};

/// Kills, freezes and switches over the primary, and gives back what it took.
class DatabaseSaboteur : public Saboteur {
 public:
  DatabaseSaboteur(std::uint32_t seed, const Servers& servers)
      : Saboteur(seed), servers_(servers) {}

 private:
  void DoOne() override;
  const Servers& servers_;
};

/// Cuts answers of OAR and Slurm, stops OAR's server and slurmctld for a while, and is the local
/// user there.
class ClusterSaboteur : public Saboteur {
 public:
  ClusterSaboteur(std::uint32_t seed, std::vector<CuttingProxy*> proxies)
      : Saboteur(seed), proxies_(std::move(proxies)) {}

 private:
  void DoOne() override;
  void Heal() override;
  std::vector<CuttingProxy*> proxies_;
};

}  // namespace cigri::test
