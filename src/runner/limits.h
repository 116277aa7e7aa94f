// How large a batch a cluster takes: what its driver says, lowered by what refusals taught.
#pragma once
#include <map>

#include "runner/cluster_session.h"

namespace cigri::runner {

class BatchLimits {
 public:
  explicit BatchLimits(ClusterSession& session) : session_(session) {}

  /// Reads, once, what earlier refusals taught. Call it before a claim and outside a transaction:
  /// it needs a session of the pool.
  void Load();
  /// Most elements of a batch of the campaign. REQUIRES: Load().
  int MaxElements(std::int64_t campaign) const;
  /// Whether `spec` has more bytes than the cluster takes and can be cut; later batches of the
  /// campaign are then smaller. REQUIRES: Load().
  bool TooManyBytes(const cluster::Batch& spec);
  /// Lowers the limit that the refusal of `jobs` jobs and `bytes` bytes names or implies, and
  /// records it.
  void Learn(db::Tx& tx, const cluster::SubmitRefused& refusal, int jobs, std::size_t bytes);

 private:
  void Report(db::Tx& tx, const std::string& limit, const std::string& why);

  ClusterSession& session_;
  bool loaded_ = false;
  int max_array_ = 0;
  std::size_t max_bytes_ = 0;
  std::map<std::int64_t, int> fitting_;  // by campaign: elements that fit into max_bytes_
};

/// Bytes of all commands of the batch.
std::size_t BytesOf(const cluster::Batch& spec);

}  // namespace cigri::runner
