// Submission to Slurm: always an array, always on hold, so that a doubt leaves only held jobs.
#include <algorithm>
#include <ctime>

#include "cluster/job_environment.h"
#include "cluster/resource_request.h"
#include "cluster/slurm.h"
#include "cluster/slurm_class.h"
#include "core/text.h"
#include "core/whole.h"

namespace cigri::cluster {
namespace {

using Why = SubmitRefused::Why;

// The job's script: the element is picked by the number of the task, and becomes its arguments.
std::string ArrayScript(const Batch& batch, const ScriptSettings& settings) {
  std::string script = "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n";
  int first = 0;
  for (const auto& job : JobArguments(batch)) {
    script += std::to_string(first) + ") set -- " + job + " ;;\n";
    first += batch.tasks_per_job;
  }
  return script + "esac\n" + JobScript(batch, settings);
}

// A hierarchy as OAR writes it ("/nodes=2/core=4") as nodes and CPUs of each.
void ReadHierarchy(const std::string& text, SlurmRequest* r) {
  int cpus = 1;
  for (const auto& level : Split(text, '/')) {
    const auto parts = Split(Trim(level), '=');
    const int n = parts.size() == 2 ? std::atoi(parts[1].c_str()) : 0;
    if (n < 1) continue;
    if (parts[0] == "nodes" || parts[0] == "host" || parts[0] == "network_address")
      r->nodes = n;
    else
      cpus *= n;
  }
  r->tasks = r->nodes;
  r->cpus_per_task = cpus;
}

// What a batch says, else what the cluster's row says.
std::string Option(const Batch& batch, const ClusterConfig& config, const char* key) {
  const auto own = TextIn(batch.options, key);
  return own.empty() ? TextIn(config.options, key) : own;
}

std::string ConstraintOf(const Batch& batch, const ClusterConfig& config) {
  const auto constraint = Option(batch, config, "constraint");
  return constraint.empty() ? batch.properties : constraint;
}

constexpr int kHeld = 2042;

// The id of each element's job in `array`.
std::vector<std::string> IdsIn(std::int64_t array, const Batch& batch) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto first = i - i % static_cast<std::size_t>(batch.tasks_per_job);
    ids.push_back(std::to_string(array) + "_" + std::to_string(first));
  }
  return ids;
}

}  // namespace

std::string SlurmCluster::PartitionOf(const Batch& batch) const {
  const auto own = TextIn(batch.options, "partition");
  if (!own.empty()) return own;
  const auto& options = api_.config().options;
  const auto partition = TextIn(options, "partition");
  return batch.best_effort ? options.value("best_effort_partition", partition) : partition;
}

ResourceClass SlurmCluster::ResourceClassOf(const Batch& batch) const {
  const auto& config = api_.config();
  const int gpus = ResourceRequestOf(batch).gpus;
  SlurmClass what{.gpus = gpus > 0,
                  .partition = PartitionOf(batch),
                  .constraint = ConstraintOf(batch, config)};
  // The slots of a cluster are those of its own partition.
  if (what.partition ==
      config.options.value("best_effort_partition", config.options.value("partition", "")))
    what.partition = "";
  return what.Of(gpus > 0 ? gpus : batch.slots);
}

