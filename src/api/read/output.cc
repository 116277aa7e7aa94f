// What jobs printed, read live from their clusters through the drivers.
#include <sql/batches.h>
#include <sql/jobs.h>

#include "api/http/router.h"
#include "api/read/job_output.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr std::int64_t kChunk = 200;
constexpr std::int64_t kMostInJson = 16 << 20;
constexpr std::int64_t kMostOffset = std::int64_t{1} << 50;

cluster::Stream StreamAsked(const Request& request) {
  const std::string stream = request.Query("stream", "stdout");
  if (stream == "stderr") return cluster::Stream::kStderr;
  if (stream == "stdout") return cluster::Stream::kStdout;
  throw BadRequest("there is no stream \"" + stream + "\"", "say stdout or stderr");
}

// One job that cannot be read does not hide the others; the answer then ends as a cut one, which
// the client can tell from a whole one.
void AllOutput(Context& context, std::int64_t campaign, cluster::Stream stream,
               const Write& write) {
  Drivers drivers(context);
  std::string error;
  for (std::int64_t after = -1;;) {
    std::vector<std::int64_t> idxs;
    const auto jobs = context.Read([&](db::Tx& tx) {
      idxs = NextTasks(tx, campaign, Which::kEnded, after, kChunk);
      return JobsOf(tx, MostRelevant(AttemptsOf(tx, campaign, idxs)));
    });
    for (const auto& job : jobs) try {
        if (!CopyOutput(drivers.Of(job.cluster_id), job, stream, 0, write)) return;
      } catch (const std::exception& e) {
        error = "job " + std::to_string(job.ref.job_id) + ": " + e.what();
      }
    if (static_cast<std::int64_t>(idxs.size()) < kChunk) break;
    after = idxs.back();
  }
  if (!error.empty()) throw std::runtime_error("some output cannot be read: " + error);
}

Reply CampaignOutput(Context& context, const Request& request) {
  const auto info =
      context.Read([&](db::Tx& tx) { return OwnInfo(tx, request, request.Id()); });
  const auto stream = StreamAsked(request);
  return Reply::Stream([&context, id = info.id,
                        stream](const Write& write) { AllOutput(context, id, stream, write); },
                       "application/octet-stream");
}

OutputJob OneJob(db::Tx& tx, const Request& request) {
  const auto id = request.Id();
  const std::string what = "job " + std::to_string(id);
  const auto batches = tx.Exec(sql::kBatchOfJob, id);
  if (batches.empty()) throw NotFound(what);
  const auto b = batches[0];
  RequireOwner(request, b.grid_user, what);
  const auto rows = tx.Exec(sql::kShowJob, id, b.campaign_id, b.idx);
  if (rows.empty()) throw ApiError(404, "Not found", what + " is not on its cluster yet");
  OutputJob job;
  job.cluster_id = b.cluster_id;
  job.ref.tag = b.tag;
  job.ref.index = b.element;
  job.ref.job_id = id;
  job.ref.remote_id = rows[0].remote_id.value_or("");
  job.ref.cluster_user = b.cluster_login.value_or("");
  job.ref.walltime_s = b.walltime_s.value_or(0);
  return job;
}

// The driver's own words, as an answer: it is the cluster that cannot, not the API.
template <typename Call>
auto Speaking(const std::string& what, Call call) {
  try {
    return call();
  } catch (const cluster::CallFailed& e) {
    throw ApiError(503, "Cluster not available", "cannot read " + what + ": " + e.what(),
                   "try again later: gridclusters -i shows the state of clusters");
  } catch (const ApiError&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw ApiError(404, "Not found", "cannot read " + what + ": " + e.what());
  }
}

std::string LastLines(std::string text, std::int64_t lines) {
  auto at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; at > 0; --at)
    if (text[at - 1] == '\n' && --lines == 0) break;
  return text.substr(at);
}

Reply Output(Context& context, const Request& request, cluster::Stream stream) {
  const auto job = context.Read([&](db::Tx& tx) { return OneJob(tx, request); });
  const std::string what = "the output of job " + std::to_string(job.ref.job_id);
  const auto most = request.QueryInt("bytes", kMostInJson, 1, kMostInJson);
  auto drivers = std::make_shared<Drivers>(context);
  // Asked once before anything is promised, so that errors can still be reported.
  const auto first = Speaking(what, [&] {
    return drivers->Of(job.cluster_id)
        .ReadOutput(job.ref, stream, -most, request.Flag("raw") ? 1 : most);
  });
  if (request.Flag("raw")) {
    const auto offset = request.QueryInt("offset", 0, 0, kMostOffset);
    return Reply::Stream(
        [drivers, job, stream, offset](const Write& write) {
          CopyOutput(drivers->Of(job.cluster_id), job, stream, offset, write);
        },
        "application/octet-stream");
  }
  const auto lines = request.QueryInt("tail", 100'000, 1, 10'000'000);
  return Reply::Json({{"output", LastLines(first.bytes, lines)},
                      {"exists", first.exists},
                      {"size", first.size},
                      {"where", first.where}});
}

const char* WordOf(cluster::RemoteState state) {
  switch (state) {
    case cluster::RemoteState::kHeld:
      return "held";
    case cluster::RemoteState::kWaiting:
      return "waiting";
    case cluster::RemoteState::kRunning:
      return "running";
    case cluster::RemoteState::kEnded:
      break;
  }
  return "ended";
}

// What the cluster says of the job now.
Reply ClusterInfo(Context& context, const Request& request) {
  const auto job = context.Read([&](db::Tx& tx) { return OneJob(tx, request); });
  Drivers drivers(context);
  const auto found =
      Speaking("what the cluster says of job " + std::to_string(job.ref.job_id), [&] {
        cluster::PollRequest poll;
        poll.jobs = {job.ref};
        return drivers.Of(job.cluster_id).Poll(poll);
      });
  for (const auto& remote : found.jobs) {
    if (remote.ref.remote_id != job.ref.remote_id) continue;
    return Reply::Json({{"remote_id", remote.ref.remote_id},
                        {"tag", remote.ref.tag},
                        {"index", remote.ref.index},
                        {"state", WordOf(remote.state)},
                        {"wait_status", remote.wait_status ? json(*remote.wait_status) : json()},
                        {"submitted_at", remote.submitted_at},
                        {"started_at", remote.started_at},
                        {"ended_at", remote.ended_at},
                        {"node", remote.node},
                        {"message", remote.message},
                        {"cluster_user", job.ref.cluster_user}});
  }
  throw ApiError(404, "Not found",
                 "the cluster does not know job " + job.ref.remote_id + " any more");
}

}  // namespace

void AddOutputRoutes(Router& router) {
  router.Get("/campaigns/{id}/output", CampaignOutput);
  router.Get("/jobs/{id}/stdout", [](Context& context, const Request& request) {
    return Output(context, request, cluster::Stream::kStdout);
  });
  router.Get("/jobs/{id}/stderr", [](Context& context, const Request& request) {
    return Output(context, request, cluster::Stream::kStderr);
  });
  router.Get("/jobs/{id}/cinfos", ClusterInfo);
}

}  // namespace cigri::api
