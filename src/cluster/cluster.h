// The batch scheduler of one cluster, as the grid needs it: one interface, one file per kind.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/states.h"
#include "http/client.h"

namespace cigri::cluster {

/// Stands before every call to the API of a remote cluster: the operator's ceiling on calls
/// (max_calls_per_min) and the circuit breaker, shared by all processes that speak to that API.
/// One object per driver, for its thread.
class CallLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~CallLimiter() = default;
  /// Waits for the call's turn, to `until` at the latest. Throws CallFailed when it must not be
  /// made, with the time to wait: kBusy over the ceiling, kUnreachable while the breaker is open.
  virtual void Before(Clock::time_point until) = 0;
  /// Whether the API answered the call, or why not.
  virtual void After(bool answered, const std::string& error) = 0;
  /// Seconds until so many calls can be made one after the other; 0 = now.
  virtual double WaitFor(int calls) = 0;
  /// Calls a minute that all of us together may make, 0 = any number.
  virtual int ceiling() = 0;
  /// Since when the API has answered no call of this driver; nothing when it answered the last one.
  virtual std::optional<Clock::time_point> unanswered_since() const { return std::nullopt; }
};

/// A call to the API of a cluster that another host makes.
struct RelayedCall {
  std::string method;  ///< GET, POST, DELETE
  std::string path, body;
  std::chrono::milliseconds timeout{0};  ///< silence allowed while waiting for the answer
  std::string cluster_user{};            ///< in whose name; "" = nobody in particular
};
using Relay = std::function<http::Response(const RelayedCall&)>;

/// Another host, whose runner has the lease of a remote cluster.
struct OtherHost {
  Relay call;  ///< makes what could not be sent from here; none: nobody does
  std::function<bool()> calls_first;  ///< whether calls are to be made there; none: from here first
  std::function<void(bool answered)> report;  ///< of what could not be sent from here; may be none
};

/// A row of `clusters`, as a driver needs it.
struct ClusterConfig {
  std::int64_t id = 0;
  std::string name, kind;                             ///< kind: local, oar2, oar3, slurm
  std::string api_url;                                ///< http::Endpoint::Parse reads it
  std::string auth_type;                              ///< none, header, basic, cert, jwt
  std::string auth_user, auth_password, auth_header;  ///< decrypted; "" when unused
  std::string resource_unit = "resource_id";
  std::string properties;  ///< which resources are ours to count, e.g. "cluster='luke'"
  nlohmann::json options =
      nlohmann::json::object();  ///< what only this kind knows (its page in docs/)
  std::chrono::milliseconds call_timeout{25000};
  Relay relay;           ///< of a local cluster of another host; none: it is called from here
  OtherHost other_host;  ///< of a remote kind
  std::string no_password;  ///< why `auth_password` is not known: no call can be made from here
  std::shared_ptr<CallLimiter> limiter;  ///< of a remote kind; none: nothing is limited or counted
};

/// What a cluster can do; read once after making it. The drivers' table (drivers.h) says what each
/// kind can do before options change it; what SQL asks for is stored in columns of `clusters`.
struct Capabilities {
  int max_array = 1000;             ///< most elements of one Submit
  std::size_t max_bytes = 1 << 20;  ///< most bytes of one Submit's commands, all together
  bool revokes = false;       ///< Find(tag, revoke) makes a later Submit of that tag impossible
  bool hold_release = false;  ///< Submit leaves the jobs on hold until Release
  bool feed = false;          ///< Poll answers what changed since a token, and can wait for it
  bool output = false;        ///< ReadOutput works
  bool exact_walltime =
      false;  ///< the cluster itself ends a job at its walltime: the grid need not
  bool dedicated =
      false;  ///< it serves this grid alone: no ceiling on calls, no tokens, open at once
  bool groups = false;  ///< one job may run several elements, and each end is seen when it happens
  double time_resolution_s = 1;  ///< of the times in RemoteJob: 1 = whole seconds, 0 = exact
  std::chrono::seconds remembers{std::chrono::hours(24 * 365)};  ///< how long ended jobs are known
  std::chrono::seconds absence_delay{60};  ///< between two absences that together are final
};

