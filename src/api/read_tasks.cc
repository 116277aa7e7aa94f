#include "api/read_tasks.h"

#include <sql/tasks.h>
#include <sys/wait.h>

namespace cigri::api {
namespace {

Attempt AttemptOf(const pqxx::row& row) {
  Attempt a;
  a.idx = row.idx;
  a.job_id = row.job_id;
  a.cluster_id = row.cluster_id;
  a.batch_id = row.batch_id;
  a.wait_status = row.wait_status;
  a.submitted = row.submitted;
  a.started = row.started;
  a.ended = row.ended;
  a.remote_id = row["remote_id"].as<std::string>("");
  a.state = row.state;
  a.cluster = row["cluster"].as<std::string>("");
  a.kind = row.kind;
  a.account = row["account"].as<std::string>("");
  a.code = row["code"].as<std::string>("");
  a.node = row["node"].as<std::string>("");
  a.message = row["message"].as<std::string>("");
  a.attempt = row.attempt;
  a.counted = row.counted;
  a.to_fix = row.to_fix;
  return a;
}

Attempt Untouched(std::int64_t idx) {
  Attempt a;
  a.idx = idx;
  a.state = "pending";
  return a;
}

const db::Statement& StatementOf(Which which) {
  switch (which) {
    case Which::kFailed:
      return sql::kFailedTasks;
    case Which::kDone:
      return sql::kDoneTasks;
    case Which::kRunning:
      return sql::kRunningTasks;
    case Which::kWaiting:
      return sql::kWaitingTasks;
    case Which::kEnded:
      break;
  }
  return sql::kEndedTasks;
}

}  // namespace

std::vector<Attempt> AttemptsOf(db::Tx& tx, std::int64_t campaign,
                                const std::vector<std::int64_t>& idxs) {
  const auto rows = tx.Exec(sql::kAttemptsOfTasks, campaign, idxs);
  std::vector<Attempt> attempts;
  auto row = rows.begin();
  for (const auto idx : idxs) {
    const auto before = attempts.size();
    for (; row != rows.end() && (*row)["idx"].as<std::int64_t>() <= idx; ++row)
      attempts.push_back(AttemptOf(*row));
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
  std::vector<std::int64_t> idxs;
  for (const auto& row : tx.Exec(StatementOf(which), campaign, after, limit))
    idxs.push_back(row.idx);
  return idxs;
}

HowEnded Decode(const std::optional<int>& wait_status) {
  if (!wait_status) return {};
  if (WIFSIGNALED(*wait_status)) return {0, WTERMSIG(*wait_status)};
  return {WEXITSTATUS(*wait_status), 0};
}

}  // namespace cigri::api
