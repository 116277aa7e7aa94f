#include "cluster/check.h"

#include <cmath>

#include "core/text.h"

namespace cigri::cluster {
namespace {

using Verdict = CheckItem::Verdict;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const char* Advice(CallFailed::Why why) {
  switch (why) {
    case CallFailed::Why::kUnreachable:
      return "check api_url, the network, the certificate (ca_file) and that the API is running";
    case CallFailed::Why::kTimeout:
      return "the API took the call and did not answer: is the scheduler or its database stuck?";
    case CallFailed::Why::kAuth:
      return "check auth_type, user and password or token (gridtoken) of this cluster";
    case CallFailed::Why::kServer:
      return "look into the log of the cluster's API";
    case CallFailed::Why::kGarbage:
      return "is api_url the API of this kind of cluster, with its prefix?";
    case CallFailed::Why::kBusy:
      return "try again then, or raise max_calls_per_min";
  }
  return "";
}

Batch TestBatch(const ClusterConfig& config, const std::string& user) {
  Batch batch;
  batch.kind = BatchKind::kTest;
  batch.tag = "cigri.check." + RandomHex(4) + "." + RandomHex(4);
  batch.grid_user = batch.cluster_user = user;
  batch.campaign_name = "check";
  batch.walltime_s = 300;
  batch.options = config.options.value("check_options", nlohmann::json::object());
  batch.best_effort = config.options.value("check_best_effort", true);
  batch.elements.push_back({1, 0, 1, "echo \"$CIGRI_JOB_NAME on $(uname -n)\""});
  return batch;
}

CheckItem TestJobResult(const RemoteJob& job, double took) {
  CheckItem item{"test job", Verdict::kOk, ""};
  if (job.cause == EndCause::kExited && job.wait_status == 0) {
    item.detail = "job " + job.ref.remote_id + " ran" +
                  (job.node.empty() ? "" : " on " + job.node) + " and ended after " +
                  HumanDuration(took);
    return item;
  }
  item.verdict = Verdict::kFail;
  item.detail = "job " + job.ref.remote_id + " did not end well" +
                (job.wait_status ? " (wait status " + std::to_string(*job.wait_status) + ")" : "") +
                (job.message.empty() ? "" : ": " + job.message) +
                ": look at it with the cluster's own tools";
  return item;
}

// Follows the job; nothing when it has not ended in time.
std::optional<RemoteJob> Follow(Cluster* cluster, const RemoteRef& ref,
                                std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
    PollRequest request;
    request.jobs = {ref};
    for (auto& job : cluster->Poll(request).jobs)
      if (job.state == RemoteState::kEnded) return job;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return std::nullopt;
}

CheckItem RunTestJob(Cluster* cluster, const Batch& batch, std::chrono::seconds patience) {
  const auto began = std::chrono::steady_clock::now();
  const auto ids = cluster->Submit(batch);
  const RemoteRef ref{ids.at(0), batch.tag, 0, 1, batch.cluster_user, batch.walltime_s};
  if (cluster->capabilities().hold_release) cluster->Release(batch, ids);
  const auto job = Follow(cluster, ref, began + patience);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (job) return TestJobResult(*job, took.count());
  cluster->Kill({ref});
  return {"test job", Verdict::kWarn,
          "job " + ref.remote_id + " did not start or end within " +
              HumanDuration(static_cast<double>(patience.count())) +
              " and was deleted: the cluster may be full"};
}

}  // namespace

CheckItem CheckClock(double clock) {
  if (clock == 0) return {"clock", Verdict::kSkipped, "the API does not tell the time"};
  const double ahead = clock - Now();
  if (std::abs(ahead) < 5) return {"clock", Verdict::kOk, "the same as here"};
  return {"clock", Verdict::kWarn,
          "its clock is " + HumanDuration(std::abs(ahead)) + (ahead > 0 ? " ahead" : " behind") +
              ": run NTP there and here; tokens and times shown depend on it"};
}

CheckItem CheckFailure(const std::string& what, const CallFailed& failure) {
  return {what, Verdict::kFail, std::string(failure.what()) + ": " + Advice(failure.why())};
}

CheckItem CheckTestJob(Cluster* cluster, const ClusterConfig& config, const std::string& user,
                       std::chrono::seconds patience) {
  try {
    return RunTestJob(cluster, TestBatch(config, user), patience);
  } catch (const SubmitInDoubt& e) {
    return {"test job", Verdict::kFail, std::string(e.what()) + ": it may have been taken"};
  } catch (const std::exception& e) {
    return {"test job", Verdict::kFail, e.what()};
  }
}

}  // namespace cigri::cluster