/// One job of a batch. `command` is one line for a POSIX shell, complete: the driver adds nothing
/// to it and lets nothing expand it before the job's own shell reads it, once.
struct Element {
  std::int64_t job_id = 0;
  std::int64_t task_index = 0;  ///< index in the campaign, from 0; -1 for prologue and epilogue
  int attempt = 1;
  std::string command;
};

/// One POST. The elements are numbered from 0; a driver must be able to say, for every remote job
/// that carries the tag, which element it is.
struct Batch {
  std::int64_t id = 0, campaign_id = 0;
  BatchKind kind = BatchKind::kTask;
  std::string tag;  ///< never used twice (runner/tag.h)
  std::string grid_user, cluster_user;
  std::string campaign_name;
  std::string directory;  ///< working directory; "" = the user's home. May hold $HOME.
  std::string setup;      ///< shell lines run before the command in the same shell; "" = none
  std::string resources;  ///< OAR -l hierarchy without walltime: "/nodes=1/core=4"
  int slots = 1;          ///< resource units that one job takes, of `resources`
  std::string properties, project;
  std::vector<std::string> job_types;  ///< extra types (JDL cluster_job_type)
  bool best_effort = true;
  int walltime_s = 3600;
  nlohmann::json options = nlohmann::json::object();  ///< cores, mem, gpus, partition, qos, ...
  std::vector<Element> elements;
  /// So many of them share a job, one after the other: elements 0 to tasks_per_job - 1, and so
  /// on. REQUIRES: 1, or capabilities().groups.
  int tasks_per_job = 1;
  /// After it the POST must not start any more, whatever was waited for before it.
  std::chrono::steady_clock::time_point send_by = std::chrono::steady_clock::time_point::max();
};

enum class RemoteState { kHeld, kWaiting, kRunning, kEnded };

/// A remote job is (cluster, id, tag, index), checked in every answer: ids are re-issued.
struct RemoteRef {
  std::string remote_id;
  std::string tag;
  int index = 0;            ///< element of its batch, from 0
  std::int64_t job_id = 0;  ///< ours; echoed, never interpreted
  std::string cluster_user;
  std::int64_t walltime_s = 0;
  std::optional<RemoteState> known;  ///< in a PollRequest: what it is as far as we know
  int tasks_per_job = 1;             ///< of its batch
  bool only_waiting = false;         ///< for Kill: not when it has begun
};

/// Why a remote job ended.
enum class EndCause {
  kExited,        ///< on its own: `wait_status` tells
  kPreempted,     ///< best-effort kill by the cluster, for its own users
  kWalltime,      ///< the cluster ended it at its walltime
  kDeleted,       ///< somebody asked the cluster to delete it (we, or its user there)
  kNodeFailed,    ///< its node went away
  kBadDirectory,  ///< the working directory is not there or not usable
  kBadOutput,     ///< its output file cannot be written
  kLaunchFailed,  ///< the cluster could not start it
  kNotBegun,      ///< the job that was to run it after others ended before its turn
  kUnknown        ///< gone, and nobody knows how it ended. Never a success.
};

/// What a job measured of itself; nothing where its cluster gives no way.
struct Measured {
  std::optional<double> cpu_s;             ///< user and system time, of all its processes
  std::optional<double> peak_mb;           ///< most resident memory of its largest process
  std::optional<double> read_mb, written_mb;  ///< from and to block devices
  std::optional<double> transfer_s;           ///< of its time, for inputs, outputs and checkpoints
};

struct RemoteJob {
  RemoteRef ref;
  RemoteState state = RemoteState::kWaiting;
  EndCause cause = EndCause::kExited;
  std::optional<int> wait_status;  ///< raw wait(2) status when known: exit << 8 | signal
  double submitted_at = 0, started_at = 0, ended_at = 0;  ///< the cluster's clock, 0 = not known
  std::string node;
  /// Starting or running, says the cluster, and the job itself has given no sign of it (yet).
  bool unresponsive = false;
  std::string message;  ///< the cluster's own words, or the last lines of stderr; may be ""
  Measured measured;    ///< of one that has ended
  double job_started_at = 0;  ///< of an element that shares a job, when that job began
};

