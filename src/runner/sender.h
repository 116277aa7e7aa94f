// Claims tasks against the grants of one cluster and submits them.
#pragma once
#include "runner/hold_releaser.h"
#include "runner/limits.h"
#include "runner/outcome_resolver.h"

namespace cigri::runner {

class Sender {
 public:
  Sender(ClusterSession& session, BatchLimits& limits, OutcomeResolver& outcomes,
         HoldReleaser& holds)
      : session_(session), limits_(limits), outcomes_(outcomes), holds_(holds) {}

  /// Claims what the plan grants now, submits it and records what the cluster took. False when
  /// nothing more may be sent now.
  bool SendSome();
  /// Another pass begins.
  void Begin() { left_out_ = false; }
  /// Somebody else had what the pass wanted to claim: another one soon is worth it.
  bool left_out() const { return left_out_; }

 private:
  bool MayCall();
  std::vector<ClaimedBatch> Claim();
  void Send(const ClaimedBatch& batch, Clock::time_point send_by);
  cluster::Batch Prepare(const ClaimedBatch& batch);
  bool StillOurs(const ClaimedBatch& batch);
  void Submit(const ClaimedBatch& batch, const cluster::Batch& spec);
  void Record(const ClaimedBatch& batch, const std::vector<std::string>& ids);
  void GiveBackTooLarge(const ClaimedBatch& batch);
  void Refused(const ClaimedBatch& batch, const cluster::SubmitRefused& refusal,
               std::size_t bytes = 0);
  void ReportRefusal(db::Tx& tx, const ClaimedBatch& batch, const cluster::SubmitRefused& refusal,
                     std::size_t bytes);
  void RaiseClusterFault(db::Tx& tx, const ClaimedBatch& batch, const std::string& title,
                         const std::string& message);
  void RaiseRefusal(db::Tx& tx, const ClaimedBatch& batch, const cluster::SubmitRefused& refusal);

  ClusterSession& session_;
  BatchLimits& limits_;
  OutcomeResolver& outcomes_;
  HoldReleaser& holds_;
  bool left_out_ = false;
  bool reported_ = true;  // that the cluster takes nothing; by a runner before us, too
};

}  // namespace cigri::runner
