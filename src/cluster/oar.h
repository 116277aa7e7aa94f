// The driver of OAR clusters: what OAR 2.5 and OAR 3 have in common. oar2.cc and oar3.cc say
// where their APIs differ.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/drivers.h"
#include "cluster/job_record.h"
#include "cluster/job_script.h"
#include "cluster/oar_jobs.h"
#include "cluster/rest_api.h"

namespace cigri::cluster {

/// The paths of one version of OAR's API, and what its answers hold.
class OarDialect {
 public:
  virtual ~OarDialect() = default;
  virtual std::string Job(const std::string& id) const = 0;
  /// Lists of jobs that are complete in one page, or carry total and offset (then Page follows; one
  /// that begins at the end may be a 404).
  virtual std::string JobsByIds(const std::vector<std::string>& ids) const = 0;
  virtual std::string JobsOfArray(const std::string& array_id) const = 0;
  /// Live jobs of a user ("" = of everybody).
  virtual std::string LiveJobs(const std::string& user) const = 0;
  /// All jobs of a user ("" = of everybody) that were submitted or ended after `from`.
  virtual std::string JobsSince(const std::string& user, std::int64_t from) const = 0;
  /// `list` from its item `offset` on.
  virtual std::string Page(const std::string& list, std::int64_t offset) const = 0;
  virtual std::string Resources() const = 0;
  /// The values of a property with the jobs on them; "" when this version cannot tell.
  virtual std::string ResourceUse(const std::string& property) const = 0;
  virtual std::string Media(const std::string& path, int tail) const = 0;
  virtual std::string ArrayDeletion(const std::string& array_id) const = 0;  ///< "" = none
  virtual std::string Submission() const = 0;
  virtual std::string Version() const = 0;
  virtual std::string StressFactor() const = 0;
  virtual std::string Identity() const = 0;  ///< who the API takes us for; "" = it does not say
  /// Whether lists hold all that single jobs hold: then nothing is looked up one by one.
  virtual bool details_in_lists() const = 0;
  virtual bool lists_in_body() const = 0;  ///< resource and type as lists in a submission
  /// Whether a shell of the API's host reads the words of a submission (OarEscape).
  virtual bool shell_reads_words() const = 0;
  /// Whether a newline ends the last line of a parameter file, or begins one more job.
  virtual bool newline_ends_last_line() const = 0;
  /// Whether paths of media may begin with "~"; else they must be absolute.
  virtual bool knows_home() const = 0;
  /// Whether a job's submission_time is the time at which it was submitted.
  virtual bool exact_submission_time() const = 0;
  /// Whether OAR sends a job the signal that its submission names before it kills the job.
  virtual bool signals_before_kills() const = 0;
  /// What the versions begin with that were tried on a real one: "2.5".
  virtual std::string tried_version() const = 0;

 protected:
  static std::string OfUser(const std::string& user) {
    return user.empty() ? "" : "&user=" + http::PercentEncode(user);
  }
};

/// Options: max_array (1000), max_bytes (70000), max_line (120000), stress (true),
/// node_unit ("nodes"), core_unit ("core"), gpu_unit ("gpu"), mem_property, page (500, OAR 3),
/// check_options, and those of RestApi and ScriptSettings.
class OarCluster final : public Cluster {
 public:
  OarCluster(const ClusterConfig& config, TokenSource tokens, std::unique_ptr<OarDialect> dialect);
  Capabilities capabilities() const override;
  std::vector<std::string> Submit(const Batch& batch) override;
  /// No job is ever held.
  void Release(const Batch&, const std::vector<std::string>&) override {}
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
  using Items = std::vector<OarItem>;
  Items List(const std::string& what, const std::string& path, const std::string& user);
  void EachOf(const std::string& what, const std::string& path, const std::string& user,
              const std::function<void(const OarItemView&)>& each);
  nlohmann::json Details(const OarItem& item, const std::string& user);
  RemoteJob JobOf(const OarItem& item, const RemoteRef& ref, int* details_left);
  std::vector<RemoteJob> Tagged(Items items, const std::string& user);
  std::optional<int> IndexOf(const OarItem& item);
  void IndexRun(const Items& items, std::size_t from, std::size_t to,
                std::vector<std::optional<int>>* indexes);
  std::size_t EndOfCall(std::span<const RemoteRef> refs, std::size_t from) const;
  /// Jobs that run several elements, by id.
  struct Group {
    OarItem item;
    std::vector<const RemoteRef*> members = {};
  };
  using Groups = std::map<std::int64_t, Group>;
  void PollSome(std::span<const RemoteRef> refs, int* details_left, PollResult* result,
                Groups* groups);
  void PollGroups(const Groups& groups, int* details_left, PollResult* result);
  void AddMeasured(PollResult* result);
  void PollGroup(const OarItem& item, const std::vector<const RemoteRef*>& refs, int* details_left,
                 PollResult* result);
  void FindAbsent(const RemoteRef& ref, int* details_left, PollResult* result);
  /// One page of a list; nothing when the list has got shorter than `offset`.
  std::optional<std::string> PageOf(const std::string& what, const std::string& list,
                                    std::int64_t offset, const std::string& user);
  /// `path` below the job folder as GET /media wants it.
  std::string MediaPath(const std::string& path, const RemoteRef& ref);
  std::string HomeOf(const RemoteRef& ref);
  std::string Words(const std::string& text) const;
  std::optional<ExitRecord> ReadRecord(const RemoteRef& ref, bool* answered = nullptr);
  void KillArray(const std::vector<RemoteRef>& refs, KillResult* result);
  bool KillWhole(const std::vector<RemoteRef>& refs);
  std::map<std::string, OarItem> ListedNow(std::span<const RemoteRef> refs);
  void KillOne(const RemoteRef& ref, KillResult* result);
  std::vector<std::string> SubmitJobs(const Batch& batch);
  std::vector<std::string> IdsOfArray(const Batch& batch, const std::string& answer);
  std::string SubmissionBody(const Batch& batch) const;
  std::set<std::string> BusyUnits(const std::string& property);
  int UsedUnits(const std::set<std::string>& busy) const;
  CheckItem CheckUser(const std::string& user);
  CheckItem CheckResources();

  RestApi api_;
  std::unique_ptr<OarDialect> dialect_;
  ScriptSettings script_;

  // A unit of resources (core, host...), in which poll it was seen last and whether it is usable.
  struct Unit {
    std::int64_t poll = 0;
    bool usable = true;
  };
  // Kept from poll to poll: the same thousands of names come each time.
  std::unordered_map<std::string, Unit> units_;
  std::int64_t read_group_ = 0, last_group_ = 0;  // the last whose log was read, and a poll ago
  std::map<std::string, std::string> homes_;  // by user, as OAR showed them
  std::int64_t polls_ = 0;
};

/// What every OAR can do before options change it.
Capabilities OarCapabilities();
/// The resources of `batch` as OAR writes them, with the walltime.
std::string OarResources(const Batch& batch, const ClusterConfig& config);
/// `text` so that the shell of the API's host gives it back unchanged: OAR runs a submission's
/// words through one, where neither kind of quotes protects `$` and backquotes.
std::string OarEscape(const std::string& text);
/// What the answer to a submission of `n` jobs means: the ids, or the exception to throw.
std::vector<std::string> ReadOarSubmission(const RestApi& api, const std::string& what,
                                           const http::Response& response, std::size_t n);

}  // namespace cigri::cluster