/// The cluster said no, and has not taken any of it.
class SubmitRefused : public std::runtime_error {
 public:
  enum class Why {
    kBatch,     ///< this request is wrong here: resources, directory, project, size...
    kUser,      ///< this user may not
    kToken,     ///< this user has no token there, or none that is valid
    kLimit,     ///< over a limit of the cluster: fewer or later. `limit` when it said how many
    kBytes,     ///< the request has too many bytes: fewer or shorter elements
    kTemporary  ///< not now: down, restarting, too busy
  };
  SubmitRefused(Why why, const std::string& message, int limit = 0)
      : std::runtime_error(message), why_(why), limit_(limit) {}
  Why why() const { return why_; }
  int limit() const { return limit_; }

 private:
  Why why_;
  int limit_;
};

/// It is not known whether the cluster has taken the jobs: call Find(tag) before anything else.
/// `ids` are remote ids that the answer named all the same (OAR's 500 that lists them).
class SubmitInDoubt : public std::runtime_error {
 public:
  explicit SubmitInDoubt(const std::string& message, std::vector<std::string> named = {})
      : std::runtime_error(message), ids(std::move(named)) {}
  std::vector<std::string> ids;
};

/// A call that is no submission failed: repeat it later.
class CallFailed : public std::runtime_error {
 public:
  enum class Why {
    kUnreachable,
    kTimeout,
    kAuth,
    kServer,
    kGarbage,
    kBusy  ///< not made: it would have gone over our own ceiling on calls
  };
  CallFailed(Why why, const std::string& message, double wait_s = 0)
      : std::runtime_error(message), why_(why), wait_s_(wait_s) {}
  Why why() const { return why_; }
  double wait_s() const { return wait_s_; }  ///< not before so many seconds; 0 = not given

 private:
  Why why_;
  double wait_s_;
};

struct FindResult {
  std::vector<RemoteJob> jobs;  ///< every job that carries the tag, in any state
  bool complete = false;  ///< the answer covers all jobs the cluster remembers: absence counts
  bool revoked = false;   ///< the tag can never be submitted any more
};

/// The slots of a cluster that a job can use when not every one will do: GPUs, the nodes of a
/// partition, what has certain properties.
struct ResourceClass {
  std::string request;  ///< in the driver's own words, to be stored; "" = any slot will do
  int units = 1;        ///< what one job takes of it
};
/// How many units of a class there are now.
struct ClassCount {
  std::string name;         ///< for messages, in the plural: "GPUs", "slots with mem >= 64000"
  int total = 0, free = 0;  ///< that exist; that a job could start on now
};

struct Resources {
  int max = 0;          ///< resource units that exist
  int used = 0;         ///< taken by any job
  int unavailable = 0;  ///< down, drained, absent
  int free() const { return std::max(0, max - used - unavailable); }
  double stress = 0;        ///< 0..1, what the cluster says of its own load
  int preemptible = 0;      ///< of `used`, by best-effort jobs of others
  std::string note;         ///< for messages: "2 of 4 nodes down"
  double cluster_time = 0;  ///< the cluster's clock at the answer, 0 = not reported
  std::map<std::string, ClassCount> classes{};  ///< by ResourceClass::request
};

struct PollRequest {
  std::vector<RemoteRef> jobs;        ///< those believed alive (ignored by a feed with a token)
  std::string token;                  ///< of the last answer, for a feed; "" = everything
  std::chrono::milliseconds wait{0};  ///< a feed may hold its answer this long for news
};
struct PollResult {
  /// Present state of those asked for, or what changed. A job that is as `known` may be left out:
  /// of ten thousand that run a poll finds a few that do not any more.
  std::vector<RemoteJob> jobs;
  std::vector<RemoteRef> missing;  ///< asked for and not known to the cluster (any more)
  bool full = true;                ///< false: only changes; a job not listed is as it was
  std::string token;
  double cluster_time = 0;             ///< the cluster's clock at the answer, 0 = not reported
  int calls = 0;                       ///< HTTP requests it took
  std::optional<Resources> resources;  ///< when the same answer tells them (local)
};

