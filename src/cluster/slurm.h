// The driver of Slurm through slurmrestd. What each version writes stands in slurm_codec.h.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cluster/drivers.h"
#include "cluster/job_script.h"
#include "cluster/rest_api.h"
#include "cluster/shared_records.h"
#include "cluster/slurm_array.h"
#include "cluster/slurm_codec.h"

namespace cigri::cluster {

/// Every batch is an array, also of one job; remote ids are "A_T" with T = index of the element,
/// or of the first of those that share the job.
/// Options: api_version ("v0.0.38"; found out when not given), partition, best_effort_partition,
/// account, qos, constraint, not_preemptible, shared_folder, max_array (1000), max_bytes (262144),
/// check_options, and those of RestApi and ScriptSettings.
class SlurmCluster final : public Cluster {
 public:
  SlurmCluster(const ClusterConfig& config, TokenSource tokens);
  Capabilities capabilities() const override;
  std::vector<std::string> Submit(const Batch& batch) override;
  void Release(const Batch& batch, const std::vector<std::string>& remote_ids) override;
  FindResult Find(const std::string& tag, const std::string& cluster_user, double since,
                  bool revoke) override;
  PollResult Poll(const PollRequest& request) override;
  KillResult Kill(const std::vector<RemoteRef>& jobs) override;
  Resources GetResources(const std::vector<std::string>& classes) override;
  ResourceClass ResourceClassOf(const Batch& batch) const override;
  OutputPart ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                        std::size_t bytes) override;
  std::vector<RemoteJob> ListTagged(const std::string& prefix, const JobFilter& wanted) override;
  std::vector<std::string> TagsSince(const std::string& prefix, double since) override;
  std::vector<CheckItem> Check(const std::string& cluster_user, bool submit) override;
  std::string ExceedsLimit(const Batch& batch) override;
  std::string CredentialError(const std::string& cluster_user) override {
    return api_.TokenError(cluster_user);
  }
  http::Response Relayed(const RelayedCall& call) override { return api_.Relayed(call); }
  CallLimiter* limiter() override { return api_.config().limiter.get(); }

 private:
  using Records = std::vector<SlurmRecord>;
  using Refs = std::vector<RemoteRef>;
  /// What slurmdbd knows of an array.
  struct Stored {
    enum class Answer { kNone, kDown, kKnown } answer = Answer::kNone;
    Records records;
  };

  int Version();
  std::string NewerVersions(const std::string& user);
  void NoteAnswer(const http::Response& response);
  static bool SaysBadToken(const http::Response& response);
  std::string Path(const std::string& rest);
  std::string DbPath(const std::string& rest);
  /// GET that slurmrestd answers with 500 for a job it does not know: nothing then.
  std::optional<Records> GetJobs(const std::string& what, const std::string& path,
                                 const std::string& user);
  nlohmann::json GetJson(const std::string& what, const std::string& path, const std::string& user);
  [[noreturn]] void ThrowFailed(const std::string& what, const http::Response& response,
                                const std::string& user, std::chrono::duration<double> took);
  std::string ReaderFor(const std::string& user);
  using Begun = std::set<std::pair<std::string, int>>;  ///< running jobs whose record was found
  void PollArray(const std::string& array, const Refs& refs, const Begun& before,
                 PollResult* result);
  void PollGroup(RemoteJob whole, const Refs& refs, const Begun& before, PollResult* result);
  bool ResolveInGroup(const RemoteRef& ref, const SlurmRecord* stored, PollResult* result);
  bool Unresponsive(const RemoteJob& job, const Begun& before);
  void AskRecord(RemoteJob* job);
  void Resolve(const std::string& array, const Refs& refs, PollResult* result);
  bool ResolveOne(const RemoteRef& ref, const Stored& stored, PollResult* result);
  Stored GetStored(const std::string& path, const std::string& user);
  std::optional<ExitRecord> ReadRecord(const RemoteRef& ref);
  std::vector<RemoteJob> Tagged(const Records& records, bool* cut);
  void KillArray(const std::string& array, const Refs& refs, KillResult* result);
  bool KillWhole(const std::string& array, const Refs& refs, const ArrayView& view,
                 KillResult* result);
  void Sort(const RemoteRef& ref, const SlurmError& error, KillResult* result);
  void KillOne(const RemoteRef& ref, KillResult* result);
  SlurmRequest RequestOf(const Batch& batch) const;
  std::vector<std::string> ReadSubmission(const Batch& batch, const http::Response& response);
  [[noreturn]] void ThrowForError(const std::string& text, const SlurmError& error,
                                  const Batch& batch, const http::Response& response);
  bool Deleted(std::int64_t array, const std::string& user);
  bool TokenRefused(const std::string& user);
  std::string PartitionOf(const Batch& batch) const;
  /// What the API shows of a partition.
  struct Partition {
    bool known = false, preemption_off = false, tells_mode = false;
    double tier = 0, highest_tier = 0, max_minutes = 0;  ///< max_minutes 0: no limit, or not shown
    double grace_s = 0;  ///< between the news of an eviction and the kill
    std::chrono::steady_clock::time_point seen;
  };
  /// "" asks for the default one, nothing where the API does not show which that is.
  std::optional<Partition> ReadPartition(const std::string& name, const std::string& user);
  /// Why `batch` cannot run in `partition`, or would take from its own users there; "" when not.
  std::string WhyNotIn(const std::string& partition, const Batch& batch);
  std::string WhyNotPreemptible(const std::string& partition, const Partition& seen) const;
  /// The same for the default partition, by a job of the batch, which is on hold there.
  void CheckDefaultPartition(const Batch& batch, std::int64_t array);
  void RefuseHeld(const Batch& batch, std::int64_t array, const std::string& why);
  std::vector<std::string> NotShown(const std::string& user);
  CheckItem CheckVersion(const std::string& user);
  nlohmann::json Nodes(const std::string& user);
  void Ping(const std::string& user);
  CheckItem CheckTime(const std::string& user);
  CheckItem CheckUser(const std::string& user);
  CheckItem CheckPartition(const std::string& user);
  CheckItem CheckResources();

  RestApi api_;
  ScriptSettings script_;
  SharedFiles shared_;
  int version_ = 0;
  double made_at_;
  Begun begun_;
  std::map<std::string, RemoteRef> recorded_;  // by user: the last job that must have left a record
  std::map<std::string, Partition> partitions_;  // by name, "" = the default one
};

}  // namespace cigri::cluster
