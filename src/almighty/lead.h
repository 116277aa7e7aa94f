// One term of a leading almighty.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "almighty/almighty.h"
#include "almighty/child.h"
#include "almighty/decide.h"
#include "almighty/election.h"
#include "almighty/outage.h"
#include "almighty/services.h"
#include "core/config.h"

namespace cigri::almighty {

/// From winning the election to losing the lead. All its children exit before it ends.
class Lead {
 public:
  /// `services`: of this host; the leader records their restarts. `signals`: readable when the
  /// process is asked to exit.
  /// `outage`: what this process has seen of the database before and after this term.
  Lead(const Options& options, const Config& config, Leadership leadership, Term term,
       Services& services, Outage& outage, int signals);
  ~Lead();
  enum class End { kAsked, kSessionLost };
  End Run();

 private:
  void AddChildren(const std::string& conninfo);
  void RenewLease();
  void NoteRestarts();
  void NoteOutage();
  void StartDue();
  void SendSteps();
  void KillStuck();
  void Tick();
  void Wait();
  void Receive(std::size_t child);
  void Reap(std::size_t child);
  void ReceiveNotices();
  void WakeRunners();
  void NoteEnd(const Child& child, const std::string& what);
  void Note(const std::string& code, const std::string& module, const std::string& message,
            const nlohmann::json& sample = nullptr);
  Time NextDeadline() const;

  const Options& options_;
  Services& services_;
  Outage& outage_;
  Leadership leadership_;
  Term term_;
  int signals_;
  milliseconds busy_tick_;
  std::vector<Child> children_;  // the modules first, in the order of their stages
  Cycles cycles_;
  bool asked_ = false, lost_ = false, idle_ = false;
  Time tick_at_{}, rotate_at_{}, renew_at_{}, look_at_{};
  Time asking_since_{};  // a server that stands still has answered nothing since then
};

}  // namespace cigri::almighty