// REQUIRES: the version is known.
SlurmRequest SlurmCluster::RequestOf(const Batch& batch) const {
  const auto& config = api_.config();
  SlurmRequest r;
  auto script = script_;
  script.cluster_signals = SlurmApiSignals(version_);
  r.script = ArrayScript(batch, script);
  if (const auto checkpoint = CheckpointOf(batch)) {
    r.signal = checkpoint->signal;
    r.signal_before_s = checkpoint->grace_s;
  }
  r.tag = batch.tag;
  r.array = "0-" + std::to_string(batch.elements.size() - 1);
  if (batch.tasks_per_job > 1) r.array += ":" + std::to_string(batch.tasks_per_job);
  r.partition = PartitionOf(batch);
  r.account = Option(batch, config, "account");
  if (r.account.empty()) r.account = batch.project;
  r.qos = Option(batch, config, "qos");
  r.constraints = ConstraintOf(batch, config);
  r.begin_at = static_cast<std::int64_t>(std::time(nullptr)) + kSlurmHoldSeconds;
  r.walltime_s = batch.walltime_s;
  r.cpus_per_task = batch.slots;
  if (!batch.resources.empty()) ReadHierarchy(batch.resources, &r);
  const auto resource_request = ResourceRequestOf(batch);
  if (resource_request.plain && resource_request.cores > 0)
    r.cpus_per_task = resource_request.cores;
  r.mem_mb = Whole<int>(static_cast<double>(resource_request.mem_mb));
  r.gpus = resource_request.gpus;
  const auto nodes = NodesOf(batch);
  r.excluded_nodes = nodes.excluded;
  if (!nodes.only.empty()) r.required_nodes = {nodes.only};
  return r;
}

std::vector<std::string> SlurmCluster::Submit(const Batch& batch) {
  if (const auto why = WhyNot(batch); !why.empty()) throw SubmitRefused(Why::kBatch, why);
  if (const auto error = api_.TokenError(batch.cluster_user); !error.empty())
    throw SubmitRefused(Why::kToken, error);
  std::string path;
  try {  // nothing has been sent that could be a job
    path = Path("job/submit");
    // The versions of Slurm 22.05 say themselves when a held job can never run.
    if (batch.best_effort || version_ > 38)
      if (const auto why = WhyNotIn(PartitionOf(batch), batch); !why.empty())
        throw SubmitRefused(Why::kBatch, why);
  } catch (const CallFailed& e) {
    if (e.why() != CallFailed::Why::kAuth) throw SubmitRefused(Why::kTemporary, e.what());
    throw SubmitRefused(api_.RefusalKind(),
                        std::string(e.what()) + ": " + api_.Refused(batch.cluster_user));
  }
  const auto body = WriteSlurmRequest(RequestOf(batch), version_);
  const auto text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return ReadSubmission(batch, api_.PostBatch(path, text, batch));
}

std::vector<std::string> SlurmCluster::ReadSubmission(const Batch& batch,
                                                      const http::Response& response) {
  const std::string what =
      "submit " + std::to_string(batch.elements.size()) + " jobs to " + api_.config().name;
  auto text = api_.Failure(what, response);
  if (response.outcome == http::Outcome::kNotSent) throw SubmitRefused(Why::kTemporary, text);
  if (response.outcome == http::Outcome::kMaybeSent) throw SubmitInDoubt(text);
  const auto answer = nlohmann::json::parse(ValidUtf8(response.body), nullptr, false);
  const auto array = Whole<std::int64_t>(NumberIn(At(answer, "job_id")));
  const auto error = SlurmErrorOf(response.body);
  if (array <= 0) ThrowForError(text, error, batch, response);
  // Accepted, and can never run: it would wait indefinitely.
  if (error.any && error.number != kHeld && error.number != 0)
    RefuseHeld(batch, array, "cannot " + what + ": " + error.text);
  CheckDefaultPartition(batch, array);
  return IdsIn(array, batch);
}

// The batch is on hold, so nothing of it has run.
void SlurmCluster::RefuseHeld(const Batch& batch, std::int64_t array, const std::string& why) {
  if (Deleted(array, batch.cluster_user)) throw SubmitRefused(Why::kBatch, why);
  throw SubmitInDoubt(why, IdsIn(array, batch));
}

