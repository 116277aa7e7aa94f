#include "api/read/tasks.h"

#include <sql/tasks.h>
#include <sys/wait.h>

#include <cmath>

namespace cigri::api {
namespace {

Attempt AttemptOf(const sql::AttemptsOfTasksRow& row) {
  Attempt a;
  a.idx = row.idx;
  a.job_id = row.job_id;
  a.cluster_id = row.cluster_id;
  a.batch_id = row.batch_id;
  a.wait_status = row.wait_status;
  a.submitted = row.submitted;
  a.started = row.started;
  a.ended = row.ended;
  a.remote_id = row.remote_id.value_or("");
  a.state = row.state;
  a.cluster = row.cluster.value_or("");
  a.kind = row.kind;
  a.exit_class = row.exit_class.value_or("");
  a.code = row.code.value_or("");
  a.node = row.node.value_or("");
  a.message = row.message.value_or("");
  a.cpu_s = row.cpu_s;
  a.peak_mb = row.peak_mb;
  a.read_mb = row.read_mb;
  a.written_mb = row.written_mb;
  a.transfer_s = row.transfer_s;
  a.attempt = row.attempt;
  a.counted = row.counted;
  a.needs_attention = row.needs_attention;
  return a;
}

Attempt Untouched(std::int64_t idx) {
  Attempt a;
  a.idx = idx;
  a.state = "pending";
  return a;
}

template <typename Row>
std::vector<std::int64_t> IdxsOf(const std::vector<Row>& rows) {
  std::vector<std::int64_t> idxs;
  for (const auto& row : rows) idxs.push_back(row.idx);
  return idxs;
}

}  // namespace

std::vector<Attempt> AttemptsOf(db::Tx& tx, std::int64_t campaign,
                                const std::vector<std::int64_t>& idxs) {
  const auto rows = tx.Exec(sql::kAttemptsOfTasks, campaign, idxs);
  std::vector<Attempt> attempts;
  auto row = rows.begin();
  for (const auto idx : idxs) {
    const auto before = attempts.size();
    for (; row != rows.end() && row->idx <= idx; ++row) attempts.push_back(AttemptOf(*row));
    if (attempts.size() == before) attempts.push_back(Untouched(idx));
  }
  return attempts;
}

Which WhichOf(const std::string& word) {
  if (word == "failed") return Which::kFailed;
  if (word == "done") return Which::kDone;
  if (word == "running") return Which::kRunning;
  if (word == "waiting") return Which::kWaiting;
  throw BadRequest("there are no \"" + word + "\" tasks", "say waiting, running, failed or done");
}

std::vector<std::int64_t> NextTasks(db::Tx& tx, std::int64_t campaign, Which which,
                                    std::int64_t after, std::int64_t limit) {
  const auto next = [&](const auto& query) {
    return IdxsOf(tx.Exec(query, campaign, after, limit));
  };
  switch (which) {
    case Which::kFailed:
      return next(sql::kFailedTasks);
    case Which::kDone:
      return next(sql::kDoneTasks);
    case Which::kRunning:
      return next(sql::kRunningTasks);
    case Which::kWaiting:
      return next(sql::kWaitingTasks);
    case Which::kFinished:
      return next(sql::kFinishedTasks);
    case Which::kEnded:
      break;
  }
  return next(sql::kEndedTasks);
}

nlohmann::json MeasuredJson(const Attempt& a) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::json(std::round(*value * 1000) / 1000) : nlohmann::json();
  };
  return {{"cpu_s", number(a.cpu_s)},
          {"peak_mb", number(a.peak_mb)},
          {"read_mb", number(a.read_mb)},
          {"written_mb", number(a.written_mb)},
          {"transfer_s", number(a.transfer_s)}};
}

HowEnded Decode(const std::optional<int>& wait_status) {
  if (!wait_status) return {};
  if (WIFSIGNALED(*wait_status)) return {0, WTERMSIG(*wait_status)};
  return {WEXITSTATUS(*wait_status), 0};
}

}  // namespace cigri::api