struct KillResult {
  std::vector<RemoteRef> gone;   ///< ended, or never seen any more
  std::vector<RemoteRef> asked;  ///< the cluster has registered it: look again until it ended
  std::vector<RemoteRef> begun;  ///< to be ended only while it waits, and it runs: untouched
  std::vector<std::pair<RemoteRef, std::string>> failed;  ///< and why: ask again
};

enum class Stream { kStdout, kStderr };
struct OutputPart {
  bool exists = false;
  std::string bytes;
  std::int64_t size = 0;  ///< of the whole file, -1 unknown
  std::string where;      ///< path or URL for readers
};

/// One line of `gridclusters --check`.
struct CheckItem {
  std::string what;  ///< "reachable", "authorised", "clock", "version", "limits", "test job"
  enum class Verdict { kOk, kWarn, kFail, kSkipped } verdict = Verdict::kOk;
  std::string detail;  ///< what was seen and, when not ok, what to do
};

/// The batch scheduler of one cluster. docs/develop/write-a-driver.md shows how to write one.
///
/// Threads: one object per thread. Time: each request to the cluster ends after
/// ClusterConfig::call_timeout, also when nobody answers. Retries: none; to repeat a call is the
/// decision of its caller.
///
/// Failure: what the driver does not know it must not answer. An empty list says that the cluster
/// has no such job, and the grid submits tasks again because of it. A cluster that cannot be
/// reached, an answer that is cut or that cannot be read therefore throws. Submit throws
/// SubmitRefused or SubmitInDoubt, the other methods throw CallFailed; exceptions are named below.
class Cluster {
 public:
  virtual ~Cluster() = default;

  /// Makes no call and never fails. The answer stays the same as long as the object lives.
  virtual Capabilities capabilities() const = 0;

  /// Submits the batch as one array (or the nearest the cluster has) that carries its tag. Returns
  /// one remote id per element, in the order of the elements.
  /// REQUIRES: 1 <= elements <= capabilities().max_array.
  /// Nothing was taken: SubmitRefused. Either the request was not sent (no connection, no token,
  /// past batch.send_by), or the cluster said no. The grid gives the tasks back at once.
  /// It may have been taken: SubmitInDoubt. The request had gone and no answer came, or an answer
  /// that does not name every job: a 5xx, garbage, half a list. The grid asks Find(tag).
  /// Throws nothing else, whatever the cluster answers.
  virtual std::vector<std::string> Submit(const Batch& batch) = 0;

  /// Lets held jobs start. Where capabilities().hold_release is false no job is held, and it does
  /// nothing. May be repeated. After CallFailed the jobs may be held or not: the caller repeats it.
  virtual void Release(const Batch& batch, const std::vector<std::string>& remote_ids) = 0;

  /// The jobs that carry `tag`, in any state, each with its index. `since` (epoch s) is when the
  /// batch was intended: listings may be cut before that time.
  /// `complete` says that every job the cluster remembers was looked through: only then is an
  /// absent job absent. A source that did not answer makes the result incomplete, or throws.
  /// With `revoke` (and capabilities().revokes) the cluster refuses the tag from now on; when
  /// `revoked` is not set, a later Submit of the tag may still succeed. Throws CallFailed.
  virtual FindResult Find(const std::string& tag, const std::string& cluster_user, double since,
                          bool revoke) = 0;

  /// The states of jobs, in as few calls as the API allows. A job of the request stands in `jobs`,
  /// in `missing`, or in neither: then there is no news of it, and it stays as it was. `missing`
  /// needs an answer of the cluster that would have shown the job; an id that now carries another
  /// tag was issued again, and the job is missing. Throws CallFailed when nothing is known.
  virtual PollResult Poll(const PollRequest& request) = 0;