// From v0.0.39 on the API does not show which partition is the default: a job in it does.
void SlurmCluster::CheckDefaultPartition(const Batch& batch, std::int64_t array) {
  if (!PartitionOf(batch).empty() || version_ < 39) return;
  try {
    if (ReadPartition("", batch.cluster_user)) return;
    const auto records = GetJobs("read array " + std::to_string(array),
                                 Path("job/" + std::to_string(array)), batch.cluster_user);
    if (!records || records->empty() || records->front().partition.empty()) return;
    const auto name = records->front().partition;
    if (const auto why = WhyNotIn(name, batch); !why.empty()) RefuseHeld(batch, array, why);
    partitions_[""] = partitions_.at(name);
  } catch (const CallFailed&) {
    // The next batch is looked at again.
  }
}

bool SlurmCluster::Deleted(std::int64_t array, const std::string& user) {
  try {
    const auto response = api_.Delete(Path("job/" + std::to_string(array)), user);
    for (const auto& [id, error] : SlurmDeletionErrors(response.body))
      if (error.number != kSlurmUnknownJob && error.number != kSlurmEndedJob) return false;
    return response.ok();
  } catch (const CallFailed&) {
    return false;  // not even asked
  }
}

void SlurmCluster::ThrowForError(const std::string& text, const SlurmError& error,
                                 const Batch& batch, const http::Response& response) {
  const int n = error.number;
  NoteAnswer(response);
  if (response.status == 401 || response.status == 403 || SaysBadToken(response))
    throw SubmitRefused(api_.RefusalKind(), text + ": " + api_.Refused(batch.cluster_user));
  if (response.status == 404 || response.status == 405) throw SubmitRefused(Why::kTemporary, text);
  if (response.status == 413 || n == 2012) throw SubmitRefused(Why::kBytes, text);
  // Slurm's own errors: 1800 controller not reached, 11 too many jobs, 2070 partition closed, 2050
  // over a limit of the accounting, 2081 an array larger than MaxArraySize.
  if (n == 1800 || n == 11 || n == 2070) throw SubmitRefused(Why::kTemporary, text);
  if (n == 2050) throw SubmitRefused(Why::kLimit, text);
  if (n == 2081) throw SubmitRefused(batch.elements.size() > 1 ? Why::kLimit : Why::kBatch, text);
  if ((n >= 2000 && n < 3000) || (n >= 9000 && n < 10000) || response.status == 400)
    throw SubmitRefused(Why::kBatch, text);
  // "Zero bytes": the controller died over it, or, much more often, the token is bad.
  if (n == 5005 && TokenRefused(batch.cluster_user))
    throw SubmitRefused(api_.RefusalKind(), api_.Refused(batch.cluster_user));
  throw SubmitInDoubt(text);
}

// Whether any call of this user is refused at once.
bool SlurmCluster::TokenRefused(const std::string& user) try {
  // From v0.0.39 on a ping is 200 with any token.
  const auto path = Path(Version() < 39 ? "ping" : "diag");
  const auto began = std::chrono::steady_clock::now();
  const auto response = api_.Get(path, user);
  if (Version() >= 39) return SaysBadToken(response);
  return response.outcome == http::Outcome::kAnswered && response.status == 500 &&
         std::chrono::steady_clock::now() - began < std::chrono::seconds(2);
} catch (const CallFailed&) {
  return false;  // not asked: nobody knows
}

void SlurmCluster::Release(const Batch& batch, const std::vector<std::string>& remote_ids) {
  const auto id = remote_ids.at(0).substr(0, remote_ids[0].find('_'));
  const auto what = "release array " + id + " of " + api_.config().name;
  const auto response =
      api_.Post(Path("job/" + id), WriteSlurmRelease(Version()).dump(), batch.cluster_user);
  if (!response.ok()) NoteAnswer(response);
  if (!response.ok()) throw api_.Failed(what, response);
  // 200 with an error that has no number is how Slurm says that an array was updated. One with a
  // number was not; a poll then shows the jobs still held.
  const auto error = SlurmErrorOf(response.body);
  if (error.number != 0)
    throw CallFailed(CallFailed::Why::kServer, "cannot " + what + ": " + error.text);
}

}  // namespace cigri::cluster