  /// Asks the cluster to end these jobs. Each job is in exactly one list of the result. A job that
  /// carries another tag than its ref, or is another user's, is not touched, nor is one that runs
  /// although only_waiting is set, as far as the cluster can tell: one that begins between a look
  /// and the deletion may be ended. May be repeated; a job that has ended keeps its end. Throws
  /// CallFailed when the cluster cannot be reached: some may have been asked to end.
  virtual KillResult Kill(const std::vector<RemoteRef>& jobs) = 0;

  /// Also counts `classes`: requests that ResourceClassOf made, maybe long ago. One that cannot be
  /// counted is left out, and its jobs are given by the slots of the whole cluster.
  /// Throws CallFailed; std::runtime_error when ClusterConfig::properties cannot be read.
  virtual Resources GetResources(const std::vector<std::string>& classes) = 0;

  /// What the jobs of `batch` need here. Makes no call: the API asks it at submission. By default
  /// any slot will do; so it does for what this kind could not count.
  virtual ResourceClass ResourceClassOf(const Batch& batch) const;

  /// `bytes` from `offset` (negative: that many from the end) of the job's output. `exists` is
  /// false when the cluster says that there is no such file. Throws CallFailed; std::runtime_error
  /// with a message for users where the cluster gives no way (the default).
  virtual OutputPart ReadOutput(const RemoteRef& job, Stream stream, std::int64_t offset,
                                std::size_t bytes);

  /// The live jobs whose tag begins with `prefix`: the full reconciliation finds unknown and
  /// duplicate jobs in it. Those for which `wanted` is false are left out before more is asked
  /// about them. An empty list says that there is none. Throws CallFailed.
  using JobFilter = std::function<bool(const std::string& remote_id, const std::string& tag)>;
  virtual std::vector<RemoteJob> ListTagged(const std::string& prefix, const JobFilter& wanted) = 0;

  /// The tags that begin with `prefix`, each once, of jobs in any state that were submitted after
  /// `since` (epoch s); older ones may be among them. After `cigri restore` the runner finds in
  /// this list what the restored database does not know, so a tag that is left out may run twice.
  /// By default those of ListTagged, for clusters that forget jobs at their end. Throws CallFailed.
  virtual std::vector<std::string> TagsSince(const std::string& prefix, double since);

  /// What an operator wants to know of a new cluster; ends with a test job when `submit`. The first
  /// item is "reachable"; where it fails it is the only one. A failure is an item with a hint.
  virtual std::vector<CheckItem> Check(const std::string& cluster_user, bool submit) = 0;

  /// Why a cluster of this kind can never run `batch` (it may have no elements), with the limit; ""
  /// when it can. Makes no call: the API asks it at submission, too.
  virtual std::string ExceedsLimit(const Batch& batch);
  /// Why `batch` can never run here, in the same way; may ask the cluster, and throw CallFailed.
  virtual std::string WhyNot(const Batch& batch);
  /// Why `cluster_user` cannot be authenticated there now, as far as is known without a call; ""
  /// when nothing speaks against it.
  virtual std::string CredentialError(const std::string& cluster_user);
  /// Makes a call for a host that cannot reach the cluster, past the limiter, which stands before
  /// that host's driver. By default it is not sent. Throws CallFailed(kAuth) without a valid token.
  virtual http::Response Relayed(const RelayedCall& call);
  /// The limiter before its API, nullptr when there is none.
  virtual CallLimiter* limiter() { return nullptr; }
};

/// Short-lived credentials of a user on a cluster (JWT clusters), "" when there are none. Asked
/// before each call that acts as a user. Throws std::runtime_error when none can be made now.
using TokenSource = std::function<std::string(const std::string& cluster_user)>;

/// Makes the driver of `config.kind`; throws Fatal(kExitConfig) for an unknown kind.
std::unique_ptr<Cluster> MakeCluster(const ClusterConfig& config, TokenSource tokens = {});

}  // namespace cigri::cluster
